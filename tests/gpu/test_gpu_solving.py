"""`ds.factorized` on a GPU: every method against the dense matrix, arrays of all libraries, streams, errors."""

import numpy as np
import pytest
import scipy.sparse as sp
from cases import EACH_DTYPE, NO_CUDA, raises
from libraries import NAMES, make, read
from solutions import assert_solves, banded, like, operations, right_sides

import diagsparse as ds
from diagsparse._backends import libraries

pytestmark = [pytest.mark.gpu, pytest.mark.skipif(not ds.cuda_available(), reason=NO_CUDA)]
NO_CUDSS = pytest.mark.skipif(isinstance(libraries.cudss(), Exception), reason="needs cuDSS")


@EACH_DTYPE
@pytest.mark.parametrize(
    "n, below, above, method",
    [(40, 0, 0, "diagonal"), (40, 1, 1, "tridiagonal"), (40, 0, 1, "tridiagonal"), (2, 1, 1, "tridiagonal"),
     (1000, 1, 1, "tridiagonal"), (40, 2, 1, "pentadiagonal"), (41, 0, 2, "pentadiagonal"), (3, 2, 2, "pentadiagonal")],
)  # fmt: skip
def test_narrow_bands_on_a_gpu(n, below, above, method, dtype):
    dense = banded(n, below, above, dtype)
    B = right_sides(n, dtype)
    for format in ("hm", "dia", "csr", "cdm"):
        for sigma in (0, 0.25):
            F = ds.factorized(ds.array(sp.csr_array(dense), format, device="cuda"), sigma, method=method)
            assert F.method == method and F.nbytes > 0 and ", cuda" in repr(F) and ", cuda" in F._repr_html_()
            for trans, op in operations(dense - sigma * np.eye(n, dtype=dtype)):
                for b in (B, B[:, 0], np.asfortranarray(B), B[:, :0]):
                    x = F.solve(b, trans)
                    assert x.shape == b.shape and x.dtype == np.dtype(dtype)
                    if b.size:
                        assert_solves(x, op, b)


@NO_CUDSS
@pytest.mark.parametrize("format", ["hm", "csr", "csc"])
@EACH_DTYPE
def test_cudss(dtype, format):
    grid = ds.gallery.stencil(5, (30, 31), dtype=dtype)
    band = sp.csr_array(banded(200, 12, 9, dtype))
    for A in (sp.csr_array(grid), band):
        n, dense = A.shape[0], A.toarray()
        for matrix, whole in ((A, dense), (A.conj(), dense.conj())):
            F = ds.factorized(ds.array(matrix, format, device="cuda"), 0.25, method="cudss")
            assert F.method == "cudss" and F.nbytes > 0
            for trans, op in operations(whole - 0.25 * np.eye(n, dtype=dtype)):
                for b in (right_sides(n, dtype), np.ones(n, dtype)):
                    assert_solves(F.solve(b, trans), op, b)
        conjugate = ds.array(A, format, device="cuda").conj()
        assert_solves(ds.factorized(conjugate, method="cudss").solve(b), dense.conj(), b)
    batch, members = like(banded(30, 5, 5, dtype), "hm", 3)
    X = ds.factorized(batch.to("cuda"), method="cudss").solve(right_sides(30, dtype, 3).T)
    for i, member in enumerate(members):
        assert_solves(X[i], member, right_sides(30, dtype, 3).T[i])


@NO_CUDSS
def test_cudss_detects_singular_matrices():
    """Ones are in the range of a ring without some of its eigenvalues, so that they would not tell."""
    ring = ds.gallery.stencil(3, (8,), periodic=True)
    ends = sp.csr_array(sp.diags_array([1.0] * 9 + [0], offsets=0))
    for A, sigma in ((ring, 2), (ends, 0)):
        with pytest.raises(np.linalg.LinAlgError, match="singular"):
            ds.factorized(ds.csr_array(A).to("cuda"), sigma, method="cudss")


@NO_CUDSS
def test_cudss_on_two_streams():
    cupy = pytest.importorskip("cupy")
    A = ds.csr_array(ds.gallery.stencil(5, (60, 70)))
    F, streams = ds.factorized(A.to("cuda")), [cupy.cuda.Stream(non_blocking=True) for _ in range(2)]
    result = []
    for i in range(20):
        with streams[i % 2]:
            result.append(F.solve(cupy.full(4200, i + 1.0)))
    cupy.cuda.runtime.deviceSynchronize()
    for i, x in enumerate(result):
        assert np.allclose(A @ x.get(), i + 1.0)


def test_without_cudss(monkeypatch):
    monkeypatch.setattr(libraries, "cudss", lambda: ImportError("no nvmath"))
    A = ds.hm_array(ds.gallery.stencil(5, (70, 71))).to("cuda")
    for method in (None, "cudss"):
        with raises(ImportError, "is not available (no nvmath)", 'A.to("cpu")'):
            ds.factorized(A, method=method)
    assert ds.factorized(ds.hm_array(ds.gallery.banded(50, 2, 2, seed=0)).to("cuda")).method == "banded"


@pytest.mark.parametrize("name", NAMES)
def test_arrays_of_a_library(name):
    n = 300
    dense = banded(n, 1, 1, "float64")
    F = ds.factorized(ds.hm_array(sp.csr_array(dense)).to("cuda"))
    for b in (right_sides(n, "float64"), right_sides(n, "float64")[:, 0], right_sides(n, "complex128")):
        assert_solves(read(name, F.solve(make(name, b))), dense, b)
        assert_solves(read(name, F @ make(name, b)), dense, b)
        assert_solves(read(name, F.H @ make(name, b)), dense.T, b)
        assert_solves(read(name, F.dot(make(name, b))), dense, b)
    batch, members = like(dense, "hm", 5)
    B = right_sides(n, "float64", 5).T
    X = read(name, ds.factorized(batch.to("cuda")).solve(make(name, np.ascontiguousarray(B))))
    for i, member in enumerate(members):
        assert_solves(X[i], member, B[i])
    empty = ds.factorized(ds.hm_array((0, 0)).to("cuda"))
    assert read(name, empty.solve(make(name, np.ones(0)))).shape == (0,)


def test_cupys_solvers_take_them():
    cupy = pytest.importorskip("cupy")
    linalg = pytest.importorskip("cupyx.scipy.sparse.linalg")
    A = ds.hm_array(ds.gallery.tridiagonal(4000)).to("cuda")
    b, steps = cupy.ones(4000), []
    x, info = linalg.cg(A.to_cupy("csr"), b, M=ds.factorized(A), callback=steps.append)
    assert info == 0 and len(steps) <= 3
    assert abs(A @ x - b).max() < 1e-4


def test_systems_that_cannot_be_solved_on_a_gpu():
    A = ds.hm_array(ds.gallery.tridiagonal(5)).to("cuda")
    for call, error, words in (
        (lambda: ds.factorized(A, method="superlu"), ValueError, "on cuda; expected diagonal"),
        (lambda: ds.factorized(A, method="diagonal"), ValueError, "offsets from -1 to 1"),
        (lambda: ds.factorized(A).solve(np.ones(4)), ValueError, "5 x 5"),
        (lambda: ds.factorized(A).solve(np.ones(5), "C"), ValueError, "trans"),
        (lambda: ds.factorized(ds.hm_array(sp.eye_array(4)).to("cuda"), 1), np.linalg.LinAlgError, "singular"),
        (lambda: ds.factorized(A * np.nan), np.linalg.LinAlgError, "singular"),
    ):
        with raises(error, words):
            call()
    assert ds.solve(ds.csr_array((0, 0)).to("cuda"), np.ones(0)).shape == (0,)
