"""Questions to advice: limits, formats that are asked for, matrices as they are, and what is refused."""

import numpy as np
import pytest
import scipy.sparse as sp
from advised_matrices import random
from cases import raises

import diagsparse as ds
from diagsparse import gallery
from diagsparse._places.backend import CPU


# ---- memory ---------------------------------------------------------------------------------------------------------
def test_what_does_not_fit_is_not_recommended(monkeypatch):
    A = ds.csr_array(gallery.heisenberg(14))
    free = ds.recommend(A)
    limit = ds.memory_report(A)["mdia"] + A.nbytes - 1
    tight = ds.recommend(A, max_bytes=limit)
    assert free.format == "mdia" and tight.format != "mdia"
    assert "mdia" in tight.left_out and "max_bytes" in str(tight)
    from diagsparse._places import memory

    monkeypatch.setattr(memory, "SMALL", 0)
    monkeypatch.setattr(memory, "available_bytes", lambda place=CPU: A.nbytes)
    none = ds.recommend(A)
    assert none.stays and "are free" in str(none)


# ---- what is refused ------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("arguments", "options", "kind", "words"),
    [
        ((np.eye(3),), {}, TypeError, ("recommend: A is ndarray", "sparse matrix")),
        ((sp.eye_array(3), "solve"), {}, ValueError, ("op='solve'", "'matvec'", "'matmul'")),
        ((sp.eye_array(3, 4), "matmul"), {}, ValueError, ("multiplies A by itself", "3 x 4")),
        ((sp.eye_array(3),), {"products": 0}, ValueError, ("products=0", "1 to 2^53")),
        ((sp.eye_array(3),), {"products": 2.5}, TypeError, ("products=2.5", "whole number")),
        ((sp.eye_array(3),), {"products": True}, TypeError, ("products=True",)),
        ((sp.eye_array(3),), {"formats": ["hn"]}, ValueError, ("hn", "hm")),
        ((sp.eye_array(3),), {"device": "tpu"}, ValueError, ("tpu",)),
        ((sp.eye_array(3),), {"max_bytes": -1}, ValueError, ("max_bytes",)),
        ((sp.eye_array(3),), {"formats": []}, ValueError, ("formats=[]", "one name or more")),
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
    assert {one.format for one in advice.candidates if one is not advice.base} <= {"csr", "ell", "mdia"}


# ---- matrices as they are ------------------------------------------------------------------------------------------
@pytest.mark.parametrize("format", ["csr", "csc", "coo", "bsr", "dia", "lil", "dok"])
def test_scipys_formats_as_they_are(format):
    S = gallery.stencil(5, (40, 50)).asformat(format)
    advice = ds.recommend(S, tune=format in ("csr", "dia"))
    assert advice.base.name == f"SciPy's {format}" and f"SciPy's {format} (as it is)" in str(advice)
    assert not advice.stays and np.array_equal(advice.build().toarray(), S.toarray())
    assert advice.base.made_of(ds.csr_array(S)) is S
    if format in ("csr", "csc", "coo", "bsr", "dia"):
        parts = (getattr(S, name, np.empty(0)) for name in ("data", "indices", "indptr", "row", "col", "offsets"))
        assert advice.base.nbytes == sum(part.nbytes for part in parts)


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
            assert advice.base.format == format and advice.base.nbytes == A.nbytes


def test_formats_that_are_asked_for_come_or_say_why():
    A, R = ds.csr_array(gallery.stencil(5, 12)), ds.csr_array(random(3000, 4))
    assert ds.recommend(A, formats=["qband"]).left_out == {"qband": "no nonzero lies beside its bands, so it is dia"}
    assert set(ds.recommend(R, formats=["hm", "mdia", "csc", "ell"]).left_out) == {"hm", "mdia", "csc"}
    asked = ds.recommend(A, formats=["coo", "jds"])
    assert {one.format for one in asked.candidates} == {"csr", "coo", "jds"} and asked.base.format == "csr"
    assert ds.recommend(R.to_scipy(), formats=["bmsparse", "bmsparse"]).format in ("csr", "bmsparse")
    assert [one.name for one in ds.recommend(R.to_scipy(), formats="jds").candidates] == ["jds", "SciPy's csr"]
    assert "square" in ds.recommend(sp.eye_array(3, 4), formats=["cdm"]).left_out["cdm"]
    assert "multiplies as csr" in str(ds.recommend(A, "matmul", formats=["ell"]))


def test_array_refuses_what_it_cannot_do():
    with raises(ValueError, "array: op='nope'", "'matvec'"):
        ds.array(sp.eye_array(3), "hm", op="nope")
    with raises(TypeError, "array: dtype float16", "format=", "hm"):
        ds.array(sp.eye_array(3), dtype="float16")


def test_limits_hold_for_all_that_is_made():
    S = gallery.stencil(5, (40, 50)).tocsr()
    for options in ({}, {"narrow": True}, {"reorder": True}, {"tune": True}):
        advice = ds.recommend(S, max_bytes=1000, **options)
        assert advice.build() is S and [one.name for one in advice.candidates] == ["SciPy's csr"]
        assert "csr" in advice.left_out and "No layout that fits" in advice.reason


def test_layouts_are_found_by_their_names():
    advice = ds.recommend(gallery.stencil(5, (40, 50)).tocsr())
    assert advice.pays_after(advice.best.name) == advice.pays_after(advice.best) > 0
    with raises(ValueError, "no layout 'nope'", advice.best.name):
        advice.pays_after("nope")
