"""Operations that SciPy computes, on csr: extremes, positions of nonzeros, formats of SciPy.

The results are those of SciPy's `csr_array`. Everything runs on the CPU.
"""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np
import scipy.sparse as sp

from .._backends import memory
from .._backends.backend import CPU
from .._backends.docstrings import completed_by
from .base import M
from .convert import convert, unpacked
from .registry import COMMON


@memory.no_limit
def as_scipy_csr(a: Any, who: str) -> Any:
    """Return this matrix as a SciPy csr, which must not be modified."""
    require_host(a, who)
    csr: Any = convert(unpacked(a), COMMON)
    return csr._format.scipy_view(csr)


def require_host(a: Any, who: str) -> None:
    if a._backend is not CPU:
        raise TypeError(f'{who}: {a!r}: not available on a GPU; use A.to("cpu")')


# ---- extremes ---------------------------------------------------------------------------------
@memory.no_limit
def max(a: Any, axis: int | None = None, out: None = None, **options: Any) -> Any:
    """Return the maximum of all elements, or of each column or row, as SciPy does.

    Parameters
    ----------
    axis : {None, 0, 1, -1, -2}
        None for all elements, 0 for each column, 1 for each row.
    out : None
        Not supported, as in SciPy.
    **options
        With ``explicit=True``, only stored elements count.

    Returns
    -------
    number or SciPy sparse array
        A sparse array of shape (n,) for ``axis=0``, (m,) for ``axis=1``.

    Raises
    ------
    ValueError
        For another axis, an `out`, or a matrix without elements.
    TypeError
        If the matrix is on a GPU.
    """
    return a._format.extreme(a, "max", axis, out, **options)


@completed_by(max)
@memory.no_limit
def min(a: Any, axis: int | None = None, out: None = None, **options: Any) -> Any:
    """Return the minimum of all elements, or of each column or row, as SciPy does."""
    return a._format.extreme(a, "min", axis, out, **options)


@completed_by(max)
@memory.no_limit
def nanmax(a: Any, axis: int | None = None, out: None = None, **options: Any) -> Any:
    """Return the maximum, ignoring NaN."""
    return a._format.extreme(a, "nanmax", axis, out, **options)


@completed_by(max)
@memory.no_limit
def nanmin(a: Any, axis: int | None = None, out: None = None, **options: Any) -> Any:
    """Return the minimum, ignoring NaN."""
    return a._format.extreme(a, "nanmin", axis, out, **options)


@completed_by(max)
def argmax(a: Any, axis: int | None = None, out: None = None, **options: Any) -> Any:
    """Return the index of the first maximum, of all elements or of each column or row, as SciPy does.

    Parameters
    ----------
    axis : {None, 0, 1, -1, -2}
        None for the index in the flattened matrix, ``i n + j``; 0 for the row in each column, 1 for the column in each
        row.
    **options
        With ``explicit=True``, only stored elements count.

    Returns
    -------
    int or NumPy array
        An array of shape (n,) for ``axis=0``, (m,) for ``axis=1``. NaN counts as the maximum.

    Raises
    ------
    ValueError
        For another axis, an `out`, or a matrix without elements.
    TypeError
        If the matrix is on a GPU.

    Notes
    -----
    The matrix is converted to csr, if it has another format, and read once.

    Examples
    --------
    >>> import numpy as np, diagsparse as ds
    >>> A = ds.csr_array(np.array([[0.0, 3.0, -1.0], [5.0, 0.0, 0.0]]))
    >>> A.argmax(), A.argmax(axis=0), A.argmax(axis=1)
    (3, array([1, 0, 1]), array([1, 0]))
    """
    return as_scipy_csr(a, "argmax").argmax(axis, out, **options)


@completed_by(argmax, ("NaN counts as the maximum", "NaN counts as the minimum"))
def argmin(a: Any, axis: int | None = None, out: None = None, **options: Any) -> Any:
    """Return the index of the first minimum, of all elements or of each column or row, as SciPy does.

    Examples
    --------
    >>> import numpy as np, diagsparse as ds
    >>> A = ds.csr_array(np.array([[0.0, 3.0, -1.0], [5.0, 0.0, 2.0]]))
    >>> A.argmin(), A.argmin(axis=1), A.argmin(axis=1, explicit=True)
    (2, array([2, 1]), array([2, 2]))
    """
    return as_scipy_csr(a, "argmin").argmin(axis, out, **options)


# ---- positions of nonzeros --------------------------------------------------------------------
def nonzero(a: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows and the columns of the elements that are not zero."""
    return as_scipy_csr(a, "nonzero").nonzero()


# ---- formats and shapes that only SciPy has ---------------------------------------------------
def tobsr(a: Any, blocksize: tuple[int, int] | None = None, copy: bool = False) -> sp.bsr_array:
    """Return a SciPy `bsr_array`. Our own block format is `bmsparse_array`, with blocks of 8 x 8."""
    return as_scipy_csr(a, "tobsr").tobsr(blocksize, copy=True)


def tolil(a: Any, copy: bool = False) -> NoReturn:
    """Raise NotImplementedError: use ``A.to_scipy().tolil()``."""
    raise NotImplementedError("tolil: diagsparse has no lil; write A.to_scipy().tolil()")


def todok(a: Any, copy: bool = False) -> NoReturn:
    """Raise NotImplementedError: use ``A.to_scipy().todok()``."""
    raise NotImplementedError("todok: diagsparse has no dok; write A.to_scipy().todok()")


def reshape(a: M, *shape: Any, order: str = "C", copy: bool = False) -> M:
    """Return the matrix if the shape is unchanged, else raise NotImplementedError."""
    if tuple(np.ravel(shape)) == a._shape:
        return a.copy() if copy else a
    raise NotImplementedError("reshape: the shape of a matrix is fixed; use A.to_scipy().reshape(shape)")


def resize(a: Any, *shape: Any) -> NoReturn:
    """Raise NotImplementedError: the shape of a matrix is fixed."""
    raise NotImplementedError("resize: the shape of a matrix is fixed; use A[:m, :n], or scipy.sparse.block_array")


def entry_values(a: Any) -> np.ndarray:
    """Return the values of the entries, in the order of csr."""
    return as_scipy_csr(a, "the values").data
