"""The table in README: four rows of the stored results, compared with csr and with the fastest other library.

The rows are a typical product and the best one on the CPU, a call with a small matrix, and a typical product on a GPU.
"""

import json
from pathlib import Path
from typing import Any

from diagsparse._show import columns
from diagsparse._study import bench_tables
from diagsparse._study.timed_rows import is_ours
from diagsparse._study.titles import is_cusparse, library

RESULTS = Path(__file__).parent / "results"
CHOSEN = (  # file, case, threads
    ("cpu-2-cores", "stencil-5", 2),
    ("cpu-2-cores", "band-41-squared", 2),
    ("cpu-2-cores", "small-product", 1),
    ("h200", "stencil-7-256", None),
)
HEAD = ["operation", "matrix", "on", "`hm`", "csr", "fastest other", "times as fast"]


def markdown() -> str:
    """Return the machines and the table."""
    reports = {name: json.loads((RESULTS / f"{name}.json").read_text()) for name, _, _ in CHOSEN}
    machines = [f"- {bench_tables.machine(one)}." for one in reports.values()]
    cells = [HEAD]
    for name, case, threads in CHOSEN:
        rows = [row for row in reports[name]["rows"] if row["case"] == case and row.get("threads") == threads]
        cells.append(_cells(rows, threads))
    return "\n".join([*machines, "", columns.markdown(cells, "<<<>>>>")])


def _cells(rows: list[dict[str, Any]], threads: int | None) -> list[str]:
    """Return a row of the table: the fastest call of hm without a plan, or the fastest kernel on a GPU."""
    right = [row for row in rows if row["ok"] and not row["kernel"].startswith("planned")]
    hm = _fastest(row for row in right if row["format"] == "hm")
    others = [row for row in right if not is_ours(row)]
    csr = next(row for row in others if row["library"] in ("scipy", "cupy") and row["format"] == "csr")
    best = _fastest(others)
    size = "" if "^" in hm["what"] else f", n = {hm['shape'][0]}"
    peers = [f"{columns.seconds(row['seconds'])}, {_library(row)}" for row in (csr, best)]
    ratios = ", ".join(f"{columns.digits(row['seconds'] / hm['seconds'])}x" for row in (csr, best))
    operation = {"matvec": "y = A x", "matmul": "C = A B"}[hm["op"]]
    where = f"CPU, {threads} thread{'s' * (threads > 1)}" if threads else "GPU"
    matrix = f"{hm['what']}{size}, {hm['diagonals']} diagonals"
    return [operation, matrix, where, columns.seconds(hm["seconds"]), *peers, ratios]


def _fastest(rows: Any) -> dict[str, Any]:
    return min(rows, key=lambda row: row["seconds"])


def _library(row: dict[str, Any]) -> str:
    return "cuSPARSE " * is_cusparse(row["kernel"]) + library(row)
