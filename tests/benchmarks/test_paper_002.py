"""The experiments of the paper behind qband: a small run, its tables, its picture."""

import json
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from described_rows import require_described

import diagsparse as ds
from benchmarks.experiment import Clock
from benchmarks.papers import paper_002, paper_002_matrices, paper_002_tables
from benchmarks.papers.paper_002 import TABLES_002
from benchmarks.tables import speedup
from diagsparse import gallery
from diagsparse._backends.backend import CPU
from diagsparse._formats import bands

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def made():
    """A small run on the CPU, without the folder of real matrices."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("DIAGSPARSE_MATRICES", raising=False)
        return TABLES_002.run(device="cpu", quick=True)


def row_of(report, name):
    return next(row for row in report["rows"] if row["name"] == name)


@pytest.mark.nightly
def test_a_small_run(device, made, tmp_path):
    made = made if device == "cpu" else TABLES_002.run(device=device, quick=True)
    assert made["ok"] and made["quick"], [row["failed"] for row in made["rows"]]
    sources = {row["source"] for row in made["rows"]}
    assert sources == {"table 2", "table 3", "experiment 1", "experiment 2", "experiment 3"}
    peer = "cuSPARSE" if device == "cuda" else "SciPy csr"
    ours = {name + end for name in ("qband", "paper") for end in (" planned", "", " from csr")}
    for row in made["rows"]:
        expected = ours | {"paper segments", "csr planned", "csr", peer, "qband, A x", "csr, A x"}
        assert expected <= set(row["times"]) and all(row["times"].values()), row["failed"]
        assert 0 <= row["error"] <= 1 and speedup(row, "qband", peer) > 0
        assert set(row["formats"]) == ours | {"paper segments", "csr planned", "csr"}
        ran = {name: about["kernel"] for name, about in row["columns"].items() if "kernel" in about}
        assert ran["paper segments"] == "qband matmul segments"
        assert {"qband planned", "paper planned", "csr planned", "qband, A x", "csr, A x"} <= set(ran)
    require_described(made)
    json.dumps(made)
    assert "| table 3, Sieber* |" in TABLES_002.markdown(made) and "Stages" in TABLES_002.text(made)
    pytest.importorskip("matplotlib")
    assert TABLES_002.plot(made, tmp_path / "paper.png").stat().st_size > 10_000


@pytest.mark.nightly
def test_the_papers_algorithm_runs_stage_by_stage_on_the_papers_bands(made):
    """The partition is a stage of its own, and the four products are; there is no merge."""
    products = ["bands x bands", "sparse x bands", "bands x sparse", "sparse x sparse"]
    for row in made["rows"]:
        assert list(row["algorithm"]) == ["partition", "plan", "allocate", *products]
        assert list(row["stages"])[:2] == ["partition", "plan"] and min(row["stages"].values()) >= 0
        assert row["stages"]["partition"] > 0 and row["algorithm"]["partition"] > 0
    assert "| sparse x sparse |" in TABLES_002.markdown(made)


@pytest.mark.nightly
def test_both_partitions_are_reported(made):
    """Half-full diagonals: by bytes in float64 none is a band; the paper's rule goes by other thresholds."""
    row = row_of(made, "experiment 1: 60 % full, float32")
    a = gallery.quasi_band(row["n"], seed=0, **row["options"])
    s = ds.csr_array(a.astype(np.float32))._summary()
    for name, chosen in (("paper", bands.by_occupancy(s.shape[0], s.offsets, s.fill)),
                         ("bytes", bands.by_bytes(s.shape[0], 4, s.offsets, s.fill))):  # fmt: skip
        found = bands.properties(s.shape, s.offsets, s.fill, chosen)
        assert row["partitions"][name]["diagonal_count"] == found.diagonal_count
        assert row["partitions"][name]["band_count"] == found.band_count
    asked = {e.options["band_occupancy"] for e in paper_002.matrices(False) if e.source == "experiment 1"}
    assert asked >= {50, 60}


def test_long_calls_are_timed_once():
    calls = []
    seconds = Clock(CPU, budget=0.005)
    assert seconds(lambda: (calls.append(0), time.sleep(0.03))) >= 0.03 and len(calls) == 1
    assert seconds(lambda: calls.append(0)) < 0.005 and len(calls) > 3


@pytest.mark.nightly
def test_a_busy_machine_is_reported(made):
    assert isinstance(made["warning"], str)
    warning = "other work kept the processors busy (waited 9.0 s for one in 10.0 s)"
    assert f"; {warning}.\n" in TABLES_002.markdown(made | {"warning": warning})


@pytest.mark.nightly
def test_plans_are_compared_with_plans(made):
    """A plan that is kept is compared with what keeps one, a product that plans anew with what does."""
    columns = {"cuSPARSE": 1.0, "CuPy csr": 1.0, "SciPy csr": 1.0, "csr planned": 1.0}
    ours = dict.fromkeys(paper_002_tables.COMPARED, 1.0)
    report = {"rows": [{"name": "a row", "times": ours | columns}]}
    assert dict.fromkeys(peer for name, peer in paper_002_tables.compared(report) if "planned" in name) == {
        "cuSPARSE": None, "csr planned": None}  # fmt: skip
    found = {(pair.operation, pair.ours, pair.peer) for pair in TABLES_002.benchmark.pairs(report)}
    assert found == {
        ("C = A A, planned", "qband", "cuSPARSE"), ("C = A A", "qband", "CuPy csr"), ("C = A A", "qband", "SciPy csr")
    }  # fmt: skip


def test_finished_rows_are_kept():
    """Ctrl-C in the third row."""

    def progress(share, what):
        if share > 1.5 / 100 and "float32" in what and "80" not in what:
            raise KeyboardInterrupt

    made = TABLES_002.run(device="cpu", quick=True, progress=progress)
    assert len(made["rows"]) == 2 and made["left"] > 10 and made["ok"]
    assert made["interrupted"] and f"interrupted: {made['left']} steps left out" in TABLES_002.text(made)
    with pytest.raises(KeyboardInterrupt):
        TABLES_002.run(device="cpu", quick=True, progress=lambda share, what: progress(1, "float32"))


PRINTED = {p.name: p for table in paper_002_matrices.TABLES.values() for p in table}


def found_in(a, chosen):
    """Return the properties of a matrix whose bands are these diagonals, or those that a rule chooses."""
    coo = a.tocoo()
    offsets, fill = np.unique(coo.col.astype(int) - coo.row, return_counts=True)
    chosen = chosen(a.shape[0], offsets, fill) if callable(chosen) else chosen
    return bands.properties(a.shape, offsets, fill, chosen)


@pytest.mark.parametrize("printed", PRINTED.values(), ids=lambda p: p.name)
def test_stand_ins_have_the_papers_properties(printed):
    """As they are built, and as the paper's rule finds them, but where a sparse rest touches the band."""
    a, offsets = paper_002_matrices.stand_in(printed, 1.0 if printed.rows < 30_000 else 0.1)
    n = a.shape[0]
    assert n == (printed.rows if printed.rows < 30_000 else round(printed.rows * 0.1))
    assert a.nnz == pytest.approx(printed.nnz * n / printed.rows, rel=0.01)
    rules = [offsets] if printed.name in ("Sieber", "Chebyshev3") else [offsets, bands.by_occupancy]
    for found in (found_in(a, rule) for rule in rules):
        assert (found.band_count, found.diagonal_count) == (printed.bands, printed.diagonals)
        if printed.name not in ("crystm03", "Chebyshev3"):  # whose counts and occupancy contradict each other
            assert found.band_occupancy == pytest.approx(printed.occupancy, rel=0.08)  # it rounds its counts
        if printed.spread:
            assert found.band_spread == pytest.approx(printed.spread, rel=0.03)
        assert not printed.percentage or found.band_percentage == pytest.approx(printed.percentage, rel=0.05)


@pytest.mark.parametrize("scale", [1.0, 0.25])
def test_the_rest_of_substitutes_is_where_the_paper_says(scale):
    """Chebyshev3's in the first four rows, trdheim's within 531 diagonals; PR02R's nowhere next to a band."""
    a, offsets = paper_002_matrices.stand_in(PRINTED["Chebyshev3"], scale)
    coo = a.tocoo()
    rest = ~np.isin(coo.col - coo.row, offsets)
    assert rest.sum() == pytest.approx(16_000 * scale, rel=0.01) and set(coo.row[rest]) == {0, 1, 2, 3}
    a, _ = paper_002_matrices.stand_in(PRINTED["trdheim"], scale)
    coo = a.tocoo()
    assert 450 < abs(coo.col - coo.row).max() <= 531
    a, offsets = paper_002_matrices.stand_in(PRINTED["PR02R"], scale / 10)
    coo = a.tocoo()
    neighbours = np.setdiff1d(np.union1d(offsets - 1, offsets + 1), offsets)
    assert not np.isin(coo.col - coo.row, neighbours).any()


def test_strips_fill_less_than_a_random_rest():
    """Where a mesh's rest lies decides how many nonzeros its square has."""
    a, _ = paper_002_matrices.stand_in(PRINTED["cegb2802"])
    printed = replace(PRINTED["cegb2802"], mesh=False)
    b, _ = paper_002_matrices.stand_in(printed)
    assert a.nnz == b.nnz and (b @ b).nnz > 3 * (a @ a).nnz


def test_real_matrices_are_read_on_every_device(tmp_path, monkeypatch):
    """At any scale; next to it is how many nonzeros C of a stand-in would have."""
    a = gallery.stencil(9, (98, 98)).tocsr()
    ds.write(tmp_path / "fv1.mtx", a)
    monkeypatch.setenv("DIAGSPARSE_MATRICES", str(tmp_path))
    chosen = [e for e in paper_002.matrices(True) if e.what == "fv1"]
    monkeypatch.setattr(paper_002, "matrices", lambda quick: chosen)
    report = TABLES_002.run(device="cpu", quick=True)
    row = report["rows"][0]
    assert not row["stands_in"] and row["n"] == 9604 and row["product_nnz"] == (a @ a).nnz
    assert row["stand_in_product_nnz"] == pytest.approx(row["product_nnz"], rel=0.02)
    assert "built" not in row["partitions"] and row["partitions"]["paper"]["diagonal_count"] == 9
    assert "| table 2, fv1 |" in TABLES_002.markdown(report)
    monkeypatch.delenv("DIAGSPARSE_MATRICES")
    row = TABLES_002.run(device="cpu", quick=True)["rows"][0]
    assert row["stands_in"] and row["n"] < 500 and row["partitions"]["built"]["diagonal_count"] == 9


def test_small_substitutes_are_complete_on_a_cpu():
    rows = {e.what: round(e.printed.rows * e.scale(CPU, False)) for e in paper_002.matrices(False) if e.printed}
    assert rows["heart1"] == 3557 and rows["trdheim"] == pytest.approx(5524, abs=1) and rows["af23560"] == 5890
    assert all(e.scale(None, False) == 1 for e in paper_002.matrices(False))


def test_fv1_as_the_paper_prints_it():
    printed = paper_002_matrices.TABLES["table 2"][0]
    s = ds.csr_array(gallery.stencil(9, (98, 98)))._summary()
    found = bands.properties(s.shape, s.offsets, s.fill, s.offsets)
    assert (s.shape[0], s.entries) == (printed.rows, printed.nnz)
    assert (found.band_count, found.diagonal_count) == (printed.bands, printed.diagonals)
    assert s.entries - bands.entries_on(s.offsets, s.offsets, s.fill) == printed.outside == 0
    assert found.band_occupancy == pytest.approx(printed.occupancy, abs=0.011)  # which the paper cuts off
    assert found.band_spread == pytest.approx(printed.spread, abs=0.01)


def test_the_page_of_the_format_has_the_stored_means():
    report = json.loads((ROOT / "benchmarks" / "results" / "h200-tables-002.json").read_text())
    assert paper_002_tables.summary(report) in (ROOT / "docs" / "formats" / "qband.md").read_text()
