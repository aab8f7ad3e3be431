"""Arguments of `recommend`: limits, requested formats, present layouts, and errors."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from advised_matrices import random
from cases import raises

import diagsparse as ds
from diagsparse import gallery
from diagsparse._advice.candidates import Candidates
from diagsparse._advice.machine import machine
from diagsparse._backends.backend import CPU


# ---- memory ---------------------------------------------------------------------------------------------------------
def test_what_does_not_fit_is_not_recommended(monkeypatch):
    A = ds.csr_array(gallery.heisenberg(14))
    free = ds.recommend(A)
    limit = ds.memory_report(A)["mdia"] + A.nbytes - 1
    tight = ds.recommend(A, max_bytes=limit)
    assert free.format == "mdia" and tight.format != "mdia"
    assert "mdia" in tight.left_out and "max_bytes" in str(tight)
    from diagsparse._backends import memory

    monkeypatch.setattr(memory, "SMALL", 0)
    monkeypatch.setattr(memory, "available_bytes", lambda backend=CPU: A.nbytes)
    none = ds.recommend(A)
    assert none.unchanged and "are free" in str(none)


# ---- what is refused ------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("arguments", "options", "kind", "words"),
    [
        ((np.ones(3),), {}, ValueError, ("recommend: A has shape (3,)", "dense 2-D array")),
        (("csr",), {}, TypeError, ("recommend: A is str", "sparse matrix")),
        (((3, 3),), {}, TypeError, ("recommend: A is tuple", "sparse matrix")),
        (([[1.0], [2.0, 3.0]],), {}, TypeError, ("recommend: A is list", "sparse matrix")),
        ((np.eye(3).astype(object),), {}, TypeError, ("recommend: A is an array of object values", "numbers")),
        ((np.eye(3, dtype="float16"),), {}, TypeError, ("recommend: A has float16 values", "A.astype('float32')")),
        ((sp.eye_array(3), "invert"), {}, ValueError, ("op='invert'", "'matvec'", "'matmul'", "'solve'")),
        ((sp.eye_array(3, 4), "solve"), {}, ValueError, ('op="solve" expects a square matrix', "3 x 4")),
        (
            (sp.eye_array(3), "solve"),
            {"tune": True, "products": 5},
            ValueError,
            ("products, tune", "only for products"),
        ),
        ((sp.eye_array(3, 4), "matmul"), {}, ValueError, ("multiplies A by itself", "3 x 4")),
        ((sp.eye_array(3),), {"products": 0}, ValueError, ("products=0", "1 to 2^53")),
        ((sp.eye_array(3),), {"reuse": "no"}, TypeError, ("reuse='no'", "True or False")),
        ((sp.eye_array(3),), {"products": 2.5}, TypeError, ("products=2.5", "whole number")),
        ((sp.eye_array(3),), {"products": True}, TypeError, ("products=True",)),
        ((sp.eye_array(3),), {"formats": ["hn"]}, ValueError, ("hn", "hm")),
        ((sp.eye_array(3),), {"device": "tpu"}, ValueError, ("tpu",)),
        ((sp.eye_array(3),), {"max_bytes": -1}, ValueError, ("max_bytes",)),
        ((sp.eye_array(3),), {"formats": []}, ValueError, ("formats=[]", "at least one name")),
        ((sp.eye_array(3),), {"formats": 1}, TypeError, ("formats=1", "a list of format names")),
        ((sp.eye_array(3),), {"products": 10**400}, ValueError, ("expected 1 to 2^53",)),
        ((sp.eye_array(3), "matmul"), {"narrow": True}, ValueError, ("narrow=True", "products with vectors")),
        ((sp.eye_array(3), "matmul"), {"reorder": True}, ValueError, ("reorder=True", "products with vectors")),
        ((sp.eye_array(3, dtype=np.longdouble),), {}, TypeError, ("recommend: A has", "astype('float64')")),
    ],
)
def test_bad_questions(arguments, options, kind, words):
    with raises(kind, *words):
        ds.recommend(*arguments, **options)


def test_only_the_formats_that_are_asked_for():
    advice = ds.recommend(gallery.stencil(5, 40), formats=["ell", "mdia"])
    assert {one.format for one in advice.candidates if one is not advice.current} <= {"csr", "ell", "mdia"}


# ---- matrices as they are ------------------------------------------------------------------------------------------
@pytest.mark.parametrize("format", ["csr", "csc", "coo", "bsr", "dia", "lil", "dok"])
def test_scipys_formats_as_they_are(format):
    S = gallery.stencil(5, (40, 50)).asformat(format)
    for tune in (False, True) if format in ("csr", "dia") else (False,):
        advice = ds.recommend(S, tune=tune)
        assert advice.current.name == f"SciPy's {format}" and f"SciPy's {format} (current)" in str(advice)
        assert tune or not advice.unchanged  # with timings, either may win
        assert advice.build() is S if advice.unchanged else np.array_equal(advice.build().toarray(), S.toarray())
    assert advice.current.build(ds.csr_array(S)) is S
    if format in ("csr", "csc", "coo", "bsr", "dia"):
        parts = (getattr(S, name, np.empty(0)) for name in ("data", "indices", "indptr", "row", "col", "offsets"))
        assert advice.current.nbytes == sum(part.nbytes for part in parts)


@pytest.mark.parametrize(
    ("format", "options"),
    [
        ("ellcsr", {"symmetry": "symmetric"}),
        ("ellcsr", {"symmetry": "symmetric", "column_bits": 16}),
        ("hm", {"symmetry": "symmetric", "period": "auto"}),
        ("dia", {"period": "auto"}),
        ("mdia", {"symmetry": "symmetric"}),
        ("qband", {"offsets": [0]}),
        ("sell", {"sigma": 64, "column_bits": 16}),
        ("hyb", {"width": 2}),
        ("csc", {}),
        ("coosc", {}),
    ],
)
def test_layouts_of_ours_as_they_are(format, options):
    A = ds.csr_array(gallery.stencil(5, 12)).asformat(format, **options)
    for op in ("matvec", "matmul"):
        advice = ds.recommend(A, op, tune=True)
        assert np.array_equal(advice.build().toarray(), A.toarray())
        if format not in ("csc", "coosc"):
            assert advice.current.format == format and advice.current.nbytes == A.nbytes


def test_formats_that_are_asked_for_come_or_say_why():
    A, R = ds.csr_array(gallery.stencil(5, 12)), ds.csr_array(random(3000, 4))
    assert ds.recommend(A, formats=["qband"]).left_out == {
        "qband": "all nonzeros lie on its bands, so they would be stored as in dia"
    }
    assert set(ds.recommend(R, formats=["hm", "mdia", "csc", "ell"]).left_out) == {"hm", "mdia", "csc"}
    asked = ds.recommend(A, formats=["coo", "jds"])
    assert {one.format for one in asked.candidates} == {"csr", "coo", "jds"} and asked.current.format == "csr"
    assert ds.recommend(R.to_scipy(), formats=["bmsparse", "bmsparse"]).format in ("csr", "bmsparse")
    assert [one.name for one in ds.recommend(R.to_scipy(), formats="jds").candidates] == ["jds", "SciPy's csr"]
    assert "square" in ds.recommend(sp.eye_array(3, 4), formats=["cdm"]).left_out["cdm"]
    assert "multiplies in csr" in str(ds.recommend(A, "matmul", formats=["ell"]))


def test_array_refuses_what_it_cannot_do():
    with raises(ValueError, "array: op='nope'", "'matvec'"):
        ds.array(sp.eye_array(3), "hm", op="nope")
    with raises(TypeError, "array: dtype float16", "format=", "hm"):
        ds.array(sp.eye_array(3), dtype="float16")


def test_limits_hold_for_everything_that_is_built():
    S = gallery.stencil(5, (40, 50)).tocsr()
    for options in ({}, {"narrow": True}, {"reorder": True}, {"tune": True}):
        advice = ds.recommend(S, max_bytes=1000, **options)
        assert advice.build() is S and [one.name for one in advice.candidates] == ["SciPy's csr"]
        assert "csr" in advice.left_out and "No layout that fits" in advice.reason


def test_layouts_are_found_by_their_names():
    advice = ds.recommend(gallery.stencil(5, (40, 50)).tocsr())
    assert advice.break_even(advice.best.name) == advice.break_even(advice.best) > 0
    with raises(ValueError, "unknown layout 'nope'", advice.best.name):
        advice.break_even("nope")


# ---- what stays ------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("make", [
    lambda A: ds.hm_array(A).T, lambda A: ds.mdia_array(A).T, lambda A: ds.csr_array(A).T, ds.csc_array, ds.coosc_array,
    lambda A: ds.csr_array(A.astype(complex) * 1j).conj(),
])  # fmt: skip
def test_views_and_columns_stay_as_they_are(make):
    V = make(gallery.banded(3000, 3, 1, seed=0).tocsr())
    once, often = ds.recommend(V, products=1), ds.recommend(V, products=10**6)
    assert once.unchanged and once.build() is V and "(current)" in str(once) and once.current.nbytes == V.nbytes
    assert ds.recommend(V, products=1, formats=["sell"], max_bytes=0).build() is V
    assert np.array_equal(often.build().toarray(), V.toarray())
    assert often.break_even(often.best) > 0 or often.unchanged


@pytest.mark.parametrize("format", ["csc", "bsr", "dok", "lil", "coo", "dia", "csr"])
def test_scipys_formats_with_few_digits(format):
    """The gain by fewer digits is reported for formats of this library only."""
    S = gallery.stencil(5, (30, 30)).asformat(format)
    for options in ({"products": 1}, {"max_bytes": 0}, {"formats": ["ell"], "products": 2}):
        advice = ds.recommend(S, **options)
        assert not advice.hints or not advice.best.is_scipy


def test_advice_can_be_pickled():
    advice = ds.recommend(gallery.stencil(5, (40, 50)), narrow=True)
    again = pickle.loads(pickle.dumps(advice))
    assert str(again) == str(advice) and again.to_dict() == advice.to_dict()
    assert np.array_equal(again.build().toarray(), advice.build().toarray())


def test_candidates_know_after_how_many_products_they_are_worth_it():
    advice = ds.recommend(gallery.stencil(5, 40))
    assert advice.break_even(advice.best) == advice.break_even(advice.best.name)
    with raises(TypeError, "break_even: expected one of the candidates", "got 3"):
        advice.break_even(3)


def test_tuning_does_not_wait_for_a_hopeless_layout():
    A = sp.random_array((2000, 2000), density=5 / 2000, rng=0)
    advice = ds.recommend(ds.hm_array(A), tune=True)
    assert advice.current.measured is None and advice.best.measured is not None and not advice.unchanged


# ---- reasons ---------------------------------------------------------------------------------------------------------
def test_reasons_are_the_true_ones():
    A = gallery.stencil(5, (100, 100)).tocsr()
    asked = ds.recommend(ds.csr_array(random(20_000, 16)), formats=["sell"], products=10**6)
    assert asked.unchanged or asked.reason == "Of the requested formats, sell is the fastest."
    assert ds.recommend(sp.csr_array([[2.5]])).reason.startswith("csr is equally fast, but products and sums of ")
    once = ds.recommend(ds.csr_array(A), products=1).reason
    assert "lie on" not in once and "for a single product the conversion costs more than it saves" in once


@pytest.mark.parametrize("format", ["dia", "hm", "cdm"])
@pytest.mark.parametrize("make", [
    lambda: gallery.stencil(5, (60, 70)), lambda: gallery.stencil(5, (60, 70), periodic=True),
    lambda: gallery.stencil(3, 3000, periodic=True), lambda: gallery.toeplitz([4, 1, 0.5] + [0] * 4000),
])  # fmt: skip
def test_bytes_of_periods_are_exact(make, format):
    A = ds.csr_array(make())
    candidates = Candidates(A, machine(CPU))
    one = candidates.candidate(format, period=candidates.statistics.period)
    assert one.nbytes == one.build(A).nbytes


# ---- dense arrays, and matrices that have no csr --------------------------------------------------------------------
@pytest.mark.parametrize("dtype", ["float64", "complex64", "int64", "bool"])
def test_dense_arrays_are_advised_as_they_are_built(dtype):
    for sparse in (sp.eye_array(40), gallery.tridiagonal(3400), gallery.arrow(300, seed=0)):
        dense = sparse.toarray().astype(dtype)
        advice = ds.recommend(dense)
        built = ds.array(dense.astype(float) if dtype in ("int64", "bool") else dense)
        assert advice.format == advice.build().format and not advice.best.is_scipy
        assert advice.format == built.format or sparse.nnz < 10_000  # which have a fixed rule
        assert np.array_equal(advice.build().toarray(), dense)
    assert ds.recommend([[2.0, 0.0], [0.0, 1.0]]).shape == (2, 2)


@pytest.mark.parametrize("format", ["dia", "hm", "cdm"])
def test_huge_matrices_are_refused_with_what_csr_would_take(format):
    A = ds.diags({-1: 1.0, 0: -2.0, 1: 1.0}, shape=(2**40, 2**40), period=1, format=format)
    for ask in (ds.recommend, ds.analyze):
        with raises(ValueError, f"{ask.__name__}: A is <{format}_array 1099511627776", "2^31 rows and columns", " TB"):
            ask(A)
    assert ds.array(A) is A
    with raises(ValueError, "build: A is", "2^31"):
        ds.recommend(sp.eye_array(9)).build(A)


def test_periods_that_do_not_fit_in_full_are_refused_before_they_take_memory(monkeypatch):
    from diagsparse._backends import memory

    A = ds.eye(2**25, period=1)
    monkeypatch.setattr(memory, "available_bytes", lambda backend=CPU: 40 * 2**20)
    for ask in (ds.recommend, ds.analyze):
        with raises(MemoryError, f"{ask.__name__}: A is <hm_array", "940 MB", "41.9 MB are free"):
            ask(A)


@pytest.mark.parametrize("format", ["dia", "hm", "cdm", "bmsparse"])
def test_the_layout_as_it_is_has_the_type_of_its_values(format):
    A = ds.array(gallery.tridiagonal(300), format, dtype="float16")
    advice = ds.recommend(A)
    assert advice.current.dtype == "float16" and advice.current.nbytes == A.nbytes
    assert [one.dtype for one in advice.candidates if one.matrix is A] == ["float16"]


@pytest.mark.parametrize(("dtype", "least"), [("float32", 1 / 2), ("float64", 2 / 3), ("complex64", 2 / 3),
                                              ("complex128", 4 / 5)])  # fmt: skip
def test_diagonals_are_nearly_full_where_they_take_fewer_bytes_than_values_and_columns(dtype, least):
    n = 3000
    for share in (least - 0.05, least + 0.05):
        values = (np.arange(n) < share * n).astype(dtype)
        A = ds.csr_array(sp.csr_array(sp.diags_array(values)))
        A.eliminate_zeros()
        hm = Candidates(A, machine(CPU)).candidate("hm")
        fewer = hm.nbytes - 16 < A.nbytes - 8 * n
        assert hm.nearly_full == fewer == (share > least)
