"""The kernels of csr on a GPU where rows are of very different lengths, and what its plans store."""

import numpy as np
import pytest
import scipy.sparse as sp
from cases import NO_CUDA, NOT_DIAGONAL, raises

import diagsparse as ds
from diagsparse._products.plans import MatmulPlan
from diagsparse._study.exactness import MatvecCheck, rounding, vector

pytestmark = [pytest.mark.gpu, pytest.mark.skipif(not ds.cuda_available(), reason=NO_CUDA)]


def of_lengths(lengths, cols, dtype=np.float64, seed=0):
    """Return a csr_array whose rows have these lengths, in random columns."""
    rng = np.random.default_rng(seed)
    lengths = np.asarray(lengths)
    columns = [np.sort(rng.choice(cols, length, replace=False)) for length in lengths]
    indptr = np.concatenate(([0], np.cumsum(lengths)))
    values = vector(indptr[-1], dtype)
    return sp.csr_array((values, np.concatenate(columns or [[]]).astype(np.int32), indptr), shape=(len(lengths), cols))


def lengths_like(kind):
    """Return lengths of rows that reach every branch of the kernels, and a number of columns."""
    rng = np.random.default_rng(1)
    return {
        "short": (rng.integers(0, 9, 3000), 500),
        "empty": (np.where(np.arange(5000) % 997 == 0, 30, 0), 64),  # chunks without entries
        "about a block": ([639, 640, 641, 1023, 1024, 1025, 383, 384, 385, 1, 0, 2], 1100),
        "one long": ([3] * 700 + [2900] + [4] * 700, 3000),
        "long last": ([1] * 10 + [2500], 2500),
        "very long": ([2, 40_000, 0, 3, 33_000], 50_000),  # for "merge"
        "mean above 256": ([300] * 40 + [0] + [257], 400),  # for "warp_per_row"
        "one column": (np.arange(2000) % 2, 1),
        "long in short": (np.where(np.arange(3000) % 50 == 7, 130, 3), 400),  # a warp processes the long ones
        "large": (rng.integers(5, 40, 60_000), 64),  # chunks that fill a block of threads
    }[kind]


KINDS = ["short", "empty", "about a block", "one long", "long last", "very long", "mean above 256", "one column",
         "long in short", "large"]  # fmt: skip
KERNELS = ["stream", "merge", "threads_per_row", "warp_per_row", "row"]


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("kind", KINDS)
def test_rows_of_all_lengths(kind, kernel):
    a = of_lengths(*lengths_like(kind))
    A = ds.csr_array(a, device="cuda")
    x = vector(a.shape[1], np.float64)
    check = MatvecCheck(a, x)
    y = A.matvec(x, kernel=kernel)
    assert check(y) <= 1
    assert A.matvec(x, kernel=kernel).tobytes() == y.tobytes()
    before = vector(a.shape[0], np.float64)
    out = A.matvec(x, out=before.copy(), alpha=2, beta=-3, kernel=kernel)
    assert np.abs(out - (2 * (a @ x) - 3 * before)).max() <= 4 * (check.bound.max() + 4e-16 * np.abs(before).max())
    block = np.outer(x, np.arange(1, 20))
    product = A.matvec(block, kernel=kernel)
    assert MatvecCheck(a, block)(product) <= 1


@pytest.mark.parametrize("kernel", ["cusparse", "cusparse_alg1", "cusparse_alg2"])
@pytest.mark.parametrize("kind", KINDS)
def test_the_algorithms_of_cusparse(kind, kernel):
    a = of_lengths(*lengths_like(kind))
    A, x, z = ds.csr_array(a, device="cuda"), *(vector(n, np.float64) for n in reversed(a.shape))
    assert MatvecCheck(a, x)(A.matvec(x, kernel=kernel)) <= 1
    assert MatvecCheck(sp.csr_array(a.T), z)(A.rmatvec(z, kernel=kernel)) <= 1
    plan = ds.plan_matvec(A, kernel=kernel)
    assert all(MatvecCheck(a, x * k)(plan(x * k)) <= 1 for k in (1, 2))


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
@pytest.mark.parametrize("height", [1, 7, 32, 1024])
@pytest.mark.parametrize("kind", ["short", "empty", "about a block"])
def test_sell_by_cusparse(kind, height, dtype):
    a = of_lengths(*lengths_like(kind), dtype)
    A = ds.sell_array(a, slice_height=height, device="cuda")
    for V, v in ((A, a), (A.conj(), a.conj()), (A.T, a.T), (A.H, a.conj().T)):
        x = vector(v.shape[1], dtype)
        assert MatvecCheck(sp.csr_array(v), x)(V.matvec(x, kernel="cusparse")) <= 1
    block = np.outer(vector(a.shape[1], dtype), np.arange(1, 4)).astype(dtype)
    assert np.array_equal(A.matvec(block, kernel="cusparse"), A @ block), "blocks are left to the default"


@pytest.mark.parametrize("layout", [
    {"format": "ell"}, {"format": "ell", "row_lengths": True}, {"format": "sell", "sigma": 64},
    {"format": "sell", "slice_height": 5}, {"format": "sell", "row_lengths": True},
], ids=str)  # fmt: skip
@pytest.mark.parametrize("kind", KINDS)
def test_padded_rows_of_all_lengths(kind, layout):
    a = of_lengths(*lengths_like(kind))
    A, x = ds.csr_array(a, device="cuda").asformat(**layout), vector(a.shape[1], np.float64)
    y, check, before = A @ x, MatvecCheck(a, x), vector(a.shape[0], np.float64)
    assert check(y) <= 1 and (A @ x).tobytes() == y.tobytes()
    out = A.matvec(x, out=before.copy(), alpha=2, beta=-3)
    assert np.abs(out - (2 * (a @ x) - 3 * before)).max() <= 4 * (check.bound.max() + 4e-16 * np.abs(before).max())
    block = np.asfortranarray(np.outer(x, [1, 2, 3]))
    assert MatvecCheck(a, block)(A @ block) <= 1


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex128"])
@pytest.mark.parametrize(
    "layout", [{}, {"sigma": 512}, {"row_lengths": True}, {"slice_height": 5}, {"column_bits": 16}]
)
def test_sell_with_a_few_long_slices(layout, dtype):
    lengths = np.random.default_rng(3).integers(0, 6, 20_000)
    lengths[[4000, 4001, 19_999]] = 3000, 700, 65
    a = of_lengths(lengths, 5000, dtype)
    A, x = ds.csr_array(a, device="cuda").asformat("sell", **layout), vector(a.shape[1], dtype)
    check, before = MatvecCheck(a, x), vector(a.shape[0], dtype)
    y = A @ x
    assert check(y) <= 1 and (A @ x).tobytes() == y.tobytes()
    out = A.matvec(x, out=before.copy(), alpha=2, beta=-3)
    assert np.abs(out - (2 * (a @ x) - 3 * before)).max() <= 4 * (check.bound.max() + rounding(1, dtype) * 3)
    block = np.outer(x, [1, 2, 3]).astype(dtype)
    assert MatvecCheck(a, block)(A @ block) <= 1
    assert MatvecCheck(a.conj(), x)(A.conj() @ x) <= 1


def test_cusparse_takes_no_sorted_rows_of_sell():
    a = of_lengths(*lengths_like("short"))
    A = ds.sell_array(a, sigma=64, device="cuda")
    assert "cusparse" in ds.sell_array(a, device="cuda").kernels() and "cusparse" not in A.kernels()
    with raises(ValueError, "cusparse", "row_order", "sigma=1"):
        A.matvec(vector(a.shape[1], np.float64), kernel="cusparse")
    with raises(ValueError, "cusparse"):
        ds.plan_matvec(A, kernel="cusparse")


@pytest.mark.parametrize("layout", ["C", "F", "1", "2"])
@pytest.mark.parametrize("cols", [2, 3, 8, 19, 70])
@pytest.mark.parametrize("kind", ["short", "empty", "about a block", "one long", "mean above 256", "long in short"])
def test_blocks_of_columns(kind, cols, layout):
    cupy = pytest.importorskip("cupy")
    a = of_lengths(*lengths_like(kind))
    A = ds.csr_array(a, device="cuda")
    block = np.random.default_rng(cols).standard_normal((a.shape[1], cols))
    check = MatvecCheck(a, block)
    gap = int(layout) if layout.isdigit() else 0  # elements between the rows of x
    x = cupy.empty((a.shape[1], cols + gap), order="F" if layout == "F" else "C")[:, :cols]
    x[...] = cupy.asarray(block)
    result = A.matvec(x, kernel="stream").get()
    assert check(result) <= 1
    assert A.matvec(x, kernel="stream").get().tobytes() == result.tobytes()
    before = np.random.default_rng(0).standard_normal(result.shape)
    out = cupy.array(before, order="F" if layout == "F" else "C")
    A.matvec(x, out=out, alpha=2, beta=-3, kernel="stream")
    assert np.abs(out.get() - (2 * result - 3 * before)).max() <= 4 * (check.bound.max() + 4e-16 * np.abs(before).max())


@pytest.mark.parametrize("dtypes", [("float32", "float32"), ("float32", "float64"), ("complex64", "complex64"),
                                    ("float64", "complex128"), ("complex128", "complex128")])  # fmt: skip
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("format", NOT_DIAGONAL)
def test_blocks_of_all_types_and_their_transposes(format, order, dtypes):
    a = of_lengths([700] * 2 + [1, 0, 7] * 400 + [33] * 20, 900, dtypes[0])
    A = ds.array(a, format, device="cuda")
    for S, V in ((a, A), (sp.csr_array(a.T), A.T), (sp.csr_array(a.conj().T), A.H)):
        x = np.asarray(vector(8 * S.shape[1], dtypes[1]).reshape(S.shape[1], 8), order=order)
        result = np.asarray(V @ x)
        assert MatvecCheck(S, x)(result) <= 1
        assert MatvecCheck(S, x[:, 3])(np.asarray(V @ x[:, 3])) <= 1


def test_a_vector_may_be_strided():
    cupy = pytest.importorskip("cupy")
    a = of_lengths(*lengths_like("one long"))
    x, y = cupy.zeros((a.shape[1], 3)), cupy.zeros((a.shape[0], 2))
    x[:, 1] = cupy.asarray(vector(a.shape[1], np.float64))
    ds.csr_array(a, device="cuda").matvec(x[:, 1], out=y[:, 1], kernel="stream")
    assert MatvecCheck(a, x[:, 1].get())(y[:, 1].get()) <= 1
    assert not y[:, 0].any()


@pytest.mark.parametrize("format", ["csr", "csc", "coo"])
def test_adjoints_of_long_columns(format):
    a = of_lengths([700] * 3 + [1] * 1500, 900, np.complex128)
    x = vector(a.shape[0], np.complex128)
    result = ds.array(a, format, device="cuda").H @ x
    assert MatvecCheck(sp.csr_array(a.conj().T), x)(np.asarray(result)) <= 1


@pytest.mark.parametrize("layout", [
    {"format": "ell"}, {"format": "ell", "column_bits": 8}, {"format": "sell"}, {"format": "sell", "sigma": 64},
    {"format": "ellcsr", "boundary": 3}, {"format": "ellcsr", "boundary": 4, "column_bits": 16},
    {"format": "hyb", "width": 3}, {"format": "jds"}, {"format": "csb"},
], ids=str)  # fmt: skip
def test_long_columns_of_padded_rows(layout):
    """Padding adds no entries to a transpose; "merge" processes columns of more than 32768 entries."""
    a = sp.csr_array(of_lengths(*lengths_like("very long")).T)
    A, x = ds.csr_array(a, device="cuda").asformat(**layout), vector(a.shape[0], np.float64)
    check, y = MatvecCheck(sp.csr_array(a.T), x), A.T @ x
    assert check(np.asarray(y)) <= 1 and np.asarray(A.T @ x).tobytes() == np.asarray(y).tobytes()
    block = np.outer(x, [1, 2, 3])
    assert MatvecCheck(sp.csr_array(a.T), block)(np.asarray(A.T @ block)) <= 1


def test_long_columns_of_one_triangle():
    """Where shared memory has no room, the mirror image is a transpose."""
    n = 40_000
    a = sp.lil_array((n, n))
    a[:, 0] = a[0, :] = np.arange(n) % 5 - 2.0
    a[n - 1, : n // 2] = a[: n // 2, n - 1] = 1.0
    a = sp.csr_array(a)
    A, x = ds.csr_array(a, device="cuda").asformat("ellcsr", symmetry="symmetric", boundary_column=n), np.arange(n) % 7
    assert np.array_equal(A @ x.astype(float), a @ x)


@pytest.mark.parametrize("kernel", ["cusparse", "cusparse_alg1", "cusparse_alg2"])
def test_transposes_and_adjoints_by_cusparse(kernel):
    """What is cached for the one is not used for the other."""
    a = of_lengths(*lengths_like("one long"), np.complex128)
    A, x = ds.csr_array(a, device="cuda"), vector(a.shape[0], np.complex128)
    for X in (x, np.outer(x, [1, 2]).astype(np.complex128)):
        for V, v in ((A.conj(), a.T), (A, a.conj().T), (A.conj(), a.T)):
            assert MatvecCheck(sp.csr_array(v), X)(np.asarray(V.rmatvec(X, kernel=kernel))) <= 1


def products():
    """Return pairs whose products have rows of more than 2048 entries, and entries of more than 256 terms."""
    yield "dense row times dense column", of_lengths([900] + [2] * 900, 901), of_lengths([3] * 901, 1500)
    yield "thin", of_lengths([600, 0, 599], 600), sp.csr_array(vector(600, np.float64)[:, None])
    yield "wide", of_lengths([20, 0, 1, 400], 500), of_lengths([120] * 500, 5000)
    yield "long rows of A", of_lengths([3000, 1025, 7, 2600], 3000), of_lengths([2, 0, 1] * 1000, 60)
    yield "long rows of both", of_lengths([2000, 1, 1500], 2000), of_lengths([9] * 1999 + [3001], 4000)
    yield "rows of B for a warp or a block", of_lengths([5000, 40, 3], 5001), of_lengths([300, 900, 40] * 1667, 6000)
    yield "band", *[sp.csr_array(ds.gallery.banded(700, 9, 9, seed=0))] * 2
    yield "empty", sp.csr_array((30, 40)), of_lengths([3] * 40, 20)


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
@pytest.mark.parametrize("case", list(products()), ids=lambda case: case[0])
def test_hash_and_terms_have_the_same_bits(case, dtype):
    _, a, b = case
    a, b = sp.csr_array(a.astype(dtype)), sp.csr_array(b.astype(dtype))
    A, B = ds.csr_array(a, device="cuda"), ds.csr_array(b, device="cuda")
    expected = (a @ b).toarray()
    bound = rounding(int(np.diff(a.indptr).max(initial=0)), dtype) * (abs(a) @ abs(b)).toarray()
    result = {kernel: A.matmul(B, kernel=kernel) for kernel in ("hash", "terms", "warp_per_row")}
    for kernel, C in result.items():
        assert (np.abs(C.to("cpu").toarray() - expected) <= bound).all(), kernel
    assert result["hash"].values.get().tobytes() == result["terms"].values.get().tobytes()
    for kernel, C in result.items():
        ds.plan_matmul(A, B, kernel=kernel)(out=C, alpha=2, beta=-1)
        assert (np.abs(C.to("cpu").toarray() - expected) <= 4 * bound).all(), kernel


def test_a_plan_that_runs_many_times_lists_its_terms():
    a = of_lengths([5] * 2000, 2000)
    A = ds.csr_array(a, device="cuda")
    plan, once = ds.plan_matmul(A, A), MatmulPlan(A, A)
    assert (plan.kernel, once.kernel) == ("terms", "hash")
    terms = int(np.diff(a.indptr)[a.indices].sum())
    assert plan.workspace_nbytes >= 8 * terms and once.workspace_nbytes < 8 * terms
    assert ds.forecast("matmul", A, A).workspace_nbytes == once.workspace_nbytes


def test_a_single_product_with_a_very_long_row_lists_its_terms():
    """Row 0 of C has 49 chunks or more, each of which would look at all 10^5 entries of A's row."""
    rng, n, columns = np.random.default_rng(0), 100_000, 60_000
    a = sp.csr_array((rng.integers(1, 5, n).astype(float), (np.zeros(n, int), np.arange(n))), shape=(3, n))
    pointers = np.arange(0, 11 * n + 1, 11)
    b = sp.csr_array((np.ones(11 * n), rng.integers(0, columns, 11 * n), pointers), shape=(n, columns))
    b.sum_duplicates()
    A, B = ds.csr_array(a, device="cuda"), ds.csr_array(b, device="cuda")
    assert MatmulPlan(A, B).kernel == "terms"
    expected = (a @ b).toarray()
    for kernel in (None, "hash"):
        assert np.array_equal(A.matmul(B, kernel=kernel).to("cpu").toarray(), expected)


def test_the_first_planned_call_allocates_nothing():
    a = of_lengths([5] * 2000, 2000)
    A = ds.csr_array(a, device="cuda")
    for kernel in ("terms", "hash"):
        plan = ds.plan_matmul(A, A, kernel=kernel)
        C = A.matmul(A)
        workspace = plan.workspace_nbytes
        assert workspace > 0, "what was listed with the plan is still there"
        plan(out=C)
        assert plan.workspace_nbytes == workspace
