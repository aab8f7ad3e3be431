"""Functions of one matrix, element by element: NumPy's, extremes, real and imaginary parts, powers and roots."""

from typing import Any

import numpy as np
import scipy.sparse as sp

import diagsparse as ds
from fuzz.arrays import NARROW
from fuzz.case import Case
from fuzz.checks import refused, same
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


def of_each(case: Case) -> None:
    """``np.sin(A)``, ``A.sin()`` and the others for which 0 is 0."""
    drawn = draw(case, large=0.01)
    name = case.pick(OF_EACH)
    A, function = drawn.A, getattr(np, name)
    call = case.pick([lambda: function(A), lambda: getattr(A, name)()])
    case.note(name)
    if drawn.exact.dtype.kind == "c" and name in REAL_ONLY:
        return refused(TypeError, call, f"{name} of complex values")
    with np.errstate(all="ignore"):
        if drawn.large:
            ref = sp.csr_array(drawn.exact, copy=True)
            ref.data = function(ref.data)
            ref = ref.toarray() if ref.shape[0] < 3000 else ref
        else:
            ref = function(drawn.exact)
    made = call()
    assert made.format == A.format, f"format {made.format}, expected {A.format}"
    if A.dtype in NARROW:
        assert made.dtype in (A.dtype, np.float32) and made.shape == A.shape
    else:
        assert made.dtype == ref.dtype, f"dtype {made.dtype}, expected {ref.dtype}"
        got, expected = (x.tocsr().data if sp.issparse(x) else x for x in (
            made.to("cpu").to_scipy("csr") if sp.issparse(ref) else made.toarray(), ref))  # fmt: skip
        if got.shape == expected.shape:
            eps = float(np.finfo(ref.dtype).eps)
            with np.errstate(all="ignore"):
                np.testing.assert_allclose(got, expected, rtol=16 * eps, atol=16 * eps)
    drawn.require_unchanged()


def extremes(case: Case) -> None:
    """`max`, `min`, `argmax`, `argmin`, `maximum`, `minimum` with a matrix or a number."""
    drawn = draw(case)
    A, exact = drawn.A, drawn.exact
    if exact.dtype.kind == "c":
        return
    name, axis = case.pick(["max", "min", "argmax", "argmin", "maximum", "minimum"]), case.pick([None, 0, 1, -1])
    case.note(name, axis)
    if name in ("maximum", "minimum"):
        other = draw(case, shape=drawn.shape, dtype=exact.dtype)
        made = getattr(A, name)(other.A)
        expected = getattr(np, name)(exact, other.exact)
        return same(ds.array(made, "csr") if not ds.issparse(made) else made, expected)
    if 0 in exact.shape:
        return (
            refused(ValueError, lambda: getattr(A, name)(axis=axis), "nothing to choose from") if axis is None else None
        )
    made = getattr(A, name)(axis=axis)
    made = made.toarray() if sp.issparse(made) else np.asarray(made)
    expected = getattr(exact, name.removeprefix("arg"))(axis=axis)
    if name.startswith("arg"):
        at = made.reshape(expected.shape).astype(int)
        made = exact.reshape(-1)[at] if axis is None else np.take_along_axis(exact, np.expand_dims(at, axis), axis)
    assert np.array_equal(np.asarray(made).reshape(expected.shape), expected), f"{name} differs"
    drawn.require_unchanged()


def parts(case: Case) -> None:
    """Real and imaginary parts, the mean, `nonzero`, `astype`."""
    drawn = draw(case, large=0.01)
    A, exact = drawn.A, drawn.exact
    part = case.pick(["real", "imag"])
    case.note(part)
    made = getattr(A, part)
    ref = getattr(exact, part) if not drawn.large else sp.csr_array(getattr(np, part)(exact))
    if not drawn.large:
        same(made, np.asarray(ref))
    if exact.size and not drawn.large:
        i, j = A.nonzero()
        order = np.lexsort((j, i))
        assert np.array_equal(np.array([i[order], j[order]]), np.array(exact.nonzero())), "nonzero differs"
    drawn.require_unchanged()


CHECKS: dict[Any, float] = {of_each: 3, extremes: 2, parts: 1}
