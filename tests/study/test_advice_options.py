"""Options and hints: one triangle, one period, values in fewer bytes, another order; each only where it is exact."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.sparse.linalg import cg

import diagsparse as ds
from diagsparse import gallery
from diagsparse._advice import candidate, machine, variants
from diagsparse._advice.reordered import Reordered
from diagsparse._advice.statistics import Statistics


@pytest.fixture(autouse=True)
def options_pay(monkeypatch):
    """Let memory be slow and caches small, so that every option is considered for the matrices of the tests."""
    monkeypatch.setattr(machine, "_READ", 1e9)
    monkeypatch.setattr(machine, "COPIED", 1e11)
    monkeypatch.setattr(machine, "_PRIVATE", 1 << 10)
    monkeypatch.setattr(machine, "_L2_OF_GPU", 1e3)
    monkeypatch.setattr(machine, "_LAUNCH", 0.0)
    monkeypatch.setattr(machine, "_OVERHEAD", 0.0)


def layouts(advice):
    return [one.layout for one in advice.candidates]


# ---- one half -------------------------------------------------------------------------------------------------------
def symmetric(n, dtype=float):
    A = gallery.banded(n, 3, 3, seed=1, dtype=dtype).tocsr()
    return (A + A.conj().T).tocsr()


@pytest.mark.parametrize(("dtype", "word"), [("float64", "symmetric"), ("complex128", "hermitian")])
def test_one_half_of_a_symmetric_matrix(dtype, word, device):
    A = symmetric(4000, dtype)
    advice = ds.recommend(A, device=device)
    assert advice.layout == {"symmetry": word} and word in advice.reason
    made = advice.build()
    assert made.symmetry == word and np.array_equal(made.to("cpu").toarray(), A.toarray())


@pytest.mark.parametrize("position", [(0, 1), (2000, 2001), (3999, 3998), (1234, 1234)])
def test_one_entry_breaks_the_symmetry(position, device):
    A = symmetric(4000).tolil()
    A[position] += 1
    advice = ds.recommend(A.tocsr(), device=device)
    whole = position[0] == position[1]
    assert ({"symmetry": "symmetric"} in layouts(advice)) is whole
    assert np.array_equal(advice.build().to("cpu").toarray(), A.toarray())


def test_no_half_of_a_matrix_whose_pattern_alone_is_symmetric():
    assert not any("symmetry" in one for one in layouts(ds.recommend(gallery.banded(4000, 3, 3, seed=0))))
    skew = gallery.banded(4000, 3, 3, seed=0).tocsr()
    assert Statistics(ds.csr_array(skew - skew.T)).symmetry is None


def test_what_only_seems_symmetric_is_stored_whole(monkeypatch):
    """The sums of hashes may err; the constructors never do."""
    A = gallery.banded(4000, 3, 3, seed=0).tocsr()
    monkeypatch.setattr(Statistics, "symmetry", "symmetric")
    advice = ds.recommend(A)
    assert advice.layout == {"symmetry": "symmetric"}
    for made in (advice.build(), ds.array(A), ds.recommend(A, tune=True).build()):
        assert getattr(made, "symmetry", None) is None and np.array_equal(made.toarray(), A.toarray())


# ---- one period -----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("make", "period"),
    [
        (lambda: gallery.stencil(5, (60, 70)), 70),
        (lambda: gallery.stencil(7, (20, 21, 22)), 21 * 22),
        (lambda: gallery.toeplitz([4, 1, 0.5] + [0] * 4000), 1),
        (lambda: sp.kron(sp.eye_array(900), gallery.banded(6, 2, 2, seed=0)), 6),
        (lambda: sp.diags_array([np.tile([1.0, 2.0], 3000), np.ones(5999)], offsets=[0, 1]), 2),
    ],
)
def test_periods_are_found(make, period, device):
    A = make().tocsr()
    found = Statistics(ds.csr_array(A, device=device)).period
    assert found == period
    advice = ds.recommend(A, device=device, formats=["hm"])
    assert {"period": period} in layouts(advice)
    made = next(one for one in advice.candidates if one.layout == {"period": period}).build(ds.csr_array(A))
    assert made.period == period and np.array_equal(made.toarray(), A.toarray())


@pytest.mark.parametrize("position", [0, 2100, 4199])
def test_one_value_breaks_the_period(position, device):
    A = gallery.stencil(5, (60, 70)).tolil()
    A[position, position] += 1e-12
    assert Statistics(ds.csr_array(A.tocsr(), device=device)).period is None


def test_values_that_differ_have_no_period():
    assert Statistics(ds.csr_array(gallery.banded(4000, 3, 3, seed=0))).period is None
    assert Statistics(ds.csr_array(gallery.heisenberg(10))).period in (None, 512)
    assert Statistics(ds.csr_array((5, 7))).period is None


# ---- fewer bytes ----------------------------------------------------------------------------------------------------
def test_values_in_fewer_bytes_only_where_asked(device):
    A = gallery.stencil(5, (60, 70)).tocsr()
    A.data *= np.resize([1.0, 2.0, 3.0, 5.0, 7.0, 11.0, 13.0], A.nnz)
    plain, narrow = ds.recommend(A, device=device), ds.recommend(A, device=device, narrow=True)
    assert {one.dtype for one in plain.candidates} == {"float64"}
    assert narrow.best.dtype in ("float16", "float32") and narrow.best.dtype in narrow.best.name
    made = narrow.build()
    assert np.array_equal(made.to("cpu").toarray().astype(float), A.toarray())
    x = np.linspace(0, 1, 4200)
    if device == "cpu":
        assert (made @ x).dtype == np.float64 and np.allclose(made @ x, A @ x, rtol=1e-14, atol=1e-13)


@pytest.mark.parametrize(
    ("values", "types"),
    [
        ([1.0, -4.0, 0.5], {"float64", "float32", "float16"}),
        ([1.0, 2.0**-30, 3.0], {"float64", "float32"}),
        ([1.0, 70000.0, 3.0], {"float64", "float32"}),
        ([1.0, 0.1, 3.0], {"float64"}),
        ([1.0, 1e300, 3.0], {"float64"}),
        ([np.nan, np.inf, 1.0], {"float64", "float32", "float16"}),
    ],
)
def test_no_value_is_rounded(values, types):
    A = sp.diags_array([np.resize(values, 5000), np.ones(4999)], offsets=[0, 1]).tocsr()
    assert {one.dtype for one in ds.recommend(A, narrow=True).candidates} == types


def test_one_value_that_would_be_rounded(monkeypatch):
    monkeypatch.setattr(variants, "_SAMPLED", 10)
    A = gallery.stencil(5, (60, 70)).tocsr()
    A.data[7777] = 0.1
    assert not variants.exact(ds.csr_array(A), "float32")


def test_fewer_bytes_are_offered():
    A = gallery.stencil(5, (60, 70), periodic=True).tocsr()
    A.data *= np.resize([1.0, 2.0, 3.0, 5.0, 7.0, 11.0, 13.0], A.nnz)
    advice = ds.recommend(A)
    assert len(advice.hints) == 1 and "narrow=True" in advice.hints[0] and "float32" in str(advice)
    A.data *= 0.1
    assert not ds.recommend(A).hints


# ---- another order --------------------------------------------------------------------------------------------------
def shuffled(n):
    p = np.random.default_rng(0).permutation(n)
    A = gallery.banded(n, 4, 4, seed=0).tocsr()
    return (A + 40 * sp.eye_array(n)).tocsr()[p][:, p]


def test_another_order_is_found_and_undone():
    A = shuffled(3000)
    as_is, advice = ds.recommend(A), ds.recommend(A, reorder=True)
    assert advice.best.order is not None and "reordered" in advice.best.name
    assert advice.best.seconds < as_is.best.seconds
    R = advice.build()
    assert isinstance(R, Reordered) and R.shape == A.shape and R.matrix.format == advice.format
    assert "reordered" in repr(R)
    x, X = np.linspace(-1, 1, 3000), np.random.default_rng(1).random((3000, 3))
    for made, expected in (
        (R @ x, A @ x),
        (R @ X, A @ X),
        (R.rmatvec(x), A.T @ x),
        (R.H @ X, A.T @ X),
        (R.T @ x, A.T @ x),
    ):
        assert np.allclose(made, expected, rtol=1e-13, atol=1e-11)
    assert np.array_equal(R.matrix.toarray(), A.toarray()[np.ix_(R.permutation, R.permutation)])


def test_solvers_take_another_order():
    A = shuffled(2000)
    A = (A + A.T + 40 * sp.eye_array(2000)).tocsr()
    R = ds.recommend(A, reorder=True).build()
    b = np.ones(2000)
    x, info = cg(R, b, rtol=1e-10)
    assert info == 0 and np.allclose(A @ x, b, atol=1e-7)


def test_no_other_order_where_none_is_better():
    band = gallery.banded(3000, 4, 4, seed=0)
    assert ds.recommend(band, reorder=True).best.order is None
    for A in (sp.csr_array((5, 5)), sp.eye_array(3, 4), sp.eye_array(0)):
        assert ds.recommend(A, reorder=True).best.order is None


def test_options_are_named():
    one = candidate.Candidate("hm", {"symmetry": "symmetric", "period": 7}, 0, 0, 0.0, 0.0, "float32", narrow=True)
    assert one.name == "hm, symmetric, period 7, float32"
