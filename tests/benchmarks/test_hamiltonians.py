"""The experiment on Hamiltonians: a small run, its counts, tables and picture, and checks that can fail."""

import json

import numpy as np
import pytest
import scipy.sparse as sp
from described_rows import require_described

import diagsparse as ds
from benchmarks.studies import hamiltonians, hamiltonians_tables
from benchmarks.studies.hamiltonians import HAMILTONIANS


@pytest.mark.nightly
def test_a_small_run(device, tmp_path, monkeypatch):
    monkeypatch.setattr(hamiltonians, "QUICK_SITES", (4, 6))
    monkeypatch.setattr(hamiltonians, "QUICK_VECTOR_SITES", 8)
    made = HAMILTONIANS.run(device=device, quick=True)
    require_described(made)
    assert made["ok"] and made["quick"], [row["failed"] for row in made["rows"]]
    json.dumps(made)
    assert len(made["rows"]) == 3 * len(hamiltonians.FAMILIES)
    for row in made["rows"]:
        if row["sites"] == 8:
            assert all(column.endswith(hamiltonians_tables.VECTOR) for column in row["times"])
            assert all(row["times"][name + hamiltonians_tables.VECTOR] for name in hamiltonians_tables.FORMATS)
            continue
        for operation in (hamiltonians_tables.VECTOR, hamiltonians_tables.EVOLVED):
            assert all(row["times"][name + operation] for name in hamiltonians_tables.FORMATS)
        assert row["times"]["dia, H H"] and row["times"]["hm, half of H H"] and "mdia palette, H H" not in row["times"]
        assert 0 < row["error"] <= 1
    text, markdown = HAMILTONIANS.text(made), HAMILTONIANS.markdown(made)
    assert "transverse Ising" in text and "exp(-i t H) x" in text and markdown.count("| --- |") == 5
    pytest.importorskip("matplotlib")
    assert HAMILTONIANS.plot(made, tmp_path / "chains.png").stat().st_size > 10_000


def test_diagonals_of_powers_are_counted():
    """The open Heisenberg chain of n sites: 2 n - 1 diagonals; places and nonzeros as in the matrices themselves."""
    for sites in (4, 6):
        host = ds.gallery.heisenberg(sites)
        csr = sp.csr_array(host)
        csr.eliminate_zeros()
        found = hamiltonians._powers(ds.csr_array(csr), sites)
        assert found["1"]["diagonals"] == 2 * sites - 1
        pattern = abs(csr).astype(bool).astype(float)
        for power, of in (("2", pattern @ pattern), ("4", pattern @ pattern @ pattern @ pattern)):
            dia = sp.dia_array(of)
            assert found[power] == {
                "diagonals": len(dia.offsets), "elements": int((2**sites - abs(dia.offsets)).sum()), "nnz": of.nnz
            }  # fmt: skip


@pytest.mark.parametrize("family", hamiltonians.FAMILIES, ids=lambda family: family.what)
def test_rows_that_do_not_fit_are_left_out(family, monkeypatch):
    """All formats, and SciPy's two matrices that they are made of, take no more than is asked for."""
    stored = hamiltonians._formats(family, 12, hamiltonians.CPU)
    of_scipy = stored["dia"].nbytes + stored["csr"].nbytes
    free = hamiltonians._FORMATS_HELD * stored["dia"].nbytes
    assert sum(A.nbytes for A in stored.values()) + of_scipy <= free
    for share, held in ((1.2, True), (0.9, False)):
        monkeypatch.setattr(hamiltonians, "available_bytes", lambda backend, share=share: share * free)
        assert hamiltonians._held(family, 12, hamiltonians.CPU) is held


@pytest.mark.parametrize("family", hamiltonians.FAMILIES, ids=lambda family: family.what)
def test_all_formats_store_the_same_matrix(family, device):
    from diagsparse._backends.backend import get_backend

    expected = family.make(8).toarray()
    stored = hamiltonians._formats(family, 8, get_backend(device))
    assert tuple(stored) == hamiltonians_tables.FORMATS
    for name, A in stored.items():
        assert A.device == device and np.array_equal(A.toarray(), expected), name
    assert [name for name in stored if name.startswith("mdia") and stored[name].palette] == ["mdia palette"]
    assert stored["csr"].nnz == stored["mdia palette"].nnz == np.count_nonzero(expected)


@pytest.mark.parametrize("family", hamiltonians.FAMILIES, ids=lambda family: family.what)
def test_the_series_is_the_exponential(family):
    csr = sp.csr_array(family.make(6))
    series = hamiltonians._Series(csr)
    low, high = series.domain
    values, vectors = np.linalg.eigh(csr.toarray())
    assert low <= values[0] + 1e-12 and values[-1] - 1e-12 <= high
    turned = np.exp(-1j * hamiltonians._TIME * (2 * values - low - high) / (high - low))
    expected = vectors @ (turned * (vectors.T @ series.x))
    made = series.by_scipy(csr)
    assert abs(made - expected).max() < 1e-13
    check = series.check(csr)
    assert check(made) == 0 and check(made + 1e-10) > 1
