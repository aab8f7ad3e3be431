"""Every figure and table that is printed between markers is that of the stored result; a false one is found."""

import json

import pytest
from cases import raises
from pages import ROOT

from benchmarks import printed

PAGES = printed.pages()
FIGURE = '{}<!-- h200: row(case="stencil-27-192", format="dia", kernel="row").{} -->'
ROW = printed.stored("h200").row(case="stencil-27-192", format="dia", kernel="row")


@pytest.mark.parametrize("page", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_what_a_page_prints_is_stored(page):
    for text in printed.texts(page):
        assert printed.renewed(text) == text, "python -m benchmarks.renew prints what is stored"


def test_every_stored_result_has_its_tables_in_the_docs():
    shown = {name for page in PAGES for text in printed.texts(page) for _, name, _ in printed.TABLE.findall(text)}
    results = {path.stem for path in printed.RESULTS.glob("*.json")}
    assert results | set(printed._NAMED) == {name for name in shown if not name.endswith(("-summary", "-mdia"))}
    assert {name.removesuffix("-summary").removesuffix("-mdia") for name in shown} == results | set(printed._NAMED)


# ---- a false figure is found ----------------------------------------------------------------------------------------
@pytest.mark.parametrize("page", ["README.md", "benchmarks/results/gpu.md"])
def test_a_false_number_in_a_table_is_found(page):
    text = (ROOT / page).read_text()
    first = text[text.index("<!-- table:") :].partition("<!-- end -->")[0]
    row = next(line for line in first.splitlines() if " ms " in line)
    false = text.replace(row, row.replace(" ms ", " us ", 1))
    assert false != text and printed.renewed(false) == text


@pytest.mark.parametrize(
    "field, scale, form, unit",
    [
        ("fraction", 1, ".2f", ""),
        ("fraction", 100, ".0f", " %"),
        ("seconds", 1e6, ".0f", " us"),
        ("seconds", 1e3, ".3f", " ms"),
        ("floor_nbytes / 1e9", 1, ".1f", "x"),
        ("floor_nbytes", 1e-6, ",.0f", " MB"),
        ("shape[0]", 1, ",.0f", ""),
    ],
)
def test_a_false_figure_in_a_sentence_is_found(field, scale, form, unit):
    right = f"{eval('row.' + field, {'row': ROW}) * scale:{form}}"
    false = right[:-1] + str((int(right[-1]) + 1) % 10)
    text = f"- It reaches {FIGURE.format(right + unit, field)}, as\n  said."
    assert printed.renewed(text) == text
    assert printed.renewed(text.replace(right, false)) == text


def test_figures_of_several_rows_columns_and_results():
    spmv = 'r.fraction for r in rows(group="spmv", library="diagsparse", format="hm", kernel="row")'
    hm = 'row(name="Heisenberg chain, 8 sites").times["hm, H x"]'
    for expression in (f"min({spmv})", f"max({spmv}) / mean({spmv})", f'of("h200-hamiltonians").{hm}', "report.left"):
        value = printed.value_of("h200", expression)
        text = f"{value:.3f}<!-- h200: {expression} -->"
        assert printed.renewed(text) == text and printed.renewed("9" + text) == text


@pytest.mark.parametrize(
    "text, words",
    [
        ("1.0<!-- h2000: report.left -->", ("no benchmarks/results/h2000.json",)),
        ('1.0<!-- h200: row(case="band-41").seconds -->', ("rows with", "expected one")),
        ('1.0<!-- h200: row(case="band-42").seconds -->', ("no row with",)),
        ("1.0<!-- h200: rows()[0].nothing -->", ("no field nothing", "seconds")),
        ("1.0 km<!-- h200: report.left -->", ("no unit km", "ms")),
        ("twice<!-- h200: report.left -->", ("does not follow a figure",)),
        ("<!-- table: h200 -->\n", ("h200", "<!-- end -->")),
        ("<!-- table: h200 -->\n<!-- table: readme -->\n<!-- end -->", ("h200, readme", "<!-- end -->")),
    ],
)
def test_markers_that_give_nothing_are_refused(text, words):
    with raises(ValueError, *words):
        printed.renewed(text)


def test_a_notebook_is_written_anew_and_otherwise_left_as_it_is(tmp_path):
    page = tmp_path / "a.ipynb"
    cells = [{"cell_type": "code", "source": ["1<!-- h200: report.left -->"]}]
    cells += [{"cell_type": "markdown", "source": ["µs\n", FIGURE.format("9.99", "fraction")]}]
    right = FIGURE.format(f"{ROW.fraction:.2f}", "fraction")
    page.write_text(json.dumps({"cells": cells, "nbformat": 4}, ensure_ascii=False))
    assert [printed.renewed(text) != text for text in printed.texts(page)] == [True]
    assert printed.rewrite(page, printed.renewed)
    made = json.loads(page.read_text())
    assert made["cells"][0] == cells[0] and made["cells"][1]["source"] == ["µs\n", right]
    before = page.read_text()
    assert not printed.rewrite(page, printed.renewed) and page.read_text() == before
