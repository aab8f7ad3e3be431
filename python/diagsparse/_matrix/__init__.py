"""The matrix, whatever its format: construction, views, conversions, element-wise work, Python's protocols.

Calls `_arrays`, `_places` and `_show`; what depends on the format it asks by the methods of `family.Family`.
"""
