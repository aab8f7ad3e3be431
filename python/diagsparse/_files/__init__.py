"""Matrix Market files and ``.npz`` archives, which are read with a limit for the memory.

Depends on `_matrix` and the layers below.
"""
