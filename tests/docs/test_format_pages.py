"""The pages of the formats are true: drawings, tables of arrays and kernels, and formulas are those of the code."""

import math
import re

import numpy as np
import pytest
from formats import options
from pages import (
    FORMATS,
    PAGES,
    README,
    ROOT,
    blocks,
    every_page,
    table,
    tables,
    text_of,
)

import diagsparse as ds


def numbers(line):
    """Return the numbers of a drawn line up to the first word; * and . mark what is not stored."""
    found = []
    for token in line.replace("|", " ").replace("[", " ").replace("]", " ").split():
        if not re.fullmatch(r"-?\d+|[*.]", token):
            break
        found.append(np.nan if token == "*" else 0 if token == "." else int(token))
    return found


def drawn(text):
    """Return the dense matrix that a page draws, and the numbers of each of its arrays."""
    drawing = next(body for body in blocks(text, "") if "row 0" in body)
    matrix, layout = drawing.split("\n\n")
    dense = np.array([numbers(row) for row in re.findall(r"^row +\d+ +(\[.*)$", matrix, re.M)], dtype=float)
    arrays = {}
    for name, row in re.findall(r"^(\w+)(?:\[\d+\])? +([-*\d].*)$", layout, re.M):
        words = {"bitmap": [row.replace(" ", "")], "mask": row.split()}.get(name)  # of bits
        arrays.setdefault(name, []).extend(numbers(row) if words is None else [int(word, 2) for word in words])
    return dense, {name: np.array(row, dtype=float) for name, row in arrays.items()}


def sizes(A):
    """Return the meaning of the letters on the pages."""
    parts = A.parts()
    labels = len(parts.get("offsets", parts.get("rows", parts.get("dia_offsets", ()))))
    m, n = A.shape
    more = {"width": A.width} if hasattr(A, "width") else {}
    more |= {"rest": A.coo.nnz} if hasattr(A, "coo") else {}
    more |= {"rest": A.rest.nnz} if hasattr(A, "rest") else {}
    more |= {"rest": A.csr_indices.size} if hasattr(A, "csr_indices") else {}
    if hasattr(A, "slice_height"):
        more |= {"C": A.slice_height, "positions": A.values.size, "slices": len(A.slice_indptr) - 1}
    more |= {"sections": A.sections} if hasattr(A, "sections") else {}
    more |= {"blocks": A.blocks} if hasattr(A, "blocks") else {}
    more |= {"index": A.local_row.itemsize} if hasattr(A, "local_row") else {}
    more |= {"ceil": math.ceil}
    return more | {
        "m": m,
        "n": n,
        "nnz": A.nnz,
        "D": labels,
        "R": labels,
        "S": A.values.size,
        "itemsize": A.dtype.itemsize,
    }


def examples(format):
    """Yield matrices of a format: the one that its page draws, a band, one with empty rows, no rows at all."""
    dense, _ = drawn(PAGES[format].read_text())
    square = [dense, ds.gallery.banded(40, 3, 7, seed=0), np.diag([1.0, 0, 0, 2]), np.zeros((0, 0))]
    for given in square if format == "cdm" else [*square, np.eye(3, 9), np.eye(9, 3), np.zeros((0, 5))]:
        for dtype in ("float32", "float64", "complex64", "complex128"):
            yield getattr(ds, f"{format}_array")(given, dtype=dtype)


def test_there_is_a_page_for_every_format():
    assert set(PAGES) == set(ds.formats())


@every_page
def test_drawing(format):
    dense, arrays = drawn(PAGES[format].read_text())
    parts = getattr(ds, f"{format}_array")(dense, **options(format)).parts()
    for name, expected in parts.items():
        flat, given = expected.ravel(), arrays[name]
        assert given.shape == flat.shape, name
        assert np.array_equal(given[~np.isnan(given)], flat[~np.isnan(given)]), name


@every_page
def test_table_of_arrays(format):
    rows = table(PAGES[format].read_text(), "array", "shape", "dtype", "holds")
    for A in examples(format):
        parts = A.parts()
        assert [row[0] for row in rows] == list(parts)
        for name, shape, dtype, _ in rows:
            assert parts[name].shape == eval(shape, {}, sizes(A)), (name, A)
            assert parts[name].dtype == (A.dtype if dtype == "T" else dtype), (name, A)


@every_page
def test_bytes_formula(format):
    formulas = [body for body in blocks(PAGES[format].read_text(), "") if body.startswith("bytes = ")]
    assert len(formulas) == 1
    for A in examples(format):
        assert eval(formulas[0].removeprefix("bytes = "), {}, sizes(A)) == A.nbytes, A


@pytest.mark.quick
@every_page
def test_table_of_kernels(format):
    rows = table(PAGES[format].read_text(), "kernel", "operation", "what it does")
    A = getattr(ds, f"{format}_array")(np.eye(3))
    operations = ("matvec", "matmul", "chain")
    assert {row[1] for row in rows} <= set(operations)
    for operation in operations:
        assert [row[0] for row in rows if row[1] == operation] == A.kernels(operation), operation


def test_table_of_formats():
    rows = [rows[1:] for rows in tables(text_of(FORMATS)) if rows[0][0] == "format"]
    assert [row[0].strip("`") for row in rows[0]] == ds.formats()


def test_the_readme_is_short():
    assert len(text_of(README).splitlines()) <= 120


def test_the_readme_names_every_format():
    listed = re.search(r"^## Formats\n(.*?)^## ", text_of(README), re.M | re.S)[1]
    assert set(ds.formats()) <= set(re.findall(r"`(\w+)`", listed))


def test_the_glossary_explains_every_format():
    rows = table(text_of(ROOT / "docs" / "glossary.md"), "format", "meaning", "page")
    assert [(name, page) for name, _, page in rows] == [(f, f"[{f}](formats/{f}.md)") for f in sorted(ds.formats())]
    assert all(len(meaning.split()) > 3 for _, meaning, _ in rows)
