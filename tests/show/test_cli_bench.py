"""`diagsparse bench`: what it prints, what it saves, how it ends."""

import json

import pytest

pytest.importorskip("click")

from command_line import call

from diagsparse._study import bench, bench_cases

pytestmark = pytest.mark.usefixtures("no_bandwidth")


@pytest.fixture
def no_mkl(monkeypatch):
    monkeypatch.setattr(bench.peers, "mkl", lambda: None)


def test_bench_writes_figures_and_its_table(tmp_path, no_mkl):
    out = call("bench", "small", "--quick", "--dtype", "complex64").stdout
    assert "small-product" in out and "vs SciPy dia" in out
    report = json.loads((tmp_path / "diagsparse-bench-small.json").read_text())
    assert report["dtype"] == "complex64" and report["ok"] and report["quick"]
    assert {"cpu", "cores", "instruction_set"} <= set(report["hardware"])
    kernels = {(row["library"], row["format"], row["kernel"]) for row in report["rows"] if row["op"] == "matmul"}
    assert ("diagsparse", "hm", "planned, out=") in kernels and ("scipy", "dia", "") in kernels
    table = call("bench", "--table", "diagsparse-bench-small.json").stdout
    threads = len({row["threads"] for row in report["rows"]})
    assert table.count("| C = A B | band, n = 50, 5 diagonals |") == threads  # in the summary
    assert table.count("| band, n = 50, 5 diagonals |") == 4 * threads  # and a table for each of two operations


def test_bench_ends_with_a_summary(tmp_path, no_mkl):
    out = call("bench", "small", "--quick").stdout
    assert "\nSummary: " in out and out.index("Summary: ") > out.rindex("of bandwidth")
    summary = json.loads((tmp_path / "diagsparse-bench-small.json").read_text())["summary"]
    assert [one["operation"] for one in summary["operations"]] == ["y = A x, n = 50", "C = A B, n = 50"]
    assert set(summary["operations"][0]["means"]) == {"SciPy dia", "SciPy csr"}
    assert summary["failed"] == [] and not summary["interrupted"]


def test_an_interrupted_bench_prints_and_saves_what_is_done(tmp_path, monkeypatch, no_mkl):
    rows_on_cpu = bench.rows_on_cpu

    def interrupted(*arguments):
        if arguments[-2].name == "small-product":
            raise KeyboardInterrupt
        return rows_on_cpu(*arguments)

    monkeypatch.setattr(bench, "rows_on_cpu", interrupted)
    out = call("bench", "small", "--quick", status=130).stdout
    report = json.loads((tmp_path / "diagsparse-bench-small.json").read_text())
    assert report["interrupted"] and report["left"] == 1 and {row["case"] for row in report["rows"]} == {"small-vector"}
    assert "interrupted: 1 step left out" in out and "small-vector" in out and report["summary"]["interrupted"]


def test_an_interrupt_before_the_first_row_is_reported(monkeypatch):
    def interrupt(*args):
        raise KeyboardInterrupt

    monkeypatch.setattr(bench.exactness, "vector", interrupt)
    result = call("bench", "small-vector", "--quick", status=130)
    assert result.stderr == "diagsparse: interrupted\n" and result.stdout == ""


def test_bench_measures_bandwidth_in_the_same_run(no_mkl):
    read = json.loads(call("bench", "random-109", "--quick", "--json", "--threads", "1").stdout)
    rows = read["rows"]
    assert {row["threads"] for row in rows} == {1}
    assert {row["kernel"] for row in rows if row["library"] == "diagsparse"} >= {"sequential", "planned, out="}
    for row in rows:
        assert row["fraction"] == pytest.approx(row["floor_nbytes"] / row["seconds"] / row["read_bandwidth"])
        assert row["ok"]


def test_every_case_of_the_benchmark_has_a_name_and_a_group():
    names = [case.name for case in bench_cases.CASES["cpu"]]
    assert len(set(names)) == len(names)
    assert bench.cases("spmv") == [case for case in bench_cases.CASES["cpu"] if case.group == "spmv"]
    assert [case.name for case in bench.cases("stencil-27")] == ["stencil-27"]
