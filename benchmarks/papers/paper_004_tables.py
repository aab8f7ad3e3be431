"""The results of `paper_004` compared with those of the thesis that introduced bmsparse: tables."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from diagsparse._show import columns

from ..tables import Tables, machine, seconds, speedup, with_fraction
from . import paper_004_comparisons
from .paper_004_columns import (
    BY_RULE,
    CSR,
    CUPY,
    CUSPARSE,
    FACTOR_BITS,
    LISTS,
    MKL,
    MKL_BSR,
    PLANNED,
    VECTOR,
    final,
    harmonic,
    kernels,
    peer,
    stage,
)
from .paper_004_comparisons import summary
from .paper_004_printed import FULL, HEADLINE, MULTIPLIED, MULTIPLY_MS, SHARES, SORT_MS

FEW = 12  #: nonzeros per block below which a product is likely to be computed in csr
RANGES = ((1, 4), (4, 8), (8, 16), (16, FULL), (FULL, 65))  #: of the mean number of nonzeros per block


def tables(report: dict[str, Any]) -> Tables:
    """Yield titles and cells: the nine matrices, their squares, products with vectors, and means."""
    against = "a copy" if report["device"] == "cuda" else "the read bandwidth"
    yield "Matrices (the thesis's nonzeros a block in brackets; * stands in for the thesis's)", _nine(report)
    comparisons = list(paper_004_comparisons.cells(report["rows"], report["quick"]))
    if len(comparisons) > 1:
        title = "The thesis's comparisons, in float32: harmonic mean (least to most), in how many matrices faster"
        yield title, comparisons
    if any(row.get("stages") for row in report["rows"]):
        yield (
            "Stages of a square by the kernel `indexed`: shares (the thesis's table 3.4 in brackets)",
            list(_shares(report)),
        )
        yield "The sort of the list of tasks, T4 (the thesis's figures 3.2 and 3.3)", _sorts(report)
        title = "T4 by `segmented_sort` (the thesis's table 3.5, of an RTX 2080 Ti, in brackets)"
        yield title, _sort_stages(report)
        title = "The multiplication, T6 (the thesis's table 3.6, of an RTX 3090 Ti, in brackets)"
        yield title, _multiplications(report)
    title = "C = A A (the thesis's table 3.7, of an RTX 3090 Ti: as printed, and in the order of its table 3.3)"
    yield title, _squares(report)
    title = "C = A A of these: how many times as fast, harmonic mean (least to most), in how many rows faster"
    yield title, _square_means(report)
    yield "C = A A in float32 and other libraries (the thesis's table 3.9 and figure 3.4)", _peers(report)
    yield f"y = A x: time, and share of {against}", _vectors(report)
    yield "y = A x: how many times as fast, harmonic means", _means(report)


def _name(row: dict[str, Any]) -> str:
    return f"{row['what']}{'*' * row['stands_in']}"


def _nine(report: dict[str, Any]) -> Iterator[list[str]]:
    yield ["matrix", "rows", "nonzeros", "blocks", "nonzeros a block"]
    for row in report["rows"]:
        if row["thesis"] and row["dtype"] == "float32":
            counts = (f"{count:,}" for count in (row["shape"][0], row["nnz"], row["blocks"]))
            printed = row["thesis"]["nnz"] / row["thesis"]["blocks"]
            yield [_name(row), *counts, f"{row['fill']:.2f} ({printed:.2f})"]


def _staged(report: dict[str, Any]) -> Iterator[tuple[dict[str, Any], dict[str, dict[str, float]], bool]]:
    """Yield the rows in the precision of the thesis, the times of their stages, and whether to show its results."""
    for row in report["rows"]:
        if row["thesis"] and row["dtype"] == "float32" and row.get("stages"):
            yield row, row["stages"], not report["quick"]


def _shares(report: dict[str, Any]) -> Iterator[list[str]]:
    yield ["matrix", "T1 to T3 (%)", "T4 sort (%)", "T5 reduce (%)", "T6 multiply (%)", "T7 compact (%)",
           "thesis: sort, multiply, others (%)"]  # fmt: skip
    for row, _, whose in _staged(report):
        times = [stage(row, "indexed", f"T{number}") or 0.0 for number in range(1, 8)]
        parts = [sum(times[:3]), *times[3:]]
        shown = (f"{100 * part / sum(parts):.0f}" for part in parts)
        yield [_name(row), *shown, ", ".join(map(str, SHARES[row["what"]])) * whose]


def _sorts(report: dict[str, Any]) -> Iterator[list[str]]:
    yield ["matrix", *LISTS]
    for row, _, _ in _staged(report):
        yield [_name(row), *(_seconds(stage(row, kernel, "T4")) for kernel in LISTS)]


def _sort_stages(report: dict[str, Any]) -> Iterator[list[str]]:
    """Yield the stages of a segmented sort; ours makes no copies, and allocates its workspace during the sort."""
    yield ["matrix", "where rows begin (transforms, reduce_by_key, exclusive_scan)", "vectors, malloc, copies", "sort",
           "in all"]  # fmt: skip
    for row, stages, whose in _staged(report):
        vectors, one, by_key, two, scan, malloc, copy, sort, back, total = SORT_MS[row["what"]]
        ours = stages["segmented_sort"]
        times = (ours["T4 segments"], None, ours["T4 sort"], stage(row, "segmented_sort", "T4"))
        printed = (one + by_key + two + scan, vectors + malloc + copy + back, sort, total)
        theirs = (f"({ms:.2f} ms)" * whose for ms in printed)
        yield [_name(row), *(f"{_seconds(t)} {ms}".strip() for t, ms in zip(times, theirs, strict=True))]


def _seconds(t: float | None) -> str:
    return columns.seconds(t) if t else ""


def _multiplications(report: dict[str, Any]) -> Iterator[list[str]]:
    yield ["matrix", *MULTIPLIED]
    for row, stages, whose in _staged(report):
        theirs = (f" ({ms:.2f} ms)" * whose for ms in MULTIPLY_MS[row["what"]])
        ours = (columns.seconds(stages[kernel]["T6 multiply"]) for kernel in MULTIPLIED)
        yield [_name(row), *(f"{time}{printed}" for time, printed in zip(ours, theirs, strict=True))]


def _squares(report: dict[str, Any]) -> Iterator[list[str]]:
    rows = [row for row in report["rows"] if row["thesis"]]
    names = [name for name in dict.fromkeys(n for row in rows for n in row["times"]) if not name.endswith(VECTOR)]
    whom = peer(report)
    yield ["matrix", "precision", *names, "planned vs csr planned", f"{BY_RULE} vs {whom}", "thesis", "in that order"]
    planned = [kernel + PLANNED for kernel in kernels(report, "matmul") if kernel not in FACTOR_BITS]
    for row in rows:
        ratios = speedup(row, planned, CSR + PLANNED), speedup(row, BY_RULE, whom)
        whose = row["dtype"] == "float32" and not report["quick"]
        thesis = (columns.seconds(row["thesis"][name] / 1e3) if whose else "" for name in ("ms", "sorted_ms"))
        yield [_name(row), row["dtype"], *(seconds(row, name) for name in names), *map(columns.times, ratios), *thesis]


def _square_means(report: dict[str, Any]) -> Iterator[list[str]]:
    """Yield comparisons of unplanned squares, and of planned squares."""
    default, whom = kernels(report, "matmul")[0], peer(report)
    pairs = [(ours, whom) for ours in (BY_RULE, default, CSR)]
    pairs += [(BY_RULE, MKL)] if any(MKL in row["times"] for row in report["rows"]) else []
    planned = [f"{name}{PLANNED}" for name in (default, CSR)]
    if report["device"] == "cuda":
        pairs += [(ours, CUSPARSE) for ours in planned]
    pairs.append((planned[0], planned[1]))
    groups = {f"fewer than {FEW} nonzeros a block": (0, FEW), f"{FEW} and more": (FEW, 65), "all": (0, 65)}
    yield ["", *groups]
    for ours, theirs in pairs:
        rows = [row for row in report["rows"] if row["thesis"]]
        yield [f"{ours} over {theirs}", *(
            summary(speedup(row, ours, theirs) for row in rows if low <= row["fill"] < high)
            for low, high in groups.values()
        )]  # fmt: skip


def _peers(report: dict[str, Any]) -> Iterator[list[str]]:
    """Yield the squares of all matrices and those of other libraries, in the precision of the thesis."""
    others = [name for name in (MKL, MKL_BSR, CUPY) if any(name in row["times"] for row in report["rows"])]
    rows = [row for row in report["rows"] if row["dtype"] == "float32" and BY_RULE in row["times"]]
    names = list(dict.fromkeys(name for row in rows for name in (final(row), BY_RULE)))
    yield ["matrix", "rows", "nonzeros", *names, *(f"{names[0]} vs {other}" for other in others)]
    for row in rows:
        times = (seconds(row, name) for name in names)
        ratios = (columns.times(speedup(row, names[0], other)) for other in others)
        yield [_name(row), f"{row['shape'][0]:,}", f"{row['nnz']:,}", *times, *ratios]


def _vectors(report: dict[str, Any]) -> Iterator[list[str]]:
    ours = [*kernels(report, "matvec"), CSR]
    ends = dict.fromkeys(n for row in report["rows"] for n in row["times"] if n.endswith(VECTOR))
    theirs = [name for end in ends if (name := end.removesuffix(VECTOR)) not in ours]
    whom = peer(report, VECTOR)
    yield ["matrix", "precision", "nonzeros a block", *ours, *theirs, "vs csr", f"vs {whom}"]
    for row in sorted(report["rows"], key=lambda row: (row["fill"], row["dtype"])):
        yield [_name(row), row["dtype"], f"{row['fill']:.2f}", *(_shared(row, name) for name in ours),
               *(seconds(row, name + VECTOR) for name in theirs), *map(columns.times, _over(report, row))]  # fmt: skip


def _shared(row: dict[str, Any], name: str) -> str:
    if not (t := row["times"].get(name + VECTOR)):
        return seconds(row, name + VECTOR)
    moved = row["nbytes"][CSR if name == CSR else "bmsparse"] + np.dtype(row["dtype"]).itemsize * sum(row["shape"])
    return with_fraction(t, moved, row["bandwidth"])


def _over(report: dict[str, Any], row: dict[str, Any]) -> tuple[float | None, float | None]:
    """Return the speedups of A x by the fastest kernel over csr and over the other library."""
    names = [kernel + VECTOR for kernel in row["kernels"]["matvec"]]
    return speedup(row, names, CSR + VECTOR), speedup(row, names, peer(report, VECTOR) + VECTOR)


def _means(report: dict[str, Any]) -> Iterator[list[str]]:
    whom = peer(report, VECTOR)
    yield ["nonzeros a block", "precision", "matrices", "over csr", f"over {whom}", "thesis, over cuSPARSE"]
    for low, high in RANGES:
        for dtype in dict.fromkeys(row["dtype"] for row in report["rows"]):
            rows = [row for row in report["rows"] if row["dtype"] == dtype and low <= row["fill"] < high]
            if rows:
                means = (harmonic(ratios) for ratios in zip(*(_over(report, row) for row in rows), strict=True))
                whose = low == RANGES[-1][0] and dtype == "float32" and not report["quick"]
                yield [
                    f"{low} to {high - 1}",
                    dtype,
                    str(len(rows)),
                    *map(columns.times, means),
                    f"{HEADLINE}x" * whose,
                ]


def head(report: dict[str, Any]) -> str:
    """Return the line about the machine, with its bandwidth."""
    speed = float(np.median([row["bandwidth"] for row in report["rows"]]))
    rate = f"copy {speed / 1e12:.2f} TB/s" if report["device"] == "cuda" else f"reads {speed / 1e9:.1f} GB/s"
    return f"{machine(report, 'float32 and float64')}; {rate}"
