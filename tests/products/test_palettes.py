"""Palettes of mdia: no bit of a value changes, and every operation gives what it gives without a palette."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from cases import EACH_DTYPE, VIEWS, to_device, to_host
from formats import decode
from palettes import COLORS, SHAPE, bits, painted, pair, same

import diagsparse as ds
from diagsparse._backends import memory


@EACH_DTYPE
def test_no_bit_of_a_value_changes(device, dtype):
    a = painted(dtype, special=True)
    payload = a.data.view(np.uint32)
    payload[: a.dtype.itemsize // 4] |= 1  # of a NaN, or of a number
    A, P = pair(a, device)
    assert bits(A.values) == bits(P.values) and same(A, P) and A.nnz == P.nnz and A.dtype == P.dtype
    parts = {name: np.asarray(A._backend.host(part)) for name, part in A.parts().items()}
    sizes = np.diff(parts["table_indptr"])
    words = sum(0 if n < 2 else 1 if n == 2 else 2 if n < 5 else 4 if n < 17 else 8 for n in sizes)
    assert parts["codes"].shape == (10, words) and parts["block_indptr"][0] == sizes.sum()
    assert np.array_equal(decode("mdia", parts, SHAPE), P.toarray(), equal_nan=True)
    again = ds.mdia_array(parts, shape=SHAPE, device=device)
    assert again.palette and same(again, P) and again.nbytes == A.nbytes
    assert not A.unpacked().palette and bits(A.unpacked().values) == bits(P.values)
    for B in (A.copy(), A.T.copy().T, pickle.loads(pickle.dumps(A)), A.to("cpu").to(device), A.astype(dtype)):
        assert B.palette and same(B, A)
    assert ds.mdia_array(A, palette=False).palette is False and same(ds.mdia_array(A, palette=False), A)


@pytest.mark.parametrize("dtype, operand", [("float64", "float64"), ("float64", "complex128"), ("float32", "float32"),
                                            ("float32", "float64"), ("complex128", "complex128"),
                                            ("complex64", "float32"), ("float16", "float32")])  # fmt: skip
def test_products_with_vectors_and_blocks(device, dtype, operand):
    """All sums are of integers below 2^24, so they are exact, and must be equal."""
    a = painted("float32" if dtype == "float16" else dtype, {k: n for k, n in COLORS.items() if n < 300})
    A = ds.mdia_array(a, device=device, palette=True, dtype=dtype)
    assert A.palette and A.dtype == dtype
    rng = np.random.default_rng(1)
    for V, v in ((A, a), (A.T, a.T), (A.conj(), a.conj()), (A.H, a.T.conj())):
        X = rng.integers(-9, 9, (V.shape[1], 11)).astype(operand)
        if np.dtype(operand).kind == "c":
            X = X + 1j * rng.integers(-9, 9, X.shape)
        for x in (X[:, 0].copy(), X, np.asfortranarray(X), X[:, :3].copy()):
            y = to_host(V @ to_device(x, device))
            assert np.array_equal(y, (v @ x.astype(np.result_type(operand, "float64"))).astype(y.dtype))
        x = to_device(X[:, 0].copy(), device)
        y = V.matvec(x)
        assert np.array_equal(to_host(V.matvec(x, out=y, alpha=2, beta=-1)), to_host(V @ x))


def test_more_diagonals_than_a_warp_examines(device):
    colors = {k: 1 + k % 3 for k in range(-90, 91)}
    a = painted(colors=colors, shape=(1000, 1000))
    A, _ = pair(a, device)
    x = np.arange(1000.0)
    for V, v in ((A, a), (A.T, a.T)):
        assert np.array_equal(to_host(V @ to_device(x, device)), v @ x)


@pytest.mark.parametrize("main", [1, 2, 9, 200, 1000])
@pytest.mark.parametrize("rows", [1, 33, 127, 1000, 140_001])
@pytest.mark.parametrize("few", [1, 2])
def test_few_values_on_most_diagonals(device, few, main, rows):
    """As in Hamiltonians, where only the main diagonal has more than two: with a table, and stored."""
    at = [-100_000, -4096, -128, -70, -33, -32, -2, -1, 0, 1, 3, 31, 32, 64, 100, 130, 5000, 99_999, *range(200, 260)]
    colors = {k: main if k == 0 else 1 + k % few for k in at if -rows < k < rows + 5}
    a = painted(colors=colors, shape=(rows, rows + 5))
    A = ds.mdia_array(a, device=device, palette=True)
    x = np.random.default_rng(1).integers(-9, 9, rows + 5).astype("float64")
    for v in (x, x + 1j * x[::-1]):
        assert np.array_equal(to_host(A @ to_device(v, device)), a @ v)
    assert np.array_equal(to_host((1j * A).conj() @ to_device(x, device)), -1j * (a @ x))
    y = to_device(np.arange(float(rows)), device)
    assert np.array_equal(
        to_host(A.matvec(to_device(x, device), out=y, alpha=2, beta=-1)), 2 * (a @ x) - np.arange(rows)
    )


def test_infinities_where_most_diagonals_have_one_value(device):
    for rows, few in ((300, 1), (140_000, 1), (300, 2)):
        A = ds.mdia_array(painted(colors={0: 5, 1: few, 40: few}, shape=(rows, rows)), device=device, palette=True)
        x = np.ones(rows)
        x[::7] = np.inf
        expected = to_host(ds.mdia_array(A, palette=False) @ to_device(x, device))
        assert np.array_equal(to_host(A @ to_device(x, device)), expected, equal_nan=True)


@pytest.mark.parametrize("dtype", ["float64", "float32", "complex128"])
@pytest.mark.parametrize("rows, few", [(301, 1), (301, 2), (140_003, 1)])
def test_chains(device, dtype, rows, few):
    """All sums are of integers, so every kernel gives what the matrix without a palette gives."""
    a = painted(dtype, {-70: few, 0: 3, 1: 1, 40: few}, (rows, rows))
    a.data = (a.data.real % 3 + 1).astype(dtype)
    A, P = pair(a, device)
    x = np.random.default_rng(1).integers(-3, 4, rows).astype(dtype)
    steps = [2, 0, 1], [-1, 1, 0], [5, 1, 3], [1, 0, 2, 1]
    for v in (x, x + 1j * x[::-1]):
        here = to_device(v, device)
        for V, W in ((A, P), (A.T, P.T), (A.conj(), P.conj())):
            expected = [to_host(ds.power_multiply(W, here, 3)), to_host(ds.recurrence_multiply(W, here, *steps))]
            expected.append(to_host(ds.chebyshev_multiply(W, here, [1, 2, 3, 1], domain=(-3, 1))))
            for kernel in V.kernels("chain"):
                found = [to_host(ds.power_multiply(V, here, 3, kernel=kernel))]
                found.append(to_host(ds.recurrence_multiply(V, here, *steps, kernel=kernel)))
                found.append(to_host(ds.chebyshev_multiply(V, here, [1, 2, 3, 1], domain=(-3, 1), kernel=kernel)))
                for y, z in zip(found, expected, strict=True):
                    assert np.array_equal(y, z), kernel


def test_values_that_are_not_finite(device):
    """Zeros of a mask are not multiplied by the infinities of x, and those of a table only where they are stored."""
    a = painted(special=True)
    A, P = pair(a, device)
    x = np.ones(SHAPE[1])
    x[::7] = np.inf
    for v in (x, np.stack([x, x[::-1]], axis=1)):
        assert np.array_equal(to_host(A @ to_device(v, device)), to_host(P @ to_device(v, device)), equal_nan=True)
    x = np.ones(SHAPE[0])
    x[::5] = np.nan
    assert np.array_equal(to_host(A.T @ to_device(x, device)), to_host(P.T @ to_device(x, device)), equal_nan=True)


@pytest.mark.parametrize("symmetry", ["symmetric", "hermitian"])
def test_one_triangle(device, symmetry):
    a = painted("complex128", {0: 1, 1: 2, 33: 1, 64: 12, 200: 1}, (300, 300))
    image = a.T.conj() if symmetry == "hermitian" else a.T
    a = (sp.triu(a, 1) + sp.tril(image, -1) + sp.eye_array(300) * 3).tocsr()
    A, P = pair(a, device, symmetry=symmetry)
    assert A.symmetry == symmetry and A.nnz == P.nnz == a.nnz and same(A, P)
    x = np.arange(300) - 7j
    for view in VIEWS.values():
        assert np.array_equal(to_host(view(A) @ to_device(x, device)), to_host(view(P) @ to_device(x, device)))
    assert (2 * A).palette and (2 * A).symmetry == symmetry and same(2 * A, 2 * P)
    assert not A.unpacked().palette and A.unpacked().symmetry is None and same(A.unpacked(), P.unpacked())
    C = A @ A
    assert C.symmetry == (P @ P).symmetry and same(C, P @ P)


def test_where_the_palette_survives(device):
    A, P = pair(painted("complex128"), device)
    for B, expected in (
        (2 * A, 2 * P), (A * 1j, P * 1j), (-A, -P), (abs(A), abs(P)), (A / 4, P / 4), (A + A, P + P),
        (A - 2 * A, P - 2 * P), (A.conj().copy(), P.conj().copy()), (A.astype("complex64"), P.astype("complex64")),
    ):  # fmt: skip
        assert B.palette and same(B, expected)
    B, Q = A.copy(), P.copy()
    B *= 3
    Q *= 3
    assert B.palette and same(B, Q)


def test_sums_ask_for_the_memory_that_they_need(device, monkeypatch):
    A, P = pair(painted(), device)
    other, asked = ds.mdia_array(painted(seed=1), device=device, palette=True), []
    monkeypatch.setattr(memory, "SMALL", 0)
    monkeypatch.setattr(memory, "require_free", lambda nbytes, *_: asked.append(nbytes))
    assert (A + 2 * A).palette and not asked
    A + other  # both are expanded
    assert asked[0] >= 2 * (A.nnz + other.nnz) * 8
    asked.clear()
    assert same(A + P, P + P) and asked[0] >= 3 * A.nnz * 8


def test_operations_without_the_palette(device):
    A, P = pair(painted(), device)
    other = ds.mdia_array(painted(seed=1), device=device)
    for B, expected in (
        (A + P, P + P), (P + A, P + P), (A - other, P - other), (A * other, P * other), (A * A, P * P),
        (A.multiply(np.arange(SHAPE[1])), P.multiply(np.arange(SHAPE[1]))), (A @ A.T, P @ P.T),
        (A.T @ other, P.T @ other),
        (A.tocsr(), P.tocsr()), (A.todia(), P.todia()), (A + sp.eye_array(*SHAPE), P + sp.eye_array(*SHAPE)),
        (A**2, P**2), (A.astype("float32"), P.astype("float32")),
    ):  # fmt: skip
        assert same(B, expected)
    assert np.array_equal(A.toarray(), P.toarray()) and A.sum() == P.sum() and A.trace() == P.trace()
    assert A.count_nonzero() == P.count_nonzero() and ds.norm(A) == ds.norm(P) and A.nnz == P.nnz
    assert np.array_equal(A.diagonal(32), P.diagonal(32)) and A.fill == P.fill
    assert (A != P).nnz == 0 and np.array_equal(A.sum(axis=0), P.sum(axis=0))
    plan = ds.plan_matmul(A, other.T)
    assert same(plan(P, other.T), P @ other.T)  # a plan does not depend on palettes
    assert same(plan(A, other.T, out=plan()), P @ other.T)
    assert same(ds.matmul(A, other.T, A @ A.T, beta=2), ds.matmul(P, other.T, P @ P.T, beta=2))
    if device == "cpu":
        assert same(A.sqrt(), P.sqrt()) and same(A.real, P.real) and A.max() == P.max()
        assert A[3, 3] == P[3, 3] and same(A[10:90, 20:], P[10:90, 20:])
        assert "palette" in A._repr_html_() and "palette" in repr(A)


def test_files(tmp_path):
    A, P = pair(painted(special=True), "cpu")
    for suffix in (".npz", ".mtx"):
        ds.write(tmp_path / f"a{suffix}", A.astype("float64"))
        B = ds.read(tmp_path / f"a{suffix}")
        if suffix == ".npz":
            assert B.palette and same(B, A)
        else:
            assert np.array_equal(B.toarray(), P.toarray(), equal_nan=True)
    constant, plain = pair(sp.diags_array([2.0, 3.0], offsets=[0, 7], shape=(500, 500)), "cpu")  # no codes at all
    ds.write(tmp_path / "constant.npz", constant)
    B = ds.read(tmp_path / "constant.npz")
    assert B.palette and same(B, plain) and same(pickle.loads(pickle.dumps(B)), plain)


def test_arrays_that_are_inconsistent(device):
    A, _ = pair(painted(), device)
    parts = {name: np.array(A._backend.host(part)) for name, part in A.parts().items()}

    def refused(match, **changes):
        with pytest.raises(ValueError, match=match):
            ds.mdia_array(parts | changes, shape=SHAPE, device=device)

    pointers, codes, begin = (parts[name].copy() for name in ("table_indptr", "codes", "block_indptr"))
    pointers[1:] += 300
    refused("table_indptr", table_indptr=pointers)
    refused("table_indptr", table_indptr=parts["table_indptr"][::-1].copy())
    refused("codes", codes=codes[:, 1:].copy())
    refused("exceeds the table", codes=codes | np.uint32(0xFFFFFFFF))
    begin[2] += 1
    refused(r"block_indptr\[2\]", block_indptr=begin)
    without = {name: part for name, part in parts.items() if name != "codes"}
    with pytest.raises(ValueError, match="codes"):
        ds.mdia_array(without, shape=SHAPE, device=device)
