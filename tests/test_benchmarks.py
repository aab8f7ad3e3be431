"""The figures in the README and in docs/benchmarks.md are those of the benchmark's own JSON."""

import json
from pathlib import Path

import pytest

from diagsparse import _bench_tables

ROOT = Path(__file__).resolve().parent.parent
RESULTS = sorted((ROOT / "benchmarks" / "results").glob("*.json"))


@pytest.mark.parametrize("path", RESULTS, ids=lambda path: path.stem)
def test_tables_come_from_the_results(path):
    report = json.loads(path.read_text())
    assert report["ok"] and not report["quick"] and report["date"] and report["hardware"]["cpu"]
    assert _bench_tables.summary(report) in (ROOT / "README.md").read_text()
    assert _bench_tables.markdown(report) in (ROOT / "docs" / "benchmarks.md").read_text()


def test_there_are_results():
    assert RESULTS
