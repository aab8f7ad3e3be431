"""Products of blocks: which pairs there are, infinities, long rows, and when they are made as csr."""

import numpy as np
import pytest
import scipy.sparse as sp
from cases import DTYPES, to_device, to_host

import diagsparse as ds


def blocked(down, across, share, fill, seed=0, dtype="float64"):
    """Return small whole numbers in some 8 x 8 blocks, a share of each; sums of their products are exact."""
    rng = np.random.default_rng(seed)
    pattern = sp.random_array((down, across), density=share, rng=rng, format="csr")
    pattern.data[:] = 1
    a = sp.kron(pattern, np.ones((8, 8)), format="csr")
    a.data = rng.integers(1, 9, a.nnz) * (rng.random(a.nnz) < fill).astype(dtype)
    a.eliminate_zeros()
    return a.astype(dtype)


@pytest.mark.parametrize("fill", [0.03, 0.4, 1.0])
@pytest.mark.parametrize("dtype", DTYPES)
def test_products_store_what_is_reached(device, dtype, fill):
    """C stores the places that the patterns reach, no others, and the same ones when values cancel."""
    a, b = blocked(9, 12, 0.3, fill, 1, dtype), blocked(12, 5, 0.4, fill, 2, dtype)
    a, b = a[:70, :93], b[:93, :37]  # cut off by edges
    A, B = ds.bmsparse_array(a, device=device), ds.bmsparse_array(b, device=device)
    reached = (abs(a) @ abs(b)).toarray() > 0
    for left, right, expected in ((A, B, (a @ b).toarray()), (B.T, A.T, (a @ b).T.toarray())):
        C = left.matmul(right, format="bmsparse")
        assert np.array_equal(C.toarray(), expected)
        assert C.nnz == reached.sum() and C.format == "bmsparse"
        plan = ds.plan_matmul(left, right, format="bmsparse")
        assert np.array_equal(plan(out=plan(), alpha=2, beta=-1).toarray(), expected)
    signs = sp.diags_array(np.where(np.arange(93) % 2, 1.0, -1.0)).astype(dtype)
    both = ds.bmsparse_array(sp.hstack([a, a @ signs]).tocsr(), device=device)
    other = ds.bmsparse_array(sp.vstack([b, -(signs @ b)]).tocsr(), device=device)
    C = both.matmul(other, format="bmsparse")
    assert not C.toarray().any() and C.nnz == reached.sum()


def test_blocks_that_meet_in_nothing_are_left_out(device):
    """A's blocks have their first column alone, B's their last row."""
    a, b = np.zeros((16, 16)), np.zeros((16, 16))
    a[:, [0, 8]], b[[7, 15], :] = 1, 1
    b[0, 3] = 5
    C = ds.bmsparse_array(a, device=device).matmul(ds.bmsparse_array(b, device=device), format="bmsparse")
    assert (C.blocks, C.nnz) == (2, 16) and np.array_equal(C.toarray(), a @ b)


def test_infinities_meet_what_is_stored_alone(device):
    a, b = blocked(4, 4, 0.8, 0.5, 3).tolil(), blocked(4, 4, 0.8, 0.5, 4).tolil()
    i, j = (int(index[0]) for index in a.nonzero())
    a[i, j] = np.inf
    k, l = (int(index[-1]) for index in b.nonzero())  # noqa: E741
    b[k, l] = np.nan
    a, b = a.tocsr(), b.tocsr()
    A, B = ds.bmsparse_array(a, device=device), ds.bmsparse_array(b, device=device)
    plan = ds.plan_matmul(A, B, format="bmsparse")
    with np.errstate(invalid="ignore"):
        expected = (a @ b).toarray()
        assert np.isnan(expected).any() and np.isinf(expected).any()
        for _ in range(2):  # a plan remembers nothing of the run before
            np.testing.assert_array_equal(plan().toarray(), expected)
        x = np.ones(32)
        x[j] = np.inf
        X = np.stack([x, np.ones(32), np.full(32, np.nan), x, -x], axis=1)
        for given in (x, X, np.asfortranarray(X), X[:, ::2]):
            np.testing.assert_array_equal(to_host(A @ to_device(given, device)), a @ given)
            np.testing.assert_array_equal(to_host(A.T @ to_device(given, device)), a.T @ given)


@pytest.mark.parametrize("dtype", ["float32", "complex128"])
def test_long_rows_and_columns(device, dtype):
    """One row of blocks, and one column, longer than a group of threads takes."""
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
    square = A.matmul(A.T, format="bmsparse", kernel=None)
    assert (square.to("cpu").to_scipy("csr") != a @ a.T).nnz == 0


def test_products_of_nearly_empty_blocks_are_made_as_csr(device):
    full, empty = blocked(12, 12, 0.2, 0.9), blocked(12, 12, 0.2, 0.02)
    A, B = ds.bmsparse_array(full, device=device), ds.bmsparse_array(empty, device=device)
    assert (A @ A).format == ds.plan_matmul(A, A).format == "bmsparse"
    C = B @ B
    assert C.format == ds.plan_matmul(B, B).format == "csr"
    assert np.array_equal(C.toarray(), (empty @ empty).toarray())
    for kernel in B.kernels("matmul"):
        named = B.matmul(B, kernel=kernel)
        assert named.format == "bmsparse" and np.array_equal(named.toarray(), (empty @ empty).toarray())


def test_parts_that_do_not_fit():
    A = ds.bmsparse_array(blocked(3, 3, 0.7, 0.5)[:20, :22])
    values, indptr, col, bitmap, begins = A.parts().values()

    def made(**new):
        return ds.bmsparse_array(A.parts() | new, shape=A.shape)

    assert np.array_equal(made().toarray(), A.toarray())
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
            made(**new)
    with pytest.raises((ValueError, TypeError), match="bitmap"):
        made(bitmap=bitmap.astype("float64"))


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
