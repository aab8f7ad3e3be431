"""Products of sparse matrices: plans, sums of products, chains, batches, and forecasts of their bytes.

Calls `_matrix` and what is below it.
"""
