"""Products of diagonals that no other test names: sets of offsets drawn at random, of kinds that kernels know."""

import numpy as np
import pytest
import scipy.sparse as sp
from cases import DIAGONAL, DTYPES, VIEWS, to_device, to_host

import diagsparse as ds

KINDS = {
    "steps": lambda rng, low, high: np.arange(low, high, rng.integers(2, 300))[: rng.integers(2, 60)],
    "clusters": lambda rng, low, high: np.add.outer(
        rng.integers(low, high, rng.integers(2, 5)), np.arange(rng.integers(2, 14))
    ).ravel(),
    "upper": lambda rng, low, high: np.arange(rng.integers(0, 200), high)[: rng.integers(2, 130)],
    "lower": lambda rng, low, high: -np.arange(rng.integers(0, 200), -low)[: rng.integers(2, 130)],
    "scattered": lambda rng, low, high: rng.integers(low, high, rng.integers(2, 60)),
    "with gaps": lambda rng, low, high: (k := np.arange(-60, 60))[rng.random(len(k)) < rng.uniform(0.3, 0.95)],
    "wide": lambda rng, low, high: np.arange(-rng.integers(100, 300), rng.integers(100, 300)),
    "grid": lambda rng, low, high: np.add.outer(rng.integers(4, 400) * np.arange(-1, 2), np.arange(-1, 2)).ravel(),
}


def drawn(rng, kind, m, n, dtype):
    """Return a matrix of small integers on such diagonals: sums of products are exact in every type."""
    offsets = np.unique(KINDS[kind](rng, 1 - m, n))
    offsets = offsets[(offsets > -m) & (offsets < n)]
    data, imaginary = rng.integers(-3, 4, (2, len(offsets), n))
    data = data + 1j * imaginary if dtype[0] == "c" else data
    return sp.dia_array((data.astype(dtype), offsets), shape=(m, n))


@pytest.mark.nightly
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("kind", KINDS)
def test_products(device, kind, seed):
    rng = np.random.default_rng([seed, len(kind)])
    dtype = DTYPES[(seed + len(kind)) % len(DTYPES)]
    m, inner, n = rng.integers(400, 2600, 3) if seed % 2 else (int(rng.integers(400, 2600)),) * 3
    other = rng.choice(list(KINDS))
    a, b = drawn(rng, kind, m, inner, dtype), drawn(rng, other, inner, n, dtype)
    x, y = rng.integers(-3, 4, inner).astype(dtype), rng.integers(-3, 4, m).astype(dtype)
    expected = (a.tocsr() @ b.tocsr()).toarray()
    times_x, times_y = a @ x, a.T @ y
    for format in ("dia", "hm", "mdia", *(["cdm"] if m == inner == n else [])):
        A, B = ds.array(a, format, device=device), ds.array(b, format, device=device)
        what = f"{kind} times {other}, {m} x {inner} x {n}, {dtype}, {format}"
        assert np.array_equal(to_host(A @ to_device(x, device)), times_x), what
        assert np.array_equal(to_host(A.T @ to_device(y, device)), times_y), what
        assert np.array_equal((A @ B).toarray(), expected), what
        assert np.array_equal((B.T @ A.T).toarray(), expected.T), what


@pytest.mark.nightly
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("kind", KINDS)
def test_both_orders(device, kind, seed):
    """A B - B A and A B + B A, also of views, and one triangle of them."""
    rng = np.random.default_rng([seed, len(kind), 1])
    dtype, n = DTYPES[(seed + len(kind)) % len(DTYPES)], int(rng.integers(300, 1500))
    other, *names = rng.choice(list(KINDS)), *rng.choice(list(VIEWS), 2)
    a, b = drawn(rng, kind, n, n, dtype).tocsr(), drawn(rng, other, n, n, dtype).tocsr()
    x, y = (VIEWS[name](m) if name != "H" else m.conj().T for name, m in zip(names, (a, b), strict=True))
    ab, ba = (x @ y).toarray(), (y @ x).toarray()
    for format in DIAGONAL:
        A, B = (VIEWS[v](ds.array(m, format, device=device)) for v, m in zip(names, (a, b), strict=True))
        what = f"{kind} and {other}, n = {n}, {names}, {dtype}, {format}"
        assert np.array_equal(ds.commutator(A, B).toarray(), ab - ba), what
        assert np.array_equal(ds.anticommutator(A, B).toarray(), ab + ba), what
        assert np.array_equal(ds.commutator(A, B, triangle="lower").toarray(), np.tril(ab - ba)), what
        assert not np.signbit(ds.commutator(A, A).toarray().real).any(), what  # 0, not -0
