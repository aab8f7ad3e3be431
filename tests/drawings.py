"""What tests of the HTML repr read in it, and matrices that it is read of."""

import xml.etree.ElementTree as ET

import numpy as np

SIZE = 60_000  # characters of HTML
PALETTE = {"#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#888888", "none", "currentColor"}


def drawings(A):
    """Return the drawings of the HTML repr as trees: the matrix, its middle and its layout where they are drawn."""
    return [svg for figure in page_of(A).iter("figure") for svg in figure.findall("svg")]


def page_of(A):
    """Return the HTML of an object as a tree: well formed, bounded, without scripts, and named for screen readers."""
    drawn = A._repr_html_()
    assert len(drawn) < SIZE and "<script" not in drawn and drawn.startswith("<div class='diagsparse'>")
    page = ET.fromstring(drawn)
    for svg in (*page.findall(".//figure/svg"), *page.findall(".//td/svg")):
        assert svg.get("role") == "img" and len(svg.get("aria-label")) > 3
    for row in page.findall(".//thead/tr"):
        assert all((cell.tag, cell.get("scope")) == (("th", "col") if cell.text else ("td", None)) for cell in row)
    for first, *others in page.findall(".//tbody/tr"):
        assert (first.tag, first.get("scope")) == ("th", "row") and {cell.tag for cell in others} == {"td"}
    return page


def texts(svg):
    return [text.text for text in svg.iter("text")]


def slots(svg):
    """Return the count of padding slots that a drawing shows."""
    return len(svg.findall(".//g[@class='padding']/rect"))


def banded(m, n, offsets, dtype="float64"):
    """Return a matrix whose values are all different and not 0."""
    dense = np.zeros((m, n), dtype)
    for k in offsets:
        rows = np.arange(max(0, -k), min(m, n - k))
        dense[rows, rows + k] = 1 + rows + 20 * (k + m)
    return dense
