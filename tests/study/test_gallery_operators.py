"""Operators of physics: against Kronecker products, the mistakes, the memory."""

from functools import reduce

import numpy as np
import pytest
import scipy.sparse as sp
from cases import raises

import diagsparse as ds
from diagsparse import gallery

PAULI = {"I": np.eye(2), "X": [[0, 1], [1, 0]], "Y": [[0, -1j], [1j, 0]], "Z": [[1, 0], [0, -1]]}


def kron(factors):
    return reduce(np.kron, [np.asarray(factor) for factor in factors], np.ones((1, 1)))


def lean(A, values):
    """Check the values, and that no diagonal is stored in vain."""
    assert np.array_equal(A.toarray(), values) and all(abs(A.diagonal(k)).any() for k in A.offsets)


@pytest.mark.parametrize("sites", [0, 1, 2, 5])
def test_sums_of_strings(sites):
    rng = np.random.default_rng(sites)
    strings = ["".join(rng.choice(list("IXYZ"), sites)) for _ in range(12)]
    factors = rng.integers(1, 9, 12)
    expected = sum(c * kron(PAULI[letter] for letter in string) for c, string in zip(factors, strings, strict=True))
    lean(gallery.pauli_sum(strings, factors, dtype=complex), expected)
    lean(gallery.pauli_sum(strings, factors * 1j), 1j * expected)


def test_types_of_sums():
    assert gallery.pauli_sum(["XYY", "ZII"], [1, 2]).dtype == np.float64
    assert gallery.pauli_sum(["XIY"], [1]).dtype == np.complex128
    assert gallery.pauli_sum(["Y"], [1j]).dtype == np.float64
    assert gallery.pauli_sum(["YY"], [1], dtype="float32").dtype == np.float32
    lean(gallery.pauli_sum(["XX", "YY"], [1, 1]), np.fliplr(np.diag([0.0, 2, 2, 0])))  # two diagonals cancel
    assert gallery.pauli_sum([], []).shape == (1, 1)
    A = gallery.pauli_sum(["XX", "ZZ"], [1, 2], format="hm")
    assert A.format == "hm" and np.array_equal(A.toarray(), kron([PAULI["X"]] * 2) + 2 * kron([PAULI["Z"]] * 2))


@pytest.mark.parametrize("periodic", [False, True])
@pytest.mark.parametrize("sites", [0, 1, 2, 3, 5])
def test_spins(sites, periodic):
    def on(letter, *where):
        return kron(PAULI[letter] if s in where else np.eye(2) for s in range(sites))

    bonds = [(s, s + 1) for s in range(sites - 1)] + ([(sites - 1, 0)] if periodic and sites > 2 else [])
    n, local = 2**sites, np.arange(1.0, sites + 1)

    def total(letter, weights):
        return sum((w * on(letter, s) for s, w in enumerate(weights)), np.zeros((n, n)))

    def joined(letter, j):
        return sum((j * on(letter, s, t) for s, t in bonds), np.zeros((n, n)))

    expected = joined("X", 2) + joined("Y", -3) + joined("Z", 0.5) + total("X", local) + total("Y", [4] * sites)
    lean(gallery.heisenberg(sites, couplings=(2, -3, 0.5), field=(local, 4, 0), periodic=periodic, dtype=complex),
         expected)  # fmt: skip
    expected = joined("Z", -2) + total("X", -local) + total("Z", [-0.25] * sites)
    lean(gallery.transverse_ising(sites, coupling=2, field=local, longitudinal=0.25, periodic=periodic), expected)


@pytest.mark.parametrize("periodic", [False, True])
@pytest.mark.parametrize(("sites", "levels"), [(0, 3), (1, 4), (2, 1), (2, 2), (3, 3), (4, 2)])
def test_bosons(sites, levels, periodic):
    lowering = np.diag(np.sqrt(np.arange(1, levels)), 1)
    number = np.diag(np.arange(levels, dtype=float))

    def on(matrix, s):
        return kron(matrix if s == t else np.eye(levels) for t in range(sites))

    bonds = [(s, s + 1) for s in range(sites - 1)] + ([(sites - 1, 0)] if periodic and sites > 2 else [])
    expected = np.zeros((levels**sites,) * 2)
    for s, t in bonds:
        hop = on(lowering.T, s) @ on(lowering, t)
        expected -= 0.5 * (hop + hop.T)
    for s in range(sites):
        expected += on(0.75 * number @ (number - np.eye(levels)) - (s + 1) * number, s)
    A = gallery.bose_hubbard(sites, levels=levels, hopping=0.5, interaction=1.5, potential=np.arange(1, sites + 1),
                             periodic=periodic)  # fmt: skip
    assert np.allclose(A.toarray(), expected, rtol=1e-15, atol=0) and (A.toarray() == A.toarray().T).all()
    assert all(abs(A.diagonal(k)).any() for k in A.offsets)


def test_no_dense_matrix_is_built():
    A = ds.hm_array(gallery.heisenberg(16))  # 2**16 rows, 31 diagonals
    assert A.shape == (2**16, 2**16) and A.nbytes < 31 * 8 * 2**16
    assert sp.linalg.norm(A.to_scipy("csr") - A.to_scipy("csr").T) == 0


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: gallery.pauli_sum(["XX", "X"], [1, 1]), ValueError, ["'XX'", "'X'", "equal lengths"]),
        (lambda: gallery.pauli_sum(["AX"], [1]), ValueError, ["'AX'", "I, X, Y, Z"]),
        (lambda: gallery.pauli_sum(["XX"], [1, 2]), ValueError, ["1 strings", "2 coefficients", "equal numbers"]),
        (lambda: gallery.pauli_sum(["XY"], [1], dtype=float), TypeError, ["complex", "float64"]),
        (lambda: gallery.pauli_sum(["X" * 31], [1]), ValueError, ["31 sites", "30"]),
        (lambda: gallery.pauli_sum(["X" * 28], [1]), MemoryError, ["diagonals", "free"]),
        (lambda: gallery.heisenberg(3, couplings=(1, 2)), ValueError, ["couplings", "three"]),
        (lambda: gallery.heisenberg(3, field=(0, 0, [1, 2])), ValueError, ["field", "(2,)", "3"]),
        (lambda: gallery.heisenberg(3, couplings="abc"), TypeError, ["gallery.heisenberg: couplings", "numbers"]),
        (lambda: gallery.transverse_ising(2.5), TypeError, ["gallery.transverse_ising: sites", "2.5"]),
        (lambda: gallery.transverse_ising(31), ValueError, ["gallery.transverse_ising: 31 sites", "30"]),
        (lambda: gallery.transverse_ising(3, field=[1, 2]), ValueError, ["gallery.transverse_ising: field", "(2,)"]),
        (lambda: gallery.transverse_ising(3, longitudinal=[1, 2]), ValueError, ["longitudinal", "(2,)", "3"]),
        (lambda: gallery.transverse_ising(3, dtype=int), TypeError, ["gallery.transverse_ising: dtype is int64"]),
        (lambda: gallery.spin_chain(3, dtype=int), TypeError, ["gallery.spin_chain: dtype is int64"]),
        (lambda: gallery.bose_hubbard(20, levels=4), ValueError, ["4 levels", "20 sites"]),
        (lambda: gallery.bose_hubbard(2, levels=0), ValueError, ["0 levels"]),
    ],
)
def test_mistakes(call, error, words):
    with raises(error, *words):
        call()
