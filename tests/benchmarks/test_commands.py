"""`python -m benchmarks`: every command says what it measures; reports are shown, compared, and refused."""

import json
import re
import subprocess
import sys

import pytest
from commands import call
from pages import ROOT

from benchmarks import printed
from benchmarks.commands import EXPERIMENTS, benchmark_of, main
from benchmarks.studies.block_sizes import BLOCK_SIZES
from diagsparse._study import bench_cases, bench_solve

RESULTS = ROOT / "benchmarks" / "results"
WORDS = {
    "tables-000": ["figures 6 and 7", "a minute and a half"],
    "tables-002": ["experiments 1 to 3", "DIAGSPARSE_MATRICES"],
    "tables-003": ["ten matrices of order 32768", "31 million"],
    "tables-004": ["nine matrices", "figure 3.4", "4.7"],
    "hamiltonians": ["Chains of spins", "2^8 to 2^20 states"],
    "evolution": ["expm_multiply", "Neel state", "ten minutes"],
    "wide": ["51 to 801 diagonals", "two minutes"],
    "sampled-products": ["11, 27 and 101 diagonals", "less than a minute"],
    "row-formats": ["Seven matrices of 32768 to 4 million rows"],
    "advice": ["recommend", "five times more"],
    "small-work": ["one thread", "two minutes"],
    "first-use": ["in new processes", "half a minute"],
    "against-blas": ["np.dot", "threadpoolctl", "1.1 times"],
    "block-sizes": ["4 x 4, 8 x 8 and 16 x 16", "Nothing is timed"],
    "gradients": ["3, 11 and 41 diagonals", "diagsparse.jax", "a minute"],
    "scaling": ["one process for each core", "mpiexec"],
}


def test_every_experiment_has_a_command():
    assert set(main.commands) == set(EXPERIMENTS) == set(WORDS)
    assert all(name in call("--help").stdout for name in WORDS)


@pytest.mark.parametrize("name", WORDS)
def test_help_says_what_is_measured(name):
    for arguments in ([name, "--help"], [name, "--quick", "-h"]):
        out = " ".join(call(*arguments).stdout.split())
        assert all(word in out for word in [*WORDS[name], "--quick", "--since", "--device", "Usage:"])


def test_it_runs_from_a_checkout():
    done = subprocess.run([sys.executable, "-m", "benchmarks", "--help"], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0 and done.stdout.startswith("Usage: python -m benchmarks") and not done.stderr


def test_a_small_run_is_shown_saved_and_compared(tmp_path, no_bandwidth, monkeypatch):
    monkeypatch.delenv("DIAGSPARSE_MATRICES", raising=False)
    out = call("block-sizes", "--quick").stdout
    assert "Matrix by matrix" in out and "Summary: " in out and "failed or wrong: nothing" in out
    path = tmp_path / "diagsparse-bench-block-sizes.json"
    report = json.loads(path.read_text())
    assert report["experiment"] == "block-sizes" and report["ok"] and path.with_suffix(".png").exists()
    assert call("block-sizes", "--table", path).stdout.rstrip() == BLOCK_SIZES.markdown(report).rstrip()


def test_stored_results_are_shown_and_compared():
    path = RESULTS / "h200-wide.json"
    assert "| band of 801 |" in call("wide", "--table", path).stdout
    out = call("wide", "--table", path, "--since", path).stdout
    assert " rows are more than 1.1 times as slow" in out and "0 failures" in out
    assert benchmark_of({"experiment": "wide"}).markdown(json.loads(path.read_text()))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["against-blas", "--device", "tpu"], "device 'tpu'"),
        (["wide", "--table", RESULTS / "h200-tables-000.json"], "a report of tables-000, expected one of wide"),
        (["wide", "--table", RESULTS / "h200.json"], "a report of cases, expected one of wide"),
        (["wide", "--table", "missing.json"], "benchmarks: error: missing.json: No such file"),
        (["wide", "--quick", "--since", RESULTS / "h200-wide.json"], "the device was cuda then, and is cpu now"),
        (["wide", "--limit", "2"], "--since FILE"),
        (["nope"], "No such command 'nope'"),
    ],
)
def test_bad_usage_exits_with_2(arguments, message):
    result = call(*arguments, status=2)
    assert message in result.stderr and result.stdout == ""


def test_the_benchmark_of_a_report_of_systems():
    report = bench_solve.run("solve-batch-5", quick=True)
    assert "batch of bands of 5" in benchmark_of(report).markdown(report)


PAGES = printed.pages()


@pytest.mark.parametrize("page", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_commands_that_a_page_names_exist(page):
    text = "\n".join(printed.texts(page))
    if page.name == "CHANGELOG.md":  # what there was
        return
    for module, name in re.findall(r"python -m benchmarks(?:\.(\w+))?(?: ([a-z][\w-]+))?", text):
        assert (ROOT / "benchmarks" / f"{module or '__main__'}.py").exists(), module
        assert module or not name or name in main.commands, name
    groups = {case.group for case in (*bench_cases.CASES["cpu"], *bench_cases.CASES["cuda"])} | {"solve"}
    assert set(re.findall(r"diagsparse bench ([a-z][\w-]+)", text)) <= groups


def test_the_pages_name_commands():
    assert sum("python -m benchmarks" in text for page in PAGES for text in printed.texts(page)) > 15


def test_some_run_on_the_cpu_alone():
    with pytest.raises(ValueError, match="block-sizes: --device cuda, but it runs on the cpu"):
        BLOCK_SIZES.run(device="cuda")
