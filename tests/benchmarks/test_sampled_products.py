"""The experiment on sampled products: a small run, its table and its picture, and wrong results."""

import json

import numpy as np
import pytest
import scipy.sparse as sp
from described_rows import require_described

from benchmarks.studies import sampled_products
from benchmarks.studies.sampled_products import SAMPLED_PRODUCTS


def test_a_small_run(device, tmp_path, no_bandwidth):
    made = SAMPLED_PRODUCTS.run(device=device, quick=True)
    require_described(made)
    assert made["ok"] and made["quick"], [row["failed"] for row in made["rows"]]
    json.dumps(made)
    names = [row["name"] for row in made["rows"]]
    assert names[:2] == ["band of 11, float64, p = 1", "band of 11, float64, p = 4"] and len(names) == 16
    for row in made["rows"]:
        dia = row["what"] != "Heisenberg chain"
        assert row["times"]["copy"] > 0 and 0 < row["error"] <= 1 and (row["times"].get("dia", 0) > 0) == dia
    text = SAMPLED_PRODUCTS.text(made)
    assert "Heisenberg chain" in text and "of a copy" in text and SAMPLED_PRODUCTS.markdown(made).count("| --- |") == 1
    pairs = list(SAMPLED_PRODUCTS.benchmark.pairs(made))
    assert {pair.peer for pair in pairs} >= {"NumPy dia" if device == "cpu" else "CuPy dia"}
    pytest.importorskip("matplotlib")
    assert SAMPLED_PRODUCTS.plot(made, tmp_path / "sampled.png").stat().st_size > 10_000


def test_wrong_elements_are_found():
    csr = sp.csr_array(sp.diags_array([1.0, 1.0], offsets=[0, 2], shape=(50, 50)))
    x, y = np.random.default_rng(0).uniform(0.5, 1, (2, 50, 3))
    error = sampled_products._checked(csr, x, y)
    right = sp.csr_array(csr.multiply(x @ y.T))
    assert error(right) <= 1 and error(None) == 0
    right.data[7] *= 1 + 1e-9
    assert error(right) > 1000
