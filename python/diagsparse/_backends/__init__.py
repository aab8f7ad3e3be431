"""Backends: the compiled module and the device of a matrix, free memory, and value types.

This is the lowest layer: it calls nothing else of this package.
"""
