"""Dense operands: NumPy arrays, and arrays of other libraries on a GPU with their streams.

Calls `_backends` only.
"""
