"""What SciPy does for us, on csr: extremes, comparisons by size, where nonzeros are, and formats that we do not have.

Results are those of SciPy's `csr_array`. The work is done on the CPU.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np
import scipy.sparse as sp

from .._places import memory
from .._places.backend import CPU
from .base import SparseArray
from .convert import convert, unpacked
from .registry import COMMON, FORMATS


class ThroughSciPy:
    """Methods of SciPy's sparse arrays that read a matrix once; mixed into every matrix class."""

    def _to_read(self: SparseArray, who: str) -> Any:
        """Return this matrix as SciPy's csr, which is not to be changed."""
        self._require_host(who)
        csr: Any = convert(unpacked(self), COMMON)
        return csr._lent()

    def _require_host(self: SparseArray, who: str) -> None:
        if self._place is not CPU:
            raise TypeError(f'{who}: {self!r}: that is done on the cpu; write A.to("cpu")')

    # ---- extremes ---------------------------------------------------------------------------------
    def max(self: SparseArray, axis: int | None = None, out: None = None, **options: Any) -> Any:
        """Return the largest element, or that of each column (``axis=0``) or row (``axis=1``), as SciPy does.

        ``explicit=True`` leaves out what is not stored. Of an axis the result is a sparse array of SciPy's.
        """
        return self._extreme("max", axis, out, **options)

    def min(self: SparseArray, axis: int | None = None, out: None = None, **options: Any) -> Any:
        """Return the smallest element; as `max`."""
        return self._extreme("min", axis, out, **options)

    def nanmax(self: SparseArray, axis: int | None = None, out: None = None, **options: Any) -> Any:
        """Return the largest element that is a number; as `max`."""
        return self._extreme("nanmax", axis, out, **options)

    def nanmin(self: SparseArray, axis: int | None = None, out: None = None, **options: Any) -> Any:
        """Return the smallest element that is a number; as `max`."""
        return self._extreme("nanmin", axis, out, **options)

    def _extreme(self: SparseArray, which: str, axis: Any, out: Any, **options: Any) -> Any:
        """Return what SciPy's method of this name returns."""
        return getattr(self._to_read(which), which)(axis, out, **options)

    def argmax(self: SparseArray, axis: int | None = None, out: None = None, **options: Any) -> Any:
        """Return where the first largest element is, counted row by row, or in each column or row."""
        return self._to_read("argmax").argmax(axis, out, **options)

    def argmin(self: SparseArray, axis: int | None = None, out: None = None, **options: Any) -> Any:
        """Return where the first smallest element is; as `argmax`."""
        return self._to_read("argmin").argmin(axis, out, **options)

    def maximum(self: SparseArray, other: Any) -> Any:
        """Return the larger one of each pair of elements, in this format; `other` is sparse, dense or a number."""
        return _paired(self, other, "maximum")

    def minimum(self: SparseArray, other: Any) -> Any:
        """Return the smaller one of each pair of elements; as `maximum`."""
        return _paired(self, other, "minimum")

    # ---- comparisons by size ----------------------------------------------------------------------
    def __lt__(self: SparseArray, other: Any) -> Any:
        return _compared(self, other, operator.lt)

    def __le__(self: SparseArray, other: Any) -> Any:
        return _compared(self, other, operator.le)

    def __gt__(self: SparseArray, other: Any) -> Any:
        return _compared(self, other, operator.gt)

    def __ge__(self: SparseArray, other: Any) -> Any:
        return _compared(self, other, operator.ge)

    # ---- where nonzeros are -----------------------------------------------------------------------
    def nonzero(self: SparseArray) -> tuple[np.ndarray, np.ndarray]:
        """Return the rows and the columns of the elements that are not zero."""
        return self._to_read("nonzero").nonzero()

    # ---- formats and shapes that we do not have ---------------------------------------------------
    def tobsr(self: SparseArray, blocksize: tuple[int, int] | None = None, copy: bool = False) -> sp.bsr_array:
        """Return SciPy's `bsr_array`: we have none; `bmsparse_array` stores blocks of 8 x 8."""
        return self._to_read("tobsr").tobsr(blocksize, copy=True)

    def tolil(self: SparseArray, copy: bool = False) -> NoReturn:
        """Raise: lists in Python are SciPy's."""
        raise NotImplementedError("tolil: diagsparse has no lil; write A.to_scipy().tolil()")

    def todok(self: SparseArray, copy: bool = False) -> NoReturn:
        """Raise: dictionaries are SciPy's."""
        raise NotImplementedError("todok: diagsparse has no dok; write A.to_scipy().todok()")

    def reshape(self: SparseArray, *shape: Any, order: str = "C", copy: bool = False) -> SparseArray:
        """Return the matrix where the shape is its own, else raise: diagonals of another shape are none."""
        if tuple(np.ravel(shape)) == self._shape:
            return self.copy() if copy else self
        raise NotImplementedError("reshape: diagonals of another shape are none; write A.to_scipy().reshape(shape)")

    def resize(self: SparseArray, *shape: Any) -> NoReturn:
        """Raise: a matrix keeps its shape."""
        raise NotImplementedError("resize: a matrix keeps its shape; write A[:m, :n], or scipy.sparse.block_array")

    # ---- what SciPy's own functions ask, beside methods that have a documentation ---------------------
    _bsr_container, _coo_container, _csc_container = sp.bsr_array, sp.coo_array, sp.csc_array
    _csr_container, _dia_container = sp.csr_array, sp.dia_array
    _dok_container, _lil_container = sp.dok_array, sp.lil_array

    @property
    def _shape_as_2d(self: SparseArray) -> tuple[int, int]:
        return self._shape

    def _add_sparse(self: SparseArray, other: Any) -> Any:
        return self + other  # which SciPy's diagonals leave to whatever is no `dia`

    def _matmul_sparse(self: SparseArray, other: Any) -> Any:
        return self @ other  # by a diagonal, for a row of SciPy's that is multiplied with each of ours

    def _mul_scalar(self: SparseArray, number: Any) -> SparseArray:
        return self * number  # for a matrix of SciPy's of one element

    def _asfptype(self: SparseArray) -> SparseArray:
        return self  # values are floats

    def _deduped_data(self: SparseArray) -> np.ndarray:
        return self._to_read("the values").data


def _theirs(other: Any, who: str) -> Any:
    """Return an operand as SciPy takes it."""
    return other._to_read(who) if isinstance(other, SparseArray) else other


def _paired(a: SparseArray, other: Any, who: str) -> Any:
    made = getattr(a._to_read(who), who)(_theirs(other, who))
    return a._like(FORMATS[COMMON](made)) if sp.issparse(made) else made


def _compared(a: SparseArray, other: Any, compare: Callable[[Any, Any], Any]) -> Any:
    who = compare.__name__
    if not (sp.issparse(other) or np.ndim(other) == 0):
        a._require_broadcast(np.shape(other), who)
    full = np.ndim(other) == 0 and not sp.issparse(other) and bool(compare(0, other))
    if full and (nbytes := 18 * a._shape[0] * a._shape[1]) > memory.SMALL:
        memory.require_free(nbytes, f"{who}: the result of {a._shape[0]} x {a._shape[1]} elements")
    return compare(a._to_read(who), _theirs(other, who))
