"""`ds.solve_triangular` and `ds.factorized(L, method="triangular")` against dense solutions, in every order of rows."""

import hypothesis.strategies as st
import numpy as np
import pytest
import scipy.linalg as la
import scipy.sparse as sp
from cases import EACH_DTYPE, case, raises
from hypothesis import given, settings
from triangles import OPERATIONS, assert_solves, dominant, triangle, values

import diagsparse as ds

FORMATS = pytest.mark.parametrize("format", ds.formats())


def on_diagonals(*offsets):
    return sp.diags_array([np.ones(300 - abs(k)) for k in offsets], offsets=offsets)


PATTERNS = {  # and the order in which rows of diagonals are computed
    "5 points": (sp.csr_array(ds.gallery.stencil(5, (40, 23))), "lines"),
    "9 points": (sp.csr_array(ds.gallery.stencil(9, (20, 37))), "lines"),
    "7 points": (sp.csr_array(ds.gallery.stencil(7, (20, 7, 8))), "lines"),
    "27 points": (sp.csr_array(ds.gallery.stencil(27, (20, 4, 36))), "lines"),
    "periodic": (sp.csr_array(ds.gallery.stencil(5, (30, 20), periodic=True)), "blocks"),
    "tridiagonal": (sp.csr_array(ds.gallery.tridiagonal(300)), "blocks"),
    "band": (sp.csr_array(ds.gallery.banded(200, 5, 3, seed=0)), "blocks"),
    "far": (on_diagonals(-290, -17, 16, 200), "blocks"),
    "near and far": (on_diagonals(-40, -1, 1, 2, 39, 40), "blocks"),
    "diagonal": (sp.eye_array(30), "blocks"),
}  # fmt: skip


@pytest.mark.parametrize("name", PATTERNS)
@EACH_DTYPE
def test_as_a_dense_solve(name, dtype):
    pattern, order = PATTERNS[name]
    dense = dominant(pattern, dtype)
    n, rng = dense.shape[0], np.random.default_rng(1)
    for format in ("hm", "dia", "cdm", "csr"):
        A = ds.array(dense, format)
        assert A._core.triangle(A._matrix, 0, True, False).order == (order if format != "csr" else "rows")
        for lower in (True, False):
            for unit in (True, False):
                whole = triangle(dense, lower, unit)
                for trans, op in OPERATIONS.items():
                    for columns in ((), (1,), (7,), (9,)):
                        b = values(rng, dtype, n, *columns)
                        with case((format, lower, unit, trans, columns)):
                            x = ds.solve_triangular(A, b, lower=lower, unit=unit, trans=trans)
                            assert x.dtype == dtype
                            assert_solves(x, op(whole), b)


def test_large_levels_and_blocks():
    """Rows that threads share: they have the same bits for any number of threads."""
    n = 60000
    rng = np.random.default_rng(0)
    far = sp.diags_array([rng.random(n - 20000), 2 + rng.random(n)], offsets=[-20000, 0])
    grid = ds.gallery.stencil(5, (300, 200))
    b = rng.standard_normal((n, 20))
    before = ds.get_num_threads()
    try:
        for A, format, order in (
            (far, "hm", "blocks"),
            (far, "csr", "levels"),
            (grid, "hm", "lines"),
            (grid, "csr", "rows"),
        ):
            a = ds.array(A, format)
            assert a._core.triangle(a._matrix, 0, True, False).order == order
            for columns in (b[:, 0], b):
                results = []
                for threads in (1, 2, 5):
                    ds.set_num_threads(threads)
                    results.append(ds.solve_triangular(a, columns).tobytes())
                    x = ds.solve_triangular(a, columns)
                assert len(set(results)) == 1
                assert_solves(x, sp.csr_array(sp.tril(sp.csr_array(A))), columns)
    finally:
        ds.set_num_threads(before)


@pytest.mark.quick
@FORMATS
def test_every_format_and_view(format):
    dense = dominant(PATTERNS["band"][0][:60, :60], "complex128").toarray()
    A, b = ds.array(sp.csr_array(dense), format), np.arange(60.0)
    for view, d in ((A, dense), (A.T, dense.T), (A.H, dense.conj().T), (A.conj(), dense.conj())):
        for trans, op in OPERATIONS.items():
            assert_solves(ds.solve_triangular(view, b, trans=trans), op(np.tril(d)), b)
    L = ds.array(sp.csr_array(np.tril(dense)), format)
    F = ds.factorized(L)
    assert F.method == "triangular" and F.shape == (60, 60) and "triangular" in repr(F) and F.nbytes > 0
    for view, d in ((F, np.tril(dense)), (F.T, np.tril(dense).T), (F.H, np.tril(dense).conj().T)):
        assert_solves(view @ b.astype(complex), d, b)


def test_types_of_the_right_hand_side():
    dense = dominant(PATTERNS["5 points"][0], "float32").toarray()
    A = ds.hm_array(sp.csr_array(dense))
    lower = np.tril(dense).astype(float)
    F = ds.factorized(ds.hm_array(sp.csr_array(lower.astype("float32"))))
    for b in (np.ones(920), np.ones(920, dtype=complex) * (1 + 2j), np.arange(920), np.ones(920, "float32")):
        for x in (ds.solve_triangular(A, b), F.solve(b)):
            assert x.dtype == (A @ b).dtype
            assert_solves(x, lower, b)
    narrow = ds.hm_array(sp.csr_array(np.tril(np.eye(5) * 2))).astype("float16")
    assert (ds.solve_triangular(narrow, np.ones(5)) == 0.5).all()


def test_factors_of_triangles():
    n = 50
    lower = triangle(dominant(np.ones((n, n)), "float64"), True, False)
    for L in (ds.csr_array(lower), ds.hm_array(lower), ds.csr_array(lower).T):
        F, b = ds.factorized(L), np.ones(n)
        assert F.method == "triangular"
        assert np.allclose(L @ F.solve(b), b)
        shifted = ds.factorized(L, 0.5)
        assert np.allclose(L @ shifted.solve(b) - 0.5 * shifted.solve(b), b)
        L *= 2  # F has a copy
        assert np.allclose(L @ F.solve(b), 2 * b)
    batch = ds.batch_array(np.array([1.0, 2, 4])[:, None, None] * ds.dia_array(lower).values, ds.dia_array(lower))
    F = ds.factorized(batch)
    assert F.method == "triangular"
    B = np.ones((3, n))
    B[1, 5] = np.inf
    X = F.solve(B)
    assert np.isfinite(X[[0, 2]]).all() and not np.isfinite(X[1]).all()
    assert np.allclose(X[2] * 4, X[0])


def test_bad_input():
    A = ds.diags({-1: 1.0, 0: 2.0, 1: 5.0}, shape=(6, 6))
    for format in ("hm", "csr"):
        a = ds.array(A, format).copy()
        a[3, 3] = 0
        with pytest.raises(np.linalg.LinAlgError, match="pivot of row 3 is zero"):
            ds.solve_triangular(a, np.ones(6))
        assert np.isfinite(ds.solve_triangular(a, np.ones(6), unit=True)).all()
        a[3, 3] = 1e-310
        with pytest.raises(np.linalg.LinAlgError, match="pivot of row 3"):
            ds.solve_triangular(a, np.ones(6), lower=False)
        a[3, 3], a[1, 2] = 1, np.nan
        assert np.isfinite(ds.solve_triangular(a, np.ones(6))).all()
        with raises(ValueError, "not finite"):
            ds.solve_triangular(a, np.ones(6), lower=False)
        with raises(ValueError, "method 'triangular'", "offsets from -1 to 1"):
            ds.factorized(ds.array(A, format), method="triangular")
        empty = ds.array(sp.csr_array((4, 4)), format)
        with pytest.raises(np.linalg.LinAlgError, match="pivot of row 0 is zero"):
            ds.solve_triangular(empty, np.ones(4))
        assert (ds.solve_triangular(empty, np.ones(4), unit=True) == 1).all()
        assert ds.solve_triangular(ds.array(sp.csr_array((0, 0)), format), np.ones(0)).shape == (0,)
    for call, error, words in (
        (lambda: ds.solve_triangular(A[:3], np.ones(3)), ValueError, "square"),
        (lambda: ds.solve_triangular(A.toarray(), np.ones(6)), TypeError, "sparse"),
        (lambda: ds.solve_triangular(A, np.ones(5)), ValueError, "6 x 6"),
        (lambda: ds.solve_triangular(A, np.ones(6), trans="X"), ValueError, "trans"),
        (lambda: ds.solve_triangular(A, A), TypeError, "b.toarray()"),
    ):
        with raises(error, words):
            call()


@settings(deadline=None)
@given(st.data())
def test_any_triangle(data):
    dtype = data.draw(st.sampled_from(["float32", "float64", "complex64", "complex128"]))
    n = data.draw(st.integers(1, 90))
    offsets = data.draw(st.lists(st.integers(1 - n, n - 1), max_size=6))
    pattern = np.zeros((n, n), bool)
    for k in offsets:
        pattern |= np.eye(n, k=k, dtype=bool)
    line = data.draw(st.integers(1, n))  # a grid, perhaps
    row, col = np.indices((n, n))
    if data.draw(st.booleans()):
        pattern &= (abs(row - col) >= 3) | (row // line == col // line)
    sparse = dominant(pattern, dtype, data.draw(st.integers(0, 100)))
    A = ds.array(sparse, data.draw(st.sampled_from(["hm", "dia", "cdm", "csr"])))
    lower, unit = data.draw(st.booleans()), data.draw(st.booleans())
    trans = data.draw(st.sampled_from("NTH"))
    columns = data.draw(st.integers(0, 11))
    b = values(np.random.default_rng(0), dtype, n, columns)
    x = ds.solve_triangular(A, b, lower=lower, unit=unit, trans=trans)
    whole = OPERATIONS[trans](triangle(sparse, lower, unit))
    assert_solves(x, whole, b)
    wide = whole.toarray().astype(complex)
    assert np.allclose(x, la.solve(wide, b.astype(complex)), rtol=0, atol=1e-3 * max(1, abs(x).max(initial=0)))


def test_words_for_flags():
    for options in ({"lower": "no"}, {"unit": "no"}, {"lower": None}):
        with pytest.raises(ValueError, match="expected True or False"):
            ds.solve_triangular(ds.eye(3), np.ones(3), **options)
