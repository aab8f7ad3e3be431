"""The experiment on time evolution: a small run, its tables and picture."""

import json

import pytest
from described_rows import require_described

from benchmarks.studies.evolution import EVOLUTION, EVOLVED, OURS, PRODUCTS


@pytest.mark.nightly
def test_a_small_run(device, tmp_path):
    made = EVOLUTION.run(device=device, quick=True)
    require_described(made)
    assert made["ok"] and made["quick"], [row["failed"] for row in made["rows"]]
    json.dumps(made)
    assert [(row["sites"], row["time"]) for row in made["rows"]] == [(8, 1.0), (8, 10.0)]
    for row in made["rows"]:
        assert all(row["times"][name + EVOLVED] > 0 for name in OURS) and row["times"][OURS[0] + PRODUCTS] > 0
        assert 0 < row["error"] <= 1 and row["products"] > 10
        assert (row["times"].get(f"SciPy expm_multiply{EVOLVED}", 0) > 0) is (device == "cpu")
    assert "5 products" in EVOLUTION.text(made) and "| sites | t | products |" in EVOLUTION.markdown(made)
    pytest.importorskip("matplotlib")
    assert EVOLUTION.plot(made, tmp_path / "evolution.png").stat().st_size > 10_000
