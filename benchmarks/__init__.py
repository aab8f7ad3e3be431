"""What we measure and users need not: the papers' experiments, our own studies, the stored results and their ledger.

`python -m benchmarks` runs them from a clone. Nothing in diagsparse imports this package.
"""
