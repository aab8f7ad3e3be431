"""Places: which module and device serve a matrix, how much memory there is, which types values have.

The bottom of the house: calls nothing else of this package.
"""
