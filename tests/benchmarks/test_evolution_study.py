"""The experiment on time evolution: a small run, its tables and picture."""

import json

import pytest
from described_rows import require_described

from benchmarks.studies.evolution import CHAINS, EVOLUTION, GRIDS, GROUPS, OURS, PRODUCTS


@pytest.mark.nightly
def test_a_small_run(device, tmp_path):
    made = EVOLUTION.run(device=device, quick=True)
    require_described(made)
    assert made["ok"] and made["quick"], [row["failed"] for row in made["rows"]]
    json.dumps(made)
    assert [(row["sites"], row["time"]) for row in CHAINS.rows(made)] == [(8, 1.0), (8, 10.0)]
    assert [(row["side"], row["time"]) for row in GRIDS.rows(made)] == [(12, 1.0), (12, 10.0)]
    for group in GROUPS:
        for row in group.rows(made):
            assert all(row["times"][name + group.ending] > 0 for name in group.ours)
            assert 0 < row["error"] <= 1 and row["products"] > 10
            assert (row["times"].get(f"SciPy expm_multiply{group.ending}", 0) > 0) is (device == "cpu")
    assert all(row["times"][OURS[0] + PRODUCTS] > 0 for row in CHAINS.rows(made))
    assert "5 products" in EVOLUTION.text(made)
    assert "| sites | t | products |" in EVOLUTION.markdown(made) and "| 12 x 12 | " in EVOLUTION.markdown(made)
    compared = {pair.operation for pair in EVOLUTION.columns.pairs(made)}
    assert compared == ({group.ending[2:] for group in GROUPS} if device == "cpu" else set())
    pytest.importorskip("matplotlib")
    assert EVOLUTION.plot(made, tmp_path / "evolution.png").stat().st_size > 10_000
