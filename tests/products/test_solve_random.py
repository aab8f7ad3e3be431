"""`ds.solve` with random systems of every structure: it returns a solution with the promised error, or none."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from solutions import ROUNDING, backward_error

import diagsparse as ds


@st.composite
def systems(draw):
    """Return a matrix of some structure, dense, and right-hand sides."""
    rng = np.random.default_rng(draw(st.integers(0, 2**31)))
    kind = draw(st.sampled_from(["diagonal", "tridiagonal", "band", "dense", "grid", "periodic", "random", "arrow"]))
    n = draw(st.integers(0, 40))
    if kind in ("grid", "periodic"):
        shape = tuple(draw(st.lists(st.integers(3 if kind == "periodic" else 1, 8), min_size=1, max_size=3)))
        jumps = 10.0 ** rng.integers(-draw(st.integers(0, 3)), 1, shape)
        boundary = "periodic" if kind == "periodic" else draw(st.sampled_from(["dirichlet", "neumann"]))
        dense = ds.gallery.diffusion(shape, jumps, boundary=boundary).toarray()
        n = len(dense)
    else:
        dense = rng.standard_normal((n, n))
        i, j = np.indices((n, n))
        reach = {"diagonal": 0, "tridiagonal": 1, "band": draw(st.integers(1, 8))}.get(kind, n)
        dense[abs(i - j) > reach] = 0
        if kind == "random":
            dense[rng.random((n, n)) < 0.8] = 0
        if kind == "arrow":
            dense[(i != j) & (i != 0) & (j != 0)] = 0
        if draw(st.booleans()):
            dense += draw(st.sampled_from([1.0, 8.0])) * np.eye(n)
        if draw(st.booleans()):
            dense = dense + dense.T
        if draw(st.booleans()) and n:
            dense[draw(st.integers(0, n - 1))] = 0
    if draw(st.integers(0, 4)) == 0:
        dense *= 10.0 ** rng.uniform(-8, 8, (n, 1))
    dense *= 10.0 ** draw(st.sampled_from([0, 0, -25, 25]))
    dtype = draw(st.sampled_from(["float32", "float64", "complex64", "complex128"]))
    if dtype[0] == "c" and draw(st.booleans()):
        dense = dense * np.exp(1j * rng.uniform(0, 7, dense.shape))
    columns = draw(st.sampled_from([(), (1,), (3,), (0,)]))
    b = rng.standard_normal((n, *columns)) * 10.0 ** draw(st.sampled_from([0, 0, -5, 5]))
    if draw(st.booleans()) and b.ndim == 2 and b.shape[1]:
        b[:, 0] = 0
    return dense.astype(dtype), b.astype(draw(st.sampled_from([dtype, "float64"])))


@pytest.mark.filterwarnings("ignore:solve. A is singular to working precision")  # which `tol` accepts
@settings(max_examples=150, deadline=None)
@given(
    systems(), st.sampled_from(["csr", "hm", "dia"]), st.sampled_from([None, 1e-3, 1e-6]),
    st.sampled_from([None, None, "superlu", "banded", "ilu", "multigrid"]),
)  # fmt: skip
def test_a_solution_has_the_promised_error_or_none_is_returned(system, format, tol, method):
    dense, b = system
    A = ds.csr_array(sp.csr_array(dense)).asformat(format)
    try:
        x, report = ds.solve(A, b, tol=tol, method=method, report=True)
    except np.linalg.LinAlgError as error:
        regular = len(dense) and np.linalg.matrix_rank(dense.astype(complex)) == len(dense)
        condition = np.linalg.cond(dense.astype(complex)) if regular else np.inf
        stable = tol is None or tol >= 30 * np.finfo(dense.dtype).eps
        by_choice = method in (None, "superlu", "banded")
        assert condition > 0.01 / np.finfo(dense.dtype).eps or not (stable and by_choice), error
        return
    except (ValueError, TypeError) as error:
        assert method == "multigrid" and "multigrid" in str(error), error
        return
    assert x.shape == b.shape and np.isfinite(x).all()
    assert report.tol == (ROUNDING[x.dtype.name] if tol is None else tol)
    assert backward_error(dense, x, b) <= 1.01 * report.tol
    assert report.backward_error.max(initial=0) <= report.tol
