"""Small calls compared with SciPy's: every operation is checked; after Ctrl-C, the rest is shown and saved."""

import json

import pytest

pytest.importorskip("threadpoolctl")

from commands import call

from benchmarks.studies import small_work

pytestmark = pytest.mark.usefixtures("no_bandwidth")


def test_it_checks_every_element_wise_operation(tmp_path):
    out = call("small-work", "--quick").stdout
    assert "A @ x" in out and "plan(out=C)" in out and "A / 3" in out and "ratio" in out and "WRONG" not in out
    report = json.loads((tmp_path / "diagsparse-bench-small-work.json").read_text())
    assert report["ok"] and {row["group"] for row in report["rows"]} == {
        "calls", "elements", "plans", "whole diagonals",
    }  # fmt: skip
    for row in report["rows"]:
        assert row["seconds"] > 0 and (row["ratio"] is None) == (row["group"] == "plans"), row
    named = {row["what"] for row in report["rows"] if row["group"] == "elements"}
    assert named == {*small_work.OPERATIONS, *small_work.WITH_DENSE}
    assert {row["what"] for row in report["rows"] if row["group"] == "whole diagonals"} == set(small_work.READING)
    table = call("small-work", "--table", "diagsparse-bench-small-work.json").stdout
    (line,) = (line for line in table.splitlines() if line.startswith("| A + B |"))
    ratios = line.split("|")[3:-1]
    assert len(ratios) == len(small_work.FORMATS) and all(float(ratio) > 0 for ratio in ratios)


def test_an_interrupted_run_prints_and_saves_what_is_done(tmp_path, monkeypatch):
    timed = small_work._timed

    def interrupted(one, budget, where):
        if one.what == "A + B":
            raise KeyboardInterrupt
        return timed(one, budget, where)

    monkeypatch.setattr(small_work, "_timed", interrupted)
    out = call("small-work", "--quick", status=130).stdout
    report = json.loads((tmp_path / "diagsparse-bench-small-work.json").read_text())
    assert report["interrupted"] and report["left"] > 100 and report["rows"][-1]["what"] == "A + A"
    assert f"interrupted: {report['left']} steps left out" in out and "A + A" in out
    assert report["summary"]["interrupted"]
