"""Products of blocks: which pairs there are, infinities, long rows, and when they are computed as csr."""

import numpy as np
import pytest
import scipy.sparse as sp
from cases import EACH_DTYPE, NO_CUDA, at_night, raises, to_device, to_host

import diagsparse as ds
from benchmarks.papers.paper_004_columns import FACTOR_BITS, STAGED


def blocked(down, across, occupied, fill, seed=0, dtype="float64"):
    """Return small integers in some 8 x 8 blocks, in a fraction of each; sums of their products are exact."""
    rng = np.random.default_rng(seed)
    pattern = sp.random_array((down, across), density=occupied, rng=rng, format="csr")
    pattern.data[:] = 1
    a = sp.kron(pattern, np.ones((8, 8)), format="csr")
    a.data = rng.integers(1, 9, a.nnz) * (rng.random(a.nnz) < fill).astype(dtype)
    a.eliminate_zeros()
    return a.astype(dtype)


@pytest.mark.parametrize("fill", [0.03, 0.4, 1.0])
@EACH_DTYPE
def test_products_store_every_element_that_is_reached(device, dtype, fill):
    """C stores exactly the positions in the product of the patterns, even if values cancel."""
    a, b = blocked(9, 12, 0.3, fill, 1, dtype), blocked(12, 5, 0.4, fill, 2, dtype)
    a, b = a[:70, :93], b[:93, :37]  # cut off by edges
    A, B = ds.bmsparse_array(a, device=device), ds.bmsparse_array(b, device=device)
    reached = (abs(a) @ abs(b)).toarray() > 0
    for left, right, expected in ((A, B, (a @ b).toarray()), (B.T, A.T, (a @ b).T.toarray())):
        for kernel in (None, *A.kernels("matmul")):  # small whole numbers are exact in all of them
            C = left.matmul(right, format="bmsparse", kernel=kernel)
            assert np.array_equal(C.toarray(), expected), kernel
            assert C.nnz == reached.sum() and C.format == "bmsparse", kernel
            plan = ds.plan_matmul(left, right, format="bmsparse", kernel=kernel)
            assert np.array_equal(plan(out=plan(), alpha=2, beta=-1).toarray(), expected), kernel
    signs = sp.diags_array(np.where(np.arange(93) % 2, 1.0, -1.0)).astype(dtype)
    both = ds.bmsparse_array(sp.hstack([a, a @ signs]).tocsr(), device=device)
    other = ds.bmsparse_array(sp.vstack([b, -(signs @ b)]).tocsr(), device=device)
    for kernel in A.kernels("matmul"):
        C = both.matmul(other, format="bmsparse", kernel=kernel)
        assert not C.toarray().any() and C.nnz == reached.sum()


@EACH_DTYPE
def test_every_kernel_within_the_bound_of_its_precision(device, dtype):
    rng = np.random.default_rng(0)
    a, b = (blocked(6, 6, 0.6, 0.7, seed, dtype)[:45, :45] for seed in (5, 6))
    for m in (a, b):
        m.data = (rng.uniform(0.5, 2, m.nnz) * rng.choice([-1, 1], m.nnz)).astype(dtype)
        if np.iscomplexobj(m):
            m.data *= np.exp(1j * rng.uniform(0, 6, m.nnz)).astype(dtype)
    wide = "complex128" if np.iscomplexobj(a) else "float64"
    expected, scale = (a.astype(wide) @ b.astype(wide)).toarray(), (abs(a) @ abs(b)).toarray()
    A, B = ds.bmsparse_array(a, device=device), ds.bmsparse_array(b, device=device)
    default = A.matmul(B, format="bmsparse").to("cpu")
    names = A.kernels("matmul")
    assert names[0] == ("block" if device == "cpu" else "fragments")
    assert set(FACTOR_BITS).issubset(names) == (device != "cpu" and dtype == "float32")
    for kernel in names:
        result = [A.matmul(B, format="bmsparse", kernel=kernel).to("cpu") for _ in range(2)]
        assert np.array_equal(result[0].values, result[1].values), f"{kernel}: other bits"
        for name, part in default.parts().items():
            assert name == "values" or np.array_equal(result[0].parts()[name], part), f"{kernel}: {name}"
        factors = 2.0 ** -FACTOR_BITS[kernel] if kernel in FACTOR_BITS else 0
        bound = 2 * factors + factors**2 + 100 * np.finfo(dtype).eps
        assert (abs(result[0].toarray() - expected) <= bound * scale).all(), kernel


@pytest.mark.gpu
@pytest.mark.skipif(not ds.cuda_available(), reason=NO_CUDA)
def test_kernels_of_16_bits_survive_large_values():
    """float16 ends at 65504: larger factors overflow, and such sums are computed again."""
    a = blocked(4, 4, 0.8, 0.6, 7, "float32")
    a.data[::5] *= 2**17
    A, exact = ds.bmsparse_array(a, device="cuda"), a.astype("float64")
    for kernel in FACTOR_BITS:
        C = A.matmul(A, format="bmsparse", kernel=kernel).toarray()
        np.testing.assert_allclose(C, (exact @ exact).toarray(), rtol=1e-5, err_msg=kernel)  # no term cancels
    for other in (A.astype("float64"), A.astype("complex64")):
        for kernel in FACTOR_BITS:
            with raises(ValueError, kernel, other.dtype.name):
                ds.plan_matmul(other, other, format="bmsparse", kernel=kernel)


def test_stages(device):
    """The seconds of each stage, in the order that they run."""
    A = ds.bmsparse_array(blocked(5, 5, 0.5, 0.9), device=device)
    listed = ["T1 count", "T2 gather", "T3 list", "T4 sort", "T5 reduce", "plan", "allocate", "T6 multiply"]
    for kernel in A.kernels("matmul"):
        C, stages = A.matmul(A, format="bmsparse", kernel=kernel, profile=True)
        stages.pop("T4 segments", None)
        assert list(stages) == (listed if kernel in STAGED else ["candidates", "pairs", "plan", "allocate", "multiply"])
        assert min(stages.values()) >= 0 and np.array_equal(C.toarray(), A.toarray() @ A.toarray())


@pytest.mark.gpu
@pytest.mark.skipif(not ds.cuda_available(), reason=NO_CUDA)
def test_lists_of_tasks_are_sorted_by_their_rules():
    """`adaptive` has a segmented sort for more than 10^6 tasks, `short_segments` for fewer than 64 in a row."""
    few_and_short = sp.diags_array(
        [1.0, 1.0, 1.0], offsets=[-8, 0, 8], shape=(800, 800), dtype=np.float32
    )  # 9 in a row
    few_and_long = sp.csr_array(np.ones((80, 80), np.float32))  # 10^3 tasks, 100 in a row
    many_and_long = blocked(101, 101, 1, 1, dtype="float32")  # 101^3 tasks, 101^2 in a row
    many_and_short = sp.kron(sp.eye_array(40_000), blocked(3, 3, 1, 1), format="csr").astype(np.float32)  # 27 * 40 000
    segmented = {
        "baseline": (0, 0, 0, 0), "indexed": (0, 0, 0, 0), "segmented_sort": (1, 1, 1, 1), "adaptive": (0, 0, 1, 1),
        **dict.fromkeys(("short_segments", "cuda_cores", "tc_naive", "tc_2blk", "tc_2tsk"), (1, 0, 0, 1)),
    }  # fmt: skip
    assert segmented.keys() == set(STAGED)
    for which, a in enumerate((few_and_short, few_and_long, many_and_long, many_and_short)):
        A = ds.bmsparse_array(a, device="cuda")
        for kernel, expected in segmented.items():
            _, stages = A.matmul(A, format="bmsparse", kernel=kernel, profile=True)
            assert ("T4 segments" in stages) == bool(expected[which]), (kernel, which)


def test_blocks_that_meet_in_nothing_are_left_out(device):
    """A's blocks have their first column alone, B's their last row."""
    a, b = np.zeros((16, 16)), np.zeros((16, 16))
    a[:, [0, 8]], b[[7, 15], :] = 1, 1
    b[0, 3] = 5
    C = ds.bmsparse_array(a, device=device).matmul(ds.bmsparse_array(b, device=device), format="bmsparse")
    assert (C.blocks, C.nnz) == (2, 16) and np.array_equal(C.toarray(), a @ b)


def test_infinities_meet_only_stored_values(device):
    a, b = blocked(4, 4, 0.8, 0.5, 3).tolil(), blocked(4, 4, 0.8, 0.5, 4).tolil()
    i, j = (int(index[0]) for index in a.nonzero())
    a[i, j] = np.inf
    k, l = (int(index[-1]) for index in b.nonzero())  # noqa: E741
    b[k, l] = np.nan
    a, b = a.tocsr(), b.tocsr()
    A, B = ds.bmsparse_array(a, device=device), ds.bmsparse_array(b, device=device)
    plans = [ds.plan_matmul(A, B, format="bmsparse", kernel=kernel) for kernel in A.kernels("matmul")]
    single = A.astype("float32"), B.astype("float32")
    plans += [ds.plan_matmul(*single, format="bmsparse", kernel=kernel) for kernel in single[0].kernels("matmul")]
    with np.errstate(invalid="ignore"):
        expected = (a @ b).toarray()
        assert np.isnan(expected).any() and np.isinf(expected).any()
        for plan in plans:
            for _ in range(2):  # a plan remembers nothing of the run before
                np.testing.assert_array_equal(plan().toarray(), expected, plan.kernel)
        x = np.ones(32)
        x[j] = np.inf
        X = np.stack([x, np.ones(32), np.full(32, np.nan), x, -x], axis=1)
        for given in (x, X, np.asfortranarray(X), X[:, ::2]):
            np.testing.assert_array_equal(to_host(A @ to_device(given, device)), a @ given)
            np.testing.assert_array_equal(to_host(A.T @ to_device(given, device)), a.T @ given)


@pytest.mark.parametrize("dtype", at_night(["float32", "complex128"], before=["float32"]))
def test_long_rows_and_columns(device, dtype):
    """One row of blocks, and one column, longer than a group of threads processes at once."""
    n = 8 * 2500
    a = sp.lil_array((n, 40), dtype=dtype)
    a[::3, 5] = 1 + np.arange(0, n, 3) % 7
    a[77, :] = 2
    a = a.tocsr()
    A = ds.bmsparse_array(a, device=device)
    for V, v in ((A, a), (A.T, a.T)):
        for shape in ((v.shape[1],), (v.shape[1], 5)):
            x = np.arange(np.prod(shape)).reshape(shape) % 5
            assert np.array_equal(to_host(V @ to_device(x.astype(dtype), device)), v @ x.astype(dtype))
    assert np.array_equal(A.T.matmul(A, format="bmsparse").toarray(), (a.T @ a).toarray())
    for kernel in A.kernels("matmul") if device != "cpu" else [None]:
        square = A.matmul(A.T, format="bmsparse", kernel=kernel)
        assert (square.to("cpu").to_scipy("csr") != a @ a.T).nnz == 0, kernel
    other = A.T.matmul(ds.bmsparse_array(sp.eye_array(n, dtype=dtype), device=device), format="bmsparse")
    assert (other.to("cpu").to_scipy("csr") != a.T).nnz == 0  # rows with many blocks, each of which meets one


def test_products_of_nearly_empty_blocks_are_computed_as_csr(device):
    full, empty = blocked(12, 12, 0.2, 0.9), blocked(12, 12, 0.2, 0.02)
    A, B = ds.bmsparse_array(full, device=device), ds.bmsparse_array(empty, device=device)
    assert (A @ A).format == ds.plan_matmul(A, A).format == "bmsparse"
    C = B @ B
    assert C.format == ds.plan_matmul(B, B).format == "csr"
    assert np.array_equal(C.toarray(), (empty @ empty).toarray())
    for kernel in B.kernels("matmul"):
        named = B.matmul(B, kernel=kernel)
        assert named.format == "bmsparse" and np.array_equal(named.toarray(), (empty @ empty).toarray())


def test_arrays_that_do_not_fit():
    A = ds.bmsparse_array(blocked(3, 3, 0.7, 0.5)[:20, :22])
    values, indptr, col, bitmap, begins = A.parts().values()

    def build(**new):
        return ds.bmsparse_array(A.parts() | new, shape=A.shape)

    assert np.array_equal(build().toarray(), A.toarray())
    for new, words in (
        ({"block_indptr": indptr[:-1]}, "block_indptr"),
        ({"block_col": col * 0}, "block_col does not rise"),
        ({"block_col": col + 3}, "block_col"),
        ({"bitmap": bitmap * 0}, "bitmap\\[0\\] is empty"),
        ({"bitmap": bitmap | 1}, "value_indptr"),
        ({"bitmap": bitmap[::-1].copy()}, "outside of the 20 x 22 matrix|value_indptr"),
        ({"value_indptr": begins + 1}, "value"),
        ({"value_indptr": np.concatenate([begins[:1], begins[1:2] + 1, begins[2:]])}, "value_indptr\\[1\\]"),
        ({"values": values[:-1]}, "values"),
    ):
        with pytest.raises(ValueError, match=words):
            build(**new)
    with pytest.raises((ValueError, TypeError), match="bitmap"):
        build(bitmap=bitmap.astype("float64"))


@pytest.mark.parametrize("op", ["N", "T"])
def test_a_vector_has_the_same_bits_with_any_number_of_threads(op):
    A = ds.bmsparse_array(ds.gallery.banded(5000, 30, 30, seed=0))
    V = A if op == "N" else A.T
    x, before, found = np.random.default_rng(0).standard_normal(5000), ds.get_num_threads(), set()
    try:
        for threads in (1, 2, 3, 7):
            ds.set_num_threads(threads)
            found.add((V @ x).tobytes() + V.matmul(V, format="bmsparse").values.tobytes())
    finally:
        ds.set_num_threads(before)
    assert len(found) == 1
