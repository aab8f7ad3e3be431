"""The matrix classes' common part: construction, views, conversions, element-wise operations, Python's protocols.

Calls `_arrays`, `_backends` and `_show`. Whatever depends on the format is a method of `format.Format` in `_formats`.
"""
