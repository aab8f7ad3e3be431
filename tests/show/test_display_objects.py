"""The HTML repr of packed matrices, and of plans, batches, factors and comparisons."""

import numpy as np
import pytest
from cases import DIAGONAL
from drawings import drawings, page_of, texts

import diagsparse as ds
from diagsparse._show import columns

FORMATS = pytest.mark.parametrize("format", ds.formats())


# ---- packed matrices ----------------------------------------------------------------------------------------------
@pytest.mark.parametrize("format", ["dia", "hm"])
@pytest.mark.parametrize("n", [6, 900])
def test_one_triangle_is_drawn_with_pale_mirror_images(format, n):
    A = ds.csr_array(ds.gallery.tridiagonal(n)).asformat(format, symmetry="symmetric")
    pictures = drawings(A)
    assert len(pictures) == (2 if n == 6 else 3)
    cells = [path for path in pictures[0 if n == 6 else 1].iter("path") if path.get("fill-opacity") in (".15", ".4")]
    counts = {
        opacity: sum(p.get("d").count("M") for p in cells if p.get("fill-opacity") == opacity)
        for opacity in (".15", ".4")
    }
    side = min(n, 9)
    assert counts == {".15": side - 1, ".4": 2 * side - 1}
    assert ("pale: mirror images" in A._repr_html_()) == (n == 900)
    if n == 6:
        assert [t for t in texts(pictures[1]) if t in ("2", "-1")] == ["2"] * 6 + ["-1"] * 5


@pytest.mark.parametrize("packing", [
    {"symmetry": "symmetric"}, {"symmetry": "hermitian"}, {"period": "auto"}, {"dtype": "float16"},
    {"dtype": "float16", "symmetry": "symmetric"},
], ids=str)  # fmt: skip
@pytest.mark.parametrize("shape", [(3, 4), (40, 50)], ids=str)
def test_packed_matrices_are_well_formed(packing, shape):
    S = ds.gallery.stencil(5, shape)
    for format in DIAGONAL:
        A = getattr(ds, f"{format}_array")(S, **packing)
        for B in (A, A.T):
            pictures = drawings(B)
            assert pictures and A._repr_html_().count(f"<th scope='row'>{next(iter(A.parts()))}</th>") == 1
    for A in (ds.mdia_array(S, symmetry="symmetric"), ds.ellcsr_array(S, symmetry="symmetric")):
        assert len(drawings(A)) >= 2


@pytest.mark.parametrize("format", ["dia", "hm"])
def test_a_packed_matrix_is_drawn_as_it_reads(format):
    dense = np.diag([1.0, 2, 3]) + np.diag([4j, 5j], 1) + np.diag([-4j, -5j], -1)
    A = ds.csr_array(dense).asformat(format, symmetry="hermitian")
    for B in (A, A.T, A.conj(), A.H):
        (svg, *_) = drawings(B)
        found = {(t.get("x"), t.get("y")): t.text for t in svg.iter("text")}
        imaginary = sorted(text for text in found.values() if text.endswith("j"))
        assert imaginary == ["+4j", "+5j", "-4j", "-5j"]
        (upper,) = [position for position, text in found.items() if text == f"{B.toarray()[0, 1].imag:+g}j"]
        (lower,) = [position for position, text in found.items() if text == f"{B.toarray()[1, 0].imag:+g}j"]
        assert float(upper[0]) > float(lower[0])


# ---- plans, batches, factors, comparisons -------------------------------------------------------------------------
def shown(x):
    """Return the text of an object's HTML, which is well formed, and the rows of its tables."""
    page = page_of(x)
    return "".join(page.itertext()), [["".join(cell.itertext()) for cell in row] for row in page.iter("tr")]


def test_a_plan_shows_its_line_and_its_bytes():
    A = ds.hm_array(ds.gallery.stencil(5, 30))
    plan = ds.plan_matmul(A, A)
    text, rows = shown(plan)
    assert repr(plan) in text and "the result" in text
    assert rows[0] == ["", "format", "shape", "stored", "bytes"]
    assert [row[0] for row in rows[1:]] == ["A", "B", "C", "workspace"]
    assert rows[3][1:4] == ["hm", "900 x 900", str(plan.nnz)]
    (picture,) = drawings(plan)
    assert len(picture.findall(".//line")) == len(plan.offsets) == 13
    csr = ds.plan_matmul(A.tocsr(), A.tocsr())
    assert repr(csr) in shown(csr)[0] and drawings(csr) == []


def test_a_plan_of_products_with_vectors_shows_the_matrix():
    plan = ds.plan_matvec(ds.hm_array(ds.gallery.stencil(5, 30)))
    text, rows = shown(plan)
    assert repr(plan) in text and [row[0] for row in rows] == ["", "A", "x", "y", "one product"]
    assert len(drawings(plan)) == 2


def test_a_batch_shows_its_first_member_and_the_parts_of_all():
    A = ds.dia_array(ds.gallery.tridiagonal(5))
    batch = ds.batch_array(np.multiply.outer([1.0, 10.0], A.values), A)
    text, rows = shown(batch)
    assert repr(batch) in text and "member 0" in text
    assert rows[1] == ["values", "2 x 3 x 5", "float64", "240 B"] and rows[2][0] == "offsets"


def test_factors_show_their_method():
    factors = ds.factorized(ds.dia_array(ds.gallery.tridiagonal(100)), sigma=0.5)
    text, rows = shown(factors)
    assert repr(factors) in text and ["method", "tridiagonal"] in rows and ["shift", "0.5"] in rows


def test_a_comparison_shows_its_text(monkeypatch):
    from diagsparse import measure
    from diagsparse.compare import compare

    monkeypatch.setattr(measure, "read_bandwidth", lambda threads=None: 10e9)
    result = compare(ds.gallery.banded(40, 1, 1).tocsr()[:, :30], budget=0.01, ops=["matvec"], name="band <b>")
    text, rows = shown(result)
    assert repr(result) in text and "CDM holds square matrices only" in text and "Fastest here: " in text
    assert len(rows) == len(result.rows) + 1
    for row, cells in zip(result.of("matvec"), rows[1:], strict=True):
        assert cells[:2] == [row.format, row.kernel] and cells[3].strip() == f"{columns.digits(row.ratio)}x"


def test_the_text_of_a_structure_describes_the_drawing():
    structure = ds.analyze(ds.gallery.stencil(5, 30))
    text, _ = shown(structure)
    assert "the diagonals with nonzeros, each drawn in full" in text and "the result" not in text
    assert "median 5; bandwidth 30" in text  # columns of a terminal, which HTML would run together
    assert "the result" in shown(ds.plan_matmul(ds.eye(9), ds.eye(9)))[0]
