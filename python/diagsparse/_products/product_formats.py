"""The format of a product, and the one that makes it."""

from __future__ import annotations

from .._matrix.base import SparseArray
from .._matrix.registry import COMMON, FORMATS


def product_formats(
    a: SparseArray, b: SparseArray, format: str | None, repeated: bool = False, named: bool = False
) -> tuple[str, str]:
    """Return the format of a product, and the one whose kernels make it.

    By default the result is in the left operand's format. Where families differ and the left one has products of its
    own, it is in csr (in mdia where that meets diagonals). Within a family it is in what the family says where the left
    format does not hold it well.
    """
    if a._family != b._family:
        common = a._multiplies.get(b._family) or b._multiplies.get(a._family)
        return format or common or (COMMON if a._own_products else a._format), common or COMMON
    if not a._own_products:
        return format or a._format, COMMON
    if format is not None and FORMATS[format]._family == a._family:
        return format, format
    made = a._for_product(b, repeated, named)._format
    return format or made, made
