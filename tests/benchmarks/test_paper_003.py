"""The experiments of the paper behind ellcsr: a small run, its tables, its picture."""

import json
from pathlib import Path

import numpy as np
import pytest
from described_rows import require_described

from benchmarks.papers import paper_003, paper_003_tables
from benchmarks.papers.paper_003 import TABLES_003


@pytest.mark.nightly
def test_a_small_run(device, tmp_path):
    made = TABLES_003.run(device=device, quick=True)
    require_described(made)
    assert made["ok"] and made["quick"] and len(made["rows"]) == 4, [row["failed"] for row in made["rows"]]
    for row in made["rows"][:2]:
        peers = [name for kernels in paper_003.KERNELS.values() for name in kernels.values()] + ["cuSPARSE sell"]
        expected = {*paper_003.FORMATS, *paper_003_tables.SHORT, *(peers if device == "cuda" else ["SciPy csr"])}
        assert expected == set(row["times"]) and all(row["times"][name] > 0 for name in expected), row["failed"]
        assert 0 <= row["error"] <= 1 and row["counts"]["reference"] == row["counts"]["width"] * row["n"]
        assert all(b["predicted"] == b["allocated"] for b in row["nbytes"].values())
        short = [row["short"][name] for name in ("16 bits", "8 bits", "8 bits, float32 values")]
        assert row["nbytes"]["ellcsr"]["predicted"] > short[0] > short[1] > short[2]
        assert row["nbytes"]["csr"]["predicted"] < row["slices"]["nbytes"] <= row["nbytes"]["ell"]["predicted"]
    for row, rows in zip(made["rows"][2:], (2048, paper_003.ROWS[device] // 32), strict=True):  # those of table 10
        assert row["rows"] == rows and {"csr", "ellcsr"} <= set(row["times"]) and not row["failed"]
        assert row["counts"]["reference"] == row["counts"]["width"] * rows and 0 <= row["error"] <= 1
    assert (made["rows"][2]["n"], made["rows"][3]["n"]) == (2048, 32768)
    json.dumps(made)
    assert "| ellcsr, allocated | sell, 4 slices |" in TABLES_003.markdown(made)
    assert "longest in the expansion" in TABLES_003.text(made) and "larger matrices" in TABLES_003.text(made)
    assert "(" not in TABLES_003.markdown(made).splitlines()[-1], "the paper's figures belong to its own sizes"
    pytest.importorskip("matplotlib")
    assert TABLES_003.plot(made, tmp_path / "paper.png").stat().st_size > 10_000


def test_the_papers_figures_fit_each_other():
    n = paper_003.ORDER
    for (expansion, longest, csr, ell, *_), sparsity in zip(
        paper_003_tables.PAPER, paper_003_tables.SPARSITY, strict=True
    ):
        nnz = paper_003_tables.REFERENCE + expansion
        assert (12 * nnz + 4 * (n + 1)) / 2**20 == pytest.approx(csr, rel=5e-4)
        assert 12 * n * longest / 2**20 == pytest.approx(ell, rel=0.03)
        assert (1 - expansion / (0.9 * n**2), 1 - nnz / n**2) == pytest.approx(sparsity, abs=1e-6)
    found = 1 - paper_003_tables.REFERENCE / (0.1 * n**2)
    assert found == pytest.approx(paper_003_tables.REFERENCE_SPARSITY, abs=1e-6)


def test_sliced_ell_has_four_slices_in_the_paper():
    """Each of its figures is a sum of four widths, in columns of 8192 rows; not of two, and eight explain no more."""
    printed = np.array([row[4] for row in paper_003_tables.PAPER])

    def off(slices):
        column = 12 * (paper_003.ORDER // slices) / 2**20
        return abs(printed / column - np.round(printed / column)).max() * column

    assert paper_003_tables.SLICES == 4 and off(4) <= 0.005 + 1e-9 < off(2)


def test_which_sizes_fit(monkeypatch):
    for free, orders in ((10**8, []), (10**10, [65_536]), (10**11, [65_536, 131_072])):
        monkeypatch.setattr(paper_003, "available_bytes", lambda free=free: free)
        found = list(paper_003._large("cuda", 1))
        assert found == [*((n, n) for n in orders), (1_048_576, 16_384)]


def test_a_run_that_was_interrupted_before_the_larger_matrices_has_its_tables():
    stored = Path(__file__).resolve().parents[2] / "benchmarks" / "results" / "cpu-2-cores-tables-003.json"
    report = json.loads(stored.read_text())
    report["rows"] = [row for row in report["rows"] if "matrix" in row]
    assert "larger matrices" not in TABLES_003.markdown(report)
    assert "| 1 | 21,463,040 (21,463,040) |" in TABLES_003.markdown(report)
