"""Functions of the elements of a matrix: NumPy's, extremes, real and imaginary parts, counts and means."""

import warnings
from typing import Any

import ml_dtypes
import numpy as np
import scipy.sparse as sp
from oracle import long

import diagsparse as ds
from fuzz.arrays import NARROW
from fuzz.case import Case
from fuzz.checks import at_same_places, close, refused, require_equal, same
from fuzz.matrices import draw

OF_EACH = (
    *(
        "sin",
        "tan",
        "arcsin",
        "arctan",
        "sinh",
        "tanh",
        "arcsinh",
        "arctanh",
        "expm1",
        "log1p",
        "rint",
        "floor",
        "ceil",
    ),
    *("trunc", "sign", "sqrt", "square", "deg2rad", "rad2deg"),
)
REAL_ONLY = "floor", "ceil", "trunc", "deg2rad", "rad2deg"


def _with(exact: Any, values: np.ndarray) -> Any:
    """Return a matrix of SciPy's, in csr or csc, of the same structure with other values."""
    return type(exact)((values, exact.indices, exact.indptr), shape=exact.shape)


def of_each(case: Case) -> None:
    """``np.sin(A)``, ``A.sin()`` and the others for which 0 is 0."""
    drawn = draw(case, large=0.01)
    name = case.pick(OF_EACH)
    A, exact, function = drawn.A, drawn.exact, getattr(np, name)
    call = case.pick([lambda: function(A), lambda: getattr(A, name)()])
    case.note(name)
    if exact.dtype.kind == "c" and name in REAL_ONLY:
        return refused(TypeError, call, f"{name} of complex values")
    with np.errstate(all="ignore"):
        ref = function(exact) if not drawn.large else _with(exact, function(exact.data))
        result = call()
    assert result.format == A.format, f"format {result.format}, expected {A.format}"
    assert result.shape == exact.shape, f"shape {result.shape}, expected {exact.shape}"
    if A.dtype in NARROW:  # wider where there is no function of 16 bits
        assert result.dtype in (A.dtype, np.float32), f"dtype {result.dtype}, expected {A.dtype} or float32"
    else:
        assert result.dtype == ref.dtype, f"dtype {result.dtype}, expected {ref.dtype}"
    eps = 16 * float(ml_dtypes.finfo(result.dtype).eps)
    got = result.to("cpu").to_scipy("csr") if drawn.large else result.toarray()
    got, expected = at_same_places(got, ref) if drawn.large else (got.astype(ref.dtype), ref)
    np.testing.assert_allclose(got, expected, rtol=eps, atol=eps)
    drawn.require_unchanged()


def extremes(case: Case) -> None:
    """`max`, `min`, `argmax`, `argmin`, of all elements or along an axis."""
    drawn = draw(case)
    A, exact = drawn.A, drawn.exact
    if exact.dtype.kind == "c":
        return
    name, axis = case.pick(["max", "min", "argmax", "argmin"]), case.pick([None, 0, 1, -1])
    case.note(name, axis)

    def call() -> Any:
        return getattr(A, name)(axis=axis)

    if not exact.size if axis is None else not exact.shape[axis]:
        return refused(ValueError, call, "nothing to choose from")
    result = call()
    result = result.toarray() if sp.issparse(result) else np.asarray(result)
    expected = getattr(exact, name)(axis=axis)
    assert result.size == expected.size, f"shape {result.shape}, expected {expected.shape}"
    require_equal(np.atleast_1d(result.reshape(expected.shape)), np.atleast_1d(expected))
    drawn.require_unchanged()


def pairwise(case: Case) -> None:
    """`maximum` and `minimum` with a matrix of any format, SciPy's, an array, or a number."""
    drawn = draw(case)
    A, exact = drawn.A, drawn.exact
    name, kind = case.pick(["maximum", "minimum"]), case.pick(["ours", "SciPy's", "dense", "number"])
    other = draw(case, shape=drawn.shape, dtype=exact.dtype if case.chance(0.7) else None)
    given = {"ours": other.A, "SciPy's": sp.csr_array(other.exact), "dense": other.exact,
             "number": case.pick([0, 1, -0.5])}[kind]  # fmt: skip
    case.note(name, kind, given if kind == "number" else "")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", sp.SparseEfficiencyWarning)  # of a number that fills the matrix
        result = getattr(A, name)(given)
    dense = result.toarray() if sp.issparse(result) or ds.issparse(result) else np.asarray(result)
    expected = getattr(np, name)(exact, given if kind == "number" else other.exact)
    assert dense.shape == expected.shape, f"shape {dense.shape}, expected {expected.shape}"
    require_equal(dense.astype(expected.dtype), expected)
    drawn.require_unchanged()
    other.require_unchanged()


def parts(case: Case) -> None:
    """Real and imaginary parts."""
    drawn = draw(case, large=0.01)
    A, part = drawn.A, case.pick(["real", "imag"])
    case.note(part)
    result, exact = getattr(A, part), drawn.exact
    if drawn.large:
        exact = _with(exact, getattr(np, part)(exact.data))
    else:
        exact = getattr(exact, part)
    same(result, exact, A.format, None if A.dtype in NARROW else exact.dtype)
    drawn.require_unchanged()


def counted(case: Case) -> None:
    """`nonzero`, `count_nonzero` and `mean`, of all elements or along an axis."""
    drawn = draw(case, large=0.01)
    A, exact, axis = drawn.A, drawn.exact, case.pick([None, 0, 1, -1, -2])
    case.note("axis", axis)
    result, expected = (np.array(a.nonzero()) for a in (A, exact))
    result, expected = (ij[:, np.lexsort(ij[::-1])] for ij in (result, expected))
    assert np.array_equal(result, expected), f"nonzero: {result}, expected {expected}"
    count = np.asarray(A.count_nonzero(axis))
    ref = np.count_nonzero(exact, axis) if not drawn.large else exact.count_nonzero(axis)
    assert np.array_equal(count, ref), f"count_nonzero: {count}, expected {ref}"
    terms = int(np.prod(exact.shape)) if axis is None else exact.shape[axis]
    if terms:
        a = long(exact)
        ref, size = (np.asarray(each.sum(axis)) / terms for each in (a, abs(a)))
        close(np.asarray(A.mean(axis)), ref, size, terms)
    drawn.require_unchanged()


CHECKS: dict[Any, float] = {of_each: 3, extremes: 1.5, pairwise: 1, parts: 1, counted: 1}
