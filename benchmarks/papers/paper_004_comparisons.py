"""The comparisons in the thesis, of its variants and with other libraries: its ratios, and those of a report."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from diagsparse._show import columns

from ..tables import Row, speedup
from . import paper_004_printed as printed
from .paper_004_columns import BY_RULE, FINAL, PLANNED, VECTOR, final, harmonic, stage

HEAD = ["how many times as fast", "in the thesis", "thesis", "here"]


def _of_the_nine(row: Row) -> bool:
    return bool(row["thesis"])


@dataclass(frozen=True)
class Comparison:
    """The speedup of one column over another in the rows that `takes` selects."""

    what: str  #: description; ``{final}`` is the column of the final version
    source: str  #: table or figure of the thesis
    thesis: str  #: the printed result
    ratio: Callable[[Row], float | None]
    takes: Callable[[Row], bool] = _of_the_nine


def cells(rows: Iterable[Row], quick: bool = False) -> Iterator[list[str]]:
    """Yield a table of the comparisons for which there are times, in single precision as in the thesis.

    With `quick` (small matrices), it does not contain the ratios of the thesis.
    """
    yield HEAD
    single = [row for row in rows if row["dtype"] == "float32"]
    name = final(single[0]) if single else ""
    for one in COMPARISONS:
        ours = summary(one.ratio(row) for row in single if one.takes(row))
        if ours:
            yield [one.what.format(final=name), one.source, "" if quick else one.thesis, ours]


def summary(ratios: Iterable[float | None]) -> str:
    """Return ``1.38x (0.58 to 3.00), 42 of 51``: harmonic mean, minimum, maximum, number above 1; "" without ratios."""
    known = [ratio for ratio in ratios if ratio]
    if not (mean := harmonic(known)):
        return ""
    mean_least_most = (columns.digits(ratio) for ratio in (mean, min(known), max(known)))
    return "{}x ({} to {}), {} of {}".format(*mean_least_most, sum(ratio > 1 for ratio in known), len(known))


def _over(slower: str, faster: str) -> Callable[[Row], float | None]:
    return lambda row: speedup(row, faster, slower)


def _final_over(slower: str, end: str = "") -> Callable[[Row], float | None]:
    return lambda row: speedup(row, final(row) + end, slower)


def _stage_over(name: str, slower: str, *faster: str) -> Callable[[Row], float | None]:
    """Return a function that divides the time of a stage of a kernel by the shortest one of others."""

    def ratio(row: Row) -> float | None:
        ours = min((t for kernel in faster if (t := stage(row, kernel, name))), default=None)
        theirs = stage(row, slower, name)
        return theirs / ours if ours and theirs else None

    return ratio


def _over_the_thesis(name: str) -> Callable[[Row], float | None]:
    return lambda row: row["thesis"]["sorted_ms"] / 1e3 / t if (t := row["times"].get(name)) else None


def _summary(slower: Iterable[float], faster: Iterable[float]) -> str:
    return summary(theirs / ours for theirs, ours in zip(slower, faster, strict=True))


def _is_full(row: Row) -> bool:
    return bool(row["fill"] >= printed.FULL)


def _on_a_gpu(row: Row) -> bool:
    return bool(row["thesis"] and FINAL in row["kernels"]["matmul"])


_SORT_MS = [
    printed.SHARES[p.name][0] / 100 * ms for p, ms in zip(printed.TABLE, printed.FIRST_MS["indexed"], strict=True)
]
_TENSOR_CORES, _PEERS = printed.MULTIPLIED[:-1], {name: ms for name, ms in printed.PEERS_MS.items() if name != "final"}
_CALLED = {"cuSPARSE csr": ", as CuPy calls it"}  # CuPy computes the structure in each call, as in the thesis

COMPARISONS = (
    Comparison(
        "A A: `indexed` over `baseline`", "table 3.3",
        _summary(printed.FIRST_MS["baseline"], printed.FIRST_MS["indexed"]), _over("baseline", "indexed"),
    ),
    Comparison(
        "T4: `segmented_sort` over one sort", "figure 3.2",
        _summary(_SORT_MS, (stages[-1] for stages in printed.SORT_MS.values())),
        _stage_over("T4", "indexed", "segmented_sort"),
    ),
    Comparison(
        "T4: `adaptive` over `segmented_sort`", "figure 3.3", printed.ADAPTIVE,
        _stage_over("T4", "segmented_sort", "adaptive"),
    ),
    Comparison(
        "T4: `short_segments` over `segmented_sort`", "", "", _stage_over("T4", "segmented_sort", "short_segments"),
    ),
    Comparison(
        "T6: the fastest on tensor cores over `cuda_cores`", "table 3.6",
        summary(cuda_cores / min(others) for *others, cuda_cores in printed.MULTIPLY_MS.values()),
        _stage_over("T6", "cuda_cores", *_TENSOR_CORES),
    ),
    *(
        Comparison(
            f"A A: final version (`{FINAL}`) over `{version}`", table,
            _summary(printed.VERSIONS_MS[version], printed.VERSIONS_MS["final"]), _over(version, FINAL),
        )
        for version, table in (("baseline", "table 3.7"), ("indexed", "table 3.8"))
    ),
    *(
        Comparison(
            f"A A: final version (`{{final}}`) over {name}{_CALLED.get(name, '')}", "table 3.9",
            _summary(ms, printed.PEERS_MS["final"]), _final_over("CuPy csr" if name in _CALLED else name),
        )
        for name, ms in _PEERS.items()
    ),
    Comparison(
        "A A: final version (`{final}`), planned, over cuSPARSE csr, planned", "", "", _final_over("cuSPARSE", PLANNED),
    ),
    Comparison(
        "A x: `batch` over `base`", "figure 4.6", printed.BATCH, _over(f"base{VECTOR}", f"batch{VECTOR}"),
        lambda row: True,
    ),
    Comparison(
        f"A x: `batch` over cuSPARSE csr, from {printed.FULL} nonzeros a block on", "figure 4.7",
        f"{printed.HEADLINE}x", _over(f"cuSPARSE{VECTOR}", f"batch{VECTOR}"), _is_full,
    ),
    Comparison(
        "A x: our default `row` over cuSPARSE csr, in the same rows", "", "",
        _over(f"cuSPARSE{VECTOR}", f"row{VECTOR}"), _is_full,
    ),
    Comparison(
        f"A A: `{FINAL}` here over the final version on an RTX 3090 Ti", "table 3.7", "", _over_the_thesis(FINAL),
        _on_a_gpu,
    ),
    Comparison(f"A A: `{BY_RULE}` here over the same", "table 3.7", "", _over_the_thesis(BY_RULE), _on_a_gpu),
)  # fmt: skip
