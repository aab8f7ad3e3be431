"""The columns of a report on blocks: their names, the stages of a kernel, and ratios of times."""

from __future__ import annotations

from collections.abc import Iterable

from ..tables import Row, timed
from .paper_004_printed import MULTIPLIED

PLANNED, VECTOR = " planned", ", A x"  #: ends of the names of columns
BY_RULE = "A @ A"
MKL_BSR = "MKL bsr 2 x 2"
OTHERS = ("MKL csr", MKL_BSR, "CuPy csr")  #: with which squares of all matrices are compared
PEERS = {"cuda": ("CuPy csr", "cuSPARSE"), "cpu": ("SciPy csr",)}  #: the first with times is compared
LISTS = ("baseline", "indexed", "segmented_sort", "adaptive", "short_segments")  #: they differ in the list of tasks
STAGED = (*LISTS, *MULTIPLIED)
FINAL = "tc_2tsk"  #: the kernel closest to the final version of the thesis: tensor cores, and a choice of the sort
LARGE = 100_000  #: number of rows from which a matrix is included in figure 3.4
FACTOR_BITS = {"tf32": 11, "fp16": 11, "bf16": 8, "tc_naive": 11, "tc_2blk": 11, "tc_2tsk": 11}
"""The significant bits of the factors in kernels that round them."""


def kernels(report: Row, op: str) -> list[str]:
    """Return the kernels of bmsparse in the rows, the default first."""
    return list(dict.fromkeys(kernel for row in report["rows"] for kernel in row["kernels"][op]))


def peer(report: Row, end: str = "") -> str:
    """Return the library with which rows are compared."""
    names = PEERS[report["device"]]
    return next(iter(timed(report["rows"], names, end)), names[-1])


def name(row: Row) -> str:
    """Return the name of a matrix, with a star if it is a stand-in."""
    return f"{row['what']}{'*' * row['stands_in']}"


def final(row: Row) -> str:
    """Return the column of a square by the final version of the thesis, or on a CPU by the default kernel."""
    return FINAL if FINAL in row["kernels"]["matmul"] else BY_RULE


def stage(row: Row, kernel: str, start: str) -> float | None:
    """Return the seconds of a stage of a kernel, such as ``"T4"``, with all of its parts, such as ``"T4 sort"``."""
    parts = [seconds for part, seconds in row.get("stages", {}).get(kernel, {}).items() if part.startswith(start)]
    return sum(parts) if parts else None


def harmonic(ratios: Iterable[float | None]) -> float | None:
    """Return the harmonic mean of the ratios that are known."""
    known = [ratio for ratio in ratios if ratio]
    return len(known) / sum(1 / ratio for ratio in known) if known else None
