"""The results of `paper_004` compared with those of the thesis that introduced bmsparse: tables."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

from diagsparse._show import columns

from ..tables import (
    Columns,
    Row,
    Tables,
    bandwidth,
    distinct,
    faster,
    machine,
    milliseconds,
    seconds,
    select,
    speedup,
    table,
    time,
    timed,
    times,
    with_fraction,
)
from . import paper_004_comparisons
from .paper_004_columns import (
    BY_RULE,
    FACTOR_BITS,
    LISTS,
    OTHERS,
    PLANNED,
    VECTOR,
    final,
    harmonic,
    kernels,
    peer,
    stage,
)
from .paper_004_columns import name as matrix_name
from .paper_004_comparisons import summary
from .paper_004_printed import FULL, HEADLINE, MULTIPLIED, MULTIPLY_MS, SHARES, SORT_MS

FEW = 12  #: nonzeros per block below which a product is likely to be computed in csr
RANGES = ((1, 4), (4, 8), (8, 16), (16, FULL), (FULL, 65))  #: of the mean number of nonzeros per block
_MATRIX: Columns = {"matrix": matrix_name}
_PRODUCT: Columns = {**_MATRIX, "precision": "{dtype}"}


def tables(report: Row) -> Tables:
    """Yield titles and cells: the nine matrices, their squares, products with vectors, and means."""
    nine = [row for row in report["rows"] if row["thesis"]]
    single = [row for row in nine if row["dtype"] == "float32"]
    yield "Matrices (the thesis's nonzeros a block in brackets; * stands in for the thesis's)", table(single, {
        **_MATRIX, "rows": "{shape[0]:,}", "nonzeros": "{nnz:,}", "blocks": "{blocks:,}",
        "nonzeros a block": lambda row: f"{row['fill']:.2f} ({row['thesis']['nnz'] / row['thesis']['blocks']:.2f})",
    })  # fmt: skip
    comparisons = list(paper_004_comparisons.cells(report["rows"], report["quick"]))
    if len(comparisons) > 1:
        title = "The thesis's comparisons, in float32: harmonic mean (least to most), in how many matrices faster"
        yield title, comparisons
    if staged := [row for row in single if row.get("stages")]:
        yield from _stages(staged, report["quick"])
    title = "C = A A (the thesis's table 3.7, of an RTX 3090 Ti: as printed, and in the order of its table 3.3)"
    yield title, _squares(report, nine)
    title = "C = A A of these: how many times as fast, harmonic mean (least to most), in how many rows faster"
    yield title, _square_means(report, nine)
    yield "C = A A in float32 and other libraries (the thesis's table 3.9 and figure 3.4)", _peers(report)
    yield f"y = A x: time, and fraction of {bandwidth(report)}", _vectors(report)
    yield "y = A x: how many times as fast, harmonic means", list(_means(report))


# ---- stages -------------------------------------------------------------------------------------------------------
def _stages(rows: list[Row], quick: bool) -> Tables:
    """Yield the tables of the stages of squares, with the results of the thesis for its own sizes."""
    shares = {"T1 to T3": "123", "T4 sort": "4", "T5 reduce": "5", "T6 multiply": "6", "T7 compact": "7"}
    yield "Stages of a square by the kernel `indexed`, in percent (the thesis's table 3.4 in brackets)", table(rows, {
        **_MATRIX, **{f"{name} (%)": partial(_share, numbers) for name, numbers in shares.items()},
        "thesis: sort, multiply, others (%)": lambda row: ", ".join(map(str, SHARES[row["what"]])) * (not quick),
    })  # fmt: skip
    sorts = {kernel: partial(_sort, kernel) for kernel in LISTS}
    yield "The sort of the list of tasks, T4 (the thesis's figures 3.2 and 3.3)", table(rows, {**_MATRIX, **sorts})
    # Our segmented sort makes no copies, and allocates its workspace during the sort.
    sort_stages = {
        "where rows begin (transforms, reduce_by_key, exclusive_scan)": ("T4 segments", (1, 2, 3, 4)),
        "vectors, malloc, copies": (None, (0, 5, 6, 8)), "sort": ("T4 sort", (7,)), "in all": ("T4", (9,)),
    }  # fmt: skip
    yield "T4 by `segmented_sort` (the thesis's table 3.5, of an RTX 2080 Ti, in brackets)", table(rows, {
        **_MATRIX, **{name: partial(_sort_stage, *of, quick) for name, of in sort_stages.items()},
    })  # fmt: skip
    yield "The multiplication, T6 (the thesis's table 3.6, of an RTX 3090 Ti, in brackets)", table(rows, {
        **_MATRIX, **{kernel: partial(_multiplication, i, quick) for i, kernel in enumerate(MULTIPLIED)},
    })  # fmt: skip


def _share(numbers: str, row: Row) -> str:
    times = {number: stage(row, "indexed", f"T{number}") or 0.0 for number in "1234567"}
    return f"{100 * sum(times[number] for number in numbers) / sum(times.values()):.0f}"


def _sort(kernel: str, row: Row) -> str:
    return time(stage(row, kernel, "T4"))


def _sort_stage(ours: str | None, theirs: tuple[int, ...], quick: bool, row: Row) -> str:
    printed = sum(SORT_MS[row["what"]][i] for i in theirs)
    return f"{time(stage(row, 'segmented_sort', ours) if ours else None)} {f'({printed:.2f} ms)' * (not quick)}".strip()


def _multiplication(i: int, quick: bool, row: Row) -> str:
    printed = f" ({MULTIPLY_MS[row['what']][i]:.2f} ms)" * (not quick)
    return time(row["stages"][MULTIPLIED[i]]["T6 multiply"]) + printed


# ---- squares ------------------------------------------------------------------------------------------------------
def _squares(report: Row, rows: list[Row]) -> list[list[str]]:
    def printed(row: Row, field: str) -> str:
        return milliseconds(row["thesis"][field]) if row["dtype"] == "float32" and not report["quick"] else ""

    whom, exact = peer(report), [kernel for kernel in kernels(report, "matmul") if kernel not in FACTOR_BITS]
    return table(rows, {
        **_PRODUCT, **times(name for name in timed(rows) if not name.endswith(VECTOR)),
        "planned vs csr planned": partial(faster, ours=[kernel + PLANNED for kernel in exact], theirs="csr planned"),
        f"{BY_RULE} vs {whom}": partial(faster, ours=BY_RULE, theirs=whom),
        "thesis": partial(printed, field="ms"), "in that order": partial(printed, field="sorted_ms"),
    })  # fmt: skip


def _square_means(report: Row, rows: list[Row]) -> list[list[str]]:
    """Return comparisons of unplanned squares, and of planned squares."""
    default, whom = kernels(report, "matmul")[0], peer(report)
    planned, csr = default + PLANNED, f"csr{PLANNED}"
    pairs = [(ours, whom) for ours in (BY_RULE, default, "csr")]
    pairs += [(BY_RULE, mkl) for mkl in timed(report["rows"], ["MKL csr"])]
    pairs += [(ours, "cuSPARSE") for ours in (planned, csr) if report["device"] == "cuda"]
    groups = {f"fewer than {FEW} nonzeros a block": (0, FEW), f"{FEW} and more": (FEW, 65), "all": (0, 65)}
    return [["", *groups], *(
        [f"{ours} over {theirs}", *(
            summary(speedup(row, ours, theirs) for row in rows if low <= row["fill"] < high)
            for low, high in groups.values()
        )]
        for ours, theirs in (*pairs, (planned, csr))
    )]  # fmt: skip


def _peers(report: Row) -> list[list[str]]:
    """Return the squares of all matrices and those of other libraries, in the precision of the thesis."""
    rows = [row for row in select(report, dtype="float32") if BY_RULE in row["times"]]
    names = list(dict.fromkeys(name for row in rows for name in (final(row), BY_RULE)))
    ratios = {
        f"{names[0]} vs {other}": partial(faster, ours=names[0], theirs=other)
        for other in timed(report["rows"], OTHERS)
    }
    return table(rows, {**_MATRIX, "rows": "{shape[0]:,}", "nonzeros": "{nnz:,}", **times(names), **ratios})


# ---- products with vectors ----------------------------------------------------------------------------------------
def _vectors(report: Row) -> list[list[str]]:
    ours = [*kernels(report, "matvec"), "csr"]
    theirs = [name for name in timed(report["rows"], end=VECTOR) if name not in ours]
    ratios = {f"vs {other}": partial(_faster, other) for other in ("csr", peer(report, VECTOR))}
    return table(sorted(report["rows"], key=lambda row: (row["fill"], row["dtype"])), {
        **_PRODUCT, "nonzeros a block": "{fill:.2f}", **{name: partial(_shared, name) for name in ours},
        **times(theirs, VECTOR), **ratios,
    })  # fmt: skip


def _shared(name: str, row: Row) -> str:
    if not (t := row["times"].get(name + VECTOR)):
        return seconds(row, name + VECTOR)
    moved = row["nbytes"]["csr" if name == "csr" else "bmsparse"] + np.dtype(row["dtype"]).itemsize * sum(row["shape"])
    return with_fraction(t, moved, row["bandwidth"])


def _over(other: str, row: Row) -> float | None:
    """Return the speedup of A x by the fastest kernel over csr or another library."""
    return speedup(row, [kernel + VECTOR for kernel in row["kernels"]["matvec"]], other + VECTOR)


def _faster(other: str, row: Row) -> str:
    return columns.times(_over(other, row))


def _means(report: Row) -> Iterator[list[str]]:
    others = ("csr", peer(report, VECTOR))
    yield ["nonzeros a block", "precision", "matrices", *(f"over {name}" for name in others), "thesis, over cuSPARSE"]
    for low, high in RANGES:
        for (dtype,) in distinct(report["rows"], "dtype"):
            rows = [row for row in select(report, dtype=dtype) if low <= row["fill"] < high]
            means = (columns.times(harmonic(map(partial(_over, other), rows))) for other in others)
            printed = low == RANGES[-1][0] and dtype == "float32" and not report["quick"]
            if rows:
                yield [f"{low} to {high - 1}", dtype, str(len(rows)), *means, f"{HEADLINE}x" * printed]


def head(report: Row) -> str:
    """Return the line about the machine, with its bandwidth."""
    speed = float(np.median([row["bandwidth"] for row in report["rows"]]))
    rate = f"copy {speed / 1e12:.2f} TB/s" if report["device"] == "cuda" else f"reads {speed / 1e9:.1f} GB/s"
    return f"{machine(report, 'float32 and float64')}; {rate}"
