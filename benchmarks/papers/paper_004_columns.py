"""The columns of a report on blocks: their names, the stages of a kernel, and ratios of times."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..tables import Row
from .paper_004_printed import MULTIPLIED

PLANNED, VECTOR = " planned", ", A x"  #: how the names of columns end
BY_RULE = "A @ A"
CSR = "csr"
CUSPARSE, CUSPARSE_BSR, CUPY = "cuSPARSE", "cuSPARSE bsr", "CuPy csr"
SCIPY, SCIPY_BSR, MKL, MKL_BSR = "SciPy csr", "SciPy bsr", "MKL csr", "MKL bsr 2 x 2"
PEERS = {"cuda": (CUPY, CUSPARSE), "cpu": (SCIPY,)}  #: the first one that there is is what rows are compared with
LISTS = ("baseline", "indexed", "segmented_sort", "adaptive", "short_segments")  #: they differ in the list of tasks
STAGED = (*LISTS, *MULTIPLIED)
FINAL = "tc_2tsk"  #: what comes nearest to the thesis's final version: tensor cores, and a choice of the sort
LARGE = 100_000  #: rows from which a matrix takes part in figure 3.4
FACTOR_BITS = {"tf32": 11, "fp16": 11, "bf16": 8, "tc_naive": 11, "tc_2blk": 11, "tc_2tsk": 11}
"""The bits that kernels round factors to which round them."""


def kernels(report: dict[str, Any], op: str) -> list[str]:
    """Return the kernels of bmsparse that the rows have, the default first."""
    return list(dict.fromkeys(kernel for row in report["rows"] for kernel in row["kernels"][op]))


def peer(report: dict[str, Any], end: str = "") -> str:
    """Return the other library that rows are compared with."""
    names = PEERS[report["device"]]
    return next((name for name in names if any(name + end in row["times"] for row in report["rows"])), names[-1])


def final(row: Row) -> str:
    """Return the column of a square by the thesis's final version, or on a CPU by the rule."""
    return FINAL if FINAL in row["kernels"]["matmul"] else BY_RULE


def stage(row: Row, kernel: str, name: str) -> float | None:
    """Return the seconds of a kernel's stage, ``"T4"``, with all its parts, ``"T4 segments"`` and ``"T4 sort"``."""
    found = [seconds for part, seconds in row.get("stages", {}).get(kernel, {}).items() if part.startswith(name)]
    return sum(found) if found else None


def harmonic(ratios: Iterable[float | None]) -> float | None:
    """Return the harmonic mean of the ratios that there are."""
    known = [ratio for ratio in ratios if ratio]
    return len(known) / sum(1 / ratio for ratio in known) if known else None
