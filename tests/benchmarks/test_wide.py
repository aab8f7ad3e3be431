"""The experiment on wide bands: a small run, its count of multiply-adds, tables and picture."""

import json

import numpy as np
import pytest
import scipy.sparse as sp
from described_rows import require_described

from benchmarks.studies import wide
from benchmarks.studies.wide import WIDE


@pytest.mark.nightly
def test_a_small_run(device, tmp_path):
    made = WIDE.run(device=device, quick=True)
    require_described(made)
    assert made["ok"] and made["quick"], [row["failed"] for row in made["rows"]]
    json.dumps(made)
    assert [row["what"] for row in made["rows"]][::2] == [
        "band of 51",
        "band of 101",
        "dense",
        "lower triangle",
        "Hessenberg",
    ]
    for row in made["rows"]:
        assert all(row["times"][name] > 0 for name in wide.FORMATS) and 0 < row["error"] <= 1
        assert set(row["kernels"]) == {"dia", "hm"} and row["dense_rate"] >= 0
    text, markdown = WIDE.text(made), WIDE.markdown(made)
    assert "lower triangle" in text and "GFLOP/s" in text and markdown.count("| --- |") == 1
    pytest.importorskip("matplotlib")
    assert WIDE.plot(made, tmp_path / "wide.png").stat().st_size > 10_000


def test_multiply_adds_are_those_of_the_positions():
    for offsets in ([0], [-3, 0, 1, 7], range(-8, 9), [-8, 8], [2, 3]):
        a = sp.dia_array((np.ones((len(offsets), 9)), list(offsets)), shape=(9, 9))
        dense = a.toarray()
        assert wide._multiply_adds(a) == int((dense @ dense).sum())
