"""Dense arrays: vectors and blocks of NumPy's, and of other libraries on a GPU, with their streams.

Calls `_places` only.
"""
