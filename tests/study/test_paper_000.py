"""The experiments of the paper behind HM and CDM: a small run, its tables, its picture."""

import json

import pytest

from diagsparse._study import paper_000


def test_a_small_run(device, monkeypatch, tmp_path):
    some = [e for e in paper_000.EXPERIMENTS if e.n in (1000, 2048, 10_240) and e.a < 12]
    assert {e.source for e in some} == {"figure 6", "figure 7", "table 1"}
    monkeypatch.setattr(paper_000, "EXPERIMENTS", some)
    made = paper_000.run(device=device, quick=True)
    assert made["ok"] and made["quick"] and len(made["rows"]) == len(some), [row["failed"] for row in made["rows"]]
    for row in made["rows"]:
        columns = [*paper_000.ONE_CORE.values(), paper_000.SCIPY]
        columns += ["cdm tiled", "hm atomic", "hm atomic_split", "hm entry", "hm default"] * (device == "cuda")
        assert all(row["times"][name] > 0 for name in columns) and 0 <= row["error"] <= 1
        assert row["cpu_ms"] is None, "the paper's times belong to its own sizes"
    json.dumps(made)
    assert "sequential, 1 core" in paper_000.text(made) and paper_000.markdown(made).count("| figure 6 |") >= 2
    pytest.importorskip("matplotlib")
    assert paper_000.plot_bench(made, tmp_path / "paper.png").stat().st_size > 10_000


def test_the_papers_times_stand_beside_its_sizes():
    tables = [e for e in paper_000.EXPERIMENTS if not e.band]
    assert len(tables) == 7 and all(e.cpu_ms / e.cuda_ms > 20 for e in tables)
    assert {e.n for e in paper_000.EXPERIMENTS if e.source == "figure 7"} == {10_240}
