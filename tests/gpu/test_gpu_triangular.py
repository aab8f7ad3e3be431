"""Triangular solves on a GPU: their residuals in every order of rows, arrays of all libraries, errors."""

import numpy as np
import pytest
import scipy.sparse as sp
from cases import EACH_DTYPE, NO_CUDA, case
from libraries import NAMES, make, read
from triangles import OPERATIONS, assert_solves, dominant, triangle, values

import diagsparse as ds
from diagsparse._products.triangles import Triangle

pytestmark = [pytest.mark.gpu, pytest.mark.skipif(not ds.cuda_available(), reason=NO_CUDA)]


def on_diagonals(*offsets):
    n = max(400, 2 * max(map(abs, offsets)))
    return sp.diags_array([np.ones(n - abs(k)) for k in offsets], offsets=offsets, shape=(n, n))


PATTERNS = {  # with the order of rows
    "5 points": (sp.csr_array(ds.gallery.stencil(5, (70, 80))), "grid"),
    "5 points, many lines": (sp.csr_array(ds.gallery.stencil(5, (600, 50))), "grid"),
    "9 points": (sp.csr_array(ds.gallery.stencil(9, (331, 70))), "grid"),
    "7 points": (sp.csr_array(ds.gallery.stencil(7, (9, 9, 80))), "grid"),
    "7 points, many lines": (sp.csr_array(ds.gallery.stencil(7, (40, 37, 20))), "grid"),
    "27 points": (sp.csr_array(ds.gallery.stencil(27, (20, 35, 17))), "grid"),
    "short lines": (sp.csr_array(ds.gallery.stencil(5, (70, 30))), "grid"),
    "far apart": (on_diagonals(-4000, -700, -300, 300, 2000), "blocks"),
    "multiples": (on_diagonals(-9600, -600, 700, 11200), "chains"),
    "one": (on_diagonals(-100, 1500), "chains"),
    "near and far": (on_diagonals(-40, -1, 2, 7, 100), "march"),
    "medium": (on_diagonals(-1100, -50, -33, 60, 700), "march"),
    "beyond the window": (on_diagonals(-5001, -40, 90, 4500), "march"),
    "tridiagonal": (sp.csr_array(ds.gallery.tridiagonal(300)), "tridiagonal"),
    "band": (sp.csr_array(ds.gallery.banded(200, 5, 3, seed=0)), "levels"),
    "far": (on_diagonals(-290, -17, 16, 200), "blocks"),
    "diagonal": (sp.eye_array(30), "blocks"),
}  # fmt: skip


@pytest.mark.parametrize("name", PATTERNS)
@EACH_DTYPE
def test_as_a_dense_solve(name, dtype):
    pattern, order = PATTERNS[name]
    sparse = dominant(pattern, dtype)
    n, rng = sparse.shape[0], np.random.default_rng(1)
    for format in ("hm", "cdm", "csr"):
        A = ds.array(sparse, format).to("cuda")
        assert Triangle(A, True, False).order == order
        for lower in (True, False):
            for unit in (True, False):
                whole = triangle(sparse, lower, unit)
                for trans, op in OPERATIONS.items():
                    for columns in ((), (3,)):
                        b = values(rng, dtype, n, *columns)
                        with case((format, lower, unit, trans, columns)):
                            x = ds.solve_triangular(A, b, lower=lower, unit=unit, trans=trans)
                            assert x.dtype == dtype
                            assert_solves(x, op(whole), b)


def test_views():
    sparse = dominant(PATTERNS["5 points"][0], "complex64")
    b = values(np.random.default_rng(0), "complex64", 5600)
    for format in ("hm", "csr", "csc"):
        A = ds.array(sparse, format).to("cuda")
        for view, d in ((A, sparse), (A.T, sparse.T), (A.H, sparse.conj().T), (A.conj(), sparse.conj())):
            for trans, op in OPERATIONS.items():
                assert_solves(ds.solve_triangular(view, b, trans=trans), op(triangle(d, True, False)), b)


@pytest.mark.parametrize("name", NAMES)
def test_arrays_of_a_library(name):
    sparse = triangle(dominant(PATTERNS["5 points"][0], "float64"), True, False)
    rng = np.random.default_rng(0)
    for format in ("hm", "csr"):
        F = ds.factorized(ds.array(sparse, format).to("cuda"))
        assert F.method == "triangular" and F.nbytes > 0 and ", cuda" in repr(F)
        for b in (values(rng, "float64", 5600), values(rng, "float64", 5600, 4), values(rng, "complex128", 5600)):
            assert_solves(read(name, F.solve(make(name, b))), sparse, b)
            assert_solves(read(name, F.H @ make(name, b)), sparse.T, b)


def test_the_same_bits_in_every_run():
    A = ds.hm_array(dominant(sp.csr_array(ds.gallery.stencil(5, (500, 400))), "float64")).to("cuda")
    b = values(np.random.default_rng(0), "float64", 200000)
    F = Triangle(A, True, False)
    assert F.order == "grid"
    results = {ds.solve_triangular(A, b).tobytes() for _ in range(20)}
    assert len(results) == 1


def test_singular_triangles():
    A = ds.diags({-1: 1.0, 0: 2.0, 1: 5.0}, shape=(6, 6))
    for format in ("hm", "csr"):
        a = ds.array(A, format).copy()
        a[3, 3] = 0
        with pytest.raises(np.linalg.LinAlgError, match="pivot of row 3 is zero"):
            ds.solve_triangular(a.to("cuda"), np.ones(6))
        assert np.isfinite(ds.solve_triangular(a.to("cuda"), np.ones(6), unit=True)).all()
        empty = ds.array(sp.csr_array((4, 4)), format).to("cuda")
        assert (ds.solve_triangular(empty, np.ones(4), unit=True) == 1).all()
