"""The experiments of the paper behind HM and CDM: a small run, its tables, its picture."""

import json

import pytest
from described_rows import require_described

import diagsparse as ds
from benchmarks.papers import paper_000
from benchmarks.papers.paper_000 import TABLES_000


@pytest.mark.nightly
def test_a_small_run(device, monkeypatch, tmp_path):
    some = [e for e in paper_000.PRODUCTS if e.n in (1000, 2048, 10_240) and e.a < 12]
    assert {e.source for e in some} == {"figure 6", "figure 7", "table 1"}
    monkeypatch.setattr(paper_000, "PRODUCTS", some)
    made = TABLES_000.run(device=device, quick=True)
    assert made["ok"] and made["quick"] and len(made["rows"]) == len(some), [row["failed"] for row in made["rows"]]
    for row in made["rows"]:
        columns = [*paper_000.ONE_CORE.values(), paper_000.SCIPY]
        columns += ["cdm tiled", "hm atomic", "hm atomic_split", "hm entry", "hm default"] * (device == "cuda")
        assert all(row["times"][name] > 0 for name in columns) and 0 <= row["error"] <= 1
        assert row["cpu_ms"] is row["nz"] is None, "the paper's figures belong to its own sizes"
        ran = {name: about.get("kernel") for name, about in row["columns"].items()}
        assert ran["sequential, 1 core"] == "hm matmul sequential" and ran["hm, 1 core"].startswith("hm matmul")
        assert [row["columns"][name]["timed_on"] for name in (paper_000.SCIPY, "hm, 1 core")] == ["cpu", "cpu"]
        assert row["product_nnz"] > max(row["nnz"])
    json.dumps(made)
    assert row["kernel"] and ran["hm default" if device == "cuda" else "hm, 1 core"] == f"hm matmul {row['kernel']}"
    require_described(made)
    assert f"| {row['kernel']} |" in TABLES_000.markdown(made) and f"| {row['product_nnz']:,} |" in TABLES_000.markdown(
        made
    )
    assert "sequential, 1 core" in TABLES_000.text(made) and TABLES_000.markdown(made).count("| figure 6 |") >= 2
    pytest.importorskip("matplotlib")
    assert TABLES_000.plot(made, tmp_path / "paper.png").stat().st_size > 10_000


def test_the_papers_tables_are_whole():
    tables = [e for e in paper_000.PRODUCTS if not e.band]
    assert [e.n for e in tables if e.source == "table 1"] == list(range(1000, 10_001, 1000))
    assert [e.a for e in tables if e.source == "table 2"] == list(range(200, 601, 100))
    assert all(10 <= e.cpu_ms / e.cuda_ms < 100 for e in tables)
    assert {e.n for e in paper_000.PRODUCTS if e.source == "figure 7"} == {10_240}


@pytest.mark.parametrize("e", [e for e in paper_000.PRODUCTS if e.nz], ids=lambda e: f"{e.n}, {e.a} x {e.b}")
def test_random_diagonals_have_the_papers_counts(e):
    """The paper counts every element on the diagonals of C, as a product of diagonals stores them."""
    A, B = (ds.hm_array(X) for X in e.operands(1.0))
    assert (A.nnz, B.nnz, ds.plan_matmul(A, B).nnz) == pytest.approx(e.nz, rel=0.11 if e.n < 4000 else 0.05)
