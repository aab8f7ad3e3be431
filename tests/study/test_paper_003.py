"""The experiments of the paper behind ellcsr: a small run, its tables, its picture."""

import json

import pytest

from diagsparse._study import paper_003, paper_003_tables


def test_a_small_run(device, tmp_path):
    made = paper_003.run(device=device, quick=True)
    assert made["ok"] and made["quick"] and len(made["rows"]) == 2, [row["failed"] for row in made["rows"]]
    for row in made["rows"]:
        peers = [name for kernels in paper_003.KERNELS.values() for name in kernels.values()] + ["cuSPARSE sell"]
        expected = {*paper_003.FORMATS, *paper_003_tables.SHORT, *(peers if device == "cuda" else ["SciPy csr"])}
        assert expected == set(row["times"]) and all(row["times"][name] > 0 for name in expected), row["failed"]
        assert 0 <= row["error"] <= 1 and row["counts"]["reference"] == row["counts"]["width"] * row["n"]
        assert all(b["told"] == b["allocated"] for b in row["nbytes"].values())
        short = [row["short"][name] for name in ("16 bits", "8 bits", "8 bits, float32 values")]
        assert row["nbytes"]["ellcsr"]["told"] > short[0] > short[1] > short[2]
    json.dumps(made)
    assert "| ellcsr, allocated |" in paper_003.markdown(made) and "longest row" in paper_003.text(made)
    assert "(" not in paper_003.markdown(made).splitlines()[-1], "the paper's figures belong to its own sizes"
    pytest.importorskip("matplotlib")
    assert paper_003.plot_bench(made, tmp_path / "paper.png").stat().st_size > 10_000


def test_the_papers_figures_fit_each_other():
    for expansion, longest, csr, ell, *_ in paper_003_tables.PAPER:
        n, nnz = paper_003.ORDER, paper_003_tables.REFERENCE + expansion
        assert (12 * nnz + 4 * (n + 1)) / 2**20 == pytest.approx(csr, rel=5e-4)
        assert 12 * n * longest / 2**20 == pytest.approx(ell, rel=0.03)
