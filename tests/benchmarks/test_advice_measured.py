"""Advice compared with measurements: a small run, its tables, its picture."""

import json
from collections import defaultdict

import pytest
from described_rows import require_described

from benchmarks.studies import advice, advice_matrices
from benchmarks.studies.advice import ADVICE

FEW = ("stencil 5, periodic", "arrow", "Heisenberg, 8 sites", "blocks 100 % full", "twice as wide as high")


@pytest.fixture
def few(monkeypatch):
    every = advice_matrices.matrices
    monkeypatch.setattr(advice, "matrices", lambda *sizes: ((n, make) for n, make in every(*sizes) if n in FEW))


@pytest.mark.nightly
def test_a_small_run(device, tmp_path, few):
    made = ADVICE.run(device=device, quick=True)
    require_described(made)
    assert made["ok"] and made["quick"], [row["failed"] for row in made["rows"]]
    json.dumps(made)
    judged = {row["name"] for row in made["rows"] if "ratio" in row}
    assert judged == {f"{name}, {op}" for name in FEW for op in ("y = A x", "C = A A")} - {
        "twice as wide as high, C = A A"
    }
    for row in made["rows"]:
        if "ratio" in row:
            assert 0 < row["ratio"] <= 1 and row["cost"] > 0 and row["reason"]
            assert {row["recommended"], row["best"], "csr"} <= set(row["times"]) <= set(row["model"])
    text, markdown = ADVICE.text(made), ADVICE.markdown(made)
    assert "geometric mean of 5 matrices" in text and "the worst, and why" in text
    assert markdown.count("| --- |") == 4 and "Heisenberg, 8 sites" in markdown
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
