"""ds.commutator and ds.anticommutator: A B - B A and A B + B A, complete or one triangle."""

import numpy as np
import pytest
import scipy.sparse as sp
from cases import DIAGONAL, matrix, ours
from oracle import assert_within, long, longest_row

import diagsparse as ds
from diagsparse._products.plans import MatmulPlan

PARTS = {None: lambda a: a, "lower": np.tril, "upper": np.triu}
ONE_PASS = ("row_tiles", "sequential", "row", "block")


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
                result = C.to("cpu").toarray()
                keep, terms = PARTS[triangle], longest_row(x) + longest_row(y) + 2
                assert_within(result, keep(expected), keep(magnitude), terms, f"{name} {dtype} {sign}", dtype)


@pytest.mark.quick
def test_operands_of_two_formats_and_scipys():
    a, b = (sp.csr_array(ds.gallery.banded(30, k, 2, seed=k)) for k in (1, 3))
    expected = (a @ b - b @ a).toarray()
    for x, y in ((ds.hm_array(a), b), (ds.dia_array(a), ds.csr_array(b)), (a, ds.hm_array(b))):
        assert np.allclose(ds.commutator(x, y).toarray(), expected, rtol=0, atol=1e-13)
    packed = ds.hm_array(a + a.T, symmetry="symmetric")
    result = ds.anticommutator(packed, packed)
    assert np.allclose(result.toarray(), 2 * ((a + a.T) @ (a + a.T)).toarray(), rtol=0, atol=1e-13)


@pytest.mark.parametrize("format", DIAGONAL)
def test_passes(format, device, monkeypatch):
    """What runs, on which operands: the given ones, no copies; their work, and the bytes that are forecast."""
    a, b = (sp.csr_array(np.rint(9 * ds.gallery.random_diagonals(400, 9, seed=k).toarray())) for k in (1, 2))
    A, B = (ds.array(x, format, device=device) for x in (a, b))
    expected, ran, run = (a @ b - b @ a).toarray(), [], MatmulPlan.__call__
    work = MatmulPlan(A, B)._plan.work, MatmulPlan(B, A)._plan.work
    monkeypatch.setattr(MatmulPlan, "__call__", lambda plan, **how: ran.append(plan) or run(plan, **how))
    for kernel in A.kernels("matmul"):
        ran.clear()
        C = ds.commutator(A, B, kernel=kernel)
        assert np.array_equal(C.toarray(), expected), kernel
        orders = [(A, B)] if ran[0].kernel in ONE_PASS else [(A, B), (B, A)]  # of the kernel that runs
        assert [(id(plan._a), id(plan._b)) for plan in ran] == [(id(x), id(y)) for x, y in orders], kernel
        assert sum(plan._plan.work for plan in ran) == sum(work), kernel
        assert {plan.nbytes for plan in ran} == {C.nbytes}, kernel
    assert ran, "no kernel"


@pytest.mark.quick
def test_a_plan_of_both_orders():
    """With new values, factors and a result that is added to; shapes for which it has no meaning are refused."""
    a, b = (np.rint(9 * ds.gallery.banded(300, k, 2, seed=k).toarray()) for k in (1, 3))
    A, B = ds.hm_array(a), ds.hm_array(b)
    for sign in (-1, 1):
        plan = MatmulPlan(A, B, other_order=sign)
        C = plan(2 * A, B, alpha=3)
        assert np.array_equal(C.toarray(), 6 * (a @ b + sign * (b @ a)))
        plan(A, B, out=C, alpha=-1, beta=2)
        assert np.array_equal(C.toarray(), 11 * (a @ b + sign * (b @ a)))
    with pytest.raises(ValueError, match="square matrices of one shape"):
        MatmulPlan(ds.hm_array(sp.eye_array(3, 4)), ds.hm_array(sp.eye_array(4, 3)), other_order=1)


def test_spins():
    """[H, S] = 0 for the total spin S of a Heisenberg chain, exactly; X Y + Y X = 0."""
    H = ds.hm_array(ds.gallery.heisenberg(6))
    S = ds.hm_array(ds.gallery.pauli_sum(["I" * k + "Z" + "I" * (5 - k) for k in range(6)], np.ones(6)))
    assert not ds.commutator(H, S).values.any()
    x, y = (ds.hm_array(ds.gallery.pauli_sum([name], [1], dtype=complex)) for name in "XY")
    assert not ds.anticommutator(x, y).values.any()


@pytest.mark.parametrize("format", DIAGONAL)
def test_a_factor_and_a_result_to_write_to(format, device):
    """Of whole numbers, so that -i [H, rho] is exact: a step in time writes over the result of the step before."""
    a, b = (np.rint(9 * ds.gallery.random_diagonals(60, 7, seed=k).toarray()) for k in (1, 2))
    A, B = (ds.array(sp.csr_array(x).astype(complex), format, device=device) for x in (a, b))
    for make, sign in ((ds.commutator, -1), (ds.anticommutator, 1)):
        C = make(A, B, alpha=-1j)
        expected = -1j * (a @ b + sign * (b @ a))
        assert np.array_equal(C.toarray(), expected)
        assert make(2 * A, B, alpha=-1j, out=C) is C and np.array_equal(C.toarray(), 2 * expected)
        for part, keep in (("lower", np.tril), ("upper", np.triu)):
            half = make(A, B, triangle=part)
            make(A, B, alpha=3, triangle=part, out=half)
            assert np.array_equal(half.toarray(), 3j * keep(expected))
        with pytest.raises(ValueError, match="out"):
            make(A, B, out=ds.array(sp.csr_array(a).astype(complex), format, device=device))
    with pytest.raises(ValueError, match="out= of a sum is for dia, hm and cdm"):
        ds.commutator(ds.csr_array(a), ds.csr_array(b), out=ds.csr_array(a))
    half = ds.mdia_array(a + a.T, symmetry="symmetric")
    whole = (a + a.T) @ (a + a.T)
    assert np.array_equal(ds.anticommutator(half, half, alpha=3).toarray(), 6 * whole)
    with pytest.raises(ValueError, match="out= of a sum"):
        ds.anticommutator(half, half, out=half)
    with pytest.raises((TypeError, ValueError), match="alpha"):
        ds.commutator(ds.hm_array(a), ds.hm_array(b), alpha=1j)


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
