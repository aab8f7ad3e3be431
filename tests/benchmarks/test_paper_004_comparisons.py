"""The thesis's comparisons and ours: its ratios follow from its tables, and the docs say what the stored results do."""

import json
from pathlib import Path

import numpy as np
import pytest

from benchmarks.papers import paper_004_comparisons, paper_004_tables
from benchmarks.papers.paper_004_columns import harmonic
from benchmarks.papers.paper_004_printed import MULTIPLY_MS, PEERS_MS, SHARES, SORT_MS, SORT_STAGES, TABLE, VERSIONS_MS
from benchmarks.tables import speedup

RESULTS = Path(__file__).parents[2] / "benchmarks" / "results"


def ratios(slower, faster):
    return np.array(slower) / np.array(faster)


def test_the_ratios_that_the_thesis_prints_follow_from_its_tables():
    of_baseline = 2.8, 2.8, 2.8, 3.9, 3.5, 3.5, 3.0, 4.3, 4.2  # table 3.7, the last line
    of_indexed = 1.4, 1.4, 1.5, 1.7, 1.6, 1.6, 1.5, 1.6, 1.7  # table 3.8
    for version, printed in (("baseline", of_baseline), ("indexed", of_indexed)):
        np.testing.assert_allclose(ratios(VERSIONS_MS[version], VERSIONS_MS["final"]), printed, atol=0.06)
    over_csr = ratios(PEERS_MS["MKL csr"], PEERS_MS["final"])
    assert over_csr.min() == pytest.approx(1.3, abs=0.05) and 6 < over_csr.max() <= 7  # "from 1.3 to 7 times"
    names = [printed.name for printed in TABLE]
    for table in (SHARES, SORT_MS, MULTIPLY_MS):
        assert list(table) == names
    for *stages, total in SORT_MS.values():
        assert len(stages) == len(SORT_STAGES) - 1 and sum(stages) == pytest.approx(total, abs=0.06)


def row(**times):
    kernels = ["fragments", "baseline", "indexed", "tc_2tsk"] if "tc_2tsk" in times else ["block"]
    return {
        "dtype": "float32", "thesis": {"sorted_ms": 8.0}, "fill": 40.0, "kernels": {"matmul": kernels, "matvec": []},
        "times": {name.replace("_over_x", ", A x"): t for name, t in times.items()},
    }  # fmt: skip


def test_comparisons_exist_where_there_are_times():
    one = row(tc_2tsk=2e-3, baseline=4e-3, base_over_x=1e-3, batch_over_x=2e-3) | {
        "stages": {"indexed": {"T4 sort": 3e-4}, "segmented_sort": {"T4 segments": 1e-4, "T4 sort": 5e-4}}
    }
    two = row(tc_2tsk=2e-3, baseline=1e-3, base_over_x=3e-3, batch_over_x=1e-3)
    head, *cells = paper_004_comparisons.cells([one, two])
    assert head == paper_004_comparisons.HEAD
    ours = {what: here for what, _, _, here in cells}
    assert ours == {
        "T4: `segmented_sort` over one sort": "0.50x (0.50 to 0.50), 0 of 1",
        "A A: final version (`tc_2tsk`) over `baseline`": "0.80x (0.50 to 2.00), 1 of 2",
        "A x: `batch` over `base`": "0.86x (0.50 to 3.00), 1 of 2",
        "A A: `tc_2tsk` here over the final version on an RTX 3090 Ti": "4.00x (4.00 to 4.00), 2 of 2",
    }
    thesis = {what: said for what, _, said, _ in cells}
    assert thesis["A x: `batch` over `base`"] == "1.38x (up to 3x), 1385 of 1445"
    assert thesis["A A: final version (`tc_2tsk`) over `baseline`"] == "3.35x (2.79 to 4.30), 9 of 9"


def test_the_final_version_on_a_cpu_is_what_the_rule_takes():
    rows = [row(**{"A @ A": 1e-3, "MKL csr": 2e-3, "MKL bsr 2 x 2": 4e-3})]
    _, *cells = paper_004_comparisons.cells(rows, quick=True)
    assert [(what, said, here.partition(" ")[0]) for what, _, said, here in cells] == [
        ("A A: final version (`A @ A`) over MKL csr", "", "2.00x"),
        ("A A: final version (`A @ A`) over MKL bsr 2 x 2", "", "4.00x"),
    ]


def test_squares_by_cusparse_are_compared_as_they_were_called():
    """CuPy finds the structure in each call, as a square without a plan does; the column of cuSPARSE reuses it."""
    both = row(tc_2tsk=4e-3, **{"tc_2tsk planned": 1e-3, "CuPy csr": 8e-3, "cuSPARSE": 3e-3})
    alone = {name: seconds for name, seconds in both["times"].items() if name != "CuPy csr"}
    called = ("A A: final version (`tc_2tsk`) over cuSPARSE csr, as CuPy calls it", "2.00x")
    planned = ("A A: final version (`tc_2tsk`), planned, over cuSPARSE csr, planned", "3.00x")
    for rows, expected in (([both], [called, planned]), ([both | {"times": alone}], [planned])):
        _, *cells = paper_004_comparisons.cells(rows)
        assert [(what, here.partition(" ")[0]) for what, _, _, here in cells if "cuSPARSE" in what] == expected


def stored(name):
    report = json.loads((RESULTS / f"{name}-tables-004.json").read_text())
    return report, [row for row in report["rows"] if row["thesis"]]


def ahead(rows, ours, theirs):
    """Return how many times as fast ours is in each row that has both."""
    found = (speedup(row, [ours], theirs) for row in rows)
    return np.array([ratio for ratio in found if ratio])


def test_what_the_docs_say_of_blocks_on_a_gpu():
    """docs/benchmarks.md, "On a GPU, of blocks", and the end of notebook 05."""
    report, nine = stored("h200")
    full = [row for row in nine if row["fill"] >= paper_004_tables.FEW]
    assert (ahead(full, "A @ A", "CuPy csr") > 1).all()
    fullest = max(nine, key=lambda row: row["fill"])["what"]
    for other in ("cuSPARSE", "csr planned"):
        faster = {row["what"] for row in nine if (ahead([row], "fragments planned", other) > 1).any()}
        assert faster == {fullest}, other
    every = [row for row in report["rows"] if row["dtype"] == "float32"]
    batch = ahead(every, "batch, A x", "base, A x")
    assert harmonic(batch) < 1 and (batch < 1).mean() > 0.5
    assert (ahead([row for row in every if row["fill"] >= 31], "row, A x", "cuSPARSE, A x") > 1).all()
    single = [row for row in nine if row["dtype"] == "float32"]
    assert harmonic(ahead(single, "indexed", "baseline")) == pytest.approx(1, abs=0.1)
    assert (
        1
        < harmonic(ahead(single, "tc_2tsk", "baseline"))
        < harmonic(ratios(VERSIONS_MS["baseline"], VERSIONS_MS["final"]))
    )
    one_sort = [row["stages"]["indexed"]["T4 sort"] for row in single]
    by_rows = [sum(t for part, t in row["stages"]["segmented_sort"].items() if part[:2] == "T4") for row in single]
    assert (np.array(by_rows) > one_sort).mean() > 0.5
    for row in single:
        assert max(row["stages"]["indexed"], key=row["stages"]["indexed"].get) == "T7 compact", row["what"]


def test_what_the_docs_say_of_blocks_on_a_cpu():
    _, nine = stored("cpu-2-cores")
    assert (ahead(nine, "A @ A", "SciPy bsr") > 1).all()
    single = [row for row in nine if row["dtype"] == "float32"]
    for peer, rows, behind in (
        ("SciPy csr", nine, {"webbase-1M"}),
        ("MKL csr", single, {"webbase-1M", "hcircuit"}),
    ):
        assert {row["what"] for row in rows if (ahead([row], "A @ A", peer) < 1).any()} == behind, peer
    fullest = max(nine, key=lambda row: row["fill"])["what"]
    assert {row["what"] for row in nine if (ahead([row], "block planned", "csr planned") > 1).any()} == {fullest}
