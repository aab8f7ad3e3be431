"""The contents of benchmarks/results: complete runs with correct results, each with its picture."""

import json
from pathlib import Path

import pytest

from diagsparse._study.titles import is_cusparse

RESULTS = sorted((Path(__file__).resolve().parents[2] / "benchmarks" / "results").glob("*.json"))
REPORTS = {path: json.loads(path.read_text()) for path in RESULTS}
ON_GPU = [path for path, report in REPORTS.items() if report.get("device") == "cuda" and "experiment" not in report]
each = pytest.mark.parametrize("path", RESULTS, ids=lambda path: path.stem)


@each
def test_a_stored_result_is_a_whole_run(path):
    report = REPORTS[path]
    assert report["ok"] and not report["quick"] and not report.get("interrupted") and report["date"]
    assert report["hardware"]["gpu" if report.get("device") == "cuda" else "cpu"]
    assert path.with_suffix(".png").exists()


@pytest.mark.parametrize("path", ON_GPU, ids=lambda path: path.stem)
def test_what_peers_cannot_do_is_part_of_it_and_ours_is_right(path):
    rows = REPORTS[path]["rows"]
    ours = [row for row in rows if row["library"] == "diagsparse" and not is_cusparse(row["kernel"])]
    assert ours and all(row["ok"] and not row["failed"] for row in ours)


def test_there_are_results_of_both_devices():
    cases = [report for report in REPORTS.values() if "experiment" not in report]
    assert {report.get("device", "cpu") for report in cases} == {"cpu", "cuda"}
