"""ds.commutator and ds.anticommutator: A B - B A and A B + B A, whole or one triangle."""

import numpy as np
import pytest
import scipy.sparse as sp
from cases import matrix, ours
from oracle import assert_within, long, longest_row

import diagsparse as ds

PARTS = {None: lambda a: a, "lower": np.tril, "upper": np.triu}


@pytest.mark.parametrize("format", ds.formats())
@pytest.mark.parametrize("triangle", PARTS)
def test_both_orders(format, triangle, device):
    for name in ("banded 9", "stencil 27", "corners 65", "0x0", "1x1"):
        for dtype in ("float32", "complex128"):
            a = matrix(name, dtype)
            other = sp.csr_array(sp.diags_array(np.arange(1, a.shape[0] + 1).astype(dtype)) + a.T)
            A, B = ours(name, format, dtype).to(device), ds.array(other, format, device=device)
            x, y = long(a), long(other)
            magnitude = (abs(x) @ abs(y) + abs(y) @ abs(x)).toarray()
            for make, sign in ((ds.commutator, -1), (ds.anticommutator, 1)):
                C = make(A, B, triangle=triangle)
                assert C.format == format
                expected = (x @ y).toarray() + sign * (y @ x).toarray()
                made = C.to("cpu").toarray()
                keep, terms = PARTS[triangle], longest_row(x) + longest_row(y) + 2
                assert_within(made, keep(expected), keep(magnitude), terms, f"{name} {dtype} {sign}", dtype)


def test_operands_of_two_formats_and_scipys():
    a, b = (sp.csr_array(ds.gallery.banded(30, k, 2, seed=k)) for k in (1, 3))
    expected = (a @ b - b @ a).toarray()
    for x, y in ((ds.hm_array(a), b), (ds.dia_array(a), ds.csr_array(b)), (a, ds.hm_array(b))):
        assert np.allclose(ds.commutator(x, y).toarray(), expected, rtol=0, atol=1e-13)
    packed = ds.hm_array(a + a.T, symmetry="symmetric")
    made = ds.anticommutator(packed, packed)
    assert np.allclose(made.toarray(), 2 * ((a + a.T) @ (a + a.T)).toarray(), rtol=0, atol=1e-13)


def test_spins():
    """[H, S] = 0 for the total spin S of a Heisenberg chain, exactly; X Y + Y X = 0."""
    H = ds.hm_array(ds.gallery.heisenberg(6))
    S = ds.hm_array(ds.gallery.pauli_sum(["I" * k + "Z" + "I" * (5 - k) for k in range(6)], np.ones(6)))
    assert not ds.commutator(H, S).values.any()
    x, y = (ds.hm_array(ds.gallery.pauli_sum([name], [1], dtype=complex)) for name in "XY")
    assert not ds.anticommutator(x, y).values.any()


def test_errors_at_the_door():
    a, b = (ds.hm_array(ds.gallery.banded(n, 1, 1, seed=0)) for n in (4, 5))
    wide = ds.hm_array(sp.eye_array(3, 4))
    for x, y in ((a, b), (wide, wide)):
        with pytest.raises(ValueError, match=r"commutator: A is .*expected square matrices of one shape"):
            ds.commutator(x, y)
    with pytest.raises(ValueError, match="anticommutator: triangle"):
        ds.anticommutator(a, a, triangle="left")
    with pytest.raises(TypeError, match="commutator: B is ndarray"):
        ds.commutator(a, a.toarray())
