"""The figures in the README and in docs/benchmarks.md are those of the benchmark's own JSON."""

import json
import runpy
from pathlib import Path

import pytest

from diagsparse._study import bench_cuda_tables, bench_tables
from diagsparse._study.bench_command import experiments
from diagsparse._study.titles import is_cusparse

ROOT = Path(__file__).resolve().parents[2]
FILES = sorted((ROOT / "benchmarks" / "results").glob("*.json"))
RESULTS = [path for path in FILES if "experiment" not in json.loads(path.read_text())]
EXPERIMENTS = [path for path in FILES if path not in RESULTS]


@pytest.mark.parametrize("path", RESULTS, ids=lambda path: path.stem)
def test_tables_come_from_the_results(path):
    report = json.loads(path.read_text())
    on_gpu = report.get("device") == "cuda"
    assert report["ok"] and not report["quick"] and report["date"]
    assert report["hardware"]["gpu" if on_gpu else "cpu"]
    if on_gpu:  # what a peer cannot do is part of the comparison
        ours = [row for row in report["rows"] if row["library"] == "diagsparse" and not is_cusparse(row["kernel"])]
        assert ours and all(row["ok"] and not row["failed"] for row in ours)
    tables = bench_cuda_tables if on_gpu else bench_tables
    assert tables.markdown(report) in (ROOT / "docs" / "benchmarks.md").read_text()


def test_the_readme_has_four_rows_of_the_results():
    lines = list(runpy.run_path(str(ROOT / "benchmarks" / "readme_table.py"))["lines"]())
    assert len([line for line in lines if line.startswith("| ")]) == 1 + 4
    after = (ROOT / "README.md").read_text().partition("<!-- benchmark-table -->\n")[2]
    assert after.startswith("\n".join(lines) + "\n\n")


def test_there_are_results():
    assert RESULTS


@pytest.mark.parametrize("path", EXPERIMENTS, ids=lambda path: path.stem)
def test_tables_of_experiments_come_from_the_results(path):
    report = json.loads(path.read_text())
    assert report["ok"] and not report["quick"]
    assert experiments()[report["experiment"]].markdown(report) in (ROOT / "docs" / "benchmarks.md").read_text()
