"""The columns of experiments: what is compared in them; stored results can be compared, and planted losses are seen."""

import copy
import json

import pytest
from pages import ROOT

from benchmarks.commands import EXPERIMENTS, benchmark_of
from benchmarks.timed_columns import Columns
from diagsparse._study import bench_summary
from diagsparse._study.bench_changes import bench_changes
from diagsparse._study.bench_summary import Pair, summarize

RESULTS = sorted((ROOT / "benchmarks" / "results").glob("*.json"))
RESULTS = [path for path in RESULTS if not path.stem.endswith("block-sizes")]  # it counts blocks, and times nothing
every_result = pytest.mark.parametrize("path", RESULTS, ids=lambda path: path.stem)


def changed(new, old, **options):
    return bench_changes(new, old, timed=benchmark_of(old).timed, **options)


def report(*rows):
    return {"rows": list(rows), "interrupted": False, "left": 0}


def row(name, failed=None, **times):
    return {"name": name, "failed": failed or {}, "times": {key.replace("_", " "): t for key, t in times.items()}}


def test_means_are_geometric_and_the_ends_are_named():
    made = report(row("small", hm=1.0, dia=2.0, SciPy_csr=8.0), row("large", hm=4.0, dia=2.0, SciPy_csr=4.0))
    (one,) = summarize(made, Columns("A x", ("hm", "dia")).pairs)["operations"]
    assert one["operation"] == "A x" and one["ours"] == ["hm", "dia"] and one["rows"] == 2
    assert one["means"] == {"SciPy csr": pytest.approx(4.0)}  # of 8 and 2
    assert one["best"] == {"row": "small", "ours": "hm", "peer": "SciPy csr", "ratio": 8.0}
    assert one["worst"]["row"] == "large" and one["worst"]["ratio"] == 2.0


def test_endings_of_columns_are_operations():
    made = report(row("a", **{"csr": 1.0, "MKL csr": 2.0, "csr, half": 1.0, "MKL csr, half": 8.0}))
    operations = summarize(made, Columns("whole", ("csr",), {", half": "half"}).pairs)["operations"]
    assert {one["operation"]: one["means"] for one in operations} == {
        "whole": {"MKL csr": pytest.approx(2.0)}, "half": {"MKL csr": pytest.approx(8.0)},
    }  # fmt: skip


def test_failures_are_listed_and_have_no_ratio():
    failed = {f"MKL csr {i}": "MemoryError: large" for i in range(6)}
    made = summarize(report(row("a", failed, hm=1.0, **dict.fromkeys(failed, None))), Columns("A x", ("hm",)).pairs)
    assert made["operations"] == [] and len(made["failed"]) == 6
    text = bench_summary.text(made)
    assert "failed or wrong: 6" in text and "MKL csr 0, a: MemoryError: large" in text and "and 2 more" in text
    assert "failed or wrong: nothing" in bench_summary.text(summarize(report(), Columns("A x", ()).pairs))


def test_a_missing_time_makes_no_pair():
    made = report(row("a", hm=None, SciPy_csr=1.0), row("b", hm=1.0, SciPy_csr=None), row("c", hm=1.0, QuTiP_Dia=2.0))
    assert list(Columns("A x", ("hm",)).pairs(made)) == [Pair("A x", "c", "hm", "QuTiP Dia", 2.0)]


# ---- reports that are compared -----------------------------------------------------------------------------------
@every_result
def test_a_report_has_lost_nothing_since_itself(path):
    report = json.loads(path.read_text())
    rows = list(benchmark_of(report).timed(report))
    assert len({one.key for one in rows}) == len(rows), "two rows that cannot be told apart"
    same = changed(report, report)
    assert rows and same.ok and same.rows and not (same.slower or same.gone or same.new or same.failures)
    json.dumps(same.to_dict(), allow_nan=False)


@every_result
def test_a_planted_loss_is_seen(path):
    old = json.loads(path.read_text())
    new = json.loads(path.read_text())
    victim = next(one for one in benchmark_of(old).timed(old) if one.ok)
    for one in new["rows"]:
        for position in (one, one.get("times", {})):
            for name, value in position.items():
                if value == victim.seconds and name not in ("best", "samples"):
                    position[name] = 1.2 * value
    made = changed(new, old)
    assert not made.ok and [change.row for change in made.slower] == [victim.row]
    assert made.slower[0].slower == pytest.approx(1.2)
    assert "1.20x as slow" in str(made) and victim.row in str(made) and "1 of " in str(made)
    assert changed(new, old, limit=1.25).ok


def test_columns_of_the_host_are_judged_by_its_peers():
    times = {"hm default": 1e-3, "cuSPARSE": 2e-3, "hm, 1 core": 1.0, "SciPy dia, 1 core": 4.0}
    about = {column: {"timed_on": "cpu" if "core" in column else "cuda"} for column in times}
    old = {
        "experiment": "tables-000", "device": "cuda", "hardware": {"gpu": "NVIDIA H200"}, "quick": False,
        "interrupted": False, "rows": [{"name": "table 1, n = 9", "bandwidth": 4e12, "times": times, "columns": about}],
    }  # fmt: skip
    new = copy.deepcopy(old)
    new["rows"][0]["times"] |= {"hm, 1 core": 2.0, "SciPy dia, 1 core": 8.0}  # another host
    assert changed(new, old).ok
    new["rows"][0]["times"] |= {"hm, 1 core": 3.0}
    (change,) = changed(new, old).slower
    assert change.format == "hm" and change.judged_by == "SciPy dia" and change.slower == pytest.approx(1.5)


def test_a_change_of_the_kernel_is_reported():
    about = {"hm": {"timed_on": "cuda", "kernel": "hm matmul row"}, "SciPy": {"timed_on": "cpu"}}
    fields = {"name": "a row", "bandwidth": 4e12, "times": {"hm": 1e-3, "SciPy": 2e-3}, "columns": about}
    old = {
        "experiment": "tables-000", "device": "cuda", "hardware": {"gpu": "NVIDIA H200"}, "quick": False,
        "interrupted": False, "rows": [fields],
    }  # fmt: skip
    (timed,) = EXPERIMENTS["tables-000"].benchmark.timed(old)
    assert (timed.row, timed.bandwidth, timed.ran) == ("a row", 4e12, "hm matmul row")
    new = copy.deepcopy(old)
    new["rows"][0]["columns"]["hm"]["kernel"] = "hm matmul block"
    new["rows"][0]["times"]["hm"] = 2e-3
    (change,) = changed(new, old).slower
    assert change.kernel == "hm matmul row -> hm matmul block"
