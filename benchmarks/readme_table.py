"""The table in README: four rows of the stored results, compared with csr and with the fastest other library.

The rows are a typical product and the best one on the CPU, a call with a small matrix, and a typical product on a GPU.
"""

import json
from pathlib import Path
from typing import Any

from diagsparse._show import columns
from diagsparse._show.columns import table
from diagsparse._study.bench_tables import machine
from diagsparse._study.timed_rows import is_ours
from diagsparse._study.titles import is_cusparse, library

Row = dict[str, Any]

RESULTS = Path(__file__).parent / "results"
CHOSEN = (  # file, case, threads
    ("cpu-2-cores", "stencil-5", 2),
    ("cpu-2-cores", "band-41-squared", 2),
    ("cpu-2-cores", "small-product", 1),
    ("h200", "stencil-7-256", None),
)


def markdown() -> str:
    """Return the machines and the table."""
    reports = {name: json.loads((RESULTS / f"{name}.json").read_text()) for name, _, _ in CHOSEN}
    cells = table((_compared(reports[name], case, threads) for name, case, threads in CHOSEN), {
        "operation": lambda row: {"matvec": "y = A x", "matmul": "C = A B"}[row["op"]],
        "matrix": lambda row: "{what}{size}, {diagonals} diagonals".format(**row), "on": _device,
        "`hm`": lambda row: columns.seconds(row["seconds"]), "csr": lambda row: _peer(row["csr"]),
        "fastest other": lambda row: _peer(row["best"]),
        "times as fast": lambda row: ", ".join(_faster(row, row[peer]) for peer in ("csr", "best")),
    })  # fmt: skip
    return "\n".join([*(f"- {machine(one)}." for one in reports.values()), "", columns.markdown(cells, "<<<>>>>")])


def _compared(report: Row, case: str, threads: int | None) -> Row:
    """Return the fastest call of hm without a plan, or its fastest kernel on a GPU, with its peers."""
    rows = [row for row in report["rows"] if row["case"] == case and row.get("threads") == threads and row["ok"]]
    right = sorted((row for row in rows if not row["kernel"].startswith("planned")), key=lambda row: row["seconds"])
    hm = next(row for row in right if row["format"] == "hm")
    others = [row for row in right if not is_ours(row)]
    csr = next(row for row in others if row["library"] in ("scipy", "cupy") and row["format"] == "csr")
    return hm | {"csr": csr, "best": others[0], "size": "" if "^" in hm["what"] else f", n = {hm['shape'][0]}"}


def _device(row: Row) -> str:
    count = row.get("threads")
    return f"CPU, {count} thread{'s' * (count > 1)}" if count else "GPU"


def _peer(row: Row) -> str:
    return f"{columns.seconds(row['seconds'])}, {'cuSPARSE ' * is_cusparse(row['kernel'])}{library(row)}"


def _faster(row: Row, peer: Row) -> str:
    return f"{columns.digits(peer['seconds'] / row['seconds'])}x"
