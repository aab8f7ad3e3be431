"""csr, csc and coo on a GPU: sums, products, copies and conversions are merges of sorted entries.

What `_indexed` leaves to SciPy on the CPU is done here by the CUDA module; each result is a new matrix.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from . import _memory, _owners
from ._backend import Place

if TYPE_CHECKING:
    from ._array import SparseArray

_SANE = 16  # how much larger than its csr a matrix may become on the way through diagonals


def merged(format: str, shape: tuple[int, int], terms: Any, mode: str, dtype: np.dtype, place: Place) -> SparseArray:
    """Return the "sum" or the "product" of ``(matrix, factor)`` terms, or the "nonzero" entries of one."""
    from ._array import SparseArray

    raw = [(a._matrix, a._op, factor) for a, factor in terms]
    return SparseArray._wrap(place.core.merged(format, *shape, raw, mode, dtype.name, place.index))


def copied(a: SparseArray) -> SparseArray:
    """Return an independent matrix; a view is laid out anew."""
    return converted(a, a.format)


def converted(a: SparseArray, format: str) -> SparseArray:
    """Return the entries of `a` in another of the three formats."""
    return merged(format, a.shape, [(a, 1)], "sum", a.dtype, a._place)


def without_zeros(a: SparseArray) -> SparseArray:
    """Return the entries of `a` that are not zero."""
    return merged(a.format, a.shape, [(a, 1)], "nonzero", a.dtype, a._place)


def added(a: SparseArray, b: SparseArray, alpha: complex, beta: complex) -> SparseArray:
    """Return ``alpha a + beta b``; both in one of the three formats, the result in that of `a`."""
    dtype = np.result_type(a.dtype, b.dtype)
    return merged(a.format, a.shape, [(a, alpha), (b, beta)], "sum", dtype, a._place)


def multiplied(a: SparseArray, b: SparseArray) -> SparseArray:
    """Return the element-wise product: the entries that both store."""
    dtype = np.result_type(a.dtype, b.dtype)
    return merged(a.format, a.shape, [(a, 1), (b, 1)], "product", dtype, a._place)


def scaled(a: SparseArray, dense: Any) -> SparseArray:
    """Return ``a * dense`` for a dense array that broadcasts, from the host or the GPU; of either family."""
    place, core = a._place, a._place.core
    dtype = np.result_type(a.dtype, _owners.dtype_of(dense))
    values = _owners.bring(dense, dtype, place, "multiply", "the other operand")
    wide = _owners.strided(core, values, a.shape, _broadcast_strides(values, a.shape))
    if hasattr(a, "_spans"):
        made = a._laid_out(type(a), a._spans()[:, 0].tolist(), dtype)
    else:
        a = copied(a) if a._op else a
        made = a._wrap(a._matrix.with_values(core.empty(a._matrix.values.shape, dtype.name, place.index, "C")))
    core.scale_dense(a.astype(dtype, copy=False)._matrix, a._op, wide, made._matrix)
    return made


def _broadcast_strides(values: Any, shape: tuple[int, int]) -> tuple[int, ...]:
    """Return the strides with which an array repeats over `shape`, as `numpy.broadcast_to` gives them."""
    extents, strides = (1, 1, *values.shape)[-2:], (0, 0, *values.strides)[-2:]
    return tuple(s if extent == full else 0 for extent, full, s in zip(extents, shape, strides, strict=True))


def summed(
    who: str, products: list[SparseArray], c: SparseArray | None, beta: complex, triangle: str | None
) -> SparseArray:
    """Return the sum of products in csr and of ``beta c``, or one triangle of it."""
    total, *others = products
    for other in others:
        total = added(total, other, 1, 1)
    if c is not None and beta != 0:
        total = added(total, c.asformat("csr"), 1, beta)
    return total if triangle is None else triangle_of(total, triangle, who)


def update(out: SparseArray, made: SparseArray, beta: complex) -> None:
    """Write ``made + beta out`` to `out`, which has the structure of `made`; of either family."""
    if beta == 0:
        out.values.assign(made.values)
    elif hasattr(out, "_spans"):
        out.values.assign(out.values * beta)
        out._core.add_diagonals(1.0, made._matrix, made._op, out._matrix, True)
    else:
        out.values.assign(added(made, out, 1, beta).values)


def triangle_of(a: SparseArray, which: str, who: str) -> SparseArray:
    """Return one triangle of a csr matrix, with the main diagonal; the way leads through `hm`.

    Raises
    ------
    NotImplementedError
        With the numbers, where the diagonals would be far larger than the entries.
    """
    from ._array import FORMATS

    offsets = np.array(a._core.occupied_diagonals(a._matrix), dtype=np.int64)
    nbytes = FORMATS["hm"]._forecast(a.shape, a.dtype.itemsize, offsets, a.nnz)
    if nbytes > max(_SANE * a.nbytes, _memory.SMALL):
        raise NotImplementedError(
            f"{who}: one triangle of a {a.format} product on {a.device} goes through its {len(offsets)} diagonals, "
            f'which take {_memory.human(nbytes)}; use triangle=None, or A.to("cpu")'
        )
    diagonals = a.asformat("hm")
    kept = offsets[offsets <= 0] if which == "lower" else offsets[offsets >= 0]
    return diagonals._laid_out(FORMATS["hm"], kept.tolist(), a.dtype).asformat("csr")
