"""Padded diagonals, aligned by row."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from .._arrays import device_dense
from .._backends.backend import CPU, Backend
from .._matrix.base import require_plain
from .._matrix.summary import Summary
from . import alignment
from .diagonal import DiagonalArray, Diagonals
from .exported import exported_array
from .exported_diagonals import ExportedDiagonals, column_aligned
from .packing import Packing, stored_labels


class Dia(Diagonals):
    """The layout of `dia_array`."""

    two_dimensional = ("values",)
    part_options = ("align",)
    parts_are: ClassVar[dict[str, str]] = {"align": "row"}

    def by_layout(
        self, values: Any, labels: list[int], shape: tuple[int, int], packing: Packing, given: dict[str, Any],
        backend: Backend,
    ) -> tuple[Any, list[int]]:  # fmt: skip
        align = alignment.checked(given.get("align"), "dia_array")
        if align == "column" and packing.period:
            raise ValueError('dia_array: align="column" with period=: a stored period is aligned by row')
        if align is None and any(packing):  # the options do not exist in SciPy
            return values, labels
        return alignment.by_row(values, labels, shape, align, backend)

    def nbytes(self, s: Summary, **options: Any) -> int:
        packing, m = Packing(**options), s.shape[0]
        offsets = stored_labels(self.name, s, packing) if packing.symmetry else s.offsets
        return len(offsets) * (min(m, int(packing.period or m)) * s.itemsize + 8)


class dia_array(DiagonalArray):
    """Padded diagonals, aligned by row: ``values[d, i] = A[i, i + offsets[d]]``.

    Each stored diagonal is a row of m values; values outside of the matrix are padding and never read. SciPy's
    `dia_array` aligns by column: conversions realign, and `align` specifies the alignment of ``(values, offsets)``. ::

        | 1  5  .  .  . |      offsets = [ -1  0  1 ]
        | 9  2  6  .  . |      values  = [[ *  9 10 11 ]
        | . 10  3  7  . |                 [ 1  2  3  4 ]
        | .  . 11  4  8 |                 [ 5  6  7  8 ]]

    Parameters
    ----------
    arg : sparse matrix (ours, SciPy's or CuPy's), dense 2-D array, shape (m, n), or ``(values, offsets)``
        `values` of shape (D, m), `offsets` D distinct integers in any order; see `align`. Or a dict of both, as from
        `parts`, aligned by row.
    shape : (int, int), optional
        Required with ``(values, offsets)``.
    dtype : dtype, optional
        float32, float64, complex64 or complex128. By default integers and bools become float64, with a
        `ConversionWarning`. float16 and bfloat16 values are stored as such, and widened in products.
    copy : bool
        Whether `values` are copied. Otherwise they are shared if their dtype and order allow it.
    device : str, optional
        ``"cpu"``, ``"cuda"``, ``"cuda:1"``, ...; by default the device of `arg`. Component arrays may be arrays of
        CuPy, PyTorch or JAX on a GPU, and are shared there.
    max_bytes : int, optional
        Limit for the result and the temporary memory of a conversion; by default the free memory.
    symmetry : {None, "symmetric", "hermitian"}, optional
        Store one of two opposite diagonals. Converting a matrix stores the upper diagonal; with ``(values, offsets)``,
        either works.
    period : int or "auto", optional
        Store only the first `period` values of diagonals that repeat after `period` rows (1 for constant diagonals;
        "auto" for the smallest common period, which is less than m: something has to repeat). With
        ``(values, offsets)``, `values` has shape (D, period).
        For both options see ``docs/packing.md``.
    align : {"row", "column"}, optional
        The alignment of ``(values, offsets)``: ``"row"`` as above, or ``"column"`` as in SciPy, where
        ``values[d, j] = A[j - offsets[d], j]``, and `values` may have any width and are copied. Required if the two
        alignments give different matrices; packed arrays are aligned by row.

    Raises
    ------
    ValueError, TypeError, MemoryError
        For a missing `align`, offsets that repeat or are out of range, values of the wrong shape or type, and
        conversions that do not fit into memory.

    Notes
    -----
    Bytes: ``D (m itemsize + 8)``. The layout is that of the quasi-band paper (Vooturi, Kothapalli).

    Examples
    --------
    >>> import numpy as np, diagsparse as ds
    >>> A = ds.dia_array((np.array([[1.0, 2, 3], [4, 5, 0]]), [0, 1]), shape=(3, 3), align="row")
    >>> A @ np.ones(3)
    array([5., 7., 3.])
    """

    _format = Dia("dia")

    @property
    def data(self) -> np.ndarray:
        """The diagonals aligned by column, as in SciPy's `dia_array`: a copy of shape (D, n), on the CPU only.

        Changes are applied before the next use of the matrix. For a view or a packed matrix, the copy is read-only.
        """
        if self._backend is not CPU:
            raise TypeError(f'data: {self!r}: SciPy works on the cpu; write A.to("cpu"), or A.values')
        if not (self._op or self._packed) and self._matrix.values.flags.writeable:
            return exported_array(self._matrix, ExportedDiagonals, "data")
        result = column_aligned(self)
        result.flags.writeable = False
        return result

    @data.setter
    def data(self, new: Any) -> None:
        require_plain(self, "data")
        if self._packed:
            raise ValueError(
                f"data: {self!r} is packed, and its data are a copy; write to A.values, or to data of B = A.unpacked()"
            )
        device_dense.write(CPU, self.data, new, "data")
