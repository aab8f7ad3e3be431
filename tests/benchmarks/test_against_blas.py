"""Threads together with a BLAS: every setting is timed, results agree, and the numbers of threads are restored."""

import sys

import pytest

pytest.importorskip("threadpoolctl")

import threadpoolctl
from described_rows import require_described

import diagsparse as ds
from benchmarks.studies import against_blas
from benchmarks.studies.against_blas import AGAINST_BLAS
from diagsparse._study import bench_summary


@pytest.fixture(scope="module")
def report():
    return AGAINST_BLAS.run(quick=True)


def test_every_setting_is_timed_and_the_results_agree(report):
    require_described(report)
    assert report["ok"] and not report["interrupted"] and len(report["rows"]) == len(against_blas.LOOPS)
    counts = {(a, b) for a in {1, report["threads"]["ours"]} for b in {1, report["threads"]["blas"]}}
    named = {against_blas.DEFAULT, against_blas.SCIPY, *(f"{a} and {b}" for a, b in counts)}
    for row in report["rows"]:
        assert set(row["times"]) == named and min(row["times"].values()) > 0
        assert row["ratio"] == row["times"]["default"] / row["times"][row["best"]] >= 1


def test_threads_are_as_before():
    blas = threadpoolctl.ThreadpoolController().select(user_api="blas")
    before = [one["num_threads"] for one in blas.info()], ds.get_num_threads()
    with pytest.raises(KeyboardInterrupt):
        AGAINST_BLAS.run(quick=True, progress=interrupt)
    assert ([one["num_threads"] for one in blas.info()], ds.get_num_threads()) == before


def interrupt(share, what):
    raise KeyboardInterrupt


def test_a_miss_is_reported(report):
    rows = [{**row, "ratio": 1.2, "ok": False} for row in report["rows"]]
    text = AGAINST_BLAS.text(report | {"rows": rows})
    assert text.count(" no  WRONG") == len(rows)
    assert AGAINST_BLAS.markdown(report).count("| cg, 40 steps |") == 1
    means = bench_summary.summarize(report, AGAINST_BLAS.benchmark.pairs)["operations"][0]["means"]
    assert set(means) == {"best setting", "SciPy csr"} and means["best setting"] <= 1


def test_without_threadpoolctl_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "threadpoolctl", None)
    with pytest.raises(ImportError, match=r'pip install "diagsparse\[bench\]"'):
        AGAINST_BLAS.run(quick=True)
