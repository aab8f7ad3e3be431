"""What a SciPy user types: SciPy's, NumPy's and other libraries' functions on our matrices, against SciPy's own."""

import warnings
from importlib import import_module

import numpy as np
import pytest
import scipy.integrate
import scipy.io
import scipy.linalg
import scipy.optimize
import scipy.sparse as sp
import scipy.sparse.linalg as sla
from cases import case, raises
from scipy.sparse import csgraph

import diagsparse as ds

N = 30
X = np.linspace(1, 2, N)
FORMATS = pytest.mark.parametrize("format", ds.formats())


def theirs(dtype="float64"):
    """Return a well conditioned matrix of SciPy's."""
    a = sp.diags_array([np.linspace(-1, -0.5, N - 1), np.full(N, 4.0), np.full(N - 1, -1.0)], offsets=[-1, 0, 1])
    return sp.csr_array(a.astype(dtype))


def dense(result):
    """Return whatever a function gave in NumPy's arrays."""
    if isinstance(result, (tuple, list)):
        return [dense(part) for part in result]
    return result.toarray() if sp.issparse(result) else np.asarray(result)


S = theirs()
KINDS = "csr", "csc", "coo", "dia", "bsr"
SINCE_117 = {
    "swapaxes": lambda A: sp.swapaxes(A, 0, 1),
    "permute_dims": lambda A: sp.permute_dims(A.copy(), [1, 0]),  # which turns a coo around in place
}
LIST = {
    **(SINCE_117 if hasattr(sp, "permute_dims") else {}),
    "hstack": lambda A: sp.hstack([A, A]),
    "hstack with one of SciPy's": lambda A: sp.hstack([S, A]),
    "vstack": lambda A: sp.vstack([A, S]),
    "kron": lambda A: sp.kron(A, A),
    "kron, SciPy's first": lambda A: sp.kron(S, A),
    "block_array": lambda A: sp.block_array([[A, None], [None, A]]),
    "block_diag": lambda A: sp.block_diag([A, S]),
    "tril": sp.tril,
    "triu": lambda A: sp.triu(A, 1),
    "find": sp.find,
    "asformat, bsr": lambda A: A.asformat("bsr"),
    **{name: getattr(sp, name) for name in (f"{kind}_{what}" for kind in KINDS for what in ("array", "matrix"))},
    "csr_array, a copy": lambda A: sp.csr_array(A, copy=True),
    "coo_array, a copy": lambda A: sp.coo_array(A, copy=True),
    "format=": lambda A: sp.vstack([A, A], format="csc"),
    "spsolve": lambda A: sla.spsolve(A, X),
    "spsolve, sparse": lambda A: sla.spsolve(sp.csc_array(S), A),
    "splu": lambda A: sla.splu(A).solve(X),
    "spilu": lambda A: sla.spilu(A).solve(X),
    "factorized": lambda A: sla.factorized(A)(X),
    "spsolve_triangular": lambda A: sla.spsolve_triangular(sp.tril(A).tocsr(), X),
    "norm": sla.norm,
    "norm 1": lambda A: sla.norm(A, 1),
    "norm inf of rows": lambda A: sla.norm(A, np.inf, axis=1),
    "onenormest": lambda A: sla.onenormest(A, t=N),
    "inv": sla.inv,
    "expm": sla.expm,
    "expm_multiply": lambda A: sla.expm_multiply(A, X),
    "matrix_power": lambda A: sla.matrix_power(A, 3),
    "eigsh": lambda A: sla.eigsh(A + A.T, k=3, v0=X)[0],
    "eigsh, shift and invert": lambda A: sla.eigsh(A + A.T, k=3, sigma=0, v0=X)[0],
    "eigsh, shifted": lambda A: sla.eigsh(A + A.T, k=3, sigma=7.9, v0=X)[0],
    "eigs": lambda A: np.sort(sla.eigs(A, k=2, v0=X, which="LR")[0].real),
    "svds": lambda A: sla.svds(A, k=2, v0=X)[1],
    "lobpcg": lambda A: sla.lobpcg(A + A.T, np.eye(N)[:, :2] + 0.1, maxiter=200)[0],
    **{name: lambda A, name=name: getattr(sla, name)(A, X, rtol=1e-12)[0] for name in ("gmres", "bicgstab", "tfqmr")},
    "cg": lambda A: sla.cg(A + A.T, X, rtol=1e-12)[0],
    "cg, SciPy's operator": lambda A: sla.cg(sla.aslinearoperator(A + A.T), X, rtol=1e-12)[0],
    "connected_components": csgraph.connected_components,
    "dijkstra": lambda A: csgraph.dijkstra(abs(A), indices=0),
    "minimum_spanning_tree": lambda A: csgraph.minimum_spanning_tree(abs(A)),
    "solve_ivp": lambda A: scipy.integrate.solve_ivp(lambda t, y: -(A @ y), (0, 1), X, method="BDF", jac=-A).y[:, -1],
    "solve_ivp, a function": lambda A: scipy.integrate.solve_ivp(
        lambda t, y: -(A @ y), (0, 1), X, method="Radau", jac=lambda t, y: -A
    ).y[:, -1],
    "linprog": lambda A: scipy.optimize.linprog(X, A_eq=A, b_eq=S @ np.ones(N)).x,
    "least_squares": lambda A: scipy.optimize.least_squares(
        lambda y: A @ y - X, X, jac=lambda y: A, tr_solver="lsmr"
    ).x,
    "S @ A": lambda A: S @ A,
    "A @ S": lambda A: A @ S,
    "S + A": lambda A: S + A,
    "A - S": lambda A: A - S,
    "dia + A": lambda A: sp.dia_array(S) + A,
    "S * A": lambda A: S * A,
    "a row * A": lambda A: S[[1]] * A,
    "a column * A": lambda A: S[:, [1]] * A,
    "an element * A": lambda A: S[[1]][:, [1]] * A,
    "a column * a row of A": lambda A: S[:, [1]] * A[[1]],
    "A * v, of one dimension": lambda A: A * S[1],
    "v * A": lambda A: S[1] * A,
    "A @ v": lambda A: A @ S[1],
    "A.dot(v)": lambda A: A.dot(A[1]),
    "v @ A": lambda A: S[1] @ A,
    "S.multiply(A)": lambda A: S.multiply(A),
    "S.dot(A)": lambda A: S.dot(A),
    "S matrix * A": lambda A: sp.csr_matrix(S) * A,
    "S != A": lambda A: S != 2 * A,
    "S < A": lambda A: S < A,
    "identity - A": lambda A: sp.eye_array(N) - A,
    "x @ A": lambda A: X @ A,
}  # fmt: skip


@pytest.mark.parametrize("what", LIST)
@pytest.mark.filterwarnings("ignore::scipy.sparse.SparseEfficiencyWarning")
def test_the_same_result(what):
    for format in ds.formats():
        with case(format):
            result, expected = (dense(LIST[what](A)) for A in (ds.array(S, format), S))
            if what == "find":  # in the order of the format
                result, expected = ([sorted(zip(*map(list, found), strict=True))] for found in (result, expected))
            if isinstance(expected, list):
                assert all(np.allclose(x, y) for x, y in zip(result, expected, strict=True))
            else:
                assert np.shape(result) == np.shape(expected) and np.allclose(result, expected, atol=1e-9)


NUMPY = {
    "np.sum": np.sum,
    "np.sum of columns": lambda A: np.sum(A, axis=0),
    "np.mean": lambda A: np.mean(A, axis=1),
    "np.max": np.max,
    "np.argmin": np.argmin,
    "np.abs": np.abs,
    "np.sqrt": lambda A: np.sqrt(abs(A)),
    "np.sign": np.sign,
    "np.expm1": np.expm1,
    "np.conj": np.conj,
    "np.dot": lambda A: np.dot(A, X),
    "np.dot, from the left": lambda A: np.dot(X, A),
    "np.matmul": lambda A: np.matmul(A, X),
    "np.maximum": lambda A: np.maximum(A, X),
    "np.less": lambda A: np.less(A, X),
    "np.diagonal": lambda A: np.diagonal(A),
    "np.trace": lambda A: np.trace(A),
    "np.diagonal, another": lambda A: np.diagonal(A, offset=-1),
    "np.amax": lambda A: np.amax(A),
    "np.square": lambda A: np.square(A),
    "np.around": lambda A: np.around(A, 1),
    "np.round": np.round,
    "np.count_nonzero": lambda A: np.count_nonzero(A, axis=1),
    "np.transpose": np.transpose,
    "np.shape": np.shape,
    "np.ndim": np.ndim,
    "np.iscomplexobj": np.iscomplexobj,
    "np.result_type": lambda A: str(np.result_type(A, np.float32)),
}


@pytest.mark.quick
@pytest.mark.parametrize("what", NUMPY)
def test_numpy_functions(what):
    for format in ds.formats():
        with case(format):
            result, expected = dense(NUMPY[what](ds.array(S, format))), NUMPY[what](S.toarray())
            if isinstance(result, list) or isinstance(expected, str):
                assert np.array_equal(result, expected)
            else:
                assert np.shape(result) == np.shape(expected) and np.allclose(result, expected, atol=1e-12)


@FORMATS
def test_it_is_a_sparse_array(format):
    A = ds.array(S, format)
    for view in (A, A.T, A.conj(), A.astype("complex64").H):
        assert sp.issparse(view) and isinstance(view, sp.sparray) and not sp.isspmatrix(view)
        for kind in ("csr", "csc", "coo", "dia"):
            result = getattr(sp, f"{kind}_array")(view)
            assert type(result) is getattr(sp, f"{kind}_array") and np.array_equal(result.toarray(), view.toarray())
            if kind in ("csr", "csc"):  # of one type, which SciPy's native code trusts
                assert result.indices.dtype == result.indptr.dtype
    assert getattr(S, f"to{format}")().format == format and S.asformat(format).format == format
    assert not callable(A) and not isinstance(
        A, sla.LinearOperator
    )  # or functions would call it, or estimate its trace
    operator = sla.aslinearoperator(A)
    assert np.allclose(operator @ X, S @ X) and np.allclose(operator.H @ X, S.T @ X)
    assert np.allclose((A + operator) @ X, 2 * (S @ X)) and np.allclose((A @ operator) @ X, S @ (S @ X))


@FORMATS
def test_errors_of_what_is_not_supported(format):
    A = ds.array(S, format)
    for call, words in (
        (lambda: np.asarray(A), "A.toarray()"),
        (lambda: np.array(A, float), "A.toarray()"),
        (lambda: np.linalg.norm(A), "write diagsparse.norm(A)"),
        (lambda: np.linalg.solve(A, X), "diagsparse.solve(A, b)"),
        (lambda: np.allclose(A, A), "abs(A - B).max()"),
        (lambda: np.vstack([A, A]), "scipy.sparse.vstack"),
        (lambda: np.kron(A, A), "diagsparse.kron"),
        (lambda: np.cos(A), "A.toarray()"),
        (lambda: np.cumsum(A), "np.cumsum of A.toarray()"),
        (lambda: scipy.linalg.expm(A), "A.toarray()"),
        (lambda: scipy.io.mmwrite("never.mtx", A), "A.to_scipy()"),
    ):
        with raises(TypeError, "is sparse", words):
            call()
    for call, words in (
        (A.tolil, "A.to_scipy().tolil()"),
        (A.todok, "A.to_scipy().todok()"),
        (lambda: A.asformat("lil"), "A.to_scipy().tolil()"),
        (lambda: A.reshape(5, -1), "A.to_scipy().reshape(shape)"),
        (lambda: A.resize(5, 5), "A[:m, :n]"),
        (lambda: sp.lil_array(A), "A.to_scipy().tolil()"),
    ):
        with raises(NotImplementedError, words):
            call()
    assert A.reshape(N, N) is A and A.reshape((N, N), copy=True) is not A
    blocks = np.asarray([[A, None]], dtype=object)  # as SciPy lists them
    assert blocks.shape == (1, 2) and blocks[0, 0] is A


@FORMATS
def test_conversions_copy_all_arrays(format):
    A = ds.array(S, format).copy()
    for result in (
        A.tocsr(copy=True),
        A.tocoo(copy=True),
        *(getattr(A, f"to{k}")() for k in ("csr", "csc", "coo") if k != format),
    ):
        assert result is not A and not np.shares_memory(result.values, A.values)
    for result in (sp.csr_array(A, copy=True), sp.csc_array(A, copy=True), sp.coo_array(A, copy=True)):
        result.data[:] = 0
        result.eliminate_zeros()  # whose arrays are its own
        assert result.nnz == 0
    assert np.array_equal(A.toarray(), S.toarray())
    for write in ("indices", "indptr"):
        if hasattr(A, write) and format in ("csr", "csc"):
            setattr(A, write, getattr(A, write).astype(np.int64))  # says the same
    assert np.array_equal(A.toarray(), S.toarray())


@FORMATS
@pytest.mark.parametrize("kind", ["csr", "csc", "coo"])
def test_conversions_by_scipy_share_arrays_only_in_the_same_format(format, kind):
    A = ds.array(S.copy(), format)
    result = getattr(sp, f"{kind}_array")(A)
    result.data[::2] = 0
    result.eliminate_zeros()  # which moves values and indices in place, or makes new ones
    expected = (result if kind == format else S).toarray()
    assert np.array_equal(A.toarray(), expected) and np.allclose(A @ X, expected @ X)
    again = getattr(sp, f"{kind}_array")(A, copy=True)
    again.data[:] = 0
    again.eliminate_zeros()
    assert np.array_equal(A.toarray(), expected)


LIBRARIES = {
    "pandas": lambda pandas, A: pandas.DataFrame.sparse.from_spmatrix(A).to_numpy(),
    "sklearn.utils": lambda utils, A: utils.check_array(A, accept_sparse="csr"),
    "sklearn.cluster": lambda cluster, A: cluster.KMeans(2, random_state=0, n_init=1).fit(A).inertia_,
    "sklearn.preprocessing": lambda preprocessing, A: preprocessing.normalize(A),
    "pyamg": lambda pyamg, A: pyamg.ruge_stuben_solver(A).solve(X, tol=1e-12),
    "networkx": lambda networkx, A: networkx.to_scipy_sparse_array(networkx.from_scipy_sparse_array(A + A.T)),
    "qutip": lambda qutip, A: qutip.Qobj(A).full(),
}


@pytest.mark.parametrize("format", ["dia", "hm", "csr", "csc", "coo", "mdia"])
@pytest.mark.parametrize("library", LIBRARIES)
def test_other_libraries(library, format):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        module = pytest.importorskip(library.partition(".")[0]) and import_module(library)
        result, expected = (dense(LIBRARIES[library](module, A)) for A in (ds.array(S, format), S))
    assert np.allclose(result, expected)


def test_a_matrix_is_not_called():
    cluster = pytest.importorskip("sklearn.cluster")
    with raises(NotImplementedError, "A.to_scipy().tolil()"):
        cluster.AgglomerativeClustering(3, connectivity=ds.hm_array(S)).fit(np.zeros((N, 2)))
