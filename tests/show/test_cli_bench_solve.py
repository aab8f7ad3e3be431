"""`diagsparse bench solve`: its cases, its checks, what it prints and saves."""

import json

import numpy as np
import pytest
import scipy.sparse as sp

pytest.importorskip("click")

from command_line import call

import diagsparse as ds
from diagsparse._backends.backend import CPU
from diagsparse._study import bench_solve, bench_solve_cases, bench_solve_tables, solvers


@pytest.fixture(autouse=True)
def in_a_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def test_it_writes_figures_and_tables(tmp_path):
    out = call("bench", "solve-band", "--quick").stdout
    assert "solve-band-41" in out and "solveh_banded" in out and "Summary: " in out
    assert (tmp_path / "diagsparse-bench-solve-band.png").exists()
    path = tmp_path / "diagsparse-bench-solve-band.json"
    report = json.loads(path.read_text())
    assert report["ok"] and report["quick"] and report["experiment"] == "solve" and report["versions"]["scipy"]
    assert {row["case"] for row in report["rows"]} == {"solve-band-5", "solve-band-11", "solve-band-41"}
    for row in report["rows"]:
        assert row["seconds"] > 0 and row["setup"] >= 0 and row["backward"] < 1e-14 and row["ok"]
    table = call("bench", "solve", "--table", path.name).stdout
    assert table.count("\n| band of") == len(report["rows"]) and "| set-up | solution |" in table
    since = call("bench", "solve-band", "--table", path.name, "--since", path.name).stdout
    assert "0 of 6 rows are more than 1.1 times as slow; 0 failures" in since


def test_grids_and_batches():
    report = bench_solve.run("solve-grid-5-200", quick=True)
    methods = [(row["library"], row["method"]) for row in report["rows"]]
    assert ("diagsparse", "multigrid, float32") in methods and ("SciPy", "splu") in methods
    assert all(row["ok"] and (row["residual"] <= 1.01e-8) for row in report["rows"] if row["library"] == "diagsparse")
    report = bench_solve.run("solve-batch", quick=True)
    assert report["ok"] and {row["members"] for row in report["rows"]} == {10, 4}


def test_triangles():
    report = bench_solve.run("solve-triangle", quick=True)
    methods = {(row["library"], row["method"]) for row in report["rows"]}
    assert report["ok"] and methods == {("diagsparse", "triangular"), ("SciPy", "spsolve_triangular")}
    for case in bench_solve_cases.CASES:
        if case.triangular:
            S = case.make(1e-4)
            assert case.name.startswith("solve-triangle") and max(S.offsets) == 0 and S.diagonal().min() > 0


@pytest.mark.parametrize(
    "case", [case for case in bench_solve_cases.CASES if not case.triangular], ids=lambda case: case.name
)
def test_every_other_case_is_symmetric_and_positive_definite(case):
    S = case.make(1e-4)
    dense = S.toarray()
    assert np.array_equal(dense, dense.T) and np.linalg.eigvalsh(dense).min() > 0
    offsets = np.sort(S.offsets[abs(S.offsets) < len(dense) - 1])  # without corners
    assert case.name.startswith("solve-") and case.iterative == (len(set(np.diff(offsets))) > 1)


def test_the_errors_are_those_of_the_solution():
    S = sp.dia_array(ds.gallery.tridiagonal(40))
    b = np.random.default_rng(0).uniform(0.5, 1.5, 40)
    x = np.linalg.solve(S.toarray(), b)
    assert max(bench_solve._errors(S, b, x)) < 1e-13
    x[-1] *= 1 + 1e-6
    residual, backward = bench_solve._errors(S, b, x)
    off = b - S @ x
    assert residual == pytest.approx(np.linalg.norm(off) / np.linalg.norm(b))
    assert backward == pytest.approx(abs(off).max() / (4 * abs(x).max() + abs(b).max()))
    batch = bench_solve_cases.batch_of(S, 3)
    B = np.random.default_rng(1).uniform(0.5, 1.5, (3, 40))
    X = ds.factorized(batch).solve(B)
    assert max(bench_solve._errors(S, B, X)) < 1e-13
    X[2, 0] += 1
    assert min(bench_solve._errors(S, B, X)) > 1e-3


def test_wrong_solutions_and_failures_are_reported(monkeypatch):
    def some(case, S, A, b, where):
        yield solvers.Contender("diagsparse", "zeros", lambda: None, lambda ready: np.zeros(len(b)))
        yield solvers.Contender("SciPy", "splu", lambda: 1 / 0, lambda ready: b)

    monkeypatch.setattr(solvers, "contenders", some)
    report = bench_solve.run("solve-band-5", quick=True)
    zeros, failed = report["rows"]
    assert not report["ok"] and not zeros["ok"] and zeros["residual"] == 1 and zeros["failed"] is None
    assert "ZeroDivisionError" in failed["failed"] and failed["seconds"] is None
    text = bench_solve_tables.text(report)
    assert "wrong" in text and "SciPy splu - ZeroDivisionError" in text
    assert "fails" in bench_solve_tables.markdown(report) and not list(bench_solve_tables.pairs(report))
    result = call("bench", "solve-band-5", "--quick", status=1)
    assert "failed or wrong: 2" in result.stdout


def test_without_pyamg(monkeypatch):
    def missing(name):
        raise ImportError(name)

    monkeypatch.setattr(solvers.importlib, "import_module", missing)
    case = next(case for case in bench_solve_cases.CASES if case.name == "solve-grid-5-200")
    S = case.make(1e-3)
    A = ds.hm_array(S)
    found = {one.library for one in solvers.contenders(case, S, A, np.ones(S.shape[0]), CPU)}
    assert found == {"diagsparse", "SciPy"}


def test_wrong_calls():
    assert "solve-band-5" in call("bench", "solver", "--quick", status=2).stderr
    assert "float64" in call("bench", "solve", "--quick", "--dtype", "float32", status=2).stderr
