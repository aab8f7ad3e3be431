"""What `csr`, `csc` and `coo` share: SciPy's own arrays underneath, canonical, without a copy of the values.

Products run on this library's kernels. On the CPU, element-wise work is SciPy's, on the same memory; on a GPU it is
done by `merge`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from .._arrays import owners
from .._matrix import devices
from .._matrix.base import SparseArray
from .._matrix.elementwise import combined
from .._matrix.family import convert
from .._matrix.gate import private
from .._matrix.registry import COMMON
from .._matrix.summary import Summary
from .._places import memory
from .._places.backend import CPU, Place
from .._places.types import value_dtype
from .._show import drawing
from . import merge
from .format import Format

_INDEX_LIMIT = 2**31 - 1
_SANE = 16  # how much larger than its entries a matrix may become on the way through diagonals


class IndexedArray(Format):
    """A matrix stored entry by entry. Canonical: sorted, no duplicates (other input is copied and brought to it)."""

    _scipy: type  # the SciPy class of the same format; `_structure` names index arrays in the order of the C++ header
    _family = "entries"

    # ---- making -----------------------------------------------------------------------------------
    @classmethod
    def _from_scipy(
        cls, a: Any, dtype: Any, copy: bool, max_bytes: int | None = None, target: Place = CPU
    ) -> SparseArray:
        """Build from a SciPy sparse array of any format, sharing its values where they are canonical.

        Its index arrays are copied: who writes to them could lead a kernel out of bounds.
        """
        who = f"{cls.format}_array"
        kept = value_dtype(a.dtype, dtype, who)
        if a.format == cls.format and (made := cls._as_it_is(a, kept, copy)) is not None:
            return made
        a, in_order = private(a, who)
        CPU.core.check_shape(cls.format, *a.shape)
        if a.format != cls.format:
            cls._require(Summary(a.shape, kept.itemsize, a.nnz), max_bytes, CPU)
        made = a if in_order and a.format == cls.format else cls._canonical(a)
        values = np.require(made.data, kept, ["C", "A"])
        if copy and np.may_share_memory(values, a.data):
            values = values.copy()
        structure = [(name, cls._index(made, name)) for name in cls._structure]
        return cls._wrap(CPU.core.indexed_matrix(cls.format, *a.shape, values, structure))

    @classmethod
    def _as_it_is(cls, a: Any, dtype: np.dtype, copy: bool) -> SparseArray | None:
        """Return a SciPy array of this format with its entries where they are, None where the gate does not pass them.

        Nearly all of them pass, and are read once; the others are looked at one by one.
        """
        pointers, indices = ([], a.coords) if cls.format == "coo" else ([a.indptr], [a.indices])
        arrays = (a.data, *pointers, *indices)
        if len(a.shape) != 2 or not all(isinstance(x, np.ndarray) and x.ndim == 1 for x in arrays):
            return None
        if any(x.dtype != np.int32 for x in indices) or any(x.dtype not in (np.int32, np.int64) for x in pointers):
            return None  # wider ones are looked at before they are cut
        if any(len(x) != len(a.data) for x in indices):
            return None
        values = np.array(a.data, dtype) if copy else np.require(a.data, dtype, ["C", "A"])
        structure = [(name, cls._index(a, name, True)) for name in cls._structure]
        try:
            return cls._wrap(CPU.core.indexed_matrix(cls.format, *a.shape, values, structure))
        except ValueError:
            return None

    @classmethod
    def _canonical(cls, a: Any) -> Any:
        """Return the entries of a private SciPy object in this format, sorted, with duplicates summed."""
        made = cls._scipy(a, copy=True) if a.format == cls.format else cls._scipy(a)
        made.sum_duplicates()
        return made

    @classmethod
    def _index(cls, a: Any, name: str, copy: bool = False) -> np.ndarray:
        wanted = np.int64 if name == "indptr" else np.int32
        given = getattr(a, name)
        return np.array(given, wanted) if copy else np.require(given, wanted, ["C", "A"])

    @classmethod
    def _tuple(cls, parts: dict[str, np.ndarray]) -> tuple[Any, ...]:
        return parts["values"], parts["indices"], parts["indptr"]

    @classmethod
    def _from_tuple(cls, arg: tuple[Any, ...], shape: tuple[int, int] | None, dtype: Any, copy: bool) -> SparseArray:
        cls._check_tuple(arg)
        try:
            made = cls._scipy(arg, shape=shape)
        except (ValueError, TypeError, IndexError) as error:
            raise ValueError(f"{cls.format}_array: {error}") from None
        return cls._from_scipy(made, dtype, copy)

    @classmethod
    def _check_tuple(cls, arg: tuple[Any, ...]) -> None:
        """Raise for parts that SciPy would take as something else, or truncate."""
        indices = arg[1:] if len(arg) == 3 else arg[1] if len(arg) == 2 else ()
        if len(indices) != 2:
            raise ValueError(f"{cls.format}_array: got {len(arg)} parts, expected (values, ...) as in SciPy")
        for array in map(np.asarray, indices):
            if array.dtype.kind not in "iu" and array.size:
                raise TypeError(f"{cls.format}_array: indices are of type {array.dtype}, expected integers")

    @classmethod
    def _empty(cls, shape: tuple[int, int], dtype: np.dtype, place: Place = CPU) -> SparseArray:
        return cls._from_scipy(cls._scipy(shape, dtype=dtype), None, False).to(place.name)

    @classmethod
    def _from_device_tuple(cls, arg: tuple[Any, ...], shape: tuple[int, int] | None, dtype: Any) -> SparseArray:
        """Build where some parts lie on a GPU: entries in any order, sorted and summed there."""
        who, place = f"{cls.format}_array", devices.home(arg)
        indices = arg[1:] if len(arg) == 3 and cls._structure[1] == "indptr" else arg[1] if len(arg) == 2 else ()
        if not isinstance(indices, tuple) or len(indices) != 2:
            raise ValueError(f"{who}: got {len(arg)} parts, expected (values, ...) as in SciPy")
        layout = "coo" if len(arg) == 2 else cls.format
        for index in map(owners.dtype_of, indices):
            if index.kind not in "iu":
                raise TypeError(f"{who}: indices are of type {index}, expected integers")
        wide = np.dtype(np.int64)
        first, second = (
            owners.bring(i, d if (d := owners.dtype_of(i)) == np.int32 else wide, place, who, "a part") for i in indices
        )
        kept = value_dtype(owners.dtype_of(arg[0]), dtype, who)
        values = owners.bring(arg[0], kept, place, who, "a part")
        shape = _shape_of(first, second, layout) if shape is None else shape
        return devices.entries(cls.format, shape, values, first, second, layout, place)

    # ---- from and to other formats, and what that takes -------------------------------------------
    @classmethod
    def _for_entries(cls) -> type[SparseArray]:
        return cls

    @classmethod
    def _from_csr(cls, csr: SparseArray, max_bytes: int | None, **options: int) -> SparseArray:
        return csr if cls.format == COMMON else cls._within(csr, max_bytes)

    def _to_csr(self) -> SparseArray:
        return convert(self, COMMON)

    @classmethod
    def _within(cls, a: SparseArray, max_bytes: int | None) -> SparseArray:
        return cls._wrap(a._core.convert(a._matrix, a._op, cls._format))

    @classmethod
    def _require(cls, s: Summary, max_bytes: int | None, place: Place, **options: int) -> None:
        if memory.fits(cls._forecast(s.at_most()), max_bytes, place):
            return
        what = f"{cls.format}_array: {s.entries} entries of a {s.shape[0]} x {s.shape[1]} matrix"
        memory.require(cls._forecast(s), max_bytes, what, place=place)  # counted only where it matters

    @classmethod
    def _foresee(cls, a: SparseArray, max_bytes: int | None) -> None:
        # The most that any of them takes is found without a summary: 16 bytes a value, 8 of indices, 8 a line.
        if max_bytes is not None or 24 * a.nnz + 8 * sum(a._shape) > memory.SMALL:
            cls._require(a._summary(), max_bytes, a._place)

    def _occupied(self) -> np.ndarray:
        csr = self._to_csr()
        csr = csr.copy() if csr._op else csr
        return np.array(csr._core.occupied_diagonals(csr._matrix), dtype=np.int64)

    # ---- SciPy's view of the same memory ------------------------------------------------------------
    def _as_scipy(self) -> Any:
        """Return this view as a SciPy array over the same memory, index arrays included; on the CPU."""
        parts = self._matrix.parts()
        if "indptr" in parts and self.nnz <= _INDEX_LIMIT:  # SciPy wants one type for both, and would widen indices
            parts["indptr"] = parts["indptr"].astype(np.int32)
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

    # ---- attributes and conversions -----------------------------------------------------------------
    def _anew(self) -> SparseArray:
        return self._from_scipy(self._as_scipy(), None, True) if self._place is CPU else merge.copied(self)

    def toarray(self, order: str | None = None, out: np.ndarray | None = None) -> np.ndarray:
        """Return a dense NumPy array, shape (m, n); `out` is overwritten where given."""
        dense = self._dense_output(order, out)
        here = self if self._place is CPU else self.to("cpu")
        if dense.flags.c_contiguous or dense.flags.f_contiguous:
            here._as_scipy().toarray(out=dense)
        else:
            entries = here._as_scipy().tocoo()
            dense[entries.coords] = entries.data
        return dense

    def diagonal(self, k: int = 0) -> np.ndarray:
        """Return a copy of diagonal `k` (0: the main one) in NumPy, of its true length."""
        if not -self.shape[0] < k < self.shape[1]:
            return np.zeros(0, self.dtype)
        if self._place is not CPU:
            return self._core.diagonal(self._matrix, self._op, k).get()
        return self._as_scipy().diagonal(k)

    def eliminate_zeros(self) -> None:
        """Drop the stored zeros, in place."""
        if self._place is not CPU:
            self._matrix, self._op = merge.without_zeros(self)._matrix, 0
            return
        made = self._as_scipy().copy()
        made.eliminate_zeros()
        self._matrix, self._op = self._on_scipy(made)._matrix, 0

    # ---- arithmetic -------------------------------------------------------------------------------
    def _added(self, other: SparseArray, alpha: Any, beta: Any) -> SparseArray:
        if self._place is not CPU:
            return merge.added(self, other, alpha, beta)
        return self._on_scipy(combined(self._lent(COMMON), other._lent(COMMON), alpha, beta))

    def _multiplied(self, other: SparseArray) -> SparseArray:
        if self._place is not CPU:
            return merge.multiplied(self, other)
        return self._on_scipy(self._lent().multiply(other._lent()).tocsr())

    def _scaled_by(self, dense: Any) -> SparseArray:
        if self._place is CPU:
            return self._on_scipy(self._lent().multiply(np.broadcast_to(dense, self.shape)).tocsr())
        a = merge.copied(self) if self._op else self
        dtype = np.result_type(a.dtype, owners.dtype_of(dense))
        values = a._core.empty(a._matrix.values.shape, dtype.name, a._place.index, "C")
        return devices.scaled(a, dense, a._wrap(a._matrix.with_values(values)))

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

    def _accumulate(self, made: SparseArray, beta: Any) -> None:
        self.values.assign(merge.added(made, self, 1, beta).values)

    # ---- products ---------------------------------------------------------------------------------
    @classmethod
    def _as_factor(cls, a: SparseArray, planned: SparseArray, packed: bool) -> SparseArray:
        a = convert(a, COMMON)
        return a.copy() if a._op else a

    @classmethod
    def _planned(
        cls, a: SparseArray, b: SparseArray, kernel: str, max_bytes: int | None, triangle: int, extra: Any
    ) -> tuple[Any, SparseArray, SparseArray]:
        if a._format != COMMON or a._op:
            a = cls._as_factor(a, a, False)
        if b._format != COMMON or b._op:
            b = cls._as_factor(b, b, False)
        return a._core.plan_matmul(a._matrix, 0, b._matrix, 0, cls._format, kernel), a, b

    # ---- what is shown ----------------------------------------------------------------------------
    def _drawn(self, width: float, height: float) -> tuple[str, str]:
        return drawing.density(self, width, height)

    def _drawn_layout(self, small: bool) -> tuple[str, str]:
        return drawing.entry_parts(self, small)


def _shape_of(first: Any, second: Any, layout: str) -> tuple[int, int]:
    """Return the smallest shape that holds entries on a GPU, as in SciPy."""
    largest = [int(index.get().max(initial=-1)) + 1 for index in (first, second)]
    if layout == "coo":
        return largest[0], largest[1]
    lines = second.shape[0] - 1
    return (lines, largest[0]) if layout == COMMON else (largest[0], lines)


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
