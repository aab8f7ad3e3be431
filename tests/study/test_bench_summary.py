"""The end of a benchmark: means, the best and the worst row, what failed; and what Ctrl-C leaves."""

import pytest

from diagsparse._study import bench_summary, bench_tables, steps
from diagsparse._study.bench_summary import summarize


def report(*rows, left=0):
    return {"rows": list(rows), "interrupted": left > 0, "left": left}


def test_a_wrong_result_of_a_case_is_reported():
    fields = {"case": "band", "group": "spmv", "op": "matvec", "threads": 1, "shape": [9, 9], "kernel": ""}
    rows = [
        {**fields, "library": "diagsparse", "format": "hm", "seconds": 1.0, "ok": True},
        {**fields, "library": "scipy", "format": "csr", "seconds": 3.0, "ok": False},
    ]
    made = summarize(report(*rows), bench_tables.pairs)
    assert made["operations"][0]["best"] == {"row": "band, 1 thread", "ours": "hm", "peer": "SciPy csr", "ratio": 3.0}
    assert made["failed"] == ["band, scipy, csr: wrong result"]


def test_an_interrupt_leaves_finished_rows():
    def two_rows(progress):
        yield {"row": 2}
        raise KeyboardInterrupt

    reports = []
    some = [("one", lambda progress: [{"row": 1}]), ("two", two_rows), ("three", lambda progress: [{"row": 3}])]
    made = steps.run(some, lambda share, what: reports.append(what))
    assert made == {"interrupted": True, "left": 2, "rows": [{"row": 1}, {"row": 2}]} and reports == ["one", "two"]
    assert steps.ended(made) == ["interrupted: 2 steps left out"]
    assert "interrupted: 2 steps left out" in bench_summary.text(summarize(report(left=2), lambda report: iter([])))
    whole = steps.run([some[0]])
    assert whole == {"interrupted": False, "left": 0, "rows": [{"row": 1}]} and steps.ended(whole) == []


def test_an_interrupt_before_the_first_row_is_raised():
    def nothing(progress):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        steps.run([("one", nothing)])
