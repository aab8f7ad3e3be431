"""What changed since an older benchmark: planted losses are seen and nothing else is; other machines are refused."""

import copy
import json
from pathlib import Path

import pytest
from cases import raises

from diagsparse._study.bench_changes import LIMIT, bench_changes


def call(case, format, kernel, seconds, *, library="diagsparse", fraction=0.5, group="spgemm", **fields):
    return {
        "case": case, "group": group, "op": "matmul", "library": library, "format": format, "kernel": kernel,
        "seconds": seconds, "fraction": fraction, "ok": True, "failed": None, **fields,
    }  # fmt: skip


@pytest.fixture
def old():
    """A report of two cases on a GPU: two kernels of hm, one of dia, and cuSPARSE; and a small call."""
    rows = [
        call("band", "hm", "row", 4e-3, fraction=0.2),
        call("band", "hm", "band", 1e-3, fraction=0.8),
        call("band", "dia", "row", 2e-3, fraction=0.4),
        call("band", "csr", "cusparse", 8e-3),
        call("small", "hm", "row", 5e-6, group="small"),
        call("small", "csr", "cusparse", 10e-6, group="small"),
        call("small", "csr", "", 1e-4, group="small", library="cupy"),
    ]
    return {
        "device": "cuda", "hardware": {"gpu": "NVIDIA H200"}, "dtype": "float64", "quick": False, "name": None,
        "copy_bandwidth": 4e12, "interrupted": False, "left": 0, "rows": rows,
    }  # fmt: skip


@pytest.fixture
def new(old):
    return copy.deepcopy(old)


def row(report, case, format, kernel):
    (found,) = [one for one in report["rows"] if (one["case"], one["format"], one["kernel"]) == (case, format, kernel)]
    return found


def slow_down(report, factor, **which):
    for one in report["rows"]:
        if all(one[name] == value for name, value in which.items()):
            one["seconds"] *= factor
            one["fraction"] = one["fraction"] and one["fraction"] / factor


# ---- what is a loss -------------------------------------------------------------------------------------------------
def test_a_slower_machine_is_no_loss(old, new):
    slow_down(new, 1.5)
    new["copy_bandwidth"] /= 1.5
    assert bench_changes(new, old).ok


def test_a_quicker_machine_hides_no_loss(old, new):
    new["copy_bandwidth"] *= 1.3  # and our kernels take as long as before
    for one in new["rows"]:
        one["fraction"] /= 1.3
    made = bench_changes(new, old)
    assert {change.row for change in made.slower} == {"band"} and "by bandwidth" in str(made)


def test_small_calls_are_judged_by_a_peer_and_the_clock(old, new):
    slow_down(new, 1.3, case="small")
    assert bench_changes(new, old).ok  # of all contenders: another host
    slow_down(new, 1 / 1.3, case="small")
    slow_down(new, 1 / 1.3, case="small", kernel="cusparse")
    assert bench_changes(new, old).ok  # the peer was quick, and ours as before
    slow_down(new, 1.3, case="small", kernel="row")
    (change,) = bench_changes(new, old).slower
    assert (change.row, change.judged_by) == ("small", "cuSPARSE csr cusparse")
    assert change.vs_peer_then == pytest.approx(2) and change.of_bandwidth_now is None


def test_a_slower_kernel_instead_of_a_fast_one_is_a_loss(old, new):
    row(new, "band", "hm", "band").update(kernel="tiles", seconds=1.3e-3, fraction=0.8 / 1.3)
    made = bench_changes(new, old)
    (change,) = made.slower
    assert (change.format, change.kernel) == ("hm", "fastest") and change.slower == pytest.approx(1.3)
    assert made.gone == ["band: hm band C = A B"] and made.new == ["band: hm tiles C = A B"] and not made.failures
    row(new, "band", "hm", "tiles").update(seconds=1e-3, fraction=0.8)
    assert bench_changes(new, old).ok  # as fast as the old one: listed, and no loss


def test_a_rule_that_chooses_a_slower_kernel_is_a_loss(old, new):
    row(old, "band", "hm", "band")["default"] = row(new, "band", "hm", "row")["default"] = True
    made = bench_changes(new, old)
    (change,) = made.slower
    assert (change.format, change.kernel) == ("hm", "default") and change.slower == pytest.approx(4)
    assert bench_changes(old, old).ok and not bench_changes(old, old).new


def test_what_nothing_computes_any_more_is_a_failure(old, new):
    new["rows"].remove(row(new, "band", "dia", "row"))
    made = bench_changes(new, old)
    assert not made.ok and made.failures == ("band: dia row C = A B",)
    assert "failure: band: dia row" in str(made)


def test_what_fails_or_is_wrong_now_is_a_failure(old, new):
    row(new, "band", "hm", "row")["ok"] = False
    row(new, "band", "dia", "row").update(seconds=None, fraction=None, ok=False)
    made = bench_changes(new, old)
    assert not made.ok and sum("(fails or is wrong)" in what for what in made.failures) == 2
    assert bench_changes(old, new).ok and len(bench_changes(old, new).new) == 2  # what failed then is no yardstick


def test_a_run_of_some_cases_is_compared_with_these(old, new):
    new |= {"name": "band", "rows": [one for one in new["rows"] if one["case"] == "band"]}
    assert bench_changes(new, old).ok and not bench_changes(new, old).gone
    assert not bench_changes(new | {"name": None}, old).ok
    interrupted = bench_changes(new | {"name": None, "interrupted": True, "left": 1}, old)
    assert interrupted.ok and "interrupted, 1 steps left out" in str(interrupted)


def test_runs_of_other_cases_are_no_comparison(old, new):
    new |= {"name": "band", "rows": [one for one in new["rows"] if one["case"] == "band"]}
    old["rows"] = [one for one in old["rows"] if one["case"] != "band"]
    made = bench_changes(new, old)
    assert not made.ok and "nothing to compare" in str(made)


def test_without_any_yardstick_the_seconds_are_compared(old, new):
    for report in (old, new):
        report["rows"] = [row(report, "small", "hm", "row")]
        slow_down(report, 4)
    assert "their seconds are compared" in str(bench_changes(new, old))
    slow_down(new, 1.2)
    (change,) = bench_changes(new, old).slower
    assert change.judged_by == "seconds"


# ---- what the memory does not bound ---------------------------------------------------------------------------------
def test_calls_that_take_a_few_microseconds_are_judged_by_a_peer(old, new):
    for report in (old, new):
        slow_down(report, 1 / 500, case="band")  # row 8 us, band 2 us, dia 4 us, cuSPARSE 16 us
    slow_down(new, 1.3, case="band")  # the host is slower, and all wait for it
    assert bench_changes(new, old).ok
    slow_down(new, 1.3, case="band", kernel="row")
    made = bench_changes(new, old)
    assert {(one.format, one.kernel) for one in made.slower} == {("hm", "row"), ("dia", "row")}
    assert {one.judged_by for one in made.rows} == {"cuSPARSE csr cusparse"} and not made.longer


def test_without_a_peer_they_are_too_short_to_judge_but_a_loss_is_listed(old, new):
    for report in (old, new):
        report["rows"].remove(row(report, "band", "csr", "cusparse"))
        slow_down(report, 1 / 500, case="band")
    slow_down(new, 1.15, case="band", kernel="band")
    slow_down(new, 2, case="band", format="dia")
    made = bench_changes(new, old)
    assert made.ok and not made.slower and [one.format for one in made.longer] == ["dia", "hm"]
    text = str(made)
    assert "Too short to judge: they took less than 10 us" in text and "2.00x as slow, by seconds" in text
    assert "0 of 4 rows are more than 1.1 times as slow; 3 are too short to judge, of which 2 take longer" in text
    assert "Too short to judge" in made._repr_html_() and made.to_dict()["status"] == made.status
    slow_down(new, 3, case="band", format="dia")  # 24 us
    made = bench_changes(new, old)
    assert not made.ok and [(one.format, one.judged_by) for one in made.slower] == [("dia", "seconds")]


def test_what_is_faster_than_the_memory_is_judged_by_a_peer_or_the_clock(old, new):
    for report in (old, new):
        row(report, "band", "hm", "band")["fraction"] = 1.8
        new["copy_bandwidth"] = 1.3 * old["copy_bandwidth"]  # which says nothing of the caches
    judged = {(one.format, one.kernel): one for one in bench_changes(new, old).rows if one.row == "band"}
    assert judged["hm", "band"].judged_by == "cuSPARSE csr cusparse" and judged["hm", "band"].slower == 1
    for report in (old, new):
        report["rows"].remove(row(report, "band", "csr", "cusparse"))
    judged = {(one.format, one.kernel): one for one in bench_changes(new, old).rows if one.row == "band"}
    assert judged["hm", "band"].judged_by == "seconds" and judged["hm", "band"].slower == 1
    slow_down(new, 1.2, kernel="band")
    assert [one.judged_by for one in bench_changes(new, old).slower if one.kernel == "band"] == ["seconds"]


@pytest.mark.parametrize("which", ["old", "new"])
def test_a_busy_machine_is_part_of_the_status(old, new, which):
    {"old": old, "new": new}[which]["warning"] = "other work kept the processors busy (waited 9.0 s for one in 20.0 s)"
    made = bench_changes(new, old)
    assert made.status.endswith("0 failures; the machine was busy, so measure again")
    assert str(made).endswith(made.status) and "waited 9.0 s" in str(made) and made.to_dict()["busy"]
    assert not bench_changes(old | {"warning": ""}, old | {"warning": ""}).to_dict()["busy"]


# ---- what cannot be compared ----------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "other, words",
    [
        ({"hardware": {"gpu": "NVIDIA H100 80GB HBM3"}}, ("NVIDIA H100", "then, and is NVIDIA H200 now", "one kind")),
        ({"experiment": "wide"}, ("benchmark was wide",)),
        ({"dtype": "float32"}, ("values was float32",)),
        ({"quick": True}, ("--quick then",)),
        ({"device": "cpu", "hardware": {"cpu": "A", "cores": 2, "instruction_set": "avx2"}}, ("device was cpu",)),
    ],
)
def test_other_machines_and_benchmarks_are_refused(new, old, other, words):
    with raises(ValueError, "bench --since", *words):
        bench_changes(new, old | other)


# ---- the command ----------------------------------------------------------------------------------------------------
@pytest.fixture
def bench(tmp_path, monkeypatch):
    pytest.importorskip("click")
    from command_line import call

    monkeypatch.chdir(tmp_path)
    return lambda *arguments, status=0: call("bench", *arguments, status=status)


def test_two_files_are_compared_without_a_run(bench, old, new):
    Path("old.json").write_text(json.dumps(old))
    slow_down(new, 1.2, case="band", kernel="row")
    Path("new.json").write_text(json.dumps(new))
    assert "0 of 4 rows" in bench("--table", "old.json", "--since", "old.json").stdout
    text = bench("--table", "new.json", "--since", "old.json", status=1).stdout
    assert "2 of 4 rows are more than 1.1 times as slow" in text and text.count("1.20x as slow, by bandwidth") == 2
    assert bench("--table", "new.json", "--since", "old.json", "--limit", "1.3")
    read = json.loads(bench("--table", "new.json", "--since", "old.json", "--json", status=1).stdout)
    assert not read["ok"] and read["limit"] == LIMIT and len(read["rows"]) == 4
    assert "--since FILE" in bench("--limit", "2", status=2).output
    Path("comparison.json").write_text(json.dumps({"rows": [], "name": "of `diagsparse compare`"}))
    assert "no report of a benchmark" in bench("--table", "new.json", "--since", "comparison.json", status=2).output


def test_a_run_is_compared_with_an_older_one(bench, no_bandwidth):
    run = ["small", "--quick", "--threads", "1", "--budget", "0.01"]
    bench(*run, "--out", "old")
    path = Path("old/diagsparse-bench-small.json")
    text = bench(*run, "--since", path, "--limit", "1000").stdout
    assert f"Since {path}" in text and "; 0 failures" in text
    old = json.loads(path.read_text())
    for one in old["rows"]:
        if one["library"] == "diagsparse":
            one["seconds"] /= 1000  # as if we had been far quicker
    path.write_text(json.dumps(old))
    read = json.loads(bench(*run, "--since", path, "--json", status=1).stdout)
    assert read["ok"] and not read["changes"]["ok"] and read["changes"]["rows"]
    assert "machine" in bench(*run, "--since", _elsewhere(path, old), status=2).output


def _elsewhere(path, report):
    other = path.with_name("elsewhere.json")
    other.write_text(json.dumps(report | {"hardware": report["hardware"] | {"cpu": "another one"}}))
    return other
