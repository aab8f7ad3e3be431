"""The HTML repr: well formed, bounded in size and time, true to the layout; how it looks is for people to judge."""

import re
import time
import xml.etree.ElementTree as ET

import numpy as np
import pytest
import scipy.sparse as sp
from cases import DIAGONAL, SMALL, VIEWS, at_night, holding, ours
from drawings import PALETTE, banded, drawings, slots, texts

import diagsparse as ds
from diagsparse._show.offsets import edge_labels

FORMATS = pytest.mark.parametrize("format", ds.formats())


@pytest.mark.quick
@FORMATS
@pytest.mark.parametrize("dtype", at_night(["float64", "complex128"], before=["complex128"]))
def test_well_formed_and_bounded(format, dtype):
    for name in holding(format, SMALL):
        A = ours(name, format, dtype)
        for view in VIEWS.values():
            for svg in drawings(view(A)):
                assert {e.get(k) for e in svg.iter() for k in ("fill", "stroke") if e.get(k)} <= PALETTE
                assert svg.get("viewBox") == f"0 0 {svg.get('width')} {svg.get('height')}"
                assert "overflow:hidden" in svg.get("style")
                assert not [e for e in svg.iter("text") if e.get("font-size")]  # one size in all cells


@FORMATS
def test_every_part_is_named(format):
    for n in (4, 12, 13, 300):
        A = ds.csr_array(banded(n, n, [-1, 0, 2])).asformat(format)
        page = ET.fromstring(A._repr_html_())
        rows = [[cell.text for cell in row] for row in page.iter("tr")]
        assert rows[0] == ["array", "shape", "dtype", "bytes"]
        assert [row[0] for row in rows[1:]] == list(A.parts())
        assert [row[2] for row in rows[1:]] == [str(part.dtype) for part in A.parts().values()]


@pytest.mark.parametrize("shape", [(5, 5), (12, 12), (3, 9), (9, 3), (1, 7), (7, 1)], ids=str)
def test_padding_of_dia_is_drawn(shape):
    m, n = shape
    A = ds.dia_array(ds.csr_array(banded(m, n, [k for k in (-6, -1, 0, 2, 6) if -m < k < n])))
    matrix, layout = drawings(A)
    assert slots(layout) == A.values.size - A.nnz
    assert slots(matrix) == 0
    for offset in A.offsets.tolist():
        assert str(offset) in texts(layout)


@pytest.mark.parametrize("format", ["hm", "cdm", "csr", "csc", "coo"])
def test_only_dia_has_padding(format):
    A = ds.csr_array(banded(6, 6, [-1, 0, 2])).asformat(format)
    assert [slots(svg) for svg in drawings(A)] == [0, 0]


@FORMATS
def test_the_layout_holds_the_values_in_order(format):
    A = ds.csr_array(banded(6, 6, [-1, 0, 2])).asformat(format)
    matrix, layout = drawings(A)
    values = A.parts()["values"].reshape(-1)
    shown = [f"{value:g}" for value in values[values != 0].tolist()]
    assert [text for text in texts(layout) if text in shown] == shown
    assert sorted(text for text in texts(matrix) if text != "0") == sorted(shown)


def test_the_zero_half_of_cdm_is_grey_and_shows_its_zeros():
    A = ds.csr_array(banded(6, 6, [-1, 0, 2])).asformat("cdm")  # stores -4 and 5 too, which hold 2 and 1 zeros
    for svg in drawings(A):
        (grey,) = svg.findall(".//path[@fill='#888888']")
        assert grey.get("d").count("M") == 3


@pytest.mark.parametrize("format", DIAGONAL)
def test_a_diagonal_has_the_same_colour_everywhere(format):
    """The count of cells of each colour is the same in the matrix and in the layout."""
    A = ds.csr_array(banded(9, 9, [-5, 0, 3])).asformat(format)
    counts = [
        {path.get("fill"): path.get("d").count("M") for path in svg.iter("path") if path.get("fill")}
        for svg in drawings(A)
    ]
    assert counts[0] == counts[1] and len(counts[0]) >= 3


def test_long_values_are_shortened_and_complex_ones_take_two_lines():
    rng = np.random.default_rng(1)
    values = (rng.standard_normal((12, 12)) + 1j * rng.standard_normal((12, 12))) * 1e5
    values[0, :3] = [-1.2345678e-300, np.nan, complex(0.25, -np.inf)]
    found = texts(drawings(ds.dia_array(values))[0])
    assert max(map(len, found)) <= 7
    assert {"-1e-300", "nan", "0.25", "-infj"} <= set(found)
    assert sum(text.endswith("j") for text in found) == 142
    assert "0.3333" in texts(drawings(ds.hm_array(np.eye(8) / 3))[0])


@pytest.mark.parametrize("format", at_night(ds.formats(), before=("dia", "csr", "mdia", "qband", "bmsparse")))
def test_a_matrix_of_a_million_rows_is_drawn_quickly(format):
    n = 10**6
    offsets = [-1000, -1, 0, 1, 500_000]
    A = ds.dia_array(sp.dia_array((np.ones((5, n)), offsets), shape=(n, n))).asformat(format)
    start = time.process_time()
    pictures = drawings(A)
    assert time.process_time() - start < 1
    named = format in (*DIAGONAL, "mdia", "qband")
    assert len(pictures) == (3 if named else 2) and bool(texts(pictures[0])) == named
    assert not A.T._op or "no component arrays of its own" in A.T._repr_html_()
    if format == "dia":
        assert len(pictures[0].findall(".//line")) == 5 and pictures[2].find("path[@class='padding']") is not None


def test_many_diagonals_stay_bounded_and_are_counted():
    n = 3000
    labels = np.arange(1 - n, n)
    A = ds.hm_array(sp.coo_array((np.ones(2 * n - 1), (np.maximum(-labels, 0), np.maximum(labels, 0))), shape=(n, n)))
    for format in DIAGONAL:
        B = A.asformat(format)
        assert len(drawings(B)[0].findall(".//line")) == 200
        assert "200 of 5999 diagonals drawn" in B._repr_html_()


@pytest.mark.parametrize("format", ["dia", "hm"])
@pytest.mark.parametrize("shape", [(1000, 8), (8, 1000), (10**6, 1), (5000, 5000)], ids=str)
def test_short_diagonals_stay_visible(format, shape):
    m, n = shape
    corner = 1 - m, n - 1
    row, col = [-min(k, 0) for k in corner], [max(k, 0) for k in corner]
    A = ds.coo_array(sp.coo_array((np.ones(2), (row, col)), shape=shape)).asformat(format)
    svg = drawings(A)[0]
    svg = svg.find(".//svg")  # inside of the labels
    width, height = float(svg.get("width")), float(svg.get("height"))
    assert min(width, height) >= 16
    assert float(svg.find(".//g[@stroke-width]").get("stroke-width")) >= 1.2
    for line in svg.iter("line"):
        x1, y1, x2, y2 = (float(line.get(name)) for name in ("x1", "y1", "x2", "y2"))
        assert np.hypot(x2 - x1, y2 - y1) > 5
        assert 0 < (x1 + x2) / 2 < width and 0 < (y1 + y2) / 2 < height


@FORMATS
def test_a_density_map_or_lines_reach_the_far_corner(format):
    A = ds.csr_array(sp.coo_array(([1.0, 1.0], ([0, 999], [0, 999])), shape=(1000, 1000))).asformat(format)
    svg = drawings(A)[0]
    drawn = "".join(path.get("d") for path in svg.iter("path"))
    assert svg.find(".//line") is not None if format in DIAGONAL else drawn == "M0,0h1v1h-1zM39,39h1v1h-1z"


def test_a_density_map_of_many_entries_sees_every_diagonal():
    """Entries are sampled; a step of as many entries as a row holds must not see one diagonal only."""
    n, offsets = 1 << 19, [-400_000, -200_000, 0, 200_000, 400_000]
    A = ds.csr_array(sp.dia_array((np.ones((5, n)), offsets), shape=(n, n)))
    cells = [cell for path in drawings(A)[0].iter("path") for cell in re.findall(r"M(\d+),(\d+)", path.get("d"))]
    seen = {int(x) - int(y) for x, y in cells}
    for offset in offsets:
        assert seen & {round(offset * 40 / n) + k for k in (-1, 0, 1)}


@FORMATS
@pytest.mark.parametrize("shape", [(0, 0), (0, 4), (3, 0), (3, 3), (40, 40)], ids=str)
def test_empty_shapes(format, shape):
    if format == "cdm" and shape[0] != shape[1]:
        pytest.skip("cdm is square")
    A = ds.csr_array(np.zeros(shape)).asformat(format)
    for B in (A, A.T):
        assert len(drawings(B)) == (0 not in shape)  # a frame with nothing in it, or no drawing


@pytest.mark.parametrize("format", DIAGONAL)
@pytest.mark.parametrize("n", [5, 50])
def test_views_are_shown_without_component_arrays(format, n):
    A = ds.csr_array(banded(n, n, [-1, 0, 2], "complex128")).asformat(format)
    for view in (A.T, A.conj(), A.H):
        drawn = view._repr_html_()
        assert "no component arrays of its own" in drawn and "<table>" not in drawn
        assert len(drawings(view)) == (1 if n == 5 else 2)  # of a large one the middle too
    assert "no component arrays of its own" not in A.T.copy()._repr_html_()


def test_a_view_is_drawn_as_it_reads():
    A = ds.dia_array(np.array([[1, 2j, 0], [0, 3, 4j], [0, 0, 5]]))
    assert {"-2j", "-4j"} <= set(texts(drawings(A.H)[0]))
    assert "+2j" in texts(drawings(A.T)[0])
    positions = {text.text: (float(text.get("x")), float(text.get("y"))) for text in drawings(A.T)[0].iter("text")}
    assert positions["5"][0] > positions["3"][0] > positions["1"][0] and positions["+4j"][1] > positions["3"][1]


# ---- offsets and the middle ---------------------------------------------------------------------------------------
@pytest.mark.parametrize("format", DIAGONAL)
def test_the_diagonals_of_a_large_stencil_are_distinguishable(format):
    A = ds.csr_array(ds.gallery.stencil(5, (1000, 1000))).asformat(format)
    matrix, middle, _ = drawings(A)
    assert "-1000, -1" in texts(matrix) or format == "cdm"
    assert "0, 1, 1000" in texts(matrix) or format == "cdm"
    assert {"-1", "0", "1", "4"} <= set(texts(middle))
    colors = {path.get("fill") for path in middle.iter("path")} - {"none", "#888888"}
    assert len(colors) == 3  # a colour for each of the three diagonals


def test_labels_without_room_are_joined():
    far = ds.hm_array(sp.dia_array((np.ones((4, 100)), [-60, 0, 40, 80]), shape=(100, 100)))
    assert {"-60", "0", "40", "80"} <= set(texts(drawings(far)[0]))
    assert {"-20 to -1", "0 to 20"} <= set(texts(drawings(ds.hm_array(ds.gallery.banded(2000, 20, 20)))[0]))
    spins = set(texts(drawings(ds.mdia_array(ds.gallery.heisenberg(12)))[0]))
    assert "12 from 0 to 1024" in spins and "-1024" in spins


def test_a_rectangular_matrix_is_in_proportion():
    for shape in ((200, 1000), (1000, 200)):
        inner = drawings(ds.dia_array(sp.eye_array(*shape)))[0].find(".//svg")
        assert float(inner.get("width")) / float(inner.get("height")) == pytest.approx(shape[1] / shape[0])
    assert "not drawn to scale" in ds.dia_array(sp.eye_array(4, 5000))._repr_html_()


@pytest.mark.parametrize("format", [*DIAGONAL, "mdia"])
@pytest.mark.parametrize("k", [0, 3, -700])
def test_the_middle_shows_the_values_that_are_there(format, k):
    n = 1500
    values = np.arange(1.0, n - abs(k) + 1)
    A = ds.csr_array(sp.diags_array(values, offsets=k, shape=(n, n))).asformat(format)
    drawn = A._repr_html_()
    rows, columns = (
        tuple(map(int, re.search(rf"{what} (\d+) to (\d+)", drawn).groups())) for what in ("rows", "columns")
    )
    assert columns[0] - rows[0] == k and rows[1] - rows[0] == 8
    dense = A.toarray()[rows[0] : rows[1] + 1, columns[0] : columns[1] + 1]
    assert sorted(f"{v:.5g}" for v in dense.diagonal()) == sorted(t for t in texts(drawings(A)[1]) if t != str(k))


def test_labels_of_many_diagonals():
    """They are joined one by one, in as many steps as there are diagonals."""
    many = range(-100_000, 100_001, 2)
    drawn, left, top = edge_labels(many, 0.001, 0.001, 200.0)
    assert "100001" not in drawn and "50001 from 0 to 100000" in drawn and left > 0 and top > 0
    few, _, _ = edge_labels([-3, -2, -1, 0, 1, 5], 40.0, 40.0, 400.0)
    assert all(f">{k}<" in few for k in (-3, -2, -1, 0, 1, 5))
