"""Reports of the CPU benchmark as text for a terminal and as Markdown for the docs, from the same JSON."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from statistics import median
from typing import Any

from .._show import columns
from .bench_summary import Pair
from .steps import ended
from .titles import TITLES, label, release

_OPS = TITLES | {"matmul": "C = A B"}
_RATIOS = {"vs_scipy_dia": "vs SciPy dia", "vs_scipy_csr": "vs SciPy csr", "vs_mkl_csr": "vs MKL csr"}


def text(report: dict[str, Any]) -> str:
    """Return a table for each case and number of threads, the fastest first."""
    blocks = [machine(report)]
    for _, rows in _groups(report["rows"]):
        first = rows[0]
        reads = f", reads {_rate(first['read_bandwidth'])}" if first["read_bandwidth"] else ""
        m, n = first["shape"]
        matrix = f"{first['what']}, {m} x {n}, {first['diagonals']} diagonals"
        title = f"{first['case']}   {_OPS[first['op']]}   {matrix}   {_threads(first['threads'])}{reads}"
        cells = [["", "kernel", "time", *_RATIOS.values(), "of bandwidth", "of same size", "error / bound"]]
        for row in sorted(rows, key=lambda row: row["seconds"]):
            cells.append(
                [
                    label(row, plain=True),
                    row["kernel"],
                    columns.seconds(row["seconds"]),
                    *(columns.times(row[key]) for key in _RATIOS),
                    _share(row["fraction"]),
                    _share(row["fraction_same_size"]),
                    columns.error(row["error"]) + ("" if row["ok"] else "  FAILED"),
                ]
            )
        blocks.append("\n".join([title, *columns.columns(cells, "<<>>>>>>>")]))
    return "\n\n".join(blocks)


def markdown(report: dict[str, Any]) -> str:
    """Return Markdown: the summary, then for each operation a line for each case and number of threads."""
    parts = [summary(report)]
    for op, title in _OPS.items():
        rows = [row for row in report["rows"] if row["op"] == op]
        labels = list(dict.fromkeys(map(label, rows)))
        if rows:
            parts.append(f"**{title}**\n\n" + _table(rows, labels, ["of read bandwidth", "of same-size reads"]))
    return "\n\n".join(parts) + "\n"


def summary(report: dict[str, Any]) -> str:
    """Return the machine, and a Markdown table of `hm`, SciPy and MKL for all cases."""
    wanted = ["hm", "hm planned", "SciPy dia", "SciPy csr", "MKL csr"]
    labels = [name for name in wanted if any(label(row) == name for row in report["rows"])]
    return f"{machine(report)}.\n\n" + _table(report["rows"], labels, ["of read bandwidth"], with_operation=True)


def pairs(report: dict[str, Any]) -> Iterator[Pair]:
    """Yield `hm` compared with SciPy and MKL, case by case; small cases, dominated by call overhead, separately."""
    for _, group in _groups(report["rows"]):
        hm = next((row for row in group if label(row) == "hm"), None)
        for row in group if hm else ():
            if hm and row["library"] != "diagsparse":
                operation = _OPS[hm["op"]] + f", n = {hm['shape'][0]}" * (hm["group"] == "small")
                name = f"{hm['case']}, {_threads(hm['threads'])}"
                yield Pair(operation, name, "hm", label(row), row["seconds"] / hm["seconds"])


def _table(rows: list[dict[str, Any]], labels: list[str], shares: list[str], with_operation: bool = False) -> str:
    """Return a Markdown table: the times of `labels`, and the ratios of `hm`."""
    head = [*["operation"] * with_operation, "matrix", "threads", *labels]
    head += [*(f"hm {name}" for name in _RATIOS.values()), *shares]
    lines = [head]
    for _, group in _groups(rows):
        first, by_label = group[0], {label(row): row for row in group}
        hm = next(row for row in group if row["format"] == "hm")
        times = (columns.seconds(by_label[name]["seconds"]) if name in by_label else "" for name in labels)
        matrix = f"{first['what']}, n = {first['shape'][0]}, {first['diagonals']} diagonals"
        fractions = [_share(hm["fraction"]), _share(hm["fraction_same_size"])][: len(shares)]
        operation = [_OPS[first["op"]]] * with_operation
        lines.append(
            [*operation, matrix, str(first["threads"]), *times, *(columns.times(hm[k]) for k in _RATIOS), *fractions]
        )
    words = 1 + with_operation
    return columns.markdown(lines, "<" * words + ">" * (len(head) - words))


def machine(report: dict[str, Any]) -> str:
    """Return a line: processor, versions, precision, bandwidth, date."""
    h, v = report["hardware"], report["versions"]
    named = {"scipy": "SciPy", "numpy": "NumPy", "mkl": "MKL"}
    read: dict[int, list[float]] = {}
    for row in report["rows"]:
        if row["read_bandwidth"]:
            read.setdefault(row["threads"], []).append(row["read_bandwidth"])
    return "; ".join(
        [
            f"{h['cpu']}, {h['cores']} cores, {h['instruction_set']}",
            ", ".join([release(v), *(f"{named[name]} {v[name]}" for name in named if v[name])]),
            report["dtype"] + ", small sizes (--quick)" * report["quick"],
            *(f"{_threads(count)} read{'s' * (count == 1)} {_rate(median(rates))}" for count, rates in read.items()),
            *ended(report),
            report["date"],
            *filter(None, [report["warning"]]),
        ]
    )


def _groups(rows: list[dict[str, Any]]) -> Iterator[tuple[Any, list[dict[str, Any]]]]:
    for key, group in groupby(rows, lambda row: (row["case"], row["threads"])):
        yield key, list(group)


def _threads(count: int) -> str:
    return f"{count} thread{'s' * (count > 1)}"


def _rate(bandwidth: float) -> str:
    return f"{columns.digits(bandwidth / 1e9)} GB/s"


def _share(value: float | None) -> str:
    return "" if value is None else columns.digits(value)
