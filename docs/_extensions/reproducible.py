"""The tables of reproducible.md: ``<!-- reproducible: DEVICE -->`` becomes what the tests have stored for a device.

Rows with the same cells are one row. A cell that nobody has computed yet is empty. Kernels that the page's table of
exceptions names are never shown with a "yes": where all runs agreed, it says "not promised".
"""

import json
import re
from pathlib import Path

STORED = Path(__file__).resolve().parents[2] / "tests" / "determinism.json"
COLUMNS = {  # the columns of the file, and their headers
    "cpu": {
        "runs": "every run",
        "threads": "any number of threads",
        "processes": "every process",
        "instruction sets": "every instruction set",
    },
    "cuda": {"runs": "every run", "streams": "every stream", "processes": "every process"},
}
SETS = {"portable": "portable", "avx2": "AVX2", "avx512": "AVX-512"}
ASKED = re.compile(r"<!-- reproducible: (\w+) -->")
EXCEPTION = re.compile(r"^\| (`[^|]+) \| `([^|]+)` \| ([^|]+) \|", re.M)  # kernels, operation, formats


def exceptions(page):
    """Return (operation, format, kernel) of the exceptions that the Markdown of the page lists."""
    return {
        (operation, format, kernel)
        for kernels, operation, formats in EXCEPTION.findall(page)
        for kernel in re.findall(r"`(\w+)`", kernels)
        for format in formats.split(", ")
    }


def parsed(row):
    """Return operation, format and kernel of a row of the file: ``A @ x: hm row_tiles``."""
    operation, _, rest = row.rpartition(": ")
    format, _, kernel = rest.partition(" ")
    return operation, format, kernel


def is_exception(row, listed):
    """Say whether a row is about one of these exceptions; those of ``A @ x`` are exceptions in all its products."""
    operation, format, kernel = row
    operation = "A @ x" if operation in ("A @ X", "A.T @ x") else operation
    return (operation, format, kernel) in listed


def cell(value, promised):
    """Return the text of a cell."""
    if isinstance(value, list) and len(value) > 1:
        equal = [" and ".join(SETS.get(isa, isa) for isa in group) for group in value if len(group) > 1]
        return f"only {', '.join(equal)}" if equal else "no"
    if value is None:
        return ""
    return "no" if value is False else "yes" if promised else "not promised"


def names(rows, kernels):
    """Return a text for formats and their kernels, of which `kernels` are all that there are for this operation."""
    mine = {}
    for format, kernel in rows:
        mine.setdefault(format, []).append(kernel)
    whole = [format for format in mine if mine[format] == kernels[format]]
    if len(whole) == len(kernels) > 4:
        return "all"
    some = [f"{format} ({', '.join(f'`{one}`' for one in mine[format])})" for format in mine if format not in whole]
    if len(kernels) == 1 and len(mine) == 1 and any(kernels[format] != [""] for format in mine):
        return ", ".join(f"`{kernel}`" for kernel in mine[next(iter(mine))])  # of methods, which name no format
    return ", ".join(whole + some)


def table(device, stored, listed):
    """Return the Markdown of a device's table."""
    columns, kernels, grouped = COLUMNS[device], {}, {}
    for name, cells in stored.get(device, {}).items():
        operation, format, kernel = row = parsed(name)
        kernels.setdefault(operation, {}).setdefault(format, []).append(kernel)
        promised = device == "cpu" or not is_exception(row, listed)
        shown = tuple(cell(cells.get(column), promised) for column in columns)
        grouped.setdefault((operation, shown), []).append((format, kernel))
    merged = {}  # operations with the same formats and cells
    for (operation, shown), rows in grouped.items():
        merged.setdefault((names(rows, kernels[operation]), *shown), []).append(f"`{operation}`")
    header = ["operation", "formats (kernels)", *columns.values()]
    lines = [header, ["---"] * len(header), *([", ".join(some), *rest] for rest, some in merged.items())]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def fill(app, docname, source):
    listed, stored = exceptions(source[0]), json.loads(STORED.read_text())
    source[0] = ASKED.sub(lambda asked: table(asked[1], stored, listed), source[0])


def setup(app):
    app.connect("source-read", fill)
    return {"parallel_read_safe": True}
