"""Results that are printed in README, docs and notebooks, between markers that are invisible on the rendered pages.

Tables, as `--table` prints them for benchmarks/results/h200.json ("readme" is the table of readme_table.py, "papers"
those of ledger.py, "h200-summary" the means of h200, "h200-tables-002-means" the first table of h200-tables-002,
"h200-hamiltonians-mdia" what the page of mdia shows of h200-hamiltonians)::

    <!-- table: h200 -->
    ...
    <!-- end -->

and numbers in a sentence, each followed by a Python expression on a stored result::

    It reaches 0.98<!-- h200: row(case="stencil-27-192", format="dia", kernel="row").fraction --> of the copy's speed.

`row` is the only row with these fields, `rows` are all rows with these fields, and a column of an experiment is
``row(...).times["hm"]``. `report` is the entire result, and ``of("h200-wide").row`` a row of another result. The
functions min, max, sum, len and mean (geometric) are available. A number keeps its decimals and its unit: s, ms, us,
ns, %, x, GB, MB, KB, GB/s or TB/s.

`python -m benchmarks.renew` updates all tables and numbers. A test fails if one of them differs from the stored result.
"""

import json
import re
import statistics
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from diagsparse._study import bench_summary

from . import ledger, readme_table
from .commands import benchmark_of
from .papers import paper_002_tables
from .studies import hamiltonians_tables
from .studies.hamiltonians import HAMILTONIANS
from .tables import as_section

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "benchmarks" / "results"
TABLE = re.compile(r"^(<!-- table: (\S+) -->\n).*?^(<!-- end -->)$", re.DOTALL | re.MULTILINE)
FIGURE = re.compile(r"(?<![\w.,])(-?\d[\d,]*(?:\.\d+)?)( ?)([a-zA-Z%/]*)<!-- ([\w-]+): (.+?) -->", re.DOTALL)
_TABLES = re.compile(r"^<!-- table: (\S+) -->$", re.MULTILINE)
_FIGURES = re.compile(
    r"(?<=[\w%])<!-- [\w-]+: .+? -->", re.DOTALL
)  # after a word; other markers are on their own lines
_SUMMARY, _OF_MDIA = "-summary", "-mdia"  # suffixes of the name of a result
UNITS = {
    "": 1, "x": 1, "%": 100, "s": 1, "ms": 1e3, "us": 1e6, "ns": 1e9, "GB": 1e-9, "MB": 1e-6, "KB": 1e-3,
    "GB/s": 1e-9, "TB/s": 1e-12,
}  # fmt: skip


# ---- the stored results -------------------------------------------------------------------------------------------
class Row(dict[str, Any]):
    """A row of a stored result, whose fields are attributes as well."""

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(f"no field {name}; there are {', '.join(self)}") from None


@cache
def stored(name: str) -> SimpleNamespace:
    """Return `row`, `rows` and `report` of a stored result."""
    path = RESULTS / f"{name}.json"
    if not path.exists():
        raise ValueError(f"no benchmarks/results/{name}.json")
    report = json.loads(path.read_text())
    all_rows = [Row(row) for row in report["rows"]]

    def rows(**fields: Any) -> list[Row]:
        some = [row for row in all_rows if all(row.get(field) == value for field, value in fields.items())]
        if not some:
            raise ValueError(f"{name}: no row with {fields}")
        return some

    def row(**fields: Any) -> Row:
        some = rows(**fields)
        if len(some) > 1:
            raise ValueError(f"{name}: {len(some)} rows with {fields}, expected one")
        return some[0]

    return SimpleNamespace(row=row, rows=rows, report=Row(report))


def value_of(name: str, expression: str) -> float:
    """Return the value of an expression on a stored result."""
    of_rows = {"min": min, "max": max, "sum": sum, "len": len, "mean": statistics.geometric_mean, "of": stored}
    try:
        # All names are globals, because generators in the expression cannot access locals.
        return float(eval(expression, {"__builtins__": {}} | of_rows | vars(stored(name))))
    except Exception as error:
        raise ValueError(f"<!-- {name}: {expression} -->: {error}") from error


# ---- tables and numbers ---------------------------------------------------------------------------------------------
def renewed(text: str) -> str:
    """Return Markdown with all tables and numbers updated from the stored results.

    Raises
    ------
    ValueError
        If a marker does not belong to a table or number, or if an expression fails.
    """
    starts = [name for block in TABLE.finditer(text) for name in _TABLES.findall(block[0])]
    if len(starts) != len(_TABLES.findall(text)) or len(starts) != len(TABLE.findall(text)):
        raise ValueError(f"the tables {', '.join(_TABLES.findall(text))} do not all end with <!-- end -->")
    figures = [figure[0] for figure in FIGURE.finditer(text)]
    for marker in _FIGURES.findall(text):
        if not any(figure.endswith(marker) for figure in figures):
            raise ValueError(f"{marker} does not follow a figure")
    return FIGURE.sub(_figure, TABLE.sub(_table, text))


def _table(block: re.Match[str]) -> str:
    start, name, end = block.groups()
    if name in _NAMED:
        table = _NAMED[name]()
    elif name.endswith(_SUMMARY):
        table = summary(name.removesuffix(_SUMMARY))
    elif name.endswith(_OF_MDIA):
        table = of_mdia(name.removesuffix(_OF_MDIA))
    else:
        table = markdown(name)
    return f"{start}{table.strip()}\n{end}"


_NAMED = {
    "readme": readme_table.markdown,
    "papers": ledger.markdown,
    "h200-tables-002-means": lambda: paper_002_tables.summary(stored("h200-tables-002").report),
}


def of_mdia(name: str) -> str:
    """Return what the page of mdia shows of a stored result of the experiment on Hamiltonians."""
    report: dict[str, Any] = stored(name).report
    return as_section(HAMILTONIANS.head(report), hamiltonians_tables.of_mdia(report))


def summary(name: str) -> str:
    """Return the summary of a stored result: means over its rows."""
    report: dict[str, Any] = {"interrupted": False, "left": 0} | stored(name).report  # older results have neither
    return bench_summary.markdown(bench_summary.summarize(report, benchmark_of(report).pairs))


def markdown(name: str) -> str:
    """Return the tables of a stored result."""
    report: dict[str, Any] = stored(name).report
    return benchmark_of(report).markdown(report)


def _figure(printed: re.Match[str]) -> str:
    number, space, unit, name, expression = printed.groups()
    if unit not in UNITS:
        raise ValueError(f"{printed[0]}: no unit {unit}; there are {', '.join(filter(None, UNITS))}")
    decimals = len(number.partition(".")[2])
    value = value_of(name, expression) * UNITS[unit]
    updated = f"{value:{',' * (',' in number)}.{decimals}f}"
    return f"{updated}{space}{unit}<!-- {name}: {expression} -->"


# ---- pages and notebooks --------------------------------------------------------------------------------------------
def pages() -> list[Path]:
    """Return all pages and notebooks of the project."""
    pages = [*ROOT.glob("*.md"), *(ROOT / "benchmarks").rglob("*.md"), *(ROOT / "docs").rglob("*.md")]
    return sorted([*pages, *(ROOT / "notebooks").glob("*.ipynb")])


def texts(page: Path) -> Iterator[str]:
    """Yield the Markdown of a page, or of the cells of a notebook."""
    if page.suffix != ".ipynb":
        yield page.read_text()
        return
    for cell in json.loads(page.read_text())["cells"]:
        if cell["cell_type"] == "markdown":
            yield "".join(cell["source"])


def rewrite(page: Path, change: Callable[[str], str]) -> bool:
    """Apply a function to the Markdown of a page, and return whether the page has changed."""
    old = page.read_text()
    if page.suffix == ".ipynb":
        notebook = json.loads(old)
        for cell in notebook["cells"]:
            if cell["cell_type"] == "markdown":
                cell["source"] = change("".join(cell["source"])).splitlines(keepends=True)
        new = json.dumps(notebook, indent=1, ensure_ascii=False) + "\n"
        new = old if json.loads(old) == notebook else new
    else:
        new = change(old)
    if new != old:
        page.write_text(new)
    return new != old
