"""The comparison of row formats: a small run, its tables, its picture."""

import json

import pytest
from described_rows import require_described

from benchmarks.studies import row_formats
from benchmarks.studies.row_formats import ROW_FORMATS


@pytest.mark.nightly
def test_a_small_run(device, tmp_path, monkeypatch):
    monkeypatch.setattr(row_formats, "MATRICES", row_formats.MATRICES[3:])
    made = ROW_FORMATS.run(device=device, quick=True)
    require_described(made)
    assert made["ok"] and made["quick"], [row["failed"] for row in made["rows"]]
    json.dumps(made)
    for row in made["rows"]:
        timed = {name for name, seconds in row["times"].items() if seconds}
        left_out = {"ell"} if row["matrix"] == "lengths by a power law" else set()
        expected = set(row_formats.FORMATS) - left_out
        assert expected | {name + row_formats.TRANSPOSED for name in expected} <= timed and not left_out & timed
        assert 0 <= row["error"] <= 1 and row["bandwidth"] > 0
    text, markdown = ROW_FORMATS.text(made), ROW_FORMATS.markdown(made)
    assert "A.T @ x" in text and "lengths by a power law" in text and markdown.count("| --- |") == 3
    pytest.importorskip("matplotlib")
    assert ROW_FORMATS.plot(made, tmp_path / "rows.png").stat().st_size > 10_000
