"""The experiments of the paper behind qband: a small run, its tables, its picture."""

import json

import numpy as np
import pytest

import diagsparse as ds
from diagsparse import gallery
from diagsparse._formats import bands
from diagsparse._study import paper_002, paper_002_tables


def test_a_small_run(device, tmp_path):
    made = paper_002.run(device=device, quick=True)
    assert made["ok"] and made["quick"], [row["failed"] for row in made["rows"]]
    sources = {row["source"] for row in made["rows"]}
    assert sources == {"table 2", "table 3", "experiment 1", "experiment 2", "experiment 3"}
    peer = "cuSPARSE" if device == "cuda" else "SciPy csr"
    for row in made["rows"]:
        expected = {"qband planned", "qband", "qband segments", "csr planned", "csr", peer, "qband, A x", "csr, A x"}
        assert expected <= set(row["times"]) and all(row["times"].values()), row["failed"]
        assert 0 <= row["error"] <= 1 and paper_002_tables.speedup(row) > 0 and len(row["stages"]) >= 3
    json.dumps(made)
    assert "| table 3, Sieber* |" in paper_002.markdown(made) and "Stages" in paper_002.text(made)
    pytest.importorskip("matplotlib")
    assert paper_002.plot_bench(made, tmp_path / "paper.png").stat().st_size > 10_000


def test_what_is_done_is_kept():
    """Ctrl-C in the third row."""

    def progress(share, what):
        if share > 1.5 / 100 and "float32" in what and "80" not in what:
            raise KeyboardInterrupt

    made = paper_002.run(device="cpu", quick=True, progress=progress)
    assert len(made["rows"]) == 2 and made["left"] > 10 and made["ok"]
    assert made["interrupted"] and f"interrupted: {made['left']} steps left out" in paper_002.text(made)
    with pytest.raises(KeyboardInterrupt):
        paper_002.run(device="cpu", quick=True, progress=lambda share, what: progress(1, "float32"))


@pytest.mark.parametrize(
    "printed", [p for table in paper_002_tables.TABLES.values() for p in table], ids=lambda p: p.name
)
def test_stand_ins_have_the_papers_properties(printed):
    if printed.rows > 30_000:
        pytest.skip("large")
    a, offsets = paper_002.stand_in(printed, 1.0)
    coo = a.tocoo()
    found = bands.properties(a.shape, *np.unique(coo.col.astype(int) - coo.row, return_counts=True), offsets)
    assert a.shape[0] == printed.rows and (found.band_count, found.diagonal_count) == (printed.bands, printed.diagonals)
    assert a.nnz == pytest.approx(printed.nnz, rel=0.01)
    if printed.name not in ("crystm03", "Chebyshev3"):  # whose counts and occupancy in the paper contradict each other
        assert found.band_occupancy == pytest.approx(printed.occupancy, rel=0.08)  # it rounds its counts
    if printed.spread:
        assert found.band_spread == pytest.approx(printed.spread, rel=0.03)
    assert not printed.percentage or found.band_percentage == pytest.approx(printed.percentage, rel=0.05)


def test_fv1_as_the_paper_prints_it():
    printed = paper_002_tables.TABLES["table 2"][0]
    s = ds.csr_array(gallery.stencil(9, (98, 98)))._summary()
    found = bands.properties(s.shape, s.offsets, s.fill, s.offsets)
    assert (s.shape[0], s.entries) == (printed.rows, printed.nnz)
    assert (found.band_count, found.diagonal_count) == (printed.bands, printed.diagonals)
    assert s.entries - bands.entries_on(s.offsets, s.offsets, s.fill) == printed.outside == 0
    assert found.band_occupancy == pytest.approx(printed.occupancy, abs=0.011)  # which the paper cuts off
    assert found.band_spread == pytest.approx(printed.spread, abs=0.01)
