"""Quasi-band matrices: bands of diagonals, and a remainder."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._backends.backend import CPU, Backend
from .._matrix.registry import COMMON, FORMATS
from .._matrix.sparse_array import SparseArray
from .._matrix.summary import Summary, diagonal_length
from .._matrix.workspaces import sorting, table_of_diagonals
from .._show import cells
from .._show.display import diagonals
from . import partition
from .bands import BAND_OCC, DIA_OCC, Offsets, by_bytes, by_occupancy, entries_on, lengths
from .component import component
from .format import Format
from .options import distinct_integers, fraction, word
from .own_products import OwnProducts

_LISTED = 2**31 - 2**24  # products; those of the rests come on top
# From so many products beside the bands on, for each pair of stored values that meet, csr is faster: in all, and by a
# plan that is kept. Measured in docs/decisions/0010-quasi-bands.md.
_ON_CPU, _REPEATED_ON_CPU, _ON_GPU, _REPEATED_ON_GPU = 0.4, 0.15, 0.1, 0.3
_THRESHOLDS = {"dia_occ": DIA_OCC, "band_occ": BAND_OCC}


class Qband(OwnProducts):
    """The layout of `qband_array`."""

    drops_zeros = True
    structure = ("dia_offsets", "coosr_row", "coosr_col", "coosr_indptr")
    padded = several = True
    options = {
        "partition": word("bytes", "paper"),
        "dia_occ": fraction,
        "band_occ": fraction,
        "offsets": distinct_integers,
    }

    def child(self, a: SparseArray, number: int) -> SparseArray:
        return a._wrap(a._matrix.children()[number], a._op)

    def drawn_diagonals(self, a: SparseArray) -> list[cells.Drawn]:
        return [cells.Drawn(k, cells.color_of(d), False) for d, k in enumerate(sorted(a.offsets.tolist()))]

    def description(self, a: SparseArray) -> str:
        return f"{diagonals(a.offsets)}, {a.rest.nnz} beside them, "

    def index_type(self, name: str, shape: tuple[int, int], given: dict[str, Any]) -> np.dtype:
        return np.dtype(np.int64) if name == "dia_offsets" else super().index_type(name, shape, given)

    # ---- what is in both of them ------------------------------------------------------------------
    def own_layout(self, a: SparseArray) -> dict[str, Any]:
        return {"offsets": sorted(a.offsets.tolist())}

    def count_nonzero(self, a: SparseArray) -> int:
        """Count the stored values that are not zero."""
        return a.bands.count_nonzero() + a.rest.count_nonzero()

    def entries(self, a: SparseArray) -> int:
        return a.bands.count_nonzero() + a.rest.nnz  # zeros on diagonals are dropped on the way

    # ---- products ---------------------------------------------------------------------------------
    def for_product(self, matrix: SparseArray, other: SparseArray, repeated: bool, named: bool) -> Format:
        assert isinstance(other, qband_array)
        (a, a_rest), (b, b_rest) = matrix._matrix.children(), other._matrix.children()
        listed = a_rest.stored * b.diagonals + b_rest.stored * a.diagonals
        inner = max(1, matrix._shape[1])
        met = matrix.nnz * other.nnz / inner
        temporary = listed + a_rest.stored * b_rest.stored / inner
        once, remaining = (_ON_CPU, _REPEATED_ON_CPU) if matrix._backend is CPU else (_ON_GPU, _REPEATED_ON_GPU)
        by_csr = not named and temporary > met * (remaining if repeated else once)
        if matrix._backend is not CPU:  # the products beside those of the bands are listed, in numbers of 31 bits
            by_csr = by_csr or listed >= _LISTED
        return FORMATS[COMMON] if by_csr else self

    # ---- which diagonals, and what that takes -----------------------------------------------------
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
        """Return the diagonals of the bands, and how many entries are the rest."""
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
        # Both are made with values of their own before they share an array; the rest is rows at first.
        values = (len(chosen) * s.shape[0] + rest) * s.itemsize
        joined = 8 * (s.shape[0] + 1) + max(values, sorting(rest, s.itemsize, backend)) + 4 * rest
        # Before that, a table of where each diagonal begins; threads of the CPU write the rest to room for all entries.
        room = s.entries * (s.itemsize + 4) if backend is CPU else 0
        return max(joined, table_of_diagonals(s.shape, s.entries) + room)

    def to_csr_workspace(self, a: SparseArray, s: Summary) -> int:
        # Both as rows, which are merged.
        rows = FORMATS[COMMON].nbytes(s) + 8 * (s.shape[0] + 1)
        return rows + sorting(s.entries, s.itemsize, a._backend)


class qband_array(SparseArray):
    """Bands of nearly full diagonals in dia, the rest in coosr: two matrices over one array of values.

    Parameters
    ----------
    arg : sparse matrix (ours, SciPy's or CuPy's), dense 2-D array, shape (m, n), or the parts
        The parts are ``(values, dia_offsets, coosr_row, coosr_col, coosr_indptr)``: values of shape (D m + rest,),
        those of `dia` diagonal by diagonal, row aligned, then those of `coosr`; dia_offsets of shape (D,); coosr_row
        and coosr_col of shape (rest,), row by row; coosr_indptr of shape (m + 1,), where each row of them begins.
        Values are shared, the rest is copied.
    shape : tuple, optional
        Needed with the parts.
    dtype, copy, device, max_bytes
        As for `csr_array`.
    partition : {"bytes", "paper"}, default "bytes"
        Which diagonals go to the bands. ``"bytes"``: those that take fewer bytes there, that is with more than
        ``(m itemsize + 8) / (itemsize + 8)`` entries; no other choice takes fewer bytes. ``"paper"``: the fullest
        diagonal with more than ``dia_occ m`` entries starts a band; it takes its neighbours on the left and on the
        right in turns, while it holds more than ``band_occ m`` entries for each of its diagonals; so do the diagonals
        that are left.
    dia_occ, band_occ : float, optional
        The thresholds of the paper, 0.5 and 0.4; either of them asks for its partition.
    offsets : list of int, optional
        The diagonals of the bands, in place of a partition. Matrices that are made of this one (`A + B`) choose theirs
        anew, by bytes; a transposed copy keeps its diagonals.

    Raises
    ------
    ValueError, TypeError, MemoryError
        For options that contradict each other, diagonals outside of the matrix, parts that do not fit each other, more
        bytes than there are.

    Notes
    -----
    Bytes: ``D (m itemsize + 8) + rest (itemsize + 8) + 8 (m + 1)`` for D diagonals. `nnz` counts all places on these
    diagonals that lie in the matrix, and the rest. Zeros on a diagonal are dropped on the way to other formats.

    Vooturi and Kothapalli, "Parallel Algorithm for Quasi-Band Matrix-Matrix Multiplication" (2016).

    Examples
    --------
    >>> import diagsparse as ds
    >>> A = ds.qband_array(ds.gallery.quasi_band(1000, 2.0, band_count=1, seed=0))
    >>> A.bands.offsets.size, A.rest.nnz
    (25, 1000)
    """

    _format = Qband("qband")

    # ---- parts ------------------------------------------------------------------------------------
    @property
    def bands(self) -> SparseArray:
        """The diagonals of the bands in dia, over their part of the values."""
        return self._format.child(self, 0)

    @property
    def rest(self) -> SparseArray:
        """What lies beside the bands in coosr, over its part of the values."""
        return self._format.child(self, 1)

    @property
    def offsets(self) -> np.ndarray:
        """The offsets of the bands' diagonals: as stored; of a view, those of the view."""
        return self.bands.offsets

    dia_offsets = component("dia_offsets", "Offset of every diagonal of the bands, int64 (D,), zero-copy.")
    coosr_row = component("coosr_row", "Row of every entry of the rest, int32 (rest,), zero-copy.")
    coosr_col = component("coosr_col", "Column of every entry of the rest, int32 (rest,), zero-copy.")
    coosr_indptr = component("coosr_indptr", "Where the rest of each row begins, int64 (m + 1,), zero-copy.")

    def report(self) -> partition.PartitionReport:
        """Return the bytes of this choice of diagonals beside those of others, and the paper's properties of each.

        Returns
        -------
        PartitionReport
            A table by `str()`, plain values by ``to_dict()``. Its choices are ``"this one"``, ``"bytes"``, ``"paper"``
            (with the paper's thresholds), ``"no bands"`` and ``"every diagonal"``. Of a transposed view the bytes are
            those of a copy, ``A.T.copy()``: it has other rows than A. The report then says so (``of_a_copy``).

        Examples
        --------
        >>> import diagsparse as ds
        >>> A = ds.qband_array(ds.gallery.quasi_band(1000, 2.0, band_count=1, seed=0))
        >>> found = A.report()
        >>> found.pays_from, found.choices["this one"].nbytes == A.nbytes
        (501, True)
        """
        return partition.report(self._summary(), np.sort(self.offsets), bool(self._op & 1))

    def eliminate_zeros(self) -> None:
        """Drop the stored zeros of the rest, and the diagonals that hold nothing but zeros, in place."""
        csr = self._format.to_csr(self).copy()
        csr.eliminate_zeros()
        remaining = np.intersect1d(self.offsets, csr._format.occupied(csr)).tolist()
        self._matrix, self._op = self._format.from_csr(csr, None, offsets=remaining)._matrix, 0
