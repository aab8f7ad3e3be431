"""Reports of the benchmark on both devices, as text for a terminal and as Markdown for the docs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import groupby
from math import inf
from statistics import median
from textwrap import shorten
from typing import Any

from .._backends.memory import human
from .._show import columns
from .._show.columns import Columns, table
from .bench_summary import Pair
from .steps import ended
from .timed_rows import is_ours
from .titles import TITLES, is_cusparse, label, library, release

Row = dict[str, Any]
Case = list[Row]  #: the rows of a case, on a CPU for one number of threads
_OPS = TITLES | {"matmul": "C = A B", "syrk": "C = A A^T, lower", "power": "y = A^k x"}
_DIAGONALS = ("dia", "hm", "cdm")
_RATIOS = {"vs SciPy dia": "vs_scipy_dia", "vs SciPy csr": "vs_scipy_csr", "vs MKL csr": "vs_mkl_csr"}


# ---- reports ------------------------------------------------------------------------------------------------------
def text(report: Row) -> str:
    """Return a table for each case and number of threads, with the fastest rows first and failures last."""
    blocks = [machine(report)]
    for case in _cases(report):
        title, values = (_gpu_case if _on_gpu(report) else _cpu_case)(case)
        worked = sorted((row for row in case if not row.get("failed")), key=_time)
        cells = table(worked, {**values, "error / bound": _error})
        blocks.append("\n".join([title, *columns.columns(cells, "<<" + ">" * (len(cells[0]) - 2)), *_failed(case)]))
    return "\n\n".join(blocks)


def markdown(report: Row) -> str:
    """Return Markdown: the summary, then a line for each case, on a GPU for each case and kernel."""
    return "\n\n".join([summary(report), *(_gpu_kernels if _on_gpu(report) else _cpu_operations)(report)]) + "\n"


def summary(report: Row) -> str:
    """Return the machine, and a Markdown table of the best kernels and of other libraries for all cases."""
    return f"{machine(report)}.\n\n{(_gpu_summary if _on_gpu(report) else _cpu_summary)(report)}"


def pairs(report: Row) -> Iterator[Pair]:
    """Yield the comparisons with other libraries, case by case."""
    for case in _cases(report):
        yield from (_gpu_pairs if _on_gpu(report) else _cpu_pairs)(case)


def machine(report: Row) -> str:
    """Return a line: processor or GPU, versions, precision, bandwidth, date."""
    h, dtype = report["hardware"], report["dtype"] + ", small sizes (--quick)" * report["quick"]
    if _on_gpu(report):
        parts = [devices(report), dtype, f"copy {report['copy_bandwidth'] / 1e12:.2f} TB/s"]
    else:
        named = _versions(report, {"scipy": "SciPy", "numpy": "NumPy", "mkl": "MKL"})
        parts = [f"{h['cpu']}, {h['cores']} cores, {h['instruction_set']}", named, dtype, *_reads(report)]
    return "; ".join([*parts, *ended(report), report["date"], *filter(None, [report.get("warning")])])


def devices(report: Row) -> str:
    """Return the GPU and the versions of the libraries."""
    names = {"cuda runtime": "CUDA", "cusparse": "cuSPARSE", "cupy": "CuPy", "nvmath": "nvmath"}
    h = report["hardware"]
    return f"{h['gpu']}, {human(h['memory_nbytes'])}; {_versions(report, names)}"


def _versions(report: Row, names: dict[str, str]) -> str:
    v = report["versions"]
    return ", ".join([release(v), *(f"{name} {v[key]}" for key, name in names.items() if v.get(key))])


def _reads(report: Row) -> Iterator[str]:
    """Yield the median read bandwidth of each number of threads."""
    read: dict[int, list[float]] = {}
    for row in report["rows"]:
        if row["read_bandwidth"]:
            read.setdefault(row["threads"], []).append(row["read_bandwidth"])
    for count, rates in read.items():
        yield f"{_threads(count)} read{'s' * (count == 1)} {_rate(median(rates))}"


def _on_gpu(report: Row) -> bool:
    return report.get("device") == "cuda"


def _cases(report: Row) -> Iterator[Case]:
    for _, rows in groupby(report["rows"], lambda row: (row["case"], row.get("threads"))):
        yield list(rows)


def _joined(case: Case) -> Row:
    """Return the fields that all rows of a case have in common, with the ``rows``."""
    return case[0] | {"rows": case}


# ---- values -------------------------------------------------------------------------------------------------------
def _time(row: Row) -> float:
    return row["seconds"]  # type: ignore[no-any-return]


def _seconds(row: Row | None) -> str:
    return columns.seconds(row["seconds"]) if row and row["seconds"] else ""


def _operation(row: Row) -> str:
    return _OPS[row["op"]]


def _error(row: Row) -> str:
    return columns.error(row["error"]) + "  FAILED" * (not row["ok"])


def _failed(case: Case) -> list[str]:
    failed = (f"{_name(row)} {row['kernel']} - {row['failed']}" for row in case if row.get("failed"))
    return [shorten(line, 100, placeholder=" ...") for line in failed]


def _digits(key: str, row: Row) -> str:
    return "" if row[key] is None else columns.digits(row[key])


def _times(key: str, row: Row) -> str:
    return columns.times(row[key])


def _threads(count: int) -> str:
    return f"{count} thread{'s' * (count > 1)}"


def _rate(bandwidth: float) -> str:
    return f"{columns.digits(bandwidth / 1e9)} GB/s"


# ---- on a CPU -----------------------------------------------------------------------------------------------------
def _cpu_case(case: Case) -> tuple[str, Columns]:
    first = case[0]
    (m, n), reads = first["shape"], f", reads {_rate(first['read_bandwidth'])}" if first["read_bandwidth"] else ""
    matrix = f"{first['what']}, {m} x {n}, {first['diagonals']} diagonals"
    title = f"{first['case']}   {_OPS[first['op']]}   {matrix}   {_threads(first['threads'])}{reads}"
    return title, {
        "": partial(label, plain=True), "kernel": "{kernel}", "time": _seconds,
        **{name: partial(_times, key) for name, key in _RATIOS.items()}, "of bandwidth": partial(_digits, "fraction"),
        "of same size": partial(_digits, "fraction_same_size"),
    }  # fmt: skip


def _cpu_operations(report: Row) -> Iterator[str]:
    """Yield for each operation a table with a line for each case and number of threads."""
    fractions = {"of read bandwidth": "fraction", "of same-size reads": "fraction_same_size"}
    for op, title in _OPS.items():
        cases = [case for case in _cases(report) if case[0]["op"] == op]
        labels = dict.fromkeys(label(row) for case in cases for row in case)
        if cases:
            yield f"**{title}**\n\n{_cpu_table(cases, labels, {}, fractions)}"


def _cpu_summary(report: Row) -> str:
    """Return a table of `hm`, SciPy and MKL for all cases."""
    present = set(map(label, report["rows"]))
    labels = [name for name in ("hm", "hm planned", "SciPy dia", "SciPy csr", "MKL csr") if name in present]
    return _cpu_table(_cases(report), labels, {"operation": _operation}, {"of read bandwidth": "fraction"})


def _cpu_table(cases: Iterable[Case], labels: Iterable[str], first: Columns, fractions: dict[str, str]) -> str:
    """Return a Markdown table: the times of `labels`, and the ratios of `hm`."""

    def of_hm(value: Callable[[str, Row], str], key: str) -> Callable[[Row], str]:
        return lambda first: value(key, next(row for row in first["rows"] if row["format"] == "hm"))

    cells = table(map(_joined, cases), {
        **first, "matrix": "{what}, n = {shape[0]}, {diagonals} diagonals", "threads": "{threads}",
        **{name: partial(_labelled, name) for name in labels},
        **{f"hm {name}": of_hm(_times, key) for name, key in _RATIOS.items()},
        **{name: of_hm(_digits, key) for name, key in fractions.items()},
    })  # fmt: skip
    words = 1 + len(first)
    return columns.markdown(cells, "<" * words + ">" * (len(cells[0]) - words))


def _labelled(name: str, first: Row) -> str:
    return _seconds(next((row for row in first["rows"] if label(row) == name), None))


def _cpu_pairs(case: Case) -> Iterator[Pair]:
    """Yield `hm` compared with SciPy and MKL; small cases, dominated by call overhead, separately."""
    hm = next((row for row in case if label(row) == "hm"), None)
    for row in case if hm else ():
        if hm and row["library"] != "diagsparse":
            operation = _OPS[hm["op"]] + f", n = {hm['shape'][0]}" * (hm["group"] == "small")
            name = f"{hm['case']}, {_threads(hm['threads'])}"
            yield Pair(operation, name, "hm", label(row), row["seconds"] / hm["seconds"])


# ---- on a GPU -----------------------------------------------------------------------------------------------------
def _gpu_case(case: Case) -> tuple[str, Columns]:
    first = case[0]
    title = f"{first['case']}   {_OPS[first['op']]}   {first['what']}, {first['diagonals']} diagonals"
    compared = {name: _counterpart} if (name := first.get("counterpart")) else {}
    return title, {"": _name, "kernel": "{kernel}", "time": _seconds, **_FRACTIONS, **compared}


def _gpu_kernels(report: Row) -> Iterator[str]:
    """Yield a table with a line for each case and kernel."""
    rows = [row for case in _cases(report) for row in sorted(case, key=lambda row: row["seconds"] or 1e9)]
    cells = table(rows, {
        **_PRODUCT, "format": _name, "kernel": "{kernel}", "time": _outcome, **_FRACTIONS,
        **({"counterpart": _named_counterpart} if _has_counterparts(report) else {}),
    })  # fmt: skip
    yield columns.markdown(cells, "<<<<" + ">" * (len(cells[0]) - 4))


def _gpu_summary(report: Row) -> str:
    """Return a table: the best kernel of each diagonal format, cuSPARSE, CuPy and nvmath."""
    others: dict[str, Callable[[Row], bool]] = {
        "cuSPARSE": lambda row: is_cusparse(row["kernel"]),  # its fastest
        "CuPy csr": lambda row: (row["library"], row["format"]) == ("cupy", "csr"),
    }
    if any(row["library"] == "nvmath" for row in report["rows"]):
        others["nvmath dia"] = lambda row: row["library"] == "nvmath"

    def of_best(value: Callable[[Row], str], *formats: str) -> Callable[[Row], str]:
        return lambda first: value(best) if (best := _fastest(first["rows"], *formats or _DIAGONALS)) else ""

    cells = table(map(_joined, _cases(report)), {
        **_PRODUCT, **{format: of_best(_seconds, format) for format in _DIAGONALS},
        **{name: partial(_best_outcome, fits) for name, fits in others.items()},
        "best vs cuSPARSE": of_best(partial(_times, "vs_cusparse")), "of copy": of_best(_of_copy),
        **({"counterpart": of_best(_named_counterpart)} if _has_counterparts(report) else {}),
    })  # fmt: skip
    return columns.markdown(cells, "<<" + ">" * (len(cells[0]) - 2))


def _gpu_pairs(case: Case) -> Iterator[Pair]:
    """Yield the fastest diagonal format compared with the fastest row of each peer."""
    ours, peers = _fastest(case, *_DIAGONALS), {}
    for row in sorted((row for row in case if row["ok"]), key=_time, reverse=True):  # the fastest one is the last one
        if not is_ours(row):
            peers["cuSPARSE" if is_cusparse(row["kernel"]) else library(row)] = row["seconds"]
    for peer, seconds in peers.items() if ours else ():
        if ours:
            yield Pair(_OPS[ours["op"]], ours["case"], ours["format"], peer, seconds / ours["seconds"])


def _fastest(case: Case, *formats: str) -> Row | None:
    """Return the row of the fastest kernel of some formats with a correct result."""
    mine = [row for row in case if row["library"] == "diagsparse" and row["format"] in formats and row["ok"]]
    return min(mine, key=_time, default=None)


def _best_outcome(fits: Callable[[Row], bool], first: Row) -> str:
    best = min(filter(fits, first["rows"]), key=lambda row: row["seconds"] if row["ok"] else inf, default=None)
    return _outcome(best) if best else ""


def _outcome(row: Row) -> str:
    return _seconds(row) if row["ok"] else "fails" if row["failed"] else "wrong result"


def _of_copy(row: Row) -> str:
    """Return the speed relative to a copy, for kernels of diagsparse."""
    return columns.digits(row["fraction"]) if is_ours(row) and row["fraction"] else ""


def _has_counterparts(report: Row) -> bool:
    return any(row.get("counterpart") for row in report["rows"])


def _counterpart(row: Row) -> str:
    """Return the time of the counterpart by the same kernel, and its ratio to the time of the row."""
    seconds = row.get("counterpart_seconds")
    return f"{columns.seconds(seconds)}, {columns.times(row['vs_counterpart'])}" if seconds else ""


def _named_counterpart(row: Row) -> str:
    return f"{row['counterpart']}: {_counterpart(row)}" if row.get("counterpart_seconds") else ""


def _name(row: Row) -> str:
    return str(row["format"] if row["library"] == "diagsparse" else f"{row['library']} {row['format']}")


_PRODUCT: Columns = {"operation": _operation, "matrix": "{what}, {diagonals} diagonals"}
_FRACTIONS: Columns = {"vs cuSPARSE": partial(_times, "vs_cusparse"), "of copy": _of_copy}
