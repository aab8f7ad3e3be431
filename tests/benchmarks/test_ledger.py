"""The ledger of the papers: its code, kernels, commands and results exist, and what is false is found."""

import copy
import json

import pytest

from benchmarks import ledger

LEDGER = ledger.read()


def test_every_entry_leads_somewhere():
    assert not list(ledger.problems(LEDGER))


@pytest.fixture
def changed():
    return copy.deepcopy(LEDGER)


def entry_of(papers, number, item):
    return next(entry for entry in papers["papers"][number]["entries"] if item in entry["items"])


@pytest.mark.parametrize(
    "false, problem",
    [
        ({"code": ["src/cuda/kernels/matmul/none.cu"]}, "no src/cuda/kernels/matmul/none.cu"),
        ({"code": ["src/cuda/kernels/matmul/tiled.cu:nobody"]}, "no src/cuda/kernels/matmul/tiled.cu:nobody"),
        ({"code": []}, "no code or no command"),
        ({"kernels": ["cpu hm matmul group"]}, 'no kernel "cpu hm matmul group"'),
        ({"kernels": ["cpu none matmul row"]}, 'no kernel "cpu none matmul row"'),
        ({"command": "python -m benchmarks tables-009", "results": []}, "no command python -m benchmarks tables-009"),
        ({"command": "diagsparse nothing", "results": []}, "no command diagsparse nothing"),
        ({"command": "notebooks/07.ipynb", "results": []}, "no command notebooks/07.ipynb"),
        ({"results": ["h300"]}, "no benchmarks/results/h300.json"),
        ({"results": ["h200-wide"]}, "h200-wide does not come from python -m benchmarks tables-000 --device cuda"),
        ({"status": "nearly", "why": "not quite"}, "status nearly"),
        ({"status": "differs"}, "needs no `why`, all else does"),
        ({"why": "for no reason"}, "needs no `why`"),
        ({"input": "random"}, "input random"),
        ({"kernels": ["cdm tiled"]}, 'no kernel "cdm tiled"'),
        ({"command": "diagsparse", "results": []}, "no command diagsparse"),
        ({"command": "diagsparse bench", "results": []}, "no command diagsparse bench"),
        ({"command": "", "results": []}, "no code or no command"),
        ({"command": "diagsparse info FILE"}, "h200-tables-000 does not come from diagsparse info FILE"),
        ({"command": "docs/papers.md"}, "h200-tables-000 does not come from docs/papers.md"),
        ({"status": "left-out", "why": "no time", "command": ""}, "h200-tables-000 does not come from an entry"),
        ({"what": ""}, "no what"),
    ],
)
def test_a_false_entry_is_found(changed, false, problem):
    entry_of(changed, "000", "algorithm 1").update(false)
    (found, *more) = ledger.problems(changed)
    assert found.startswith("000, algorithm 1: ") and problem in found and not more


def test_an_entry_without_fields_is_found(changed):
    changed["papers"]["000"]["entries"].append({})
    problems = list(ledger.problems(changed))
    assert all(one.startswith(f"000, entry {len(LEDGER['papers']['000']['entries'])}: ") for one in problems)
    assert [one.partition(": ")[2].split(",")[0] for one in problems] == [
        "no items", "no what", "status ", "what is present needs no `why`", "no code or no command",
    ]  # fmt: skip


def test_a_kernel_of_a_gpu_that_is_no_more_is_found(changed):
    if ledger._cuda() is None:
        pytest.skip("this build has no module for GPUs")
    entry_of(changed, "000", "algorithm 1")["kernels"] = ["cuda hm matmul group"]
    assert list(ledger.problems(changed)) == ['000, algorithm 1: no kernel "cuda hm matmul group"']


def test_an_item_that_has_no_entry_or_two_is_found(changed):
    entry_of(changed, "002", "figure 3")["items"] = ["figure 1"]
    problems = list(ledger.problems(changed))
    assert problems == ["002: figure 1 has 2 entries, expected one", "002: figure 3 has 0 entries, expected one"]


def test_a_result_that_the_ledger_does_not_know_is_found(changed):
    del changed["results"]["h200"]
    changed["results"]["h300"] = {"commit": "unknown"}
    assert list(ledger.problems(changed)) == ["h200: not in [results]", "[results]: no benchmarks/results/h300.json"]


def test_a_false_commit_is_found(changed):
    stored = changed["results"]["h200"].pop("commit")
    changed["results"]["h200"]["commit"] = "unknown"
    assert list(ledger.problems(changed)) == [f"h200: commit unknown, its file has {stored}"]


def test_a_false_field_of_a_result_is_found(changed):
    changed["results"]["h200"]["edit"] = "By hand."
    changed["results"]["h200-wide"] = {"edited": "yes"}
    assert list(ledger.problems(changed)) == [
        "h200: field edit, expected one of commit, gone, edited",
        "h200-wide: commit None, its file has unknown",
        "h200-wide: edited 'yes', expected a sentence",
    ]


def test_what_was_edited_is_in_the_docs():
    edited = {name: known["edited"] for name, known in LEDGER["results"].items() if "edited" in known}
    rows = [line for line in ledger.markdown().splitlines() if line.endswith("|")]
    assert edited
    assert all(any(f"`{name}`" in row and sentence in row for row in rows) for name, sentence in edited.items())


def test_a_kernel_that_is_no_more_is_found_in_a_result(changed, monkeypatch, tmp_path):
    for path in ledger.RESULTS.glob("*.json"):
        (tmp_path / path.name).symlink_to(path)
    report = json.loads((ledger.RESULTS / "cpu-2-cores.json").read_text())
    report["rows"][0]["kernel"] = "gone"
    (tmp_path / "cpu-2-cores.json").unlink()
    (tmp_path / "cpu-2-cores.json").write_text(json.dumps(report))
    monkeypatch.setattr(ledger, "RESULTS", tmp_path)
    (found,) = ledger.problems(changed)
    assert found == "cpu-2-cores: kernels that are no more: ['dia matvec gone'], the ledger says []"
    changed["results"]["cpu-2-cores"]["gone"] = ["dia matvec gone"]
    assert not list(ledger.problems(changed))


def test_a_row_that_names_its_kernels_is_read_as_it_says():
    row = {"kernel": "gone", "times": {"hm gone": 1.0, "planned": 1.0, "SciPy": 2.0}, "columns": {
        "hm gone": {"timed_on": "cpu", "kernel": "csr matmul row"}, "planned": {"timed_on": "cpu"}}}  # fmt: skip
    assert ledger.kernels_of({"rows": [row]}) == {"csr matmul row"}
    del row["columns"]  # as in results that were stored before
    assert ledger.kernels_of({"rows": [row]}) == {"hm matmul gone"}


def test_kernels_of_all_kinds_of_results():
    kernels = {path.stem: ledger.kernels_of(json.loads(path.read_text())) for path in ledger.RESULTS.glob("*.json")}
    assert {"hm matmul block", "hm chain blocked", "csr matvec merge"} <= kernels["h200"]
    assert {"hm matmul row", "hm matmul atomic", "cdm matmul tiled"} <= kernels["h200-tables-000"]
    assert {"bmsparse matmul tc_2tsk", "bmsparse matvec batch"} <= kernels["h200-tables-004"]
    assert kernels["cpu-2-cores-wide"] == {
        f"{f} matmul {k}" for f in ("dia", "hm") for k in ("dense_tiles", "row_tiles")
    }
    assert kernels["cpu-2-cores-row-formats"] == set()
