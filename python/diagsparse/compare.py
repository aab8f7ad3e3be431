"""Comparison of all suitable formats for a matrix: products are checked against SciPy's, and timed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ._study.changes import Change, Changes
    from ._study.comparison import Comparison, Row, Skipped
    from .measure import Progress

__all__ = ["Change", "Changes", "Comparison", "Row", "Skipped", "compare"]


def compare(
    A: Any,
    *,
    formats: Sequence[str] | None = None,
    ops: Sequence[str] = ("matvec", "matmul"),
    kernels: str | Sequence[str] | None = None,
    against: Sequence[str] | None = None,
    max_bytes: int | None = None,
    budget: float = 0.7,
    device: str | None = None,
    progress: Progress | None = None,
    name: str = "",
) -> Comparison:
    """Compute y = A x and C = A A in every suitable format, check the results against SciPy's, and time them.

    Parameters
    ----------
    A : sparse matrix (of diagsparse or SciPy), shape (m, n), or path of a file for `diagsparse.read`
        Integers and bools become float64. A matrix of diagsparse keeps the options of its layout in its own format, and
        has the default options in all others.
    formats : list of str, optional
        The formats to compare, by default all of `diagsparse.formats()`. Formats that do not support A, or would store
        far more than its nonzeros, are left out, and the result states the reason.
    ops : list of {"matvec", "matmul"}
        The operations. C = A A needs a square matrix.
    kernels : "all" or list of str, optional
        The kernels, by default the default kernel of each format.
    against : list of {"scipy", "mkl", "cusparse", "cupy"}, optional
        The libraries to compare with, by default SciPy, and on a GPU also cuSPARSE. If one of them is not available,
        the result states the reason. SciPy's formats are csr, dia, and bsr if SciPy estimates a block size other than 1
        x 1. SciPy's csr always runs, because all results are checked against it.
    max_bytes : int, optional
        Limit for each matrix, by default 20 times the bytes in csr, but at least 20 MB.
    budget : float
        Seconds of timing for each operation. Products that would take much longer are left out.
    device : str, optional
        ``"cpu"`` or ``"cuda"``.
    progress : callable, optional
        Is called with the fraction that is done, and a description of the current step.
    name : str
        A name for the matrix, by default that of the file.

    Returns
    -------
    Comparison
        ``str()`` returns tables, fastest format first. ``ok`` is whether all results are correct.

    Raises
    ------
    ValueError, TypeError, OSError
        If a name does not exist, if the values are not finite numbers, or if the file cannot be read.

    Examples
    --------
    >>> import diagsparse as ds
    >>> from diagsparse.compare import compare
    >>> result = compare(ds.gallery.stencil(5, 30), formats=["hm", "csr"], ops=["matvec"], budget=0.01)
    >>> result.ok, len(result.rows)
    (True, 3)
    """
    from ._study.comparing import compared  # imported at its first use

    return compared(A, formats, ops, kernels, against, max_bytes, budget, device, progress, name)


if not TYPE_CHECKING:

    def __getattr__(name):
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from ._study import changes, comparison

        return getattr(changes if name.startswith("Change") else comparison, name)
