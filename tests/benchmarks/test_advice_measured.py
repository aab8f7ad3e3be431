"""Advice compared with measurements: a small run, its tables, its picture."""

import json
from collections import defaultdict

import numpy as np
import pytest
from described_rows import require_described

import diagsparse as ds
from benchmarks.studies import advice, advice_families, advice_fit, advice_matrices
from benchmarks.studies.advice import ADVICE
from diagsparse._advice.candidates import Candidates
from diagsparse._advice.machine import Machine
from diagsparse._backends.backend import CPU

FEW = ("stencil 5, periodic", "arrow", "Heisenberg, 8 sites", "blocks 100 % full", "twice as wide as high")
FAMILIES = ("bands", "arrow", "quasi-bands")


@pytest.fixture
def few(monkeypatch):
    every, families = advice_matrices.matrices, advice_families.families
    monkeypatch.setattr(advice, "families", lambda quick: (one for one in families(quick) if one[0] in FAMILIES))
    monkeypatch.setattr(advice, "matrices", lambda *sizes: ((n, make) for n, make in every(*sizes) if n in FEW))


@pytest.mark.nightly
def test_a_small_run(device, tmp_path, few):
    made = ADVICE.run(device=device, quick=True)
    require_described(made)
    assert made["ok"] and made["quick"], [row["failed"] for row in made["rows"]]
    json.dumps(made)
    families = [row for row in made["rows"] if row["family"]]
    assert {row["family"] for row in families} == set(FAMILIES) and {row["reuse"] for row in families} == {True, False}
    assert all(0 < row["left_out"] <= 1 for row in families)
    judged = {row["name"] for row in made["rows"] if "ratio" in row and not row["family"]}
    squares = {name for name in judged if name.endswith(" of this family, C = A A")}
    assert any(name.startswith("band") for name in squares)
    assert judged - squares == {f"{name}, {op}" for name in FEW for op in ("y = A x", "C = A A")} - {
        "twice as wide as high, C = A A"
    }
    for row in made["rows"]:
        if "ratio" in row:
            assert 0 < row["ratio"] <= 1 and row["cost"] > 0 and row["reason"]
            assert {row["recommended"], row["best"], "csr"} <= set(row["times"]) <= set(row["model"])
    text, markdown = ADVICE.text(made), ADVICE.markdown(made)
    assert "geometric mean of 5 matrices" in text and "the worst, and why" in text
    assert markdown.count("\n| --- |") == 7 and "Heisenberg, 8 sites" in markdown
    pytest.importorskip("matplotlib")
    assert ADVICE.plot(made, tmp_path / "advice.png").stat().st_size > 10_000


def test_advice_that_cannot_be_built_is_an_error(few, monkeypatch):
    failed = defaultdict(lambda: "MemoryError: no")
    monkeypatch.setattr(advice, "_calls", lambda *arguments: ({"csr": lambda: None}, failed))
    with pytest.raises(ArithmeticError, match="was recommended"):
        ADVICE.run(device="cpu", quick=True)


def test_every_matrix_has_a_name_of_its_own():
    for sizes in ((False, False), (True, False), (False, True)):
        names = [name for name, _ in advice_matrices.matrices(*sizes)]
        assert len(names) == len(set(names)) > 30


def test_costs_are_found_from_the_times_that_they_predict():
    """A fit to times of other costs recommends what these would, also for matrices that it has not seen."""
    start = advice_fit.present_costs(CPU)
    true = start | {key: cost._replace(position=3 * cost.position) for key, cost in start.items() if key[0] == "csr"}
    made = []
    for family, name, make in advice_families.families(True):
        csr = ds.csr_array(make())
        candidates = Candidates(csr, Machine(CPU, 1))
        for one in candidates.layouts(["csr", "ell", "jds", "dia"], requested=True):
            if not one.layout:
                cost, traversal = (one.format, ""), candidates.traversal(one.format, {})
                product = (name, family, one.name, cost, 0, candidates.machine, candidates.statistics.counts, traversal)
                made.append(advice_fit.Product(*product, seconds=0.0, least=0.0))
    made = [one._replace(seconds=one.predicted(true)) for one in made]
    least = {name: min(one.seconds for one in of_row) for name, of_row in advice_fit.by_row(made).items()}
    made = [one._replace(least=least[one.row]) for one in made]
    fitted = advice_fit.fitted(made, start)
    before, after = (
        max(abs(np.log(one.predicted(costs) / one.seconds)) for one in made if one.seconds > 1e-5)
        for costs in (start, fitted)
    )
    assert before > 0.5 and after < 0.2
    left_out = advice_fit.ratios_left_out(made)
    assert set(left_out) == {one.row for one in made} and np.mean(list(left_out.values())) > 0.95
