"""What `csr`, `csc` and `coo` share: SciPy's own arrays underneath, canonical, without a copy of the values.

Products run on this library's kernels, sums and element-wise products are merges of sorted entries.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from .._matrix import devices, elementwise
from .._matrix.base import CONJUGATED, SparseArray
from .._matrix.convert import convert
from .._matrix.forecasts import sorting
from .._matrix.gate import integers
from .._matrix.registry import COMMON, FORMATS
from .._matrix.request import Request
from .._matrix.summary import Summary
from .._places import memory
from .._places.arguments import integer
from .._places.backend import CPU, Place
from .._show import drawing
from . import merge
from .exported_indices import INDEX_LIMIT, index_array
from .made_of_entries import MadeOfEntries

_SANE = 16  # how much larger than its entries a matrix may become on the way through diagonals


class IndexedArray(MadeOfEntries):
    """A matrix stored entry by entry."""

    _family = "entries"

    # ---- from and to other formats, and what that takes -------------------------------------------
    @classmethod
    def _for_entries(cls) -> type[SparseArray]:
        return cls

    @classmethod
    def _from_csr(cls, csr: SparseArray, max_bytes: int | None, held: int = 0, **options: int) -> SparseArray:
        return csr if cls.format == COMMON else cls._within(csr, max_bytes, held)

    def _to_csr(self, max_bytes: int | None = None, held: int = 0) -> SparseArray:
        common = FORMATS[COMMON]
        return self if self._format == COMMON else common._within(self, max_bytes, held)

    @classmethod
    def _within(cls, a: SparseArray, max_bytes: int | None, held: int = 0) -> SparseArray:
        cls._foresee(a, max_bytes, held)
        return cls._wrap(a._core.convert(a._matrix, a._op, cls._format))

    @classmethod
    def _from_csr_beside(cls, s: Summary, place: Place, **options: int) -> int:
        return sorting(s.entries, s.itemsize, place) + 8 * (sum(s.shape) + 1)

    def _to_csr_beside(self, s: Summary) -> int:
        return 0 if self._format == COMMON else self._from_csr_beside(s, self._place)

    @classmethod
    def _beside(cls, s: Summary, a: SparseArray, **options: int) -> int:
        if a._family == cls._family:
            return cls._from_csr_beside(s, a._place)
        return super()._beside(s, a, **options)

    @classmethod
    def _require(
        cls, s: Summary, max_bytes: int | None, place: Place, a: SparseArray | None = None, held: int = 0,
        beside: int = 0, **options: int,
    ) -> None:  # fmt: skip
        try:  # entries are counted only where it matters
            super()._require(s.at_most(), max_bytes, place, a, held, beside)
        except MemoryError:
            super()._require(s, max_bytes, place, a, held, beside)

    @classmethod
    def _foresee(cls, a: SparseArray, max_bytes: int | None, held: int = 0) -> None:
        # The most that any of them takes is found without a summary: 16 bytes a value, 8 of indices, 8 a line.
        if max_bytes is not None or 24 * a.nnz + 8 * sum(a._shape) > memory.SMALL:
            cls._require(a._summary(), max_bytes, a._place, a, held)

    # ---- SciPy's view of the same memory ------------------------------------------------------------
    def _as_scipy(self) -> Any:
        """Return this view as a SciPy array over the same memory, index arrays included; on the CPU."""
        parts = self._matrix.parts()
        if "indptr" in parts and self.nnz <= INDEX_LIMIT:  # SciPy wants one type for both, and would widen indices
            parts["indptr"] = self._short_indptr(parts["indptr"])
        made = self._scipy(self._tuple(parts), shape=(self._matrix.rows, self._matrix.cols), copy=False)
        made.has_canonical_format = True
        if self._op & 1:
            made = made.T.asformat(self.format)
        return made.conj() if self._op & 2 else made

    def _lent(self, format: str | None = None) -> Any:
        """Return this view as a SciPy array to read from, over the same memory where it has the format."""
        made = self._as_scipy()
        return made.asformat(format) if format else made

    def to_scipy(self, format: str | None = None) -> Any:
        """Return the SciPy array of this format over the same values, or of the one that `format` names.

        Its index arrays are its own. From a GPU the values are copied. What SciPy moves about in place
        (``eliminate_zeros``, ``sort_indices``) moves the shared values: ``.copy()`` first.
        """
        if self._place is not CPU:
            return self.to("cpu").to_scipy(format)
        return _with_own_indices(self._lent(format))

    @property
    def T(self) -> SparseArray:
        """The transpose, on the same memory: csr and csc change roles."""
        return self._wrap(self._matrix.dual(), self._op)

    mT = T

    def _on_scipy(self, made: Any) -> SparseArray:
        """Wrap the result of SciPy's work in this format."""
        return type(self)._from_scipy(made.asformat(self.format), None, False)

    def copy(self) -> SparseArray:
        """Return an independent matrix; entries whose index arrays were written out of order stay so, as in SciPy."""
        exporter = None if self._op or self._place is not CPU else self._matrix.exporter
        made = None if exporter is None else exporter.copied(self._format)
        return super().copy() if made is None else self._wrap(made)

    def _short_indptr(self, indptr: np.ndarray) -> np.ndarray:
        """Return pointers in the type of the indices; made once, as long as the structure is the same."""
        if (cached := self.__dict__.get("_short")) is None or not np.may_share_memory(cached[0], indptr):
            cached = indptr, indptr.astype(np.int32)
            cached[1].flags.writeable = False
            self.__dict__["_short"] = cached
        return cached[1]

    # ---- SciPy's names of the same, in its order: users may write to what these return ----------------
    def _index_part(self, name: str) -> Any:
        """Return an index array of the matrix that this is a view of."""
        return index_array(self._matrix, name) if self._place is CPU else self._matrix.parts()[name]

    def _set_index_part(self, name: str, new: Any) -> None:
        """Have other numbers in an index array; who holds the one that there was keeps it as it is, as in SciPy."""
        self._require_host(name)
        if self._matrix.sealed:
            raise ValueError(f"{name}: {self!r} is part of another matrix, whose structure does not change; .copy() it")
        given = integers(new, name, f"{self.format}_array")
        array = self._index_part(name)  # as long as it is held there is an exporter
        kept = given.astype(array.dtype, copy=False)
        if not np.array_equal(kept, given):
            raise ValueError(
                f"{self.format}_array: {name} holds {given.min()} to {given.max()}, which does not fit {kept.dtype}"
            )
        self._matrix.exporter.replace(name, kept)

    @property
    def data(self) -> np.ndarray:
        """The stored values as SciPy names them: those of `values`, and of a conjugate a read-only copy. On the CPU."""
        if self._place is not CPU:
            raise TypeError(f'data: {self!r}: SciPy works on the cpu; write A.to("cpu"), or A.values')
        values = self._matrix.stored_values
        if self._op & CONJUGATED:
            values = values.conj()
            values.flags.writeable = False
        return values

    @data.setter
    def data(self, new: Any) -> None:
        self._require_plain("data")
        self._write(new, "data")

    def _is_canonical(self) -> bool:
        """Whether entries are sorted, each place once: always, unless index arrays were written to."""
        return self._place is not CPU or (exporter := self._matrix.exporter) is None or exporter.in_order()

    def _refuse_canonical(self, value: bool) -> None:
        """Raise where `value` says that entries are sorted, each place once, and they are not."""
        if value and not self._is_canonical():
            raise ValueError(
                f"{self.format}_array: has_canonical_format = {value!r}, but entries are out of order or repeat; "
                "sum_duplicates() sorts and sums them"
            )

    def sum_duplicates(self) -> None:
        """Sort entries whose index arrays were written out of order, and sum those of one place.

        The matrix and its views get new arrays then. Values that it had in common with others, such as the SciPy matrix
        that it was created from, are not moved.
        """
        self._sort(sum_duplicates=True)

    def _sort(self, sum_duplicates: bool) -> None:
        if self._place is CPU and (exporter := self._matrix.exporter) is not None:
            exporter.sort(sum_duplicates)

    _sort_in_place = sum_duplicates

    def check_format(self, full_check: bool = True) -> None:
        """Raise ValueError where index arrays were written to and describe no matrix."""
        self._is_canonical()

    # ---- attributes and conversions -----------------------------------------------------------------
    def _anew(self) -> SparseArray:
        return self._wrap(self._core.convert(self._matrix, self._op, self._format))

    def _onto(self, dense: np.ndarray, alpha: int, add: bool) -> None:
        self._core.add_to_dense(alpha, self._matrix, self._op, dense, add)

    def diagonal(self, k: int = 0) -> np.ndarray:
        """Return a copy of diagonal `k` (0: the main one) in NumPy, of its true length."""
        if type(k) is not int:
            k = integer(k, "diagonal: k")
        if not -self._shape[0] < k < self._shape[1]:
            return np.zeros(0, self.dtype)
        self._foresee_diagonal(k)
        return self._place.host(self._core.diagonal(self._matrix, self._op, k))

    def eliminate_zeros(self) -> None:
        """Drop the stored zeros, in place."""
        self._matrix, self._op = merge.without_zeros(self)._matrix, 0

    # ---- arithmetic -------------------------------------------------------------------------------
    def _added(self, other: SparseArray, alpha: Any, beta: Any) -> SparseArray:
        return merge.added(self, other, alpha, beta)

    def _united(self, other: SparseArray) -> SparseArray:
        return merge.united(self, other)

    def _multiplied(self, other: SparseArray) -> SparseArray:
        return merge.multiplied(self, other)

    def _scaled_by(self, dense: Any) -> SparseArray:
        return devices.scaled(self, dense)

    def _divided_by(self, dense: Any) -> SparseArray:
        return elementwise.divided(self, dense)

    def _total(self, dtype: np.dtype) -> Any:
        if self._place is not CPU:
            return super()._total(dtype)
        total = self._matrix.values.sum(dtype=dtype)
        return total.conj() if self._op & 2 else total

    def _triangle(self, which: str, who: str) -> SparseArray:
        if self._place is CPU:
            return self._on_scipy((sp.tril if which == "lower" else sp.triu)(self._lent()))
        diagonals = self._for_diagonals()  # on a GPU the way leads through them
        s = self._summary()
        nbytes = diagonals._forecast(s)
        if nbytes > max(_SANE * self.nbytes, memory.SMALL):
            raise NotImplementedError(
                f"{who}: one triangle of a {self.format} product on {self.device} goes through its {len(s.offsets)} "
                f'diagonals, which take {memory.human(nbytes)}; use triangle=None, or A.to("cpu")'
            )
        return convert(convert(self, diagonals.format)._triangle(which, who), self.format)

    # ---- products ---------------------------------------------------------------------------------
    @classmethod
    def _as_factor(cls, a: SparseArray, planned: SparseArray, packed: bool) -> SparseArray:
        a = convert(a, COMMON)
        return a.copy() if a._op else a

    @classmethod
    def _planned(cls, a: SparseArray, b: SparseArray, request: Request) -> tuple[Any, SparseArray, SparseArray]:
        same = a is b  # a square, converted once
        if a._format != COMMON or a._op:
            a = cls._as_factor(a, a, False)
        if same:
            b = a
        elif b._format != COMMON or b._op:
            b = cls._as_factor(b, b, False)
        plan = a._core.plan_matmul(
            a._matrix, 0, b._matrix, 0, cls._format, request.kernel, repeated=request.repeated, passed=request.passed
        )
        return plan, a, b

    # ---- what is shown ----------------------------------------------------------------------------
    def _drawn(self, width: float, height: float) -> tuple[str, str]:
        return drawing.density(self, width, height)

    def _drawn_layout(self, small: bool) -> tuple[str, str]:
        return drawing.entry_parts(self, small)


def _with_own_indices(a: Any) -> Any:
    """Return a SciPy array whose index arrays nobody else reads."""
    if a.format == "coo":
        a.coords = tuple(index if index.flags.writeable else index.copy() for index in a.coords)
        return a
    for name in ("indices", "indptr"):
        index = getattr(a, name, None)
        if index is not None and not index.flags.writeable:
            setattr(a, name, index.copy())
    return a
