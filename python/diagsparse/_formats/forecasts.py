"""What a matrix needs in a format, and the temporary memory of a conversion: the answers of one that only converts.

All that is asked of a matrix for it is in its `Summary`.
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
    """The part of `Format` that counts bytes, and what it counts them by."""

    name: str
    who: str  # its class, in errors
    own_layout: Any

    def nbytes(self, s: Summary, **options: int) -> int:
        """Return the bytes of a matrix in this format, with these options of its layout."""
        raise NotImplementedError

    def forecast_of_copy(self, a: SparseArray, s: Summary) -> int:
        """Return the bytes of this transposed view laid out anew, in its own format; `s` has its own type."""
        return self.nbytes(s, **self.own_layout(a))

    def forecast_as(self, a: SparseArray, format: Any, s: Summary) -> int:
        """Return the bytes of this matrix converted to another format; `s` has the type that arithmetic is done in."""
        return format.nbytes(s)

    def count_stored(self, s: Summary) -> int:
        """Return how many values it would store."""
        return s.entries

    def from_csr_workspace(self, s: Summary, backend: Backend, **options: int) -> int:
        """Return the bytes that are needed beside the result while it is made of a csr matrix."""
        return 0

    def to_csr_workspace(self, a: SparseArray, s: Summary) -> int:
        """Return the bytes that are needed beside the result while a csr matrix is made of this one."""
        # The rows of a view are made first as they lie, and then turned or conjugated.
        common = FORMATS[COMMON]
        return common.nbytes(s) + common.from_csr_workspace(s, a._backend) if a._op else 0

    def workspace(self, s: Summary, a: SparseArray, **options: int) -> int:
        """Return the bytes that are needed beside the result while `a`, of another format, becomes it: through csr."""
        common = FORMATS[COMMON]
        if self is common:
            return a._format.to_csr_workspace(a, s)
        back = self.from_csr_workspace(s, a._backend, **options)
        if a._format.name == COMMON:  # of whose conjugate a copy is made
            return back + a.nbytes if a._op else back
        return common.nbytes(s) + max(a._format.to_csr_workspace(a, s) - self.nbytes(s, **options), back)

    def peak_from_scipy(self, a: Any, ours: SparseArray, s: Summary) -> int:
        """Return the bytes that are needed to make this of a SciPy array of any format but dia, as csr `ours`."""
        there = self.nbytes(s) + self.workspace(s, ours) + self.unshared_nbytes(a, ours)
        return max(FORMATS[COMMON].peak_from_scipy(a, ours, s), there)

    def unshared_nbytes(self, a: Any, csr: SparseArray) -> int:
        """Return the bytes that a csr matrix takes beside the SciPy array that it was made of."""
        shared = a.format == COMMON and np.may_share_memory(csr.values, a.data)
        return csr.nbytes - (csr.values.nbytes if shared else 0)

    def require(
        self, s: Summary, max_bytes: int | None, backend: Backend, a: SparseArray | None = None, held: int = 0,
        temporary: int = 0, **options: int,
    ) -> None:  # fmt: skip
        """Raise where the format cannot hold the matrix, or its bytes exceed the limit.

        What is needed beside it while it is made of `a` counts, and in a limit of the user's what is `held` already;
        of other origins `beside` is told.
        """
        self.check_shape(s.shape, backend.core)
        if max_bytes is None and self.bound(s, **options) < memory.SMALL:
            return
        temporary = temporary if a is None else self.workspace(s, a, **options)
        temporary += 0 if max_bytes is None else held
        nbytes = self.nbytes(s, **options) + temporary
        if not memory.fits(nbytes, max_bytes, backend):
            memory.require(nbytes, max_bytes, *self.what(s), backend, temporary)

    def bound(self, s: Summary, **options: int) -> int:
        """Return bytes that are enough in any case, even if every value took a row or a column to itself."""
        return at_most(s.stored, s.shape)

    def what(self, s: Summary) -> tuple[str, str]:
        """Return what is said of a matrix that does not fit, and what would fit in its place."""
        return f"{self.who}: {s.entries} entries of a {s.shape[0]} x {s.shape[1]} matrix", ""

    def check_shape(self, shape: tuple[int, int], core: Any) -> None:
        """Raise ValueError for a shape that the format cannot hold."""
        core.check_shape(self.name, *shape)

    def check_forecast(self, a: SparseArray, max_bytes: int | None, held: int = 0) -> None:
        """Raise, before anything is done, where `a` is known to be too large in this format; its maker looks again."""

    def check_diagonal_fits(self, a: SparseArray, k: int) -> None:
        """Raise where a copy of diagonal `k` does not fit."""
        if max(a._shape) * a._dtype.itemsize > memory.SMALL:
            memory.require_free(diagonal_length(a._shape, k) * a._dtype.itemsize, f"diagonal: offset {k}")

    # ---- what forecasts ask of a matrix -------------------------------------------------------------
    def summary(self, a: SparseArray) -> Summary:
        """Return what forecasts ask of a matrix in this format."""
        return Summary(
            a.shape, widened(a.dtype).itemsize, a.nnz, entries=lambda: self.entries(a),
            offsets=lambda: self.occupied(a), fill=lambda: self.fill(a), row_lengths=lambda: self.row_lengths(a),
            leading=lambda **limits: self.leading_entries(a, **limits), blocks=lambda n: self.occupied_blocks(a, n),
            slices=lambda *cut: self.positions_in_slices(a, *cut), symmetry=lambda: self.symmetry_of_values(a),
        )  # fmt: skip

    def entries(self, a: SparseArray) -> int:
        """Count what this matrix would store entry by entry."""
        return a.nnz

    def occupied(self, a: SparseArray) -> np.ndarray:
        """Return the offsets of the diagonals on which something is stored, ascending."""
        return a._core.occupied_diagonals(*self.in_rows(a))

    def fill(self, a: SparseArray) -> np.ndarray:
        """Return how many entries lie on each of these diagonals."""
        return a._core.entries_on_diagonals(*self.in_rows(a))

    def row_lengths(self, a: SparseArray) -> np.ndarray:
        """Return the lengths that rows have, ascending, and how many rows have each: shape (k, 2)."""
        return np.array(a._core.row_lengths(*self.in_rows(a)), np.int64).reshape(-1, 2)

    def leading_entries(self, a: SparseArray, **limits: int) -> tuple[int, int]:
        """Return how many entries lead: of the row with most of them, and of all rows."""
        return a._core.leading_entries(*self.in_rows(a), limits)

    def occupied_blocks(self, a: SparseArray, size: int) -> int:
        """Return how many ``size x size`` blocks hold entries."""
        return a._core.occupied_blocks(*self.in_rows(a), size)

    def positions_in_slices(self, a: SparseArray, height: int, sigma: int) -> int:
        """Return the places of slices of `height` rows, sorted in windows of `sigma` rows."""
        m = a._shape[0]
        ordered = 4 * m + sorting(m, 0, a._backend) if sigma > 1 else 0
        return a._core.places_in_slices(*self.in_rows(a, 8 * (m // height + 2) + ordered), height, sigma)

    def in_rows(self, a: SparseArray, temporary: int = 0) -> tuple[Any, int]:
        """Return this view as native code is asked for what follows from the places of entries: it makes csr of it."""
        nbytes = temporary + table_of_diagonals(a._shape, a.nnz)  # of counts
        if a._format.name != COMMON:
            common, s = FORMATS[COMMON], Summary(a.shape, widened(a.dtype).itemsize, a.nnz)
            nbytes += common.nbytes(s) + self.to_csr_workspace(a, s)
        memory.require_free(nbytes, f"{a.format}_array: its rows, which a forecast reads,", a._backend)
        return widen(a)._matrix, a._op

    def symmetry_of_values(self, a: SparseArray) -> str | None:
        """Return the first symmetry that the values have, None where they have none."""
        if a._shape[0] != a._shape[1]:
            return None
        csr = convert(a, COMMON)  # a conjugate has the symmetries of its origin
        bits = csr._core.symmetries(csr._matrix)
        return next((name for bit, name in SYMMETRIES.items() if bits & bit), None)
