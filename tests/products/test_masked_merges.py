"""Sums and element-wise products of masked diagonals: stored entries, triangles, other formats, sums of products."""

import numpy as np
import pytest
import scipy.sparse as sp
from cases import EACH_DTYPE
from masked import SYMMETRIES, masked, squared

import diagsparse as ds

VIEWS = {"N": lambda a: a, "T": lambda a: a.T, "C": lambda a: a.conj(), "H": lambda a: a.T.conj()}


@pytest.mark.parametrize("shape", [(150, 150), (33, 97), (97, 33), (1, 40), (31, 32), (0, 5), (5, 0)])
@EACH_DTYPE
def test_every_element_of_both(device, shape, dtype):
    m, n = shape
    steps = [k for k in (-140, -96, -64, -33, -2, 0, 1, 31, 32, 90) if -m < k < n]
    a, b = masked(m, n, steps, 0.4, 1, dtype), masked(m, n, [k for k in steps[::2]] + [3], 0.6, 2, dtype)
    A, B = ds.mdia_array(a, device=device), ds.mdia_array(b, device=device)
    positions = (abs(a) + abs(b)).nnz
    for C, expected, nnz in (
        (A + B, a + b, positions),
        (A - B, a - b, positions),
        (B - A, b - a, positions),
        (A + A, 2 * a, a.nnz),
    ):
        assert C.format == "mdia" and C.dtype == dtype and C.nnz == nnz
        assert np.array_equal(C.toarray(), expected.toarray())
    for C, expected in ((A * B, a.multiply(b)), (A.multiply(A), a.multiply(a)), (B * A, b.multiply(a))):
        assert C.format == "mdia" and C.dtype == dtype and C.nnz == expected.nnz
        assert np.array_equal(C.toarray(), expected.toarray())
        assert set(C.offsets) == set((c := expected.tocoo()).col - c.row)  # no diagonal without an element
    none = A - A
    assert none.nnz == a.nnz and none.count_nonzero() == 0  # what cancels stays stored
    none.eliminate_zeros()
    assert none.nnz == 0 and (none + B).nnz == b.nnz and (B + none).nnz == b.nnz


@pytest.mark.parametrize("left", VIEWS)
@pytest.mark.parametrize("right", VIEWS)
def test_views(device, left, right):
    a, b = (masked(70, 70, [-65, -32, -1, 0, 5, 40], 0.5, seed, "complex128") for seed in (1, 2))
    A, B = ds.mdia_array(a, device=device), ds.mdia_array(b, device=device)
    result = (A.T if left in "TH" else A) if left in "NT" else (A.H if left == "H" else A.conj())
    other = (B.T if right in "TH" else B) if right in "NT" else (B.H if right == "H" else B.conj())
    assert np.array_equal((result - other).toarray(), (VIEWS[left](a) - VIEWS[right](b)).toarray())
    assert np.array_equal((result * other).toarray(), VIEWS[left](a).multiply(VIEWS[right](b)).toarray())


def test_a_complex_multiple_of_a_square_of_a_half_is_whole(device):
    a = squared(masked(50, 50, [0, 3, 40], 0.5, 1, "complex128"), "hermitian")
    A, C = ds.mdia_array(a, symmetry="hermitian", device=device), ds.mdia_array(a, device=device)
    result = ds.matmul(A, A, alpha=1j)
    assert result.symmetry is None and np.array_equal(result.toarray(), 1j * (a @ a).toarray())
    assert ds.matmul(A, A, alpha=2).symmetry == "hermitian"
    for whole, trans in ((a @ a.T, "N"), (a.T.conj() @ a, "H")):
        assert np.array_equal(ds.syrk(A, alpha=2j, trans=trans).toarray(), 2j * whole.toarray())
        assert np.array_equal(
            ds.syrk(A, alpha=2j, trans=trans, triangle="lower").toarray(), 2j * np.tril(whole.toarray())
        )
    for alpha, beta in ((1j, 2j), (2, 2j), (1j, 1)):
        result = ds.matmul(A, A, C, alpha=alpha, beta=beta).toarray()
        assert np.array_equal(result, alpha * (a @ a).toarray() + beta * a.toarray())


@pytest.mark.parametrize("symmetry", SYMMETRIES)
@EACH_DTYPE
def test_triangles_stay_triangles(device, symmetry, dtype):
    a, b = (
        squared(masked(90, 90, steps, 0.5, seed, dtype), symmetry)
        for steps, seed in (([0, 1, 33, 80], 1), ([2, 33, 64], 2))
    )
    A, B = (ds.mdia_array(x, symmetry=symmetry, device=device) for x in (a, b))
    for X, x in ((A, a), (A.T, a.T), (A.conj(), a.conj()), (A.H, a.T.conj())):
        for Y, y in ((B, b), (B.T, b.T), (B.H, b.T.conj())):
            result = X - Y
            assert result.symmetry == symmetry and np.array_equal(result.toarray(), (x - y).toarray())
            assert result.nnz == (abs(a) + abs(b)).nnz
            result = X * Y
            assert result.symmetry == symmetry and np.array_equal(result.toarray(), x.multiply(y).toarray())
            result = ds.anticommutator(X, Y)
            assert result.symmetry == symmetry and np.array_equal(result.toarray(), (x @ y + y @ x).toarray())
            assert np.array_equal(ds.commutator(X, Y).toarray(), (x @ y - y @ x).toarray())
    identity = ds.dia_array(sp.eye_array(90, dtype=dtype), device=device)
    shifted = A - identity
    assert shifted.symmetry == symmetry and np.array_equal(shifted.toarray(), a.toarray() - np.eye(90))
    whole = A + B.unpacked()
    assert whole.symmetry is None and np.array_equal(whole.toarray(), (a + b).toarray())
    one_sided = ds.dia_array(sp.diags_array([np.ones(89, dtype)], offsets=[1]), device=device)
    assert (A + one_sided).symmetry is None
    assert np.array_equal((A + one_sided).toarray(), a.toarray() + np.eye(90, k=1))


def test_sums_with_other_formats_and_types(device):
    a, b = masked(64, 64, [-40, -1, 0, 32], 0.5, 1, "float32"), masked(64, 64, [-3, 0, 7], 0.9, 2, "complex128")
    A = ds.mdia_array(a, device=device)
    for format in ds.formats():
        B = ds.array(b, format, device=device)
        for result, expected, expected_format in ((A - B, a - b, "mdia"), (B - A, b - a, format)):
            assert result.format == expected_format and result.dtype == "complex128"
            assert np.array_equal(result.toarray(), expected.toarray())
    short = ds.mdia_array(a, dtype="float16", device=device)
    assert (short + short).dtype == "float32" and np.array_equal((short + short).toarray(), 2 * a.toarray())
    assert (A + b).format == (A + sp.dia_array(b)).format == "mdia"


def test_nan_stays_where_it_is(device):
    a = sp.coo_array(([np.inf, -0.0, np.nan, 1], ([0, 1, 2, 3], [0, 1, 2, 4])), shape=(40, 40))
    b = sp.coo_array(([np.inf, 2.0, 5.0], ([0, 5, 39], [0, 5, 39])), shape=(40, 40))
    A, B = (ds.mdia_array(x, device=device) for x in (a, b))
    result = (A - B).toarray()
    assert np.isnan(result[0, 0]) and np.isnan(result[2, 2]) and np.isnan(result).sum() == 2
    assert np.signbit((A + B).toarray()[1, 1]) and result[3, 4] == 1 and result[5, 5] == -2


def test_scattered_operands_are_added_by_rows(monkeypatch):
    """No masks of thousands of diagonals on the way: of a commutator, and with a C in csr."""
    rng = np.random.default_rng(0)
    a, b, c = (sp.random_array((600, 600), density=0.002, rng=rng, format="csr") for _ in range(3))
    A, B = ds.mdia_array(a), ds.mdia_array(b)
    narrow = ds.mdia_array(sp.csr_array(ds.gallery.tridiagonal(600)))
    laid = []
    layout = ds.mdia_array._format
    from_csr = layout.from_csr
    monkeypatch.setattr(layout, "from_csr", lambda *x, **k: laid.append(x) or from_csr(*x, **k))
    result = ds.matmul(narrow, narrow, ds.csr_array(c), format="csr")
    assert not laid and np.allclose(
        result.toarray(), narrow.toarray() @ narrow.toarray() + c.toarray(), rtol=0, atol=1e-13
    )
    result = ds.commutator(A, B)
    assert result.format == "mdia" and len(laid) == 1  # the result
    assert np.allclose(result.toarray(), (a @ b - b @ a).toarray(), rtol=0, atol=1e-14)
    halves = [ds.mdia_array(x + x.T, symmetry="symmetric") for x in (a, b)]
    assert np.allclose(ds.anticommutator(*halves).toarray(), ((a + a.T) @ (b + b.T) + (b + b.T) @ (a + a.T)).toarray())


def test_the_same_bits_from_any_number_of_threads():
    a, b = (ds.mdia_array(ds.gallery.heisenberg(12) * s) for s in (0.1, 0.3))
    before = ds.get_num_threads()
    try:
        result = []
        for threads in (1, 2, 5):
            ds.set_num_threads(threads)
            result.append((a + b.T).values.copy())
    finally:
        ds.set_num_threads(before)
    assert all(np.array_equal(result[0], other) for other in result[1:])
    assert abs((a + b).toarray()[:50] - 0.4 * ds.gallery.heisenberg(12).toarray()[:50]).max() < 1e-15


def test_a_sum_that_does_not_fit(monkeypatch):
    from diagsparse._backends import memory

    A = ds.mdia_array(ds.gallery.heisenberg(14), palette=False)
    monkeypatch.setattr(memory, "available_bytes", lambda backend: 1 << 20)
    monkeypatch.setattr(memory, "SMALL", 0)
    with pytest.raises(MemoryError, match=r"the sum of .* would need .*, 1\.0 MB are free"):
        A + A


@EACH_DTYPE
def test_infinity_times_zero_is_nan(device, dtype):
    a, b = masked(70, 70, [-40, 0, 3], 0.5, 1, dtype), masked(70, 70, [-40, 3, 50], 0.5, 2, dtype)
    a.data[::7], b.data[::5], b.data[::9] = np.inf, -np.inf, np.nan
    result = ds.mdia_array(a, device=device) * ds.mdia_array(b, device=device)
    expected = ds.csr_array(a, device=device) * ds.csr_array(b, device=device)
    assert result.nnz == expected.nnz and np.isnan(result.toarray()).sum() > a.data[::7].size // 2
    assert np.array_equal(result.toarray(), expected.toarray(), equal_nan=True)


def test_products_of_types_and_formats(device):
    a, b = masked(70, 90, [-40, 0, 3], 0.5, 1, "float32"), masked(70, 90, [-40, 3, 50], 0.5, 2, "complex128")
    A, B = ds.mdia_array(a, device=device), ds.mdia_array(b, device=device)
    expected = a.multiply(b).toarray()
    for X, Y, format in (
        (A, B, "mdia"), (B, A, "mdia"), (A, ds.dia_array(b, device=device), "mdia"),
        (ds.hm_array(a, device=device), B, "hm"), (A, ds.csr_array(b, device=device), "mdia"),
        (ds.csr_array(a, device=device), B, "csr"), (A, ds.array(b, format="coo", device=device), "mdia"),
    ):  # fmt: skip
        result = X.multiply(Y)
        assert result.format == format and result.dtype == "complex128" and np.array_equal(result.toarray(), expected)
    half = ds.mdia_array(squared(a[:, :70], "symmetric"), symmetry="symmetric", device=device)
    result = half * ds.mdia_array(b[:, :70], device=device)
    assert result.symmetry is None
    assert np.array_equal(result.toarray(), half.toarray() * b[:, :70].toarray())
    with pytest.raises(ValueError, match="70 x 90"):
        A.multiply(B.T)
