"""The roofline of a comparison: what its points say, and that every label can be read."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from cases import at_night, raises

pytest.importorskip("matplotlib")

from matplotlib.text import Text

import diagsparse as ds
from diagsparse import measure
from diagsparse._study.figures import new_figure
from diagsparse._study.plot_roofline import draw_roofline, roofline_inches
from diagsparse.compare import compare
from diagsparse.plot import plot_rooflines


@pytest.fixture(scope="module")
def stencil():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(measure, "read_bandwidth", lambda threads=None: 10e9)
        return compare(ds.gallery.stencil(5, 30), name="stencil", budget=0.01, kernels="all")


def drawn(comparison):
    """Return the axes of a roofline, laid out."""
    figure = new_figure(10, roofline_inches(comparison))
    axes = figure.subplots()
    draw_roofline(axes, comparison)
    figure.draw_without_rendering()
    return axes


def test_the_work_is_that_of_csr(stencil):
    A = ds.gallery.stencil(5, 30).tocsr()
    pattern = sp.csr_array(A != 0).astype(int)
    work = {"matvec": A.nnz, "matmul": (pattern @ pattern).sum()}
    assert all(row.work == work[row.op] for row in stencil.rows) and {row.op for row in stencil.rows} == set(work)
    assert stencil.to_dict()["rows"][0]["work"] == A.nnz


def test_a_point_for_each_row_under_the_roof_of_the_memory(stencil):
    axes = drawn(stencil)
    roof, *others = axes.lines
    assert "10.0 GB/s" in roof.get_label() and np.allclose(roof.get_ydata(), 10 * roof.get_xdata())
    points = np.concatenate([line.get_xydata() for line in others])
    expected = [[2 * r.work / r.floor_nbytes, 2 * r.work / r.seconds / 1e9] for r in stencil.rows]
    assert np.allclose(points[np.lexsort(points.T)], np.array(expected)[np.lexsort(np.transpose(expected))])
    above = points[:, 1] > 10 * points[:, 0]
    assert above.sum() == sum(row.fraction > 1 for row in stencil.rows)
    assert [line.get_marker() for line in others] == ["o", "o", "s", "s"]
    (low, high), (bottom, top) = axes.get_xlim(), axes.get_ylim()
    assert ((low < points[:, 0]) & (points[:, 0] < high) & (bottom < points[:, 1]) & (points[:, 1] < top)).all()


@pytest.mark.parametrize("change", at_night(["as measured", "all alike", "far apart"], before=["all alike"]))
def test_no_label_lies_on_another_or_outside_the_axes(stencil, change):
    seconds = {
        "as measured": lambda i, row: row.seconds,
        "all alike": lambda i, row: 1e-3,
        "far apart": lambda i, row: 10.0 ** -(i % 9),
    }[change]
    rows = [replace(row, seconds=seconds(i, row)) for i, row in enumerate(stencil.rows)]
    axes = drawn(replace(stencil, rows=rows))
    assert sorted(text.get_text() for text in axes.texts) == sorted(f"{row.format} {row.kernel}" for row in rows)
    boxes = [Text.get_window_extent(text).get_points() for text in axes.texts]  # without their lines to the points
    marks = np.concatenate([axes.transData.transform(line.get_xydata())[:, 0] for line in axes.lines])
    for i, ((left, bottom), (right, top)) in enumerate(boxes):
        assert right < marks.min() or left > marks.max()
        for (other, below), (end, above) in boxes[:i]:
            assert right <= other or end <= left or top <= below or above <= bottom
    (left, bottom), (right, top) = axes.get_window_extent().get_points()
    assert all(left < x0 and x1 < right and bottom < y0 and y1 < top for (x0, y0), (x1, y1) in boxes)


def test_kinds(stencil, tmp_path):
    sizes = {kind: stencil.plot(tmp_path / f"{kind}.png", kind=kind).stat().st_size for kind in ("bars", "roofline")}
    assert min(sizes.values()) > 10_000 and sizes["bars"] != sizes["roofline"]
    assert stencil.plot(tmp_path / "default.png").read_bytes() == (tmp_path / "bars.png").read_bytes()
    with raises(ValueError, 'kind="pie"', "expected one of bars, roofline"):
        stencil.plot(tmp_path / "pie.png", kind="pie")


def test_one_product_and_no_product(stencil, tmp_path):
    alone = replace(stencil, rows=stencil.of("matvec"))
    assert len(drawn(alone).lines) == 3
    empty = compare(sp.csr_array((3, 5)), budget=0.01)
    assert [text.get_text() for text in drawn(empty).texts] == ["no multiply-adds"]
    assert plot_rooflines([alone, empty], tmp_path / "both.svg").stat().st_size > 10_000
