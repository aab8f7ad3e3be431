"""What happens once in a process: every step is timed, in new processes, and wrong products are noticed."""

import pytest
from described_rows import require_described

from benchmarks.studies import first_use
from benchmarks.studies.first_use import FIRST_USE, Step
from diagsparse._study import bench_summary


def test_every_step_is_timed(device, no_bandwidth):
    report = FIRST_USE.run(device=device, quick=True)
    require_described(report)
    steps = first_use.ON_CPU + first_use.ON_GPU * (device == "cuda")
    names = [step.name for step in steps if step.name] + [first_use.START_OF_GPU] * (device == "cuda")
    assert report["ok"] and [row["name"] for row in report["rows"]] == names
    assert all(row["seconds"] > 0 for row in report["rows"])
    by_name = {row["name"]: row for row in report["rows"]}
    assert by_name[first_use.MATRIX]["limit"] == 3 * by_name[first_use.PRODUCT]["seconds"]
    assert by_name["import diagsparse"]["limit"] == 0.12
    if device == "cuda":
        once = [by_name[step.name]["seconds"] for step in first_use.ON_GPU if step.name and step.times == 1]
        assert by_name[first_use.START_OF_GPU]["seconds"] == pytest.approx(sum(once)) and len(once) == 5
    text = FIRST_USE.text(report)
    assert "the first ds.array(S)" in text and "WRONG" not in text
    assert bench_summary.summarize(report, FIRST_USE.benchmark.pairs)["operations"][0]["means"]


def test_a_wrong_product_is_reported(no_bandwidth, monkeypatch):
    steps = list(first_use.ON_CPU)
    steps.insert(-1, Step("", "y = y + 1"))
    monkeypatch.setattr(first_use, "ON_CPU", tuple(steps))
    report = FIRST_USE.run(quick=True)
    assert not report["ok"] and "WRONG" in FIRST_USE.text(report)
