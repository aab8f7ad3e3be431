"""Comparisons: within the bound of rounding where there is any, to the bit where there is none."""

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from oracle import long, seen

import diagsparse as ds
from fuzz.arrays import widened

Refusals = type[Exception] | tuple[type[Exception], ...]


def refused(kinds: Refusals, call: Callable[[], Any], why: str) -> None:
    """Raise unless the call raises one of these."""
    try:
        result = call()
    except kinds:
        return
    raise AssertionError(f"{why}: expected {kinds}, got {result!r}")


def times(a: Any, x: np.ndarray, op: str = "N") -> tuple[np.ndarray, np.ndarray, int]:
    """Return op(a) x in extended precision, the same of absolute values, and the terms of the longest sum."""
    a, x = long(seen(a, op)), long(x)
    size = abs(a)
    longest = np.diff(sp.csr_array(a).indptr).max(initial=0) if sp.issparse(a) else a.shape[1]
    return a @ x, size @ abs(x), int(longest)


def limit(dtype: np.dtype, terms: int, magnitude: np.ndarray) -> np.ndarray:
    """Return how far a sum of so many products may be off; see `oracle.assert_within`."""
    factor = 2 * np.sqrt(2) if dtype.kind == "c" else 1
    return (terms + 4) * float(np.finfo(dtype).eps) * factor * magnitude


def close(y: Any, ref: Any, magnitude: Any, terms: int, dtype: np.dtype | None = None) -> None:
    """Raise unless y (NumPy's or ours) is ``ref`` within the bound; `ref` may be SciPy's where y is a large matrix."""
    if dtype is not None:
        assert y.dtype == dtype, f"dtype {y.dtype}, expected {dtype}"
    assert y.shape == ref.shape, f"shape {y.shape}, expected {ref.shape}"
    computed_in = widened(np.dtype(y.dtype))
    if sp.issparse(ref):
        y = y.to("cpu") if ds.issparse(y) else y
        y, ref, magnitude = (sp.csr_array(a) for a in (long(sp.csr_array(y)), long(ref), magnitude))
        over = abs(y - ref) - limit(computed_in, terms, magnitude)
        assert not over.nnz or over.max() <= float(np.finfo(computed_in).tiny), (
            f"off by {over.max():.3g} more than the bound"
        )
        return
    if not isinstance(y, np.ndarray | np.generic):
        y = y.toarray()
    error, most = (
        abs(long(y) - long(ref)),
        limit(computed_in, terms, abs(magnitude)) + float(np.finfo(computed_in).tiny),
    )
    wrong = np.argwhere(~(error <= most))
    if len(wrong):
        at = tuple(wrong[0])
        raise AssertionError(
            f"{len(wrong)} of {y.size} elements are off; first at {at}: got {y[at]}, expected {ref[at]}, "
            f"error {error[at]:.3g} > bound {most[at]:.3g}"
        )


def same(A: Any, exact: Any, format: str | None = None, dtype: Any = None) -> None:
    """Raise unless a matrix of ours has exactly these values."""
    assert A.shape == exact.shape, f"shape {A.shape}, expected {exact.shape}"
    assert format is None or A.format == format, f"format {A.format}, expected {format}"
    assert dtype is None or A.dtype == dtype, f"dtype {A.dtype}, expected {dtype}"
    if sp.issparse(exact):
        assert abs(A.to_scipy("csr") - exact).max() == 0, "values differ"
        return
    require_equal(A.toarray().astype(exact.dtype), exact)


def at_same_places(a: Any, b: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return the values of two sparse matrices of SciPy's where either stores something; 0 where it stores nothing."""
    assert a.shape == b.shape, f"shape {a.shape}, expected {b.shape}"
    both = [sp.coo_array(matrix) for matrix in (a, b)]
    keys = [matrix.row.astype(np.int64) * a.shape[1] + matrix.col for matrix in both]
    union = np.union1d(*keys)
    values = []
    for key, matrix in zip(keys, both, strict=True):
        values.append(np.zeros(len(union), matrix.dtype))
        values[-1][np.searchsorted(union, key)] = matrix.data
    return values[0], values[1]


def require_equal(got: np.ndarray, exact: np.ndarray) -> None:
    """Raise unless two arrays are equal, with NaN at the same positions."""
    wrong = np.argwhere((got != exact) & ~(np.isnan(got) & np.isnan(exact)))
    at = tuple(wrong[0]) if len(wrong) else ()
    assert not len(wrong), f"{len(wrong)} elements differ; first at {at}: {got[at]}, expected {exact[at]}"


def shared(A: Any, B: Any) -> list[str]:
    """Return the parts of a matrix on the cpu by which writing to it would change the other one."""
    if A.device != "cpu" or B.device != "cpu":
        return []
    theirs = B._matrix.parts().values()
    mine = A._matrix.parts().items()
    return [name for name, a in mine if a.flags.writeable and any(np.shares_memory(a, b) for b in theirs)]
