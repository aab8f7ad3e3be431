"""`solve` and `factorized`, by every method that holds the matrix: the residual is that of a stable solution."""

from typing import Any

import numpy as np
from oracle import long, seen

import diagsparse as ds
from fuzz import arrays
from fuzz.arrays import VALUE, arranged, numbers
from fuzz.case import Case
from fuzz.checks import refused
from fuzz.matrices import Drawn, draw

METHODS = (None, "diagonal", "tridiagonal", "banded", "dense", "superlu", "triangular")


def regular(case: Case) -> Drawn:
    """Return a matrix whose main diagonal dominates rows and columns, so that it is well conditioned."""
    a = draw(case, square=True, plain=case.chance(0.5))
    size = abs(a.exact)
    most = max(1.0, size.sum(axis=0).max(initial=0), size.sum(axis=1).max(initial=0))
    shift = a.exact.dtype.type(2 * most)
    exact = a.exact + shift * np.eye(len(a.exact), dtype=a.exact.dtype)
    A = a.A + ds.eye(len(exact), dtype=exact.dtype, format="csr") * shift
    return Drawn(A, np.asarray(A.toarray()), [])


def solves(case: Case) -> None:
    """One or several right sides, transposed or adjoint, with a shift."""
    a = regular(case)
    n = len(a.exact)
    if n == 0:
        return
    method = case.pick(METHODS)
    trans, sigma = case.pick("NTH"), case.pick([0, 0, 0.5, -0.25])
    b = arranged(case, numbers(case, (n,) if case.chance(0.5) else (n, case.between(1, 4)), a.exact.dtype,
                               "uniform"), arrays.INPUTS[:-1])  # fmt: skip
    case.note("method", method, "trans", trans, "sigma", sigma)
    low, high = _reach(a.exact)
    widest = {"diagonal": 0, "tridiagonal": 1}.get(method or "", n)
    if max(-low, high) > widest:
        return refused(ValueError, lambda: ds.factorized(a.A, sigma, method=method), f"{method} of a wider band")
    if method == "triangular" and low < 0 < high:
        return refused(ValueError, lambda: ds.factorized(a.A, sigma, method=method), "elements on both sides")
    F = ds.factorized(a.A, sigma, method=method)
    assert method in (None, F.method), f"method {F.method}, expected {method}"
    x = F.solve(b.array, trans)
    assert x.shape == b.array.shape and x.dtype == np.result_type(a.exact.dtype, b.array.dtype), (x.dtype, x.shape)
    shifted = long(seen(a.exact, trans)) - (np.conj(sigma) if trans == "H" else sigma) * np.eye(n)
    _require_small_residual(shifted, x, b.array)
    if trans == "N" and not sigma and case.chance(0.3):
        assert np.allclose(long(ds.solve(a.A, b.array, method=method)), long(x), rtol=1e-2)
    b.require_unchanged("b")
    a.require_unchanged()


def triangles(case: Case) -> None:
    """One of the triangles, with its own main diagonal or with ones."""
    a = regular(case)
    n = len(a.exact)
    trans, lower, unit = case.pick("NTH"), case.chance(0.5), case.chance(0.3)
    b = arranged(case, numbers(case, (n,) if case.chance(0.5) else (n, case.between(1, 12)), a.exact.dtype,
                               "uniform"), arrays.INPUTS[:-1])  # fmt: skip
    case.note("trans", trans, "lower", lower, "unit", unit)
    x = ds.solve_triangular(a.A, b.array, lower=lower, unit=unit, trans=trans)
    assert x.shape == b.array.shape and x.dtype == np.result_type(a.exact.dtype, b.array.dtype), (x.dtype, x.shape)
    triangle = np.tril(a.exact, -1) if lower else np.triu(a.exact, 1)
    triangle = triangle + (np.eye(n) if unit else np.diag(np.diag(a.exact)))
    if np.isfinite(x).all():  # with ones, it may grow from row to row
        _require_small_residual(long(seen(triangle, trans)), x, b.array)
    b.require_unchanged("b")
    a.require_unchanged()


def _require_small_residual(matrix: np.ndarray, x: Any, b: Any) -> None:
    residual, size = abs(matrix @ long(x) - long(b)), abs(matrix) @ abs(long(x)) + abs(long(b))
    eps = float(np.finfo(x.dtype).eps)
    most = 40 * (len(matrix) + 4) * eps * max(float(size.max(initial=0)), float(np.finfo(x.dtype).tiny))
    assert residual.max(initial=0) <= most, f"the residual is {residual.max():.3g}, expected {most:.3g} at most"


def _reach(exact: np.ndarray) -> tuple[int, int]:
    """Return the outermost diagonals that are not zero."""
    i, j = exact.nonzero()
    return int((j - i).min(initial=0)), int((j - i).max(initial=0))


def singular(case: Case) -> None:
    """A matrix with an empty row, a rectangular one, a value that is no number."""
    n = case.between(1, 30)
    exact = np.diag(numbers(case, n, case.pick(VALUE), "uniform") + 3)
    kind = case.pick(["an empty row", "rectangular", "no number"])
    if kind == "an empty row":
        exact[case.between(0, n - 1)] = 0
    elif kind == "rectangular":
        exact = np.vstack([exact, exact[:1]])
    else:
        exact[0, 0] = case.pick([np.nan, np.inf])
    format = case.pick([f for f in ds.formats() if f != "cdm" or kind != "rectangular"])
    case.note(format, n, kind)
    A = ds.array(exact, format)
    refused((ValueError, np.linalg.LinAlgError), lambda: ds.solve(A, np.ones(len(exact))), kind)


CHECKS: dict[Any, float] = {solves: 4, triangles: 2, singular: 0.5}
