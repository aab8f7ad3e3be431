"""The texts of the docs, and what tests read off them: examples, fenced blocks, tables."""

import doctest
import re
from importlib.util import find_spec
from pathlib import Path

import pytest

import diagsparse as ds

ROOT = Path(__file__).resolve().parents[1]
README = ROOT / "README.md"
FORMATS = ROOT / "docs" / "formats.md"
PAGES = {path.stem: path for path in sorted((ROOT / "docs" / "formats").glob("*.md"))}
TEXTS = [README, *(ROOT / f"{name}.md" for name in ("CHANGELOG", "CONTRIBUTING", "SECURITY"))]
TEXTS += sorted((ROOT / "docs").rglob("*.md"))
FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
GPU_BLOCK = re.compile(r"^```python gpu\n.*?^```", re.M | re.S)  # an example that needs a GPU, with CuPy
NAMED_BLOCK = re.compile(r"^```python (\w+)\n.*?^```", re.M | re.S)  # one that needs a GPU or a library

NEEDED = {"distributed": "mpi4py.MPI", "other-solvers": "pyamg", "qutip": "qutip"}  # by the examples of a page

every_page = pytest.mark.parametrize("format", ds.formats())


def text_of(path):
    assert path.exists(), f"{path.relative_to(ROOT)} is missing: every page that a test reads is one of the docs"
    return path.read_text()


def skip_without_packages(path):
    """Skip a test that runs the examples of a page where a package that they import is missing."""
    if path.stem in NEEDED:
        import_or_skip(NEEDED[path.stem])


def import_or_skip(name):
    """Skip a test if a package is missing; mpi4py also needs a library, and without one raises RuntimeError."""
    try:
        pytest.importorskip(name, exc_type=ImportError)
    except RuntimeError as error:
        pytest.skip(f"{name}: {error}")


def without_fences(text):
    """Return Markdown with an empty line for each fence, so that an example ends there; lines keep their numbers."""
    return "\n".join("" if line.lstrip().startswith("```") else line for line in text.splitlines()) + "\n"


def without_missing_libraries(text):
    """Return Markdown with empty lines for examples that need a GPU or a missing library; lines keep their numbers."""
    return NAMED_BLOCK.sub(
        lambda block: re.sub(r"[^\n]", "", block[0]) if block[1] == "gpu" or not find_spec(block[1]) else block[0], text
    )


def blocks(text, *languages):
    """Return the contents of the fenced blocks of these languages."""
    return [
        body for language, body in re.findall(r"^```(\w*)[^\n]*\n(.*?)^```", text, re.M | re.S) if language in languages
    ]


def examples_of(text, path):
    """Return the examples of a page's text as a `doctest.DocTest`."""
    return doctest.DocTestParser().get_doctest(without_fences(text), {}, path.name, str(path), 0)


def run_examples(test):
    """Run the examples of a `doctest.DocTest`; the message of a failure is what they print and what was expected."""
    report = []
    runner = doctest.DocTestRunner(optionflags=FLAGS)
    runner.run(test, out=report.append)
    assert runner.failures == 0, "".join(report)
    return runner.tries


def tables(text):
    """Return the tables of a page: lists of rows, each a list of cells, the header first."""
    found = []
    for lines in re.findall(r"(?:^\|.*\|[ ]*\n)+", text, re.M):
        rows = [[cell.strip() for cell in line.strip().strip("|").split("|")] for line in lines.splitlines()]
        found.append([row for row in rows if not all(re.fullmatch(r":?-+:?", cell) for cell in row)])
    return found


def table(text, *header):
    """Return the rows of the only table with this header, without backticks."""
    rows = [rows[1:] for rows in tables(text) if rows[0] == list(header)]
    assert len(rows) == 1, f"{len(rows)} tables with the header {header}"
    return [[cell.strip("`") for cell in row] for row in rows[0]]
