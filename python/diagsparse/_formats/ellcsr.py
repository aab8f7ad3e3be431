"""The configuration-interaction hybrid: ELLPACK and compressed sparse rows."""

from __future__ import annotations

from typing import Any

from .._matrix.summary import Summary
from .format import Format
from .options import count


class ellcsr_array(Format):
    """The leading entries of each row side by side, row after row, the rest of it as in csr.

    Parameters
    ----------
    arg : sparse matrix (ours, SciPy's or CuPy's), dense 2-D array, shape (m, n), or the parts
        The parts are ``(values, ell_indices, csr_indices, csr_indptr)``: ell_indices of shape (m, width), ascending in
        each row and then -1, where its padding begins; csr_indices of shape (rest,) and csr_indptr of shape (m + 1,),
        columns that go on where those of ell_indices end; values of shape (m width + rest,), first those of
        ell_indices, row by row. Values are shared, the rest is copied.
    shape : tuple, optional
        Needed with the parts.
    dtype, copy, device, max_bytes
        As for `csr_array`.
    boundary : int, optional
        How many entries of each row lead (algorithm 6 of the paper).
    boundary_column : int, optional
        The column before which entries lead (as the paper's text has it); the row with most of them makes the width.
        Give one of both at most. By default the boundary is the length of the shortest row: as much as fits without
        padding. Matrices that are made of this one (`A.T.copy()`, `A + B`) choose it anew.

    Raises
    ------
    ValueError, TypeError, MemoryError
        For both boundaries, parts that do not fit each other, more bytes than there are.

    Notes
    -----
    Bytes: ``(width m + rest) (itemsize + 4) + 8 (m + 1)``. Products of two matrices are made as `csr_array`.

    Mahmoud, Hoffmann and Reza (2018), for matrices of configuration interaction: a dense reference region on the left,
    few entries in the rest.

    Examples
    --------
    >>> import diagsparse as ds
    >>> A = ds.ellcsr_array(ds.gallery.arrow(1000), boundary_column=1)
    >>> A.width, A.csr_indices.size
    (1, 1998)
    """

    format = "ellcsr"
    _structure = ("ell_indices", "csr_indices", "csr_indptr")
    _two_dimensional = ("ell_indices",)
    _padded = True
    _options = {"boundary": count, "boundary_column": count}

    @property
    def ell_indices(self) -> Any:
        """Column of every leading entry, int32 (m, width), -1 in the padding; zero-copy."""
        return self.parts()["ell_indices"]

    @property
    def csr_indices(self) -> Any:
        """Column of every other entry, int32 (rest,), zero-copy."""
        return self.parts()["csr_indices"]

    @property
    def csr_indptr(self) -> Any:
        """Where the other entries of each row begin, int64 (m + 1,), zero-copy."""
        return self.parts()["csr_indptr"]

    @property
    def width(self) -> int:
        """Leading entries for which every row has room."""
        return self._matrix.parts()["ell_indices"].shape[1]

    def _told(self) -> str:
        return f"width {self.width}, "

    @classmethod
    def _completed(cls, s: Summary, options: dict[str, int]) -> dict[str, int]:
        if len(options) == 2:
            given = " and ".join(f"{name}={value}" for name, value in options.items())
            raise ValueError(f"{cls.__name__}: {given}: expected one of them")
        return options or {"boundary": s.shortest_row}

    @classmethod
    def _forecast(cls, s: Summary, **options: int) -> int:
        options = cls._completed(s, options)
        if "boundary" in options:
            width = options["boundary"]
            rest = s.beyond(width)
        else:
            width, leading = s.before(options["boundary_column"])
            rest = s.entries - leading
        return (width * s.shape[0] + rest) * (s.itemsize + 4) + 8 * (s.shape[0] + 1)
