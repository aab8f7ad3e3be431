"""Files: Matrix Market text and ``.npz`` archives, read with a limit on memory.

Calls `_matrix` and what is below it.
"""
