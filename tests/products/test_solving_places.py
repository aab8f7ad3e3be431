"""`ds.factorized` of batches, and of both on a GPU: every method beside a dense solve, whose arrays come back."""

import copy
import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from cases import DTYPES, raises
from libraries import NAMES, make, read

import diagsparse as ds
from diagsparse._places import libraries

NO_CUDSS = pytest.mark.skipif(isinstance(libraries.cudss(), Exception), reason="needs cuDSS")
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


@pytest.mark.parametrize("count", [1, 2, 37])
@pytest.mark.parametrize("format", ["dia", "hm", "cdm"])
@pytest.mark.parametrize("n, below, above", [(40, 0, 0), (33, 1, 1), (20, 2, 1), (2, 1, 0), (4, 2, 2), (1, 0, 0)])
@pytest.mark.parametrize("dtype", DTYPES)
def test_batches(count, format, n, below, above, dtype, device):
    batch, members = like(made(n, below, above, dtype), format, count)
    F = ds.factorized(batch.to(device), 0.125)
    assert (F.count, len(F), F.shape, F.dtype) == (count, count, (n, n), np.dtype(dtype))
    assert repr(F).startswith(f"<factors of {count} A_i - 0.125 I")
    B = right_sides(n, dtype, count).T
    for trans in "NTH":
        X = F.solve(B, trans)
        same = F.solve(B[-1], trans)
        assert X.shape == same.shape == B.shape and X.dtype == same.dtype == np.dtype(dtype)
        for i, member in enumerate(members):
            op = dict(operations(member - 0.125 * np.eye(n, dtype=dtype)))[trans]
            assert_solves(X[i], op, B[i])
            assert_solves(same[i], op, B[-1])
    assert np.array_equal(F @ B, F(B)) and np.array_equal(F(B), F.solve(B))


@pytest.mark.parametrize("method", ["tridiagonal", "banded", "dense", "superlu"])
@pytest.mark.parametrize("n", [1, 2, 7])
def test_one_bad_member_stays_alone(method, n):
    """NaN in a right side, and a solution that is too large, are that member's alone: 0 times them is no number."""
    dense = np.diag(np.full(n, 4.0)) + np.diag(np.ones(n - 1), 1) + np.diag(np.ones(n - 1), -1)
    A = ds.hm_array(sp.csr_array(dense))
    batch = ds.batch_array(np.multiply.outer([1, 1e-300, 2, 3], A.values), A)
    B = np.ones((4, n))
    B[1] *= 1e10
    B[2, -1] = np.nan
    for trans in "NTH":
        X = ds.factorized(batch, method=method).solve(B, trans)
        assert not np.isfinite(X[1]).all() and np.isnan(X[2]).any()
        assert np.allclose(X[[0, 3]] @ dense * [[1], [3]], B[[0, 3]])


def test_the_type_of_a_product(device):
    """Single precision beside double is solved in double; complex beside real as two real right sides."""
    dense = made(30, 1, 1, "float64")
    for dtype, b, expected in (
        ("float32", "float64", "float64"), ("float32", "complex64", "complex64"), ("float32", "int64", "float64"),
        ("float64", "complex64", "complex128"), ("complex64", "float64", "complex128"),
        ("float16", "float32", "float32"), ("float32", "complex128", "complex128"),
    ):  # fmt: skip
        A = ds.hm_array(sp.csr_array(dense)).astype(dtype).to(device)
        B = (100 * right_sides(30, "complex128" if b[0] == "c" else "float64")).astype(b)
        F = ds.factorized(A)
        before = F.nbytes
        for trans, op in operations(A.to("cpu").toarray().astype(complex if dtype[0] == "c" else float)):
            x = F.solve(B, trans)
            assert x.dtype == expected == (A @ B).dtype
            assert_solves(x, op, B)
        assert F.nbytes >= before
    with raises(TypeError, "no kernel computes in"):
        F.solve(np.ones(30, np.longdouble)) if np.longdouble != np.float64 else F.solve(np.array(["a"] * 30))


def test_factors_do_not_follow_the_matrix(device):
    for dtype in ("float32", "complex64", "complex128"):
        A = ds.hm_array(ds.gallery.tridiagonal(20)).astype(dtype).to(device)
        F, b = ds.factorized(A), np.ones(20)
        first = F.solve(b.astype(dtype))
        A *= 2
        for x in (F.solve(b, "T"), F.solve(b + 0j, "H"), F.solve(b)):
            assert np.allclose(x, first, rtol=1e-4)


def test_views_of_factors(device):
    dense = made(20, 1, 1, "complex128")
    F, B = ds.factorized(ds.hm_array(sp.csr_array(dense)).to(device)), right_sides(20, "complex128")
    for view, op in ((F.T, dense.T), (F.H, dense.conj().T), (F.H.T, dense.conj()), (F.T.T, dense)):
        assert view.nbytes == F.nbytes
        for trans, of in operations(op):
            assert_solves(view.solve(B, trans), of, B)
        assert_solves(view @ B, op, B)
        assert_solves(view.dot(B[:, 0]), op, B[:, 0])
        assert_solves(view.rmatmat(B), op.conj().T, B)
    assert repr(F.H).startswith("<factors of A.H, 20 x 20")
    assert "(A - 0.5 I).T" in repr(ds.factorized(ds.eye(3), 0.5).T)


def test_copies_and_pickles():
    F = ds.factorized(ds.eye(3))
    assert copy.copy(F) is F and copy.deepcopy([F])[0] is F
    with raises(TypeError, "pickle A, and factor it again"):
        pickle.dumps(F)


def test_what_a_batch_does_not_solve(device):
    batch, members = like(made(6, 1, 1, "float64"), "dia", 4)
    F = ds.factorized(batch.to(device))
    with raises(ValueError, "4 matrices 6 x 6 and needs (4, 6), or (6,)"):
        F.solve(np.ones((6, 4)))
    with pytest.raises(TypeError):
        F.solve(np.array(["a"] * 6))
    with raises(TypeError, "a batch of matrices"):
        F.solve(batch)
    values = batch.values.copy()
    values[2] = 0
    singular = ds.batch_array(values, ds.dia_array(sp.csr_array(members[0]))).to(device)
    with pytest.raises(np.linalg.LinAlgError, match="pivot 1 of member 2" if device == "cpu" else "singular"):
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
@NO_CUDSS
@pytest.mark.parametrize("format", ["hm", "csr", "csc"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_cudss(dtype, format):
    grid = ds.gallery.stencil(5, (30, 31), dtype=dtype)
    band = sp.csr_array(made(200, 12, 9, dtype))
    for A in (sp.csr_array(grid), band):
        n, dense = A.shape[0], A.toarray()
        for matrix, whole in ((A, dense), (A.conj(), dense.conj())):
            F = ds.factorized(ds.array(matrix, format, device="cuda"), 0.25)
            assert F.method == "cudss" and F.nbytes > 0
            for trans, op in operations(whole - 0.25 * np.eye(n, dtype=dtype)):
                for b in (right_sides(n, dtype), np.ones(n, dtype)):
                    assert_solves(F.solve(b, trans), op, b)
        assert_solves(ds.factorized(ds.array(A, format, device="cuda").conj()).solve(b), dense.conj(), b)
    batch, members = like(made(30, 5, 5, dtype), "hm", 3)
    X = ds.factorized(batch.to("cuda")).solve(right_sides(30, dtype, 3).T)
    for i, member in enumerate(members):
        assert_solves(X[i], member, right_sides(30, dtype, 3).T[i])


@on_gpu
@NO_CUDSS
def test_cudss_tells_singular_matrices():
    """Ones are in the range of a ring without some of its eigenvalues, so that they would not tell."""
    ring = ds.gallery.stencil(3, (8,), periodic=True)
    ends = sp.csr_array(sp.diags_array([1.0] * 9 + [0], offsets=0))
    for A, sigma in ((ring, 2), (ends, 0)):
        with pytest.raises(np.linalg.LinAlgError, match="singular"):
            ds.factorized(ds.csr_array(A).to("cuda"), sigma, method="cudss")


@on_gpu
@NO_CUDSS
def test_cudss_on_two_streams():
    cupy = pytest.importorskip("cupy")
    A = ds.csr_array(ds.gallery.stencil(5, (60, 60)))
    F, streams = ds.factorized(A.to("cuda")), [cupy.cuda.Stream(non_blocking=True) for _ in range(2)]
    made = []
    for i in range(20):
        with streams[i % 2]:
            made.append(F.solve(cupy.full(3600, i + 1.0)))
    cupy.cuda.runtime.deviceSynchronize()
    for i, x in enumerate(made):
        assert np.allclose(A @ x.get(), i + 1.0)


@on_gpu
def test_without_cudss(monkeypatch):
    monkeypatch.setattr(libraries, "cudss", lambda: ImportError("no nvmath"))
    A = ds.hm_array(ds.gallery.stencil(5, (30, 31))).to("cuda")
    for method in (None, "cudss"):
        with raises(ImportError, "is not there (no nvmath)", 'A.to("cpu")'):
            ds.factorized(A, method=method)
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
        assert_solves(read(name, F.H @ make(name, b)), dense.T, b)
        assert_solves(read(name, F.dot(make(name, b))), dense, b)
    batch, members = like(dense, "hm", 5)
    B = right_sides(n, "float64", 5).T
    X = read(name, ds.factorized(batch.to("cuda")).solve(make(name, np.ascontiguousarray(B))))
    for i, member in enumerate(members):
        assert_solves(X[i], member, B[i])
    empty = ds.factorized(ds.hm_array((0, 0)).to("cuda"))
    assert read(name, empty.solve(make(name, np.ones(0)))).shape == (0,)


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
        (lambda: ds.factorized(A, method="diagonal"), ValueError, "offsets from -1 to 1"),
        (lambda: ds.factorized(A).solve(np.ones(4)), ValueError, "5 x 5"),
        (lambda: ds.factorized(A).solve(np.ones(5), "C"), ValueError, "trans"),
        (lambda: ds.factorized(ds.hm_array(sp.eye_array(4)).to("cuda"), 1), np.linalg.LinAlgError, "singular"),
        (lambda: ds.factorized(A * np.nan), np.linalg.LinAlgError, "singular"),
    ):
        with raises(error, words):
            call()
    assert ds.solve(ds.csr_array((0, 0)).to("cuda"), np.ones(0)).shape == (0,)
