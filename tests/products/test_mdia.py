"""Masked diagonals: what products store, one triangle, infinities, mixed products, and inconsistent arrays."""

import numpy as np
import pytest
import scipy.sparse as sp
from cases import EACH_DIAGONAL, EACH_DTYPE, to_device, to_host
from masked import SYMMETRIES, masked, squared

import diagsparse as ds


@pytest.mark.parametrize("fill", [0.04, 0.5, 1.0])
@EACH_DTYPE
def test_products_store_every_element_that_is_reached(device, dtype, fill):
    """C stores exactly the positions in the product of the patterns, even if values cancel."""
    a = masked(150, 171, [-149, -64, -33, -1, 0, 2, 31, 32, 100, 170], fill, 1, dtype)
    b = masked(171, 97, [-170, -96, -40, -32, 0, 1, 7, 64, 96], fill, 2, dtype)
    A, B = ds.mdia_array(a, device=device), ds.mdia_array(b, device=device)
    reached = (abs(a) @ abs(b)).toarray() > 0
    for left, right, expected in ((A, B, (a @ b).toarray()), (B.T, A.T, (a @ b).T.toarray())):
        C = left.matmul(right, format="mdia")
        assert np.array_equal(C.toarray(), expected) and C.nnz == reached.sum() and C.format == "mdia"
        plan = ds.plan_matmul(left, right, format="mdia")
        assert np.array_equal(plan(out=plan(), alpha=2, beta=-1).toarray(), expected)
        assert set(C.offsets.tolist()) == set(np.subtract(*np.nonzero(expected)[::-1]).tolist())
    signs = sp.diags_array(np.where(np.arange(171) % 2, 1.0, -1.0)).astype(dtype)
    both = ds.mdia_array(sp.hstack([a, a @ signs]).tocsr(), device=device)
    other = ds.mdia_array(sp.vstack([b, -(signs @ b)]).tocsr(), device=device)
    C = both.matmul(other, format="mdia")
    assert not C.toarray().any() and C.nnz == reached.sum()


@pytest.mark.parametrize("symmetry", SYMMETRIES)
@EACH_DTYPE
def test_one_half_is_read_as_it_is(device, dtype, symmetry):
    a = squared(masked(130, 130, [-100, -32, -3, 0, 1, 64, 129], 0.6, 3, dtype), symmetry)
    b = masked(130, 75, [-129, -31, 0, 5, 40], 0.7, 4, dtype)
    A, B = ds.mdia_array(a, symmetry=symmetry, device=device), ds.mdia_array(b, device=device)
    assert A.nnz == a.nnz and A.symmetry == symmetry and min(A.offsets) >= 0 and symmetry in repr(A)
    assert A.values.size < a.nnz and np.array_equal(A.unpacked().toarray(), a.toarray())
    x = np.arange(130) % 7 - 3.0
    for V, v in ((A, a), (A.T, a.T), (A.conj(), a.conj()), (A.H, a.T.conj())):
        assert np.array_equal(to_host(V @ to_device(x.astype(dtype), device)), v @ x.astype(dtype))
        X = np.stack([x, x[::-1], x * 2], axis=1).astype(dtype)
        assert np.array_equal(to_host(V @ to_device(X, device)), v @ X)
        assert np.array_equal((V @ B).toarray(), (v @ b).toarray())
        assert np.array_equal((B.T @ V).toarray(), (b.T @ v).toarray())
        assert np.array_equal((V @ A).toarray(), (v @ a).toarray())
    plan = ds.plan_matmul(A, B)
    unpacked = ds.plan_matmul(A.unpacked(), B)
    assert plan.workspace_nbytes == unpacked.workspace_nbytes and plan.nnz == unpacked.nnz
    copied = A.copy()
    copied.values *= 2
    assert copied.symmetry == symmetry and np.array_equal(copied.toarray(), 2 * a.toarray())


def test_values_that_break_the_symmetry_are_refused(device):
    a = masked(40, 40, [0, 3, 35], 0.8, 5, "complex128")
    for symmetry in SYMMETRIES:
        with pytest.raises(ValueError, match=r"symmetric|Hermitian"):
            ds.mdia_array(a.toarray(), symmetry=symmetry, device=device)
    with pytest.raises(ValueError, match="square"):
        ds.mdia_array(a[:20], symmetry="symmetric", device=device)
    A = ds.mdia_array(squared(a, "hermitian"), symmetry="hermitian", device=device)
    before = A.toarray()
    with pytest.raises(ValueError, match="main diagonal"):
        A.values = np.full(A.values.size, 1j)
    assert np.array_equal(A.toarray(), before)


@EACH_DIAGONAL
def test_products_with_diagonals_are_hollow(device, format):
    a, b = masked(70, 70, [-5, 0, 33], 0.5, 6), masked(70, 70, [-40, 1, 2], 1.0, 7)
    A, B = ds.mdia_array(a, device=device), ds.array(b, format, device=device)
    for left, right, expected in ((A, B, a @ b), (B, A, b @ a), (B.T, A, b.T @ a), (A.H, B, a.T @ b)):
        C = left @ right
        assert C.format == "mdia" and np.array_equal(C.toarray(), expected.toarray())
        assert left.matmul(right, format=format).format == format
        plan = ds.plan_matmul(left, right)
        assert np.array_equal(plan(left, right).toarray(), expected.toarray())
    assert (A @ ds.csr_array(b, device=device)).format == "csr"
    c = masked(70, 70, [-9, 0, 5], 0.5, 8)
    for left, right, x, y in ((A, B, a, b), (B, A, b, a)):
        D = ds.matmul(left, right, ds.array(c, format, device=device), beta=3)
        assert D.format == "mdia" and np.array_equal(D.toarray(), (x @ y + 3 * c).toarray())
        assert np.array_equal(ds.syr2k(left, right).toarray(), (x @ y.T + y @ x.T).toarray())
        assert np.array_equal(ds.commutator(left, right).toarray(), (x @ y - y @ x).toarray())


def test_infinities_meet_only_stored_values(device):
    a, b = masked(100, 100, [-50, -1, 0, 32, 40], 0.5, 8), masked(100, 100, [-33, 0, 1, 90], 0.5, 9)
    a.data[[3, 50]], b.data[[7, 60]] = np.inf, np.nan
    x = np.ones(100)
    x[[5, 64]] = np.inf, np.nan
    X = np.stack([x, np.ones(100), -x], axis=1)
    s = squared(masked(100, 100, [1, 32, 99], 0.5, 10), "symmetric")
    S = ds.mdia_array(s, symmetry="symmetric", device=device)
    A, B = ds.mdia_array(a, device=device), ds.mdia_array(b, device=device)
    with np.errstate(invalid="ignore"):
        for given in (x, X, np.asfortranarray(X), X[:, ::2]):
            for V, v in ((A, a), (A.T, a.T), (S, s)):
                np.testing.assert_array_equal(to_host(V @ to_device(given, device)), v @ given)
        plan = ds.plan_matmul(A, B)
        for _ in range(2):
            np.testing.assert_array_equal(plan().toarray(), (a @ b).toarray())
        np.testing.assert_array_equal(plan(out=plan(), alpha=2, beta=-1).toarray()[5:9], (a @ b).toarray()[5:9])


@pytest.mark.parametrize("view", ["N", "T", "symmetric"])
def test_the_same_bits_with_any_number_of_threads(view):
    a = masked(9000, 9000, [-5000, -64, -33, -2, 0, 1, 17, 4096], 0.5)
    a.data /= 7
    a = squared(a, "symmetric")
    A = ds.mdia_array(a, symmetry=view if view == "symmetric" else None)
    V = A.T if view == "T" else A
    x, before, found = np.random.default_rng(0).standard_normal(9000), ds.get_num_threads(), set()
    try:
        for threads in (1, 2, 3, 7):
            ds.set_num_threads(threads)
            found.add((V @ x).tobytes() + (V @ V).values.tobytes())
    finally:
        ds.set_num_threads(before)
    assert len(found) == 1


@pytest.mark.parametrize("seed", range(8))
def test_any_set_of_diagonals(device, seed):
    """Clusters, steps, one side, rectangles: arbitrary offsets, exact in integers."""
    rng = np.random.default_rng(seed)
    m, k, n = rng.integers(1, 400, 3)

    def drawn(rows, cols):
        around = rng.integers(1 - rows, cols, rng.integers(1, 6))
        steps = [c + rng.choice([1, 2, 31, 32, 33]) * s for c in around for s in range(rng.integers(1, 9))]
        offsets = sorted({int(o) for o in steps if -rows < o < cols})
        return masked(rows, cols, offsets, rng.choice([0.05, 0.5, 1.0]), seed + 100)

    a, b = drawn(m, k), drawn(k, n)
    A, B = ds.mdia_array(a, device=device), ds.mdia_array(b, device=device)
    assert np.array_equal(A.matmul(B, format="mdia").toarray(), (a @ b).toarray())
    assert np.array_equal(B.T.matmul(A.T, format="mdia").toarray(), (a @ b).T.toarray())
    for columns in (1, 5, 8, 13):
        x = rng.integers(-4, 5, (k, columns)).astype(float)
        assert np.array_equal(to_host(A @ to_device(x, device)), a @ x)
        y = rng.integers(-4, 5, (m, columns)).astype(float)
        assert np.array_equal(to_host(A.T @ to_device(y, device)), a.T @ y)


def test_products_of_nearly_empty_diagonals_are_computed_as_csr(device):
    full, empty = masked(500, 500, [-40, 0, 3], 0.5), masked(500, 500, [-40, 0, 3], 0.02)
    A, B = ds.mdia_array(full, device=device), ds.mdia_array(empty, device=device)
    assert (A @ A).format == ds.plan_matmul(A, A).format == "mdia"
    C = B @ B
    assert C.format == ds.plan_matmul(B, B).format == "csr"
    assert np.array_equal(C.toarray(), (empty @ empty).toarray())
    assert B.matmul(B, kernel="block").format == B.matmul(B, format="mdia").format == "mdia"


def test_forecasts_of_masks():
    a = ds.mdia_array(masked(5000, 5000, range(-4000, 4000, 40), 0.3))
    with pytest.raises(MemoryError, match=r"masks of .* diagonals"):
        ds.plan_matmul(a, a, max_bytes=10_000)
    with pytest.raises(MemoryError, match="mdia_array"):
        ds.mdia_array(ds.csr_array(a), max_bytes=10_000)


def test_arrays_that_do_not_fit():
    A = ds.mdia_array(masked(50, 45, [-49, -2, 0, 1, 44], 0.8))
    values, offsets, mask, begins = A.parts().values()

    def build(**new):
        return ds.mdia_array(A.parts() | new, shape=A.shape)

    assert np.array_equal(build().toarray(), A.toarray())
    for new, words in (
        ({"offsets": offsets[::-1].copy()}, "ascending"),
        ({"offsets": offsets + 1}, "outside of a 50 x 45 matrix"),
        ({"offsets": offsets[1:]}, "mask"),
        ({"mask": mask[:1]}, "mask"),
        ({"mask": mask | np.uint32(1 << 31)}, "outside of the 50 x 45 matrix"),
        ({"mask": mask & ~np.uint32(1 << 5)}, "block_indptr"),
        ({"block_indptr": begins + 1}, "values|block_indptr"),
        ({"values": values[:-1]}, "values"),
        ({"mirrored": np.array([1], np.uint8)}, "square"),
        ({"mirrored": np.array([7], np.uint8)}, "expected 0 to 2"),
    ):
        with pytest.raises(ValueError, match=words):
            build(**new)
    square = ds.mdia_array(masked(45, 45, [-2, 0, 1], 0.8))
    for mirrored, words in ((0, "mirrored is 0"), (1, "upper half")):
        with pytest.raises(ValueError, match=words):
            ds.mdia_array(square.parts() | {"mirrored": np.array([mirrored], np.uint8)}, shape=square.shape)
    with pytest.raises((ValueError, TypeError), match="mask"):
        build(mask=mask.astype("float64"))


@pytest.mark.parametrize("symmetry", SYMMETRIES)
@EACH_DTYPE
def test_one_triangle_of_a_square_is_computed(device, dtype, symmetry):
    """Of a matrix S that is its own transpose S S is so too, and S conj(S) its own adjoint; and the other way round."""
    a = squared(masked(90, 90, [-70, -32, 0, 1, 33], 0.6, 11, dtype), symmetry)
    A = ds.mdia_array(a, symmetry=symmetry, device=device)
    other = {"symmetric": "hermitian", "hermitian": "symmetric"}[symmetry]
    for left, right, expected, result in (
        (A, A, a @ a, symmetry),
        (A.T, A.T, a.T @ a.T, symmetry),
        (A, A.conj(), a @ a.conj(), other if dtype[0] == "c" else symmetry),
        (A, A.H, a @ a.T.conj(), "hermitian" if dtype[0] == "c" else symmetry),
    ):
        plan = ds.plan_matmul(left, right)
        for C in (left @ right, plan(), plan(out=plan())):
            assert C.symmetry == result and C.format == "mdia" and np.array_equal(C.toarray(), expected.toarray())
            assert C.values.size < C.nnz == np.count_nonzero(abs(a).toarray() @ abs(a).toarray())
        assert (plan.shape, plan.nnz, plan.nbytes) == (C.shape, C.nnz, C.nbytes)
        assert plan.offsets.tolist() == C.offsets.tolist()
    assert np.array_equal((2 * C).toarray(), 2 * C.toarray())  # its main diagonal is real where it has to be
    assert left.matmul(right, format="csr").format == "csr"
    with pytest.raises(ValueError, match="square of one matrix"):
        ds.plan_matmul(A, A)(A.copy(), A)
    B = A.copy()
    B.values *= 3
    assert np.array_equal(ds.plan_matmul(A, A)(B, B).toarray(), 9 * (a @ a).toarray())


def test_one_half_in_16_bits(device):
    a = squared(masked(90, 90, [-70, -32, 0, 1, 33], 0.6, 11, "float32"), "symmetric")
    A = ds.mdia_array(a, symmetry="symmetric", dtype="float16", device=device)
    plan = ds.plan_matmul(A, A)
    for C in (A @ A, plan(), plan(A, A)):
        assert C.symmetry == "symmetric" and np.array_equal(C.toarray(), (a @ a).toarray())
    assert A.count_nonzero() == A.nnz == a.nnz


def test_one_half_by_the_word_of_who_asks(device):
    a = masked(60, 80, [-59, -3, 0, 32, 79], 0.6, 12, "complex128")
    A = ds.mdia_array(a, device=device)
    whole = (a @ a.T.conj()).toarray()
    C = ds.matmul(A, A.H, symmetry="hermitian")
    assert C.symmetry == "hermitian" and np.array_equal(C.toarray(), whole) and min(C.offsets) == 0
    assert (A @ A.H).symmetry is None
    empty = ds.mdia_array(sp.csr_array((5, 5)), device=device)
    assert ds.matmul(empty, empty.T, symmetry="symmetric").symmetry == "symmetric"
    plan = ds.plan_matmul(A, A, trans_b="H", symmetry="hermitian")
    assert np.array_equal(plan(A, A, out=C, alpha=2, beta=1).toarray(), 3 * whole)
    with pytest.raises(ValueError, match="real"):
        plan(out=C, alpha=1j)
    with pytest.raises(ValueError, match="mdia"):
        ds.plan_matmul(ds.csr_array(a, device=device), ds.csr_array(a.T, device=device), symmetry="symmetric")
    with pytest.raises(ValueError, match="square"):
        ds.matmul(A, ds.mdia_array(masked(80, 7, [0], 1.0, 1, "complex128"), device=device), symmetry="symmetric")
    with pytest.raises(ValueError, match="expected None"):
        ds.matmul(A, A.H, symmetry="skew")
    with pytest.raises(ValueError, match="both triangles"):
        ds.matmul(A, A.H, C, symmetry="hermitian")


@pytest.mark.parametrize("seed", range(3))
def test_threads_write_to_separate_parts_of_transposes_and_triangles(seed):
    """Chunks of a matrix write no element of y of another thread, even if their blocks are empty."""
    rng, n = np.random.default_rng(seed), 1 << 17
    i = np.arange(n - 1000)
    i = i[(i // 32 % 3 == seed) | (rng.random(len(i)) < 0.5) & (i > n // 2)]
    a = sp.coo_array((rng.integers(1, 9, len(i)).astype(float), (i, i + 1000)), shape=(n, n)).tocsr()
    a = a + sp.diags_array(rng.integers(1, 9, n).astype(float)) * (seed == 2)
    x = rng.integers(-4, 5, n).astype(float)
    A, S = ds.mdia_array(a), ds.mdia_array(a + sp.triu(a, 1).T, symmetry="symmetric")
    for _ in range(3):
        assert np.array_equal(A.T @ x, a.T @ x)
        assert np.array_equal(S @ x, S.unpacked().tocsr().to_scipy() @ x)


def test_structures_of_the_other_symmetry_are_others(device):
    a = squared(masked(70, 70, [1, 33], 0.5, 13, "complex128"), "symmetric")
    S = ds.mdia_array(a, symmetry="symmetric", device=device)
    H = ds.mdia_array(squared(masked(70, 70, [1, 33], 0.5, 13, "complex128"), "hermitian"), symmetry="hermitian",
                      device=device)  # fmt: skip
    assert np.array_equal(to_host(S.mask), to_host(H.mask))
    with pytest.raises(ValueError, match="another structure"):
        ds.plan_matmul(S, S)(H, H)


def test_more_values_than_numbers_reach():
    A = ds.mdia_array(sp.eye_array(40).tocsr(), symmetry="symmetric")
    parts = A.parts() | {"block_indptr": np.array([0, 32, 2**63 - 1])}
    with pytest.raises(ValueError, match=r"block_indptr|values"):
        ds.mdia_array(parts, shape=A.shape)
