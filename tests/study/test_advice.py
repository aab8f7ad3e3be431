"""Advice: recommended layouts can be built, represent the same matrix, and follow from the documented rules."""

import json
import threading

import numpy as np
import pytest
import scipy.sparse as sp
from advised_matrices import SUITING, random
from cases import DTYPES, SMALL, matrix, to_device, to_host

import diagsparse as ds
from diagsparse import gallery
from diagsparse._advice.models import MODELS
from diagsparse._advice.statistics import Statistics
from diagsparse._matrix.registry import FORMATS


# ---- whatever the matrix --------------------------------------------------------------------------------------------
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", SMALL)
def test_what_is_recommended_is_the_matrix(name, dtype, device):
    S = matrix(name, dtype)
    for op in ("matvec", "matmul") if S.shape[0] == S.shape[1] else ("matvec",):
        advice = ds.recommend(S, op, device=device)
        made = advice.build()
        assert made.device == device and made.dtype == S.dtype and made.format == advice.format
        assert np.array_equal(made.to("cpu").toarray(), S.toarray())
        assert json.loads(json.dumps(advice.to_dict()))["format"] == advice.format
        assert advice.reason in str(advice) and advice.reason.endswith(".") and advice.best.name in repr(advice)
        assert "<table" in advice._repr_html_()
        array = ds.array(S, op=op, device=device)
        assert np.array_equal(array.to("cpu").toarray(), S.toarray()) and array.dtype == S.dtype


@pytest.mark.parametrize("format", ds.formats())
def test_every_layout_that_is_listed_can_be_built(format, device):
    S = gallery.stencil(5, (20, 30)).tocsr()
    A = ds.array(S, format, device=device)
    for one in ds.recommend(A, narrow=True).candidates:
        made = one.build(ds.csr_array(A))
        assert made.format == one.format and str(made.dtype) == one.dtype
        assert np.array_equal(made.to("cpu").toarray().astype(float), S.toarray())


@pytest.mark.parametrize("make", [lambda: random(70_000, 6), lambda: gallery.stencil(5, (300, 300))])
def test_layouts_of_many_columns_can_be_built(make, device):
    """Columns of 16 bits do not reach everywhere."""
    A = ds.csr_array(make(), device=device)
    for one in ds.recommend(A, formats=["csr", "ell", "sell", "ellcsr", "jds"]).candidates:
        assert one.build(A).nnz == A.nnz, one.name


def test_every_format_for_products_has_a_model():
    assert set(FORMATS) - set(MODELS) == {"csc", "coosc"}  # which add to y out of order
    for name, model in MODELS.items():
        assert model.format == name and set(model.cpu) == set(model.gpu) and "" in model.cpu


# ---- what suits -----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", SUITING)
def test_structures_get_their_formats(name):
    make, formats = SUITING[name]
    advice = ds.recommend(make().tocsr())
    assert advice.format in formats, str(advice)
    assert not advice.unchanged  # SciPy's call alone takes longer
    assert advice.candidates[0] is advice.best and advice.total_seconds(advice.best) < 1.06 * min(
        map(advice.total_seconds, advice.candidates)
    )


def test_a_square_is_another_question_than_a_product():
    A = gallery.heisenberg(12).tocsr()
    square = ds.recommend(A, "matmul")
    assert {one.format for one in square.candidates} <= {"csr", "hm", "dia", "cdm", "mdia", "qband", "bmsparse"}
    assert all(not one.layout for one in square.candidates)  # products of matrices unpack them
    assert square.best.moved_nbytes > ds.recommend(A).best.moved_nbytes
    assert ds.recommend(gallery.banded(5000, 3, 3, seed=0), "matmul").format in ("dia", "hm", "cdm")


def test_diagonals_of_a_square_are_counted_only_for_formats_of_diagonals(monkeypatch):
    def no_diagonals(self, offsets):
        raise AssertionError(f"the sums of {len(offsets)} diagonals")

    monkeypatch.setattr(Statistics, "sums_of", no_diagonals)
    assert ds.recommend(random(3000, 5), "matmul").format == "csr"


def test_a_single_product_is_not_worth_a_conversion():
    A = ds.csr_array(gallery.stencil(5, (300, 300)))
    once, often = ds.recommend(A, products=1), ds.recommend(A, products=1000)
    assert once.unchanged and once.format == "csr" and once.best is once.current and once.break_even(once.current) == 0
    assert "stay" in str(once) and not often.unchanged
    products = often.break_even(often.best)
    assert 1 < products < 1000
    later = ds.recommend(A, products=products + 1)
    assert later.total_seconds(often.best) <= later.total_seconds(often.current)
    assert ds.recommend(A, products=max(1, products // 4)).best.conversion < often.best.conversion


def test_a_matrix_that_is_well_laid_out_stays():
    for A in (ds.hm_array(gallery.banded(5000, 3, 3, seed=0)), ds.mdia_array(gallery.heisenberg(14))):
        advice = ds.recommend(A)
        assert advice.unchanged and advice.current.conversion == 0 and advice.current.format == A.format
        assert advice.current.nbytes == A.nbytes and "(current)" in str(advice)
    packed = ds.hm_array(gallery.stencil(5, (800, 800)), period=800)
    assert ds.recommend(packed).current.layout == {"period": 800} and ds.recommend(packed).unchanged


def test_scipys_csr_stays_where_nothing_is_faster(monkeypatch):
    from diagsparse._advice import candidates

    monkeypatch.setattr(candidates, "_SCIPY", -1e-6)
    ds.set_num_threads(1)
    advice = ds.recommend(random(30, 2), products=1)
    assert advice.unchanged and "stay with SciPy's csr" in str(advice)
    assert sp.issparse(advice.build()) and not ds.issparse(advice.build())


def test_the_same_matrix_gets_the_same_advice():
    """Also with other work at the same time, and in other threads."""
    matrices = [make().tocsr() for make, _ in SUITING.values()]
    first = [ds.recommend(S).to_dict() for S in matrices]
    busy = threading.Event()

    def spin():
        while not busy.is_set():
            sum(range(1000))

    thread = threading.Thread(target=spin)
    thread.start()
    try:
        assert all([ds.recommend(S).to_dict() for S in matrices] == first for _ in range(9))
    finally:
        busy.set()
        thread.join()


def test_ties_are_reported():
    advice = ds.recommend(gallery.banded(20_000, 7, 7, seed=0))
    tied = {advice.format, *(one.format for one in advice.ties)}
    assert {"dia", "hm"} <= tied and "Equally fast, within 10 %" in str(advice)
    assert all(advice.total_seconds(one) <= 1.1 * advice.total_seconds(advice.best) for one in advice.ties)


def test_stored_zeros_count_as_what_they_cost():
    A = gallery.banded(4000, 2, 2, seed=0).tocsr()
    zeros = random(4000, 3)
    zeros.data[:] = 0
    csr = sp.coo_array((np.r_[A.data, zeros.data], np.c_[A.tocoo().coords, zeros.tocoo().coords]), A.shape).tocsr()
    advice = ds.recommend(csr)
    assert advice.nnz == csr.nnz > A.nnz and advice.format not in ("dia", "hm", "cdm")  # thousands of diagonals
    csr.eliminate_zeros()
    assert ds.recommend(csr).format in ("dia", "hm", "cdm")


# ---- tuning ---------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("op", ["matvec", "matmul"])
def test_tuning_measures_the_first_ones(op, device):
    advice = ds.recommend(gallery.stencil(5, (40, 40)), op, tune=True, device=device)
    assert all(one.measured is not None and one.measured > 0 for one in advice.candidates)
    assert "measured" in str(advice) and advice.best.product_seconds == advice.best.measured
    assert advice.current.name in {one.name for one in advice.candidates}


# ---- what is built --------------------------------------------------------------------------------------------------
def test_products_of_what_is_built(device):
    for make, _ in SUITING.values():
        S = make().tocsr()
        x = np.linspace(-1, 1, S.shape[1])
        y = to_host(ds.array(S, device=device) @ to_device(x, device))
        assert np.allclose(y, S @ x, rtol=1e-12, atol=1e-9)


def test_what_stays_is_the_matrix_itself(device):
    A = ds.mdia_array(gallery.heisenberg(12), symmetry="symmetric", device=device)
    advice = ds.recommend(A, products=1)
    assert advice.unchanged and advice.build() is A and advice.current.layout == {"symmetry": "symmetric"}
    view = ds.csr_array(gallery.arrow(300, seed=0), device=device).T
    assert np.array_equal(ds.recommend(view, products=1).build().to("cpu").toarray(), view.to("cpu").toarray())


def test_tuning_measures_scipy_too():
    advice = ds.recommend(gallery.banded(3000, 20, 20, seed=0).tocsr(), tune=True)
    assert advice.current.name == "SciPy's csr" and advice.current.measured > 0 and advice.current.conversion == 0


@pytest.mark.parametrize("shape", [(1, 100_000), (3, 50_000)])
def test_many_short_diagonals_are_no_advantage(shape):
    advice = ds.recommend(sp.csr_array(np.random.default_rng(0).random(shape)))
    assert advice.format not in ("dia", "hm", "cdm", "mdia", "qband")


@pytest.mark.parametrize("format", [None, "csr", "coosr", "hm"])
def test_a_copy_shares_no_values(format):
    S = sp.random_array((50, 50), density=0.1, format="csr", rng=np.random.default_rng(0))
    for given in (S, ds.csr_array(S.copy())):
        before = given.toarray()
        A = ds.array(given, format, copy=True)
        A *= 2
        assert np.array_equal(given.toarray(), before) and np.array_equal(A.toarray(), 2 * before)
