"""The drawing of a halo: which elements of x each process has and receives."""

import pytest
from drawings import drawings, texts

from diagsparse import distributed

pytestmark = pytest.mark.quick


def bars(svg):
    """Return (left, width, colour) of the bars, line by line."""
    lines = {}
    for rect in svg.iter("rect"):
        lines.setdefault(float(rect.get("y")), []).append(
            (float(rect.get("x")), float(rect.get("width")), rect.get("fill"))
        )
    return [lines[y] for y in sorted(lines)]


def test_each_process_has_a_line_with_what_it_receives():
    (svg,) = drawings(distributed.halo([-100, 0, 100], (400, 400), 4))
    x, *processes = bars(svg)
    assert texts(svg)[:3] == ["process", "receives", "elements of x, 0 to 400"]
    assert [text for text in texts(svg) if text.endswith("B")] == ["800 B", "1.6 KB", "1.6 KB", "800 B"]
    colors = [color for _, _, color in x]
    assert len(set(colors)) == 4
    for p, line in enumerate(processes):
        assert line[0][2] == "#888888" and line[0][:2] == x[p][:2]  # its own elements
        assert line[1:] == [x[q] for q in (p - 1, p + 1) if 0 <= q < 4]  # all elements of the neighbours


def test_short_ranges_are_visible_and_inside():
    (svg,) = drawings(distributed.halo([-(10**9 - 1), -1, 0, 1, 10**9 - 1], (10**9, 10**9), 3))
    end = float(svg.get("width"))
    for line in bars(svg)[1:]:
        assert len(line) == 3 and all(width > 2 and left >= 52 and left + width < end for left, width, _ in line)


def test_many_processes_and_empty_matrices():
    many = distributed.halo([-1, 0, 1], (10**4, 10**4), 100)
    (svg,) = drawings(many)
    assert "the first 64 of 100 processes" in many._repr_html_() and len(bars(svg)) == 64
    assert drawings(many[70]) and not drawings(distributed.halo([], (0, 0), 2))
