"""The family of `csr`, `csc` and `coo`: sorted entries without duplicates, in the same arrays as in SciPy.

Sums and element-wise products are merges of sorted entries.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from .._backends import memory
from .._backends.backend import CPU, Backend
from .._backends.types import dtype_name
from .._matrix import elementwise
from .._matrix.convert import convert, unpacked
from .._matrix.registry import COMMON, FORMATS
from .._matrix.request import Request
from .._matrix.sparse_array import SparseArray
from .._matrix.summary import Summary
from .._matrix.workspaces import sorting
from .._show import drawing
from . import unions
from .exported_indices import INDEX_LIMIT
from .format import Format
from .from_entries import FromEntries
from .indexed_array import sort

_MAX_GROWTH = 16  # limit for the bytes of a matrix by diagonals, relative to those of its entries

_RESULTS = {"not_equal": "comparison", "less": "comparison"}  # in messages; sums, products and extremes are called so


class Entries(FromEntries):
    """The family of csr, csc and coo."""

    family = "entries"
    scaled_by = staticmethod(elementwise.scaled_by)
    united = unions.of_values

    # ---- conversions and their memory -------------------------------------------------------------
    def for_entries(self) -> Format:
        return self

    def from_csr(self, csr: SparseArray, max_bytes: int | None, held: int = 0, **options: int) -> SparseArray:
        return csr if self.name == COMMON else self.from_family(csr, max_bytes, held)

    def to_csr(self, a: SparseArray, max_bytes: int | None = None, held: int = 0) -> SparseArray:
        common = FORMATS[COMMON]
        return a if a._format.name == COMMON else common.from_family(a, max_bytes, held)

    def from_family(self, a: SparseArray, max_bytes: int | None, held: int = 0) -> SparseArray:
        self.check_forecast(a, max_bytes, held)
        return SparseArray._wrap(a._core.convert(a._matrix, a._op, self.name))

    def from_csr_workspace(self, s: Summary, backend: Backend, **options: int) -> int:
        return sorting(s.entries, s.itemsize, backend) + 8 * (sum(s.shape) + 1)

    def to_csr_workspace(self, a: SparseArray, s: Summary) -> int:
        return 0 if a._format.name == COMMON else self.from_csr_workspace(s, a._backend)

    def workspace(self, s: Summary, a: SparseArray, **options: int) -> int:
        if a._format.family == self.family:
            return self.from_csr_workspace(s, a._backend)
        return super().workspace(s, a, **options)

    def require(
        self, s: Summary, max_bytes: int | None, backend: Backend, a: SparseArray | None = None, held: int = 0,
        temporary: int = 0, **options: int,
    ) -> None:  # fmt: skip
        try:  # entries are counted only if their upper bound does not fit
            super().require(s.at_most(), max_bytes, backend, a, held, temporary)
        except MemoryError:
            super().require(s, max_bytes, backend, a, held, temporary)

    def check_forecast(self, a: SparseArray, max_bytes: int | None, held: int = 0) -> None:
        # An upper bound for all three formats, without a summary: 16 bytes per value and 8 for its indices, 8 per line.
        if max_bytes is not None or 24 * a.nnz + 8 * sum(a._shape) > memory.SMALL:
            self.require(a._summary(), max_bytes, a._backend, a, held)

    # ---- SciPy and dense arrays -------------------------------------------------------------------
    def scipy_view(self, a: SparseArray, format: str | None = None) -> Any:
        """Return this view as a SciPy array for reading, on the CPU; values are not copied in the same format."""
        parts = a._matrix.parts()
        if "indptr" in parts and a.nnz <= INDEX_LIMIT:  # SciPy requires a common dtype, and would widen indices
            parts["indptr"] = _short_indptr(a, parts["indptr"])
        result = self.scipy_class(self.scipy_arguments(parts), shape=(a._matrix.rows, a._matrix.cols), copy=False)
        result.has_canonical_format = True
        if a._op & 1:
            result = result.T.asformat(a.format)
        result = result.conj() if a._op & 2 else result
        return result.asformat(format) if format else result

    def sort_in_place(self, a: SparseArray) -> None:
        sort(a, sum_duplicates=True)

    def materialized(self, a: SparseArray) -> SparseArray:
        return a._wrap(a._core.convert(a._matrix, a._op, a._format.name))

    def write_dense(self, a: SparseArray, dense: np.ndarray, alpha: int, add: bool) -> None:
        a._core.add_to_dense(alpha, a._matrix, a._op, dense, add)

    # ---- arithmetic -------------------------------------------------------------------------------
    def combined(
        self, a: SparseArray, b: SparseArray, alpha: complex = 1, beta: complex = 1, how: str = "sum",
        zeros: bool = False,
    ) -> SparseArray:  # fmt: skip
        if b._format.family != self.family:
            b = convert(unpacked(b), COMMON)
        dtype = a._dtype if a._dtype is b._dtype else np.result_type(a._dtype, b._dtype)
        return self._merged([(a, alpha), (b, beta)], how, zeros, dtype)

    def without_zeros(self, a: SparseArray) -> SparseArray:
        """Return `a` without explicit zeros; itself if there are none."""
        if not a._op and a.count_nonzero() == a._matrix.stored:
            return a
        return self._merged([(a, 1)], "sum", False, a._dtype)

    def _merged(self, terms: list[tuple[SparseArray, complex]], how: str, zeros: bool, dtype: np.dtype) -> SparseArray:
        """Return one or two ``(matrix, factor)`` terms of the family merged, in this format."""
        a = terms[0][0]
        entries = sum(term.nnz for term, _ in terms)
        if 72 * entries + 16 * sum(a._shape) > memory.SMALL:  # an upper bound of all that is allocated
            nbytes = self.nbytes(Summary(a._shape, dtype.itemsize, entries))
            temporary = max(nbytes, sorting(entries, dtype.itemsize, a._backend))  # room for all entries of both
            what = f"{self.who}: the {_RESULTS.get(how, how)} of matrices with {entries} entries"
            memory.require_free(nbytes + temporary, what, a._backend, temporary=temporary)
        raw = [(term._matrix, term._op, factor) for term, factor in terms]
        return a._wrap(a._core.combine(self.name, raw, how, zeros, dtype_name(dtype)))

    def total(self, a: SparseArray, dtype: np.dtype) -> Any:
        if a._backend is not CPU:
            return super().total(a, dtype)
        total = a._matrix.values.sum(dtype=dtype)
        return total.conj() if a._op & 2 else total

    def triangle(self, a: SparseArray, which: str, who: str) -> SparseArray:
        if a._backend is CPU:
            result = (sp.tril if which == "lower" else sp.triu)(self.scipy_view(a))
            return self.from_scipy(result.asformat(self.name), None, False)
        diagonals = self.for_diagonals()  # on a GPU, triangles are computed by diagonals
        s = a._summary()
        nbytes = diagonals.nbytes(s)
        if nbytes > max(_MAX_GROWTH * a.nbytes, memory.SMALL):
            raise NotImplementedError(
                f"{who}: one triangle of a {a.format} product on {a.device} is computed by its {len(s.offsets)} "
                f'diagonals, which need {memory.human(nbytes)}; use triangle=None, or A.to("cpu")'
            )
        return convert(diagonals.triangle(convert(a, diagonals.name), which, who), a.format)

    # ---- products ---------------------------------------------------------------------------------
    def as_factor(self, a: SparseArray, planned: SparseArray, packed: bool) -> SparseArray:
        a = convert(a, COMMON)
        return a.copy() if a._op else a

    def planned(self, a: SparseArray, b: SparseArray, request: Request) -> tuple[Any, SparseArray, SparseArray]:
        same, csr = a is b, FORMATS[COMMON]
        if a._format is not csr or a._op:
            a = self.as_factor(a, a, False)
        if same:  # a square is converted once
            b = a
        elif b._format is not csr or b._op:
            b = self.as_factor(b, b, False)
        plan = a._core.plan_matmul(
            a._matrix, 0, b._matrix, 0, self.name, request.kernel, repeated=request.repeated, passed=request.on_stage
        )
        return plan, a, b

    # ---- representations --------------------------------------------------------------------------
    def draw(self, a: SparseArray, width: float, height: float) -> tuple[str, str]:
        return drawing.density(a, width, height)

    def draw_layout(self, a: SparseArray, small: bool) -> tuple[str, str]:
        return drawing.entry_parts(a, small)


def _short_indptr(a: SparseArray, indptr: np.ndarray) -> np.ndarray:
    """Return pointers as int32, like the indices; they are cached as long as the structure does not change."""
    if (cached := a.__dict__.get("_short")) is None or not np.may_share_memory(cached[0], indptr):
        cached = indptr, indptr.astype(np.int32)
        cached[1].flags.writeable = False
        a.__dict__["_short"] = cached
    return cached[1]
