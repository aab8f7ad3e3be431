"""Forecasts of the memory of products and conversions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .._backends.memory import human
from .._matrix.base import is_from_scipy
from .._matrix.construct import peak_nbytes
from .._matrix.operands import as_sparse
from .._matrix.registry import FORMATS
from .._matrix.sparse_array import SparseArray
from .._matrix.summary import Summary
from .plans import MatmulPlan


@dataclass(frozen=True)
class Forecast:
    """The memory that an operation needs, as returned by `forecast`.

    Attributes
    ----------
    result_nbytes : int
        The bytes of the result: ``(A @ B).nbytes`` or ``A.asformat(format).nbytes``. `forecast` lists the cases in
        which it is an upper bound.
    workspace_nbytes : int
        An upper bound of the temporary bytes that are needed in addition.
    """

    result_nbytes: int
    workspace_nbytes: int

    @property
    def total_nbytes(self) -> int:
        """Result and workspace together: the least value for `max_bytes`."""
        return self.result_nbytes + self.workspace_nbytes

    def __str__(self) -> str:
        return f"result {human(self.result_nbytes)}, workspace {human(self.workspace_nbytes)}"


def forecast(operation: str, a: Any, b: Any = None, /, *, format: str | None = None) -> Forecast:
    """Return the memory that ``A @ B`` or a conversion needs, without computing it.

    Parameters
    ----------
    operation : {"matmul", "convert"}
    a, b : sparse matrix
        Ours or SciPy's; `b` for "matmul" only.
    format : str, optional
        The format of the result; required for "convert".

    Returns
    -------
    Forecast
        It has ``result_nbytes``, ``workspace_nbytes`` and ``total_nbytes``, which is the least value for `max_bytes`.
        `result_nbytes` is exact, except for products of dia, hm, cdm, mdia and qband with another `format`, where it is
        an upper bound, because conversions to formats of rows or blocks drop zeros, and for mdia with more than 4096
        diagonals, where it does not count a palette. For conversions to formats that drop zeros, the nonzero values are
        counted, and for mdia the different values of each diagonal. `workspace_nbytes` is the peak of the temporary
        memory: of csr as an intermediate format, tables and sorted arrays, and for a SciPy matrix of what SciPy needs
        to sort its entries.

    Raises
    ------
    ValueError
        For an unknown operation or format, and shapes that the format cannot hold.

    Examples
    --------
    >>> import diagsparse as ds
    >>> A = ds.hm_array(ds.gallery.banded(1000, 2, 2, seed=0))
    >>> ds.forecast("matmul", A, A).result_nbytes == (A @ A).nbytes
    True
    """
    given, a = a, _sparse(a, "forecast", "a")
    if operation == "matmul":
        plan = MatmulPlan(a, _sparse(b, "forecast", "b"), format, max_bytes=1 << 62)
        return Forecast(plan.nbytes, plan.workspace_nbytes)
    if operation != "convert":
        raise ValueError(f'forecast: operation {operation!r}: expected "matmul" or "convert"')
    if b is not None:
        raise ValueError('forecast: "convert" takes one matrix')
    if format is None:
        raise ValueError(f'forecast: "convert" needs format=; there are {", ".join(FORMATS)}')
    kind, s = _format_for(a, format), a._summary()
    if is_from_scipy(given):
        nbytes = kind.result_nbytes(s)
        return Forecast(nbytes, peak_nbytes(kind, given, a) - nbytes)
    if format == a.format:
        return Forecast(_nbytes(a, kind, s), 0)
    full = a._format.nbytes(s) if a._packed and a._format.family != kind.family else 0
    larger = kind.nbytes(s) - kind.result_nbytes(s)
    workspace = full + larger + kind.smaller_copy_nbytes(s) + kind.workspace(s, a)
    return Forecast(a._format.forecast_as(a, kind, s), workspace)


def convert_nbytes(a: SparseArray, format: str) -> int:
    """Return the bytes of `a` in another format."""
    return _nbytes(a, _format_for(a, format), a._summary())


def _nbytes(a: SparseArray, kind: Any, s: Summary) -> int:
    """Return the bytes of `a` in a format. In its own format, they depend on its layout, unless it is transposed."""
    own = a.format == kind.name
    if own and not a._op & 1:
        return a.nbytes
    return a._format.forecast_of_copy(a, s.in_items(a.dtype.itemsize)) if own else a._format.forecast_as(a, kind, s)


def _format_for(a: SparseArray, format: str) -> Any:
    """Return the format of this name; raise ValueError if it cannot hold `a`."""
    if format not in FORMATS:
        raise ValueError(f'forecast: no format "{format}"; there are {", ".join(FORMATS)}')
    FORMATS[format].check_shape(a.shape, a._core)
    return FORMATS[format]


def memory_report(a: Any) -> dict[str, int | None]:
    """Return the bytes of `a` in every format, None for formats that cannot represent it.

    Parameters
    ----------
    a : sparse matrix
        Ours or SciPy's.

    Returns
    -------
    dict
        The bytes by the name of the format. For the format of `a`, they are `a.nbytes`, and for a view those of
        `a.copy()`. For other formats, they are those of the default layout: dia, hm and cdm preserve the packing of
        each other, the others store all elements. Zeros on diagonals do not count if a format would drop them. The
        value is None if the format cannot represent the matrix, for example cdm if it is not square.

    Raises
    ------
    TypeError
        If `a` is not a sparse matrix.
    MemoryError
        If a conversion to csr is needed, and does not fit in memory.

    Notes
    -----
    No other format is built. If the lengths of rows or the blocks have to be counted, the matrix is read once; a matrix
    whose rows cannot be read directly is first converted to csr.

    Examples
    --------
    >>> import diagsparse as ds
    >>> report = ds.memory_report(ds.gallery.tridiagonal(1000))
    >>> report["hm"], report["csr"], report["ell"]
    (24040, 43984, 36000)
    """
    a = _sparse(a, "memory_report", "a")
    s = a._summary()
    report: dict[str, int | None] = {}
    for format in FORMATS:
        try:
            report[format] = _nbytes(a, _format_for(a, format), s)
        except ValueError:
            report[format] = None
    return report


def _sparse(x: Any, who: str, name: str) -> SparseArray:
    result = as_sparse(x)
    if result is None:
        raise TypeError(f"{who}: {name} is {type(x).__name__}, expected a sparse matrix (ours or SciPy's)")
    return result
