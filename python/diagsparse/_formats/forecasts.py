"""Forecasts of the memory of a matrix in a format and of conversions; generic implementations via csr.

They depend on a matrix only through its `Summary`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .._backends import memory
from .._backends.backend import Backend
from .._backends.types import widened
from .._matrix.convert import convert, widen
from .._matrix.registry import COMMON, FORMATS
from .._matrix.sparse_array import SparseArray
from .._matrix.summary import SYMMETRIES, Summary, diagonal_length
from .._matrix.workspaces import at_most, sorting, table_of_diagonals


class Forecasts:
    """The part of `Format` that computes bytes, and the statistics that they depend on."""

    name: str
    who: str  # its class, in errors
    own_layout: Any

    def nbytes(self, s: Summary, **options: int) -> int:
        """Return the bytes of a matrix in this format with these layout options."""
        raise NotImplementedError

    def result_nbytes(self, s: Summary, **options: int) -> int:
        """Return the bytes of a matrix with these values; `nbytes` is an upper bound of them."""
        return self.nbytes(s, **options)

    def smaller_copy_nbytes(self, s: Summary, **options: int) -> int:
        """Return the bytes of the result if the conversion builds a larger matrix first, and holds both; otherwise 0.

        They depend on the values, so only forecasts and limits of the user count them.
        """
        return 0

    def forecast_of_copy(self, a: SparseArray, s: Summary) -> int:
        """Return the bytes of a copy of this transposed view in its own format and dtype."""
        return self.result_nbytes(s, **self.own_layout(a))

    def forecast_as(self, a: SparseArray, format: Any, s: Summary) -> int:
        """Return the bytes of this matrix in another format; the item size of `s` is that of the widened dtype."""
        return format.result_nbytes(s)

    def count_stored(self, s: Summary) -> int:
        """Return the number of values that the format would store."""
        return s.entries

    def from_csr_workspace(self, s: Summary, backend: Backend, **options: int) -> int:
        """Return the temporary bytes of the conversion from csr."""
        return 0

    def to_csr_workspace(self, a: SparseArray, s: Summary) -> int:
        """Return the temporary bytes of the conversion to csr."""
        # The matrix of a view is converted to csr first, and then transposed or conjugated.
        common = FORMATS[COMMON]
        return common.nbytes(s) + common.from_csr_workspace(s, a._backend) if a._op else 0

    def workspace(self, s: Summary, a: SparseArray, **options: int) -> int:
        """Return the temporary bytes of the conversion from `a`, which has another format, via csr."""
        common = FORMATS[COMMON]
        if self is common:
            return a._format.to_csr_workspace(a, s)
        back = self.from_csr_workspace(s, a._backend, **options)
        if a._format.name == COMMON:  # a conjugate is copied first
            return back + a.nbytes if a._op else back
        return common.nbytes(s) + max(a._format.to_csr_workspace(a, s) - self.nbytes(s, **options), back)

    def peak_from_scipy(self, a: Any, ours: SparseArray, s: Summary) -> int:
        """Return the bytes needed to build this from a SciPy array, not dia; `ours` is that array as csr."""
        converting = self.nbytes(s) + self.workspace(s, ours) + self.smaller_copy_nbytes(s)
        converting += self.unshared_nbytes(a, ours)
        return max(FORMATS[COMMON].peak_from_scipy(a, ours, s), converting)

    def unshared_nbytes(self, a: Any, csr: SparseArray) -> int:
        """Return the bytes of a csr matrix that it does not share with the SciPy array it was built from."""
        shared = a.format == COMMON and np.may_share_memory(csr.values, a.data)
        return csr.nbytes - (csr.values.nbytes if shared else 0)

    def require(
        self, s: Summary, max_bytes: int | None, backend: Backend, a: SparseArray | None = None, held: int = 0,
        temporary: int = 0, **options: int,
    ) -> None:  # fmt: skip
        """Raise if the format cannot hold the matrix, or the matrix does not fit into memory or the limit.

        The temporary bytes of the conversion from `a` count as well; without `a` they are passed as `temporary`. For a
        user's limit, `held` bytes that are in use already also count.
        """
        self.check_shape(s.shape, backend.core)
        if max_bytes is None and self.bound(s, **options) < memory.SMALL:
            return
        temporary = temporary if a is None else self.workspace(s, a, **options)
        temporary += 0 if max_bytes is None else held + self.smaller_copy_nbytes(s, **options)
        nbytes = self.nbytes(s, **options) + temporary
        if not memory.fits(nbytes, max_bytes, backend):
            memory.require(nbytes, max_bytes, *self.what(s), backend, temporary)

    def bound(self, s: Summary, **options: int) -> int:
        """Return an upper bound of the bytes, even if every value had a row or a column of its own."""
        return at_most(s.stored, s.shape)

    def what(self, s: Summary) -> tuple[str, str]:
        """Return a description of a matrix that does not fit, and of an alternative, for errors."""
        return f"{self.who}: {s.entries} entries of a {s.shape[0]} x {s.shape[1]} matrix", ""

    def check_shape(self, shape: tuple[int, int], core: Any) -> None:
        """Raise ValueError for a shape that the format cannot hold."""
        core.check_shape(self.name, *shape)

    def check_forecast(self, a: SparseArray, max_bytes: int | None, held: int = 0) -> None:
        """Raise early if `a` is known to be too large for this format; the conversion checks again."""

    def check_diagonal_fits(self, a: SparseArray, k: int) -> None:
        """Raise MemoryError if a copy of diagonal `k` does not fit."""
        if max(a._shape) * a._dtype.itemsize > memory.SMALL:
            memory.require_free(diagonal_length(a._shape, k) * a._dtype.itemsize, f"diagonal: offset {k}")

    # ---- statistics of a matrix -------------------------------------------------------------------
    def summary(self, a: SparseArray) -> Summary:
        """Return the summary of a matrix in this format."""
        return Summary(
            a.shape, widened(a.dtype).itemsize, a.nnz, entries=lambda: self.entries(a),
            offsets=lambda: self.occupied(a), fill=lambda: self.fill(a), colors=lambda: self.colors(a),
            row_lengths=lambda: self.row_lengths(a),
            leading=lambda **limits: self.leading_entries(a, **limits), blocks=lambda n: self.occupied_blocks(a, n),
            slices=lambda *cut: self.positions_in_slices(a, *cut), symmetry=lambda: self.symmetry_of_values(a),
        )  # fmt: skip

    def entries(self, a: SparseArray) -> int:
        """Return the number of entries that this matrix has in csr."""
        return a.nnz

    def occupied(self, a: SparseArray) -> np.ndarray:
        """Return the offsets of the diagonals that have entries, ascending."""
        return a._core.occupied_diagonals(*self.in_rows(a))

    def fill(self, a: SparseArray) -> np.ndarray:
        """Return the number of entries on each of these diagonals."""
        return a._core.entries_on_diagonals(*self.in_rows(a))

    def colors(self, a: SparseArray) -> np.ndarray:
        """Return the number of different values on each of these diagonals, 0 if there are too many for a table."""
        self.in_rows(a)  # raises if the rows do not fit
        csr = convert(widen(a), COMMON)  # conjugation does not change the number
        return np.array(csr._core.colors_on_diagonals(csr._matrix), np.int64)

    def row_lengths(self, a: SparseArray) -> np.ndarray:
        """Return the distinct row lengths, ascending, and the number of rows of each: shape (k, 2)."""
        return np.array(a._core.row_lengths(*self.in_rows(a)), np.int64).reshape(-1, 2)

    def leading_entries(self, a: SparseArray, **limits: int) -> tuple[int, int]:
        """Return the number of leading entries: the maximum of a row, and the total."""
        return a._core.leading_entries(*self.in_rows(a), limits)

    def occupied_blocks(self, a: SparseArray, size: int) -> int:
        """Return the number of ``size x size`` blocks that have entries."""
        return a._core.occupied_blocks(*self.in_rows(a), size)

    def positions_in_slices(self, a: SparseArray, height: int, sigma: int) -> int:
        """Return the number of positions in slices of `height` rows, sorted in windows of `sigma` rows."""
        m = a._shape[0]
        ordered = 4 * m + sorting(m, 0, a._backend) if sigma > 1 else 0
        return a._core.padded_size_of_slices(*self.in_rows(a, 8 * (m // height + 2) + ordered), height, sigma)

    def in_rows(self, a: SparseArray, temporary: int = 0) -> tuple[Any, int]:
        """Return the native arguments of this view for statistics of entries, which native code computes via csr."""
        nbytes = temporary + table_of_diagonals(a._shape, a.nnz)  # of counts
        if a._format.name != COMMON:
            common, s = FORMATS[COMMON], Summary(a.shape, widened(a.dtype).itemsize, a.nnz)
            nbytes += common.nbytes(s) + self.to_csr_workspace(a, s)
        memory.require_free(nbytes, f"{a.format}_array: its rows, which a forecast reads,", a._backend)
        return widen(a)._matrix, a._op

    def symmetry_of_values(self, a: SparseArray) -> str | None:
        """Return the first symmetry that the values have, None for none."""
        if a._shape[0] != a._shape[1]:
            return None
        csr = convert(a, COMMON)  # conjugation does not change symmetries
        bits = csr._core.symmetries(csr._matrix)
        return next((name for bit, name in SYMMETRIES.items() if bits & bit), None)
