"""`ds.factorized` of batches, and of both on a GPU: every method beside a dense solve, whose arrays come back."""

import numpy as np
import pytest
import scipy.sparse as sp
from cases import DTYPES, raises
from libraries import NAMES, make, read

import diagsparse as ds
from diagsparse._places import libraries

HERE = libraries.cudss() is not None
TOLERANCE = {"float32": 2e-4, "complex64": 2e-4, "float64": 1e-11, "complex128": 1e-11}
on_gpu = pytest.mark.gpu


def made(n, below, above, dtype, seed=0):
    """Return a dense band; its main diagonal is large, but not in every row."""
    rng = np.random.default_rng(seed)
    values = rng.standard_normal((n, n)) + (1j * rng.standard_normal((n, n)) if dtype[0] == "c" else 0)
    return (np.triu(np.tril(values, above), -below) + 3 * np.diag(rng.random(n) < 0.8)).astype(dtype)


def right_sides(n, dtype, k=3):
    rng = np.random.default_rng(1)
    return (rng.standard_normal((n, k)) + (1j * rng.standard_normal((n, k)) if dtype[0] == "c" else 0)).astype(dtype)


def operations(dense):
    return {"N": dense, "T": dense.T, "H": dense.conj().T}.items()


def assert_solves(x, op, b):
    """The residual of what was solved is small, beside what rounding makes of such a solution."""
    size = abs(op).sum(axis=1).max() * abs(x).max() + abs(b).max()
    assert abs(op @ x - b).max() <= TOLERANCE[x.dtype.name] * size


def like(dense, format, count, seed=3):
    """Return a batch of matrices near `dense`, and them as dense ones."""
    A = ds.array(sp.csr_array(dense), format)
    factors = np.random.default_rng(seed).uniform(0.5, 2, (count, *A.values.shape))
    batch = ds.batch_array((A.values * factors).astype(dense.dtype), A)
    return batch, [member.toarray() for member in batch]


@pytest.mark.parametrize("format", ["dia", "hm", "cdm"])
@pytest.mark.parametrize("n, below, above", [(40, 0, 0), (33, 1, 1), (20, 2, 1), (2, 1, 0), (4, 2, 2), (1, 0, 0)])
@pytest.mark.parametrize("dtype", DTYPES)
def test_batches(format, n, below, above, dtype, device):
    batch, members = like(made(n, below, above, dtype), format, 37)
    F = ds.factorized(batch.to(device), 0.125)
    assert (F.count, F.shape, F.dtype) == (37, (n, n), np.dtype(dtype)) and repr(F).startswith("<factors of 37 A_i")
    B = right_sides(n, dtype, 37).T
    for trans in "NTH":
        X = F.solve(B, trans)
        same = F.solve(B[5], trans)
        assert X.shape == same.shape == B.shape and X.dtype == np.dtype(dtype)
        for i, member in enumerate(members):
            op = dict(operations(member - 0.125 * np.eye(n, dtype=dtype)))[trans]
            assert_solves(X[i], op, B[i])
            assert_solves(same[i], op, B[5])


def test_what_a_batch_does_not_solve(device):
    batch, members = like(made(6, 1, 1, "float64"), "dia", 4)
    F = ds.factorized(batch.to(device))
    with raises(ValueError, "4 matrices 6 x 6 and needs (4, 6), or (6,)"):
        F.solve(np.ones((6, 4)))
    with raises(TypeError, "expected numbers"):
        F.solve(np.array(["a"] * 6))
    values = batch.values.copy()
    values[2] = 0
    singular = ds.batch_array(values, ds.dia_array(sp.csr_array(members[0]))).to(device)
    with pytest.raises(np.linalg.LinAlgError, match="member 2" if device == "cpu" else "singular"):
        ds.factorized(singular)
    none = ds.batch_array(values[:0], ds.dia_array(sp.csr_array(members[0]))).to(device)
    assert ds.factorized(none).solve(np.ones(6)).shape == (0, 6)


@on_gpu
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    "n, below, above, method",
    [(40, 0, 0, "diagonal"), (40, 1, 1, "tridiagonal"), (40, 0, 1, "tridiagonal"), (2, 1, 1, "tridiagonal"),
     (1000, 1, 1, "tridiagonal"), (40, 2, 1, "pentadiagonal"), (41, 0, 2, "pentadiagonal"), (3, 2, 2, "pentadiagonal")],
)  # fmt: skip
def test_narrow_bands_on_a_gpu(n, below, above, method, dtype):
    dense = made(n, below, above, dtype)
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


@on_gpu
@pytest.mark.skipif(not HERE, reason="needs cuDSS")
@pytest.mark.parametrize("dtype", DTYPES)
def test_cudss(dtype):
    grid = ds.gallery.stencil(5, (30, 31), dtype=dtype)
    band = sp.csr_array(made(200, 12, 9, dtype))
    for A in (sp.csr_array(grid), band):
        n, dense = A.shape[0], A.toarray()
        F = ds.factorized(ds.array(A, "hm", device="cuda"), 0.3)
        assert F.method == "cudss" and F.nbytes > 0
        for trans, op in operations(dense - 0.3 * np.eye(n, dtype=dtype)):
            for b in (right_sides(n, dtype), np.ones(n, dtype)):
                assert_solves(F.solve(b, trans), op, b)
    with pytest.raises(np.linalg.LinAlgError, match="singular"):
        ds.factorized(ds.csr_array(sp.csr_array(sp.diags_array([1.0] * 9 + [0], offsets=0))).to("cuda"), method="cudss")


@on_gpu
@pytest.mark.skipif(HERE, reason="cuDSS is there")
def test_without_cudss():
    A = ds.hm_array(ds.gallery.stencil(5, (30, 31))).to("cuda")
    with raises(ImportError, 'A.to("cpu")'):
        ds.factorized(A)
    assert ds.factorized(ds.hm_array(ds.gallery.banded(50, 2, 2, seed=0)).to("cuda")).method == "pentadiagonal"


@on_gpu
@pytest.mark.parametrize("name", NAMES)
def test_arrays_of_a_library(name):
    n = 300
    dense = made(n, 1, 1, "float64")
    F = ds.factorized(ds.hm_array(sp.csr_array(dense)).to("cuda"))
    for b in (right_sides(n, "float64"), right_sides(n, "float64")[:, 0], right_sides(n, "complex128")):
        assert_solves(read(name, F.solve(make(name, b))), dense, b)
        assert_solves(read(name, F @ make(name, b)), dense, b)


@on_gpu
def test_cupys_solvers_take_them():
    cupy = pytest.importorskip("cupy")
    linalg = pytest.importorskip("cupyx.scipy.sparse.linalg")
    A = ds.hm_array(ds.gallery.tridiagonal(4000)).to("cuda")
    b, steps = cupy.ones(4000), []
    x, info = linalg.cg(A.to_cupy("csr"), b, M=ds.factorized(A), callback=steps.append)
    assert info == 0 and len(steps) <= 3
    assert abs(A @ x - b).max() < 1e-4


@on_gpu
def test_what_cannot_be_solved_on_a_gpu():
    A = ds.hm_array(ds.gallery.tridiagonal(5)).to("cuda")
    for call, error, words in (
        (lambda: ds.factorized(A, method="banded"), ValueError, "on cuda; there are diagonal"),
        (lambda: ds.factorized(A, method="diagonal"), ValueError, "diagonals from -1 to 1"),
        (lambda: ds.factorized(A).solve(np.ones(4)), ValueError, "5 x 5"),
        (lambda: ds.factorized(A).solve(np.ones(5), "C"), ValueError, "trans"),
        (lambda: ds.factorized(ds.hm_array(sp.eye_array(4)).to("cuda"), 1), np.linalg.LinAlgError, "singular"),
        (lambda: ds.factorized(A * np.nan), np.linalg.LinAlgError, "singular"),
    ):
        with raises(error, words):
            call()
    assert ds.solve(ds.csr_array((0, 0)).to("cuda"), np.ones(0)).shape == (0,)
