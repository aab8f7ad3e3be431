"""Pictures of a matrix: existing offsets are labelled, nothing is clipped, shapes are in proportion."""

import numpy as np
import pytest
import scipy.sparse as sp

import diagsparse as ds
from diagsparse.structure import analyze

pytest.importorskip("matplotlib")

from diagsparse._study import plot_structure
from diagsparse._study.figures import new_figure

POINTS = 280.0
OFFSETS = {
    "stencil": [-1000, -1, 0, 1, 1000],
    "spins": [-(2**k) for k in range(11, -1, -1)] + [0] + [2**k for k in range(12)],
    "band": list(range(-20, 21)),
    "one outlier": [*range(-2, 3), 50_000],
    "single": [3],
    "two": [-7, 81],
    "near the edge": list(range(-3, 91)),
    "many": list(range(-3000, 3000, 7)),
    "scattered": np.unique(np.random.default_rng(0).integers(-9999, 9999, 700)).tolist(),
}
CASES = pytest.mark.parametrize("name", OFFSETS)


def axes_of(A, draw):
    axes = new_figure(4, 4).subplots()
    draw(axes, analyze(A, rcm=False))
    return axes


@CASES
def test_the_first_the_last_and_the_far_offsets_are_labelled(name):
    offsets = np.array(OFFSETS[name])
    positions = plot_structure.places_of(offsets)
    labelled, upright = plot_structure.labels_of(offsets, positions, POINTS, np.ones(len(offsets), bool))
    shown = offsets[labelled].tolist()
    assert shown == sorted(set(shown)) and {offsets[0], offsets[-1]} <= set(shown)
    gaps = np.diff(positions[labelled]) * POINTS / (1.08 * max(1.0, positions[-1] - positions[0]))
    assert (gaps >= (9 if upright else 11)).all()  # labels do not touch
    if name in ("stencil", "two", "one outlier"):
        assert shown == offsets.tolist()
    if name == "band":
        assert shown == [-20, -15, -10, -5, 0, 5, 10, 15, 20]


@CASES
def test_neighbours_are_apart_and_in_order(name):
    offsets = np.array(OFFSETS[name])
    steps = np.diff(plot_structure.places_of(offsets))
    gaps = np.diff(offsets)
    assert (steps > 1 - 1e-9).all() and (steps < 4 + 1e-9).all()
    for wide in range(len(gaps)):
        assert (steps[wide] > steps[gaps <= gaps[wide]] - 1e-9).all()


def test_full_diagonals_in_a_crowd_are_labelled():
    offsets = np.array(OFFSETS["scattered"])
    full = np.zeros(len(offsets), bool)
    full[[123, 456]] = True
    labelled, _ = plot_structure.labels_of(offsets, plot_structure.places_of(offsets), POINTS, full)
    assert {123, 456} <= set(labelled)


@pytest.mark.parametrize("name", ["stencil", "slim", "above"])
def test_marks_are_inside_and_the_main_diagonal_is_named(name):
    slim = ds.gallery.banded(200, 3, 90).tocsr()[:4]
    A = {"stencil": ds.gallery.stencil(5, 20), "slim": slim, "above": sp.eye_array(9, k=2)}[name]
    axes = axes_of(A, lambda axes, s: plot_structure.draw_occupancy(axes, s, 4.0))
    (low, high), marks = axes.get_xlim(), axes.collections[-1].get_offsets()
    assert low < marks[:, 0].min() and marks[:, 0].max() < high and axes.get_ylim()[1] > marks[:, 1].max() == 100
    shown = {label.get_text() for label in axes.get_xticklabels()} | {text.get_text() for text in axes.texts}
    assert ("0" in shown) == (name != "above")
    assert "column - row" in axes.get_xlabel() and "%" in axes.get_ylabel()


@pytest.mark.parametrize("shape", [(200, 1000), (1000, 200), (40, 60), (1, 1), (5000, 4), (0, 3), (3, 0)], ids=str)
def test_a_matrix_is_in_proportion_or_says_that_it_is_not(shape):
    A = sp.csr_array(sp.eye_array(*shape))
    cells = analyze(A).cells
    assert cells.sum() == A.nnz
    axes = axes_of(A, plot_structure.draw_entries)
    if 0 in shape:
        assert axes.texts[0].get_text().startswith("no ")
        return
    assert cells.shape[0] * shape[1] == pytest.approx(cells.shape[1] * shape[0], rel=0.1) or min(cells.shape) < 10
    slim = max(shape) > 8 * min(shape)
    assert axes.get_aspect() == ("auto" if slim else 1.0) and ("not in proportion" in axes.get_xlabel()) == slim


def test_an_empty_matrix_says_so():
    axes = axes_of(sp.csr_array((4, 6)), lambda axes, s: plot_structure.draw_occupancy(axes, s, 4.0))
    assert [text.get_text() for text in axes.texts] == ["nothing is stored"] and not axes.collections


@pytest.mark.parametrize("A", [
    ds.gallery.stencil(5, (30, 40)), sp.random_array((300, 500), density=0.1, rng=0), sp.csr_array((4, 9)),
    sp.csr_array((0, 3)), sp.csr_array(np.ones((1, 200))),
], ids=["stencil", "random", "empty", "no rows", "one row"])  # fmt: skip
def test_all_rows_are_in_the_bars(A, tmp_path):
    s = analyze(A)
    axes = axes_of(A, plot_structure.draw_row_lengths)
    assert sum(bar.get_height() for bar in axes.patches) == A.shape[0]
    labels = [label.get_text() for label in axes.get_xticklabels()]
    assert len(labels) <= 12 and (not A.shape[0] or labels[0].startswith(str(s.row_min)))
    assert s.plot(tmp_path / "structure.png").stat().st_size > 5000
