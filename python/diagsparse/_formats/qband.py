"""Quasi-band matrices: bands of diagonals, and a remainder."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._backends import memory
from .._backends.backend import CPU, Backend
from .._matrix.registry import COMMON, FORMATS
from .._matrix.sparse_array import SparseArray
from .._matrix.summary import Summary, diagonal_length
from .._matrix.workspaces import sorting, table_of_diagonals
from .._show import cells
from .._show.columns import diagonals
from . import partition
from .bands import BAND_OCC, DIA_OCC, Offsets, by_bytes, by_occupancy, entries_on, lengths
from .component import component
from .format import Format
from .options import choice, distinct_integers, fraction
from .own_products import OwnProducts
from .several import Several

_MAX_LISTED = 2**31 - 2**24  # products of entries of the rest and band diagonals; those of two entries are added
# Ratios of the products outside of the bands to all products of stored values, from which csr is faster, by (on the
# CPU, repeated plan). Measured in docs/decisions/0010-quasi-bands.md.
_BY_CSR = {(True, False): 0.4, (True, True): 0.15, (False, False): 0.1, (False, True): 0.3}
_THRESHOLDS = {"dia_occ": DIA_OCC, "band_occ": BAND_OCC}


class Qband(Several, OwnProducts):
    """The layout of `qband_array`."""

    drops_zeros = True
    structure = ("dia_offsets", "coosr_row", "coosr_col", "coosr_indptr")
    options = {
        "partition": choice("bytes", "paper"), "dia_occ": fraction, "band_occ": fraction, "offsets": distinct_integers,
    }  # fmt: skip

    def drawn_diagonals(self, a: SparseArray) -> list[cells.Drawn]:
        return [cells.Drawn(k, cells.color_of(d), False) for d, k in enumerate(sorted(a.offsets.tolist()))]

    def description(self, a: SparseArray) -> str:
        return f"{diagonals(a.offsets)}, {a.rest.nnz} in the rest, "

    def index_type(self, name: str, shape: tuple[int, int], given: dict[str, Any]) -> np.dtype:
        return np.dtype(np.int64) if name == "dia_offsets" else super().index_type(name, shape, given)

    # ---- bands and rest ---------------------------------------------------------------------------
    def own_layout(self, a: SparseArray) -> dict[str, Any]:
        return {"offsets": sorted(a.offsets.tolist())}

    def count_nonzero(self, a: SparseArray) -> int:
        """Count the stored values that are not zero."""
        return a.bands.count_nonzero() + a.rest.count_nonzero()

    def entries(self, a: SparseArray) -> int:
        return a.bands.count_nonzero() + a.rest.nnz  # conversions drop zeros on diagonals

    # ---- products ---------------------------------------------------------------------------------
    def for_product(self, matrix: SparseArray, other: SparseArray, repeated: bool, named: bool) -> Format:
        assert isinstance(other, qband_array)
        (a, a_rest), (b, b_rest) = matrix._matrix.children(), other._matrix.children()
        listed = a_rest.stored * b.diagonals + b_rest.stored * a.diagonals
        inner = max(1, matrix._shape[1])
        total = matrix.nnz * other.nnz / inner
        outside = listed + a_rest.stored * b_rest.stored / inner
        on_cpu = matrix._backend is CPU
        by_csr = not named and outside > total * _BY_CSR[on_cpu, repeated]
        too_many = not on_cpu and listed >= _MAX_LISTED  # a GPU numbers these products with 31 bits
        return FORMATS[COMMON] if by_csr or too_many else self

    # ---- choice of the diagonals, and memory ------------------------------------------------------
    def completed(self, s: Summary, options: dict[str, Any]) -> dict[str, Any]:
        who, given = self.who, options.get("offsets")
        if given is not None:
            if len(options) > 1:
                raise ValueError(f"{who}: offsets and {', '.join(o for o in options if o != 'offsets')}: expected one")
            if outside := [k for k in given if not diagonal_length(s.shape, k)]:
                raise ValueError(f"{who}: offset {outside[0]} is outside a {s.shape[0]} x {s.shape[1]} matrix")
            return options
        thresholds = {name: options[name] for name in _THRESHOLDS if name in options}
        which = options.get("partition", "paper" if thresholds else "bytes")
        if which == "bytes" and thresholds:
            listed = ", ".join(f"{name}={value}" for name, value in thresholds.items())
            raise ValueError(f'{who}: partition="bytes" and {listed}: expected partition="paper" with thresholds')
        if which == "bytes":
            return {"offsets": by_bytes(s.shape[0], s.itemsize, s.offsets, s.fill).tolist()}
        return {"offsets": by_occupancy(s.shape[0], s.offsets, s.fill, **thresholds).tolist()}

    def split(self, s: Summary, **options: Any) -> tuple[Offsets, int]:
        """Return the band diagonals, and the number of entries of the rest."""
        chosen = np.array(self.completed(s, options)["offsets"], np.int64)
        return chosen, s.entries - entries_on(chosen, s.offsets, s.fill)

    def nbytes(self, s: Summary, **options: Any) -> int:
        chosen, rest = self.split(s, **options)
        m = s.shape[0]
        return len(chosen) * (m * s.itemsize + 8) + rest * (s.itemsize + 8) + 8 * (m + 1)

    def count_stored(self, s: Summary) -> int:
        chosen, rest = self.split(s)
        return int(lengths(s.shape, chosen).sum()) + rest

    def bound(self, s: Summary, **options: Any) -> int:
        return super().bound(s, **options) + len(options.get("offsets", ())) * (s.shape[0] * s.itemsize + 8)

    def from_csr_workspace(self, s: Summary, backend: Backend, **options: Any) -> int:
        chosen, rest = self.split(s, **options)
        # Both are built with separate values before they share an array; the rest is built as csr first.
        values = (len(chosen) * s.shape[0] + rest) * s.itemsize
        joined = 8 * (s.shape[0] + 1) + max(values, sorting(rest, s.itemsize, backend)) + 4 * rest
        # Before that, a table of the starts of diagonals; CPU threads write the rest to an array for all entries.
        space = s.entries * (s.itemsize + 4) if backend is CPU else 0
        return max(joined, table_of_diagonals(s.shape, s.entries) + space)


class qband_array(SparseArray):
    """Bands of nearly full diagonals in dia, the rest in coosr: two matrices on one array of values.

    Parameters
    ----------
    arg : sparse matrix (ours, SciPy's or CuPy's), dense 2-D array, shape (m, n), or component arrays
        The component arrays are ``(values, dia_offsets, coosr_row, coosr_col, coosr_indptr)``: values of shape
        (D m + rest,), those of the bands diagonal by diagonal, aligned by row, then those of the rest; dia_offsets of
        shape (D,); coosr_row and coosr_col of shape (rest,), sorted by rows; coosr_indptr of shape (m + 1,), the start
        of each row of the rest. Values are shared, the other arrays are copied.
    shape, dtype, copy, device, max_bytes
        As for `csr_array`; `shape` is required with component arrays.
    partition : {"bytes", "paper"}, default "bytes"
        The choice of the band diagonals. ``"bytes"``: those that need fewer bytes in the bands, which are those with
        more than ``(m itemsize + 8) / (itemsize + 8)`` entries; no other choice needs fewer bytes. ``"paper"``: the
        fullest diagonal with more than ``dia_occ m`` entries starts a band, which is extended alternately to the left
        and to the right as long as it has more than ``band_occ m`` entries per diagonal; then the fullest remaining one
        starts the next band.
    dia_occ, band_occ : float, optional
        The thresholds of the paper, by default 0.5 and 0.4. Either of them implies ``partition="paper"``.
    offsets : list of int, optional
        The band diagonals, in place of a partition. Matrices derived from this one (`A + B`) choose their own, by
        bytes; a transposed copy has the same diagonals.

    Raises
    ------
    ValueError, TypeError, MemoryError
        For contradictory options, diagonals outside of the matrix, inconsistent component arrays, and matrices that do
        not fit into memory.

    Notes
    -----
    Bytes: ``D (m itemsize + 8) + rest (itemsize + 8) + 8 (m + 1)`` for D diagonals. `nnz` counts all elements of the
    band diagonals, and the rest. Conversions to other formats drop zeros on the band diagonals.

    Vooturi and Kothapalli, "Parallel Algorithm for Quasi-Band Matrix-Matrix Multiplication" (2016).

    Examples
    --------
    >>> import diagsparse as ds
    >>> A = ds.qband_array(ds.gallery.quasi_band(1000, 2.0, band_count=1, seed=0))
    >>> A.bands.offsets.size, A.rest.nnz
    (25, 1000)
    """

    _format = Qband("qband")

    @property
    def bands(self) -> SparseArray:
        """The band diagonals in dia, on their part of the values."""
        return self._format.child(self, 0)

    @property
    def rest(self) -> SparseArray:
        """The entries outside of the bands in coosr, on their part of the values."""
        return self._format.child(self, 1)

    @property
    def offsets(self) -> np.ndarray:
        """The offsets of the band diagonals in storage order; for a view, those of the view."""
        return self.bands.offsets

    dia_offsets = component("dia_offsets", "Offset of every band diagonal, int64 (D,).")
    coosr_row = component("coosr_row", "Row of every entry of the rest, int32 (rest,).")
    coosr_col = component("coosr_col", "Column of every entry of the rest, int32 (rest,).")
    coosr_indptr = component("coosr_indptr", "Start of each row of the rest, int64 (m + 1,).")

    def report(self) -> partition.PartitionReport:
        """Return the bytes of this and other choices of the band diagonals, and the paper's properties of each.

        Returns
        -------
        PartitionReport
            `str()` gives a table, ``to_dict()`` plain values. Its choices are ``"this one"``, ``"bytes"``, ``"paper"``
            (with the paper's thresholds), ``"no bands"`` and ``"every diagonal"``. For a transposed view, the bytes are
            those of the copy ``A.T.copy()``, and `of_a_copy` is True.

        Examples
        --------
        >>> import diagsparse as ds
        >>> A = ds.qband_array(ds.gallery.quasi_band(1000, 2.0, band_count=1, seed=0))
        >>> report = A.report()
        >>> report.min_entries, report.choices["this one"].nbytes == A.nbytes
        (501, True)
        """
        return partition.report(self._summary(), np.sort(self.offsets), bool(self._op & 1))

    @memory.no_limit
    def eliminate_zeros(self) -> None:
        """Remove the explicit zeros of the rest, and the band diagonals that have only zeros, in place."""
        csr = self._format.to_csr(self).copy()
        csr.eliminate_zeros()
        remaining = np.intersect1d(self.offsets, csr._format.occupied(csr)).tolist()
        self._matrix, self._op = self._format.from_csr(csr, None, offsets=remaining)._matrix, 0
