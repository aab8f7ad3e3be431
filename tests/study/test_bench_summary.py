"""The end of a benchmark: means, the best and the worst row, what failed; and what Ctrl-C leaves."""

import pytest

from diagsparse._study import bench_summary, bench_tables, steps
from diagsparse._study.bench_summary import Pair, by_columns, summarize


def report(*rows, left=0):
    return {"rows": list(rows), "interrupted": left > 0, "left": left}


def row(name, failed=None, **times):
    return {"name": name, "failed": failed or {}, "times": {key.replace("_", " "): t for key, t in times.items()}}


def test_means_are_geometric_and_the_ends_are_named():
    made = report(row("small", hm=1.0, dia=2.0, SciPy_csr=8.0), row("large", hm=4.0, dia=2.0, SciPy_csr=4.0))
    (one,) = summarize(made, by_columns("A x", ("hm", "dia")))["operations"]
    assert one["operation"] == "A x" and one["ours"] == ["hm", "dia"] and one["rows"] == 2
    assert one["means"] == {"SciPy csr": pytest.approx(4.0)}  # of 8 and 2
    assert one["best"] == {"row": "small", "ours": "hm", "peer": "SciPy csr", "ratio": 8.0}
    assert one["worst"]["row"] == "large" and one["worst"]["ratio"] == 2.0


def test_endings_of_columns_are_operations():
    made = report(row("a", **{"csr": 1.0, "MKL csr": 2.0, "csr, half": 1.0, "MKL csr, half": 8.0}))
    operations = summarize(made, by_columns("whole", ("csr",), {", half": "half"}))["operations"]
    assert {one["operation"]: one["means"] for one in operations} == {
        "whole": {"MKL csr": pytest.approx(2.0)}, "half": {"MKL csr": pytest.approx(8.0)},
    }  # fmt: skip


def test_what_failed_is_told_and_has_no_ratio():
    failed = {f"MKL csr {i}": "MemoryError: large" for i in range(6)}
    made = summarize(report(row("a", failed, hm=1.0, **dict.fromkeys(failed, None))), by_columns("A x", ("hm",)))
    assert made["operations"] == [] and len(made["failed"]) == 6
    told = bench_summary.text(made)
    assert "failed or wrong: 6" in told and "MKL csr 0, a: MemoryError: large" in told and "and 2 more" in told
    assert "failed or wrong: nothing" in bench_summary.text(summarize(report(), by_columns("A x", ())))


def test_a_wrong_result_of_a_case_is_told():
    fields = {"case": "band", "group": "spmv", "op": "matvec", "threads": 1, "shape": [9, 9], "kernel": ""}
    rows = [
        {**fields, "library": "diagsparse", "format": "hm", "seconds": 1.0, "ok": True},
        {**fields, "library": "scipy", "format": "csr", "seconds": 3.0, "ok": False},
    ]
    made = summarize(report(*rows), bench_tables.pairs)
    assert made["operations"][0]["best"] == {"row": "band, 1 thread", "ours": "hm", "peer": "SciPy csr", "ratio": 3.0}
    assert made["failed"] == ["band, scipy, csr: wrong result"]


def test_an_interrupt_keeps_what_is_done():
    def two_rows(progress):
        yield {"row": 2}
        raise KeyboardInterrupt

    told = []
    some = [("one", lambda progress: [{"row": 1}]), ("two", two_rows), ("three", lambda progress: [{"row": 3}])]
    made = steps.run(some, lambda share, what: told.append(what))
    assert made == {"interrupted": True, "left": 2, "rows": [{"row": 1}, {"row": 2}]} and told == ["one", "two"]
    assert steps.ended(made) == ["interrupted: 2 steps left out"]
    assert "interrupted: 2 steps left out" in bench_summary.text(summarize(report(left=2), lambda report: iter([])))
    whole = steps.run([some[0]])
    assert whole == {"interrupted": False, "left": 0, "rows": [{"row": 1}]} and steps.ended(whole) == []


def test_an_interrupt_before_the_first_row_is_raised():
    def nothing(progress):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        steps.run([("one", nothing)])


def test_a_missing_time_makes_no_pair():
    made = report(row("a", hm=None, SciPy_csr=1.0), row("b", hm=1.0, SciPy_csr=None), row("c", hm=1.0, QuTiP_Dia=2.0))
    assert list(by_columns("A x", ("hm",))(made)) == [Pair("A x", "c", "hm", "QuTiP Dia", 2.0)]
