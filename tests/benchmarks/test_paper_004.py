"""The experiments of the thesis behind bmsparse: a small run, its tables, its picture, its matrices."""

import json

import numpy as np
import pytest
from described_rows import require_described
from scipy import sparse

import diagsparse as ds
from benchmarks.papers import paper_004_matrices, paper_004_plots, paper_004_tables
from benchmarks.papers.paper_004 import TABLES_004
from benchmarks.papers.paper_004_columns import STAGED
from benchmarks.papers.paper_004_printed import TABLE
from diagsparse._study.peers import mkl
from diagsparse._study.sampled import SampledMatmul

SMALL = [p for p in TABLE if p.rows < 200_000]


@pytest.fixture(autouse=True)
def no_files(monkeypatch):
    monkeypatch.delenv("DIAGSPARSE_MATRICES", raising=False)


@pytest.mark.nightly
def test_a_small_run(device, tmp_path):
    made = TABLES_004.run(device=device, quick=True)
    require_described(made)
    assert made["ok"] and made["quick"], [row["failed"] for row in made["rows"]]
    assert {row["source"] for row in made["rows"]} == {"thesis", "blocks", "gallery"}
    peer = "cuSPARSE" if device == "cuda" else "SciPy csr"
    others = [peer, *["MKL csr", "MKL bsr 2 x 2"] * (mkl() is not None)]
    A = ds.bmsparse_array((3, 3), device=device)
    for row in made["rows"]:
        expected = {f"{name}, A x" for name in (*A.kernels("matvec"), "csr", peer)}
        if row["source"] == "thesis":
            of = (*A.kernels("matmul"), "csr")
            expected |= {"A @ A", *others, *of, *(f"{name} planned" for name in of)}
        elif row["dtype"] == "float32":  # more than 100,000 rows at full size
            expected |= {"A @ A", *others, *(["tc_2tsk"] if device == "cuda" else [])}
        assert sum(row["blocks_by_fill"]) == row["blocks"] and len(row["blocks_by_fill"]) == 8
        assert expected <= set(row["times"]) and all(row["times"].values()), row["failed"]
        assert 0 <= row["error"] <= 1 and row["bandwidth"] > 0 and 1 <= row["fill"] <= 64
    json.dumps(made)
    text, markdown = TABLES_004.text(made), TABLES_004.markdown(made)
    tables = 6 + (mkl() is not None) if device == "cpu" else 11
    assert "y = A x" in text and "| cryg10000* | float32 |" in markdown and markdown.count("| --- |") == tables
    pytest.importorskip("matplotlib")
    assert TABLES_004.plot(made, tmp_path / "thesis.png").stat().st_size > 10_000


@pytest.mark.parametrize("panels", [3, 4, 6, 7])
def test_a_picture_has_no_empty_axes(panels, monkeypatch):
    pytest.importorskip("matplotlib")
    monkeypatch.setattr(paper_004_plots, "_panels", lambda report: [lambda axes: axes.plot([1, 2])] * panels)
    figure = paper_004_plots.draw({})
    assert [bool(axes.lines) for axes in figure.axes if axes.get_visible()] == [True] * panels


def test_finished_rows_are_kept():
    def progress(share, what):
        if share > 0 and "float64" not in what:
            raise KeyboardInterrupt

    made = TABLES_004.run(device="cpu", quick=True, progress=progress)
    assert len(made["rows"]) == 2 and made["left"] > 5 and made["ok"]
    assert made["interrupted"] and f"interrupted: {made['left']} steps left out" in TABLES_004.text(made)


def test_files_are_used_where_they_are(tmp_path, monkeypatch):
    monkeypatch.setenv("DIAGSPARSE_MATRICES", str(tmp_path))
    ds.io.write(tmp_path / "t2em.mtx", ds.array(ds.gallery.tridiagonal(5)))
    ds.io.write(tmp_path / "waves.mtx.gz", ds.array(ds.gallery.tridiagonal(5, main=2j, dtype=complex)))
    all_of_them = {one.what: one for one in paper_004_matrices.matrices(False, 1.0)}
    assert [name for name, one in all_of_them.items() if one.source == "file"] == ["waves"]
    assert [name for name, one in all_of_them.items() if one.printed and not one.stands_in] == ["t2em"]
    assert all_of_them["t2em"].make(1.0).nnz == 13 and all_of_them["waves"].make(1.0).dtype == float
    assert all(one.stands_in for one in paper_004_matrices.matrices(False, 0.5) if one.source == "thesis")


@pytest.mark.parametrize("printed", SMALL, ids=lambda p: p.name)
def test_stand_ins_have_the_thesis_s_counts(printed):
    a = paper_004_matrices.stand_in(printed, 1.0)
    assert a.shape == (printed.rows, printed.rows) and a.nnz == printed.nnz
    assert ds.csr_array(a)._summary().blocks(8) == pytest.approx(printed.blocks, rel=0.01)
    assert not printed.grid or np.diff(a.indptr).min() > 0


@pytest.mark.parametrize("printed", [p for p in TABLE if not p.grid], ids=lambda p: p.name)
def test_small_substitutes_have_the_same_fill(printed):
    a = paper_004_matrices.stand_in(printed, 0.02)
    fill = a.nnz / ds.csr_array(a)._summary().blocks(8)
    assert fill == pytest.approx(printed.nnz / printed.blocks, rel=0.01)


def test_kernels_of_a_report_become_columns():
    row = {
        "source": "thesis", "what": "t2em", "stands_in": False, "dtype": "float32", "shape": [8, 8], "nnz": 8,
        "blocks": 1, "fill": 8.0, "thesis": vars(TABLE[7]), "bandwidth": 1e10, "error": 0.0,
        "kernels": {"matmul": ["block", "indexed"], "matvec": ["block", "batch"]},
        "nbytes": {"bmsparse": 100, "csr": 200}, "failed": {"indexed planned": "no"},
        "times": {"A @ A": 3e-3, "block": 4e-3, "block planned": 2e-3, "indexed": 3e-3, "indexed planned": None,
                  "csr planned": 4e-3, "SciPy csr": 9e-3,
                  "block, A x": 2e-6, "batch, A x": 1e-6, "csr, A x": 3e-6, "SciPy csr, A x": 4e-6},
    }  # fmt: skip
    made = {"rows": [row], "device": "cpu", "quick": False, "hardware": {"cpu": "one"}, "versions": {"scipy": "1"},
            "date": "today"}  # fmt: skip
    lines = [line.split(" | ") for line in TABLES_004.markdown(made).splitlines() if line.startswith("| t2em")]
    _, squares, others, vectors = lines
    assert others == ["| t2em", "8", "8", "3.00 ms |"]
    assert squares[2:] == ["3.00 ms", "4.00 ms", "2.00 ms", "3.00 ms", "fails", "4.00 ms", "9.00 ms", "2.00x", "3.00x",
                           "17.5 ms", "11.7 ms |"]  # fmt: skip
    assert vectors[2:] == ["8.00", "2.00 us, 0.01", "1.00 us, 0.02", "3.00 us, 0.01", "4.00 us", "3.00x", "4.00x |"]


def test_stages_become_tables():
    row = {
        "source": "thesis", "what": "matrix_9", "stands_in": True, "dtype": "float32", "shape": [8, 8], "nnz": 8,
        "blocks": 1, "fill": 8.0, "thesis": vars(TABLE[4]), "bandwidth": 1e10, "error": 0.0,
        "kernels": {"matmul": [*STAGED], "matvec": []}, "nbytes": {"bmsparse": 100, "csr": 200},
        "failed": {}, "times": {"A @ A": 1e-3},
        "stages": {kernel: {f"T{i} {what}": i * 1e-4 for i, what in enumerate(
            ("count", "gather", "list", "sort", "reduce", "multiply", "compact"), 1)}
            for kernel in STAGED},
    }  # fmt: skip
    made = {"rows": [row], "device": "cuda", "quick": False, "hardware": {"gpu": "one", "memory_nbytes": 1},
            "versions": {"scipy": "1"}, "date": "today"}  # fmt: skip
    made["rows"][0]["stages"]["segmented_sort"]["T4 segments"] = 5e-5
    tables = list(paper_004_tables.tables(made))[2:6]
    assert [list(cells)[1] for _, cells in tables] == [
        ["matrix_9*", "21", "14", "18", "21", "25", "24, 54, 21"],
        ["matrix_9*", "400 us", "400 us", "450 us", "400 us", "400 us"],
        ["matrix_9*", "50.0 us (0.48 ms)", "(0.94 ms)", "400 us (2.09 ms)", "450 us (3.53 ms)"],
        ["matrix_9*", "600 us (1.35 ms)", "600 us (1.15 ms)", "600 us (1.14 ms)", "600 us (1.56 ms)"],
    ]


def test_samples_of_squares_see_what_is_wrong():
    a = ds.gallery.stencil(5, (8, 12)).tocsr()
    check, square = SampledMatmul(a, a), a @ a
    blocks = square.tobsr((8, 8))
    assert check(square) <= 1 and check(blocks) <= 1 and check(ds.csr_array(a) @ ds.csr_array(a)) <= 1
    square.data[0] += 1
    blocks.data[0, 0, 0] += 1
    assert check(square) > 1 and check(blocks) > 1
    assert check(sparse.csr_array(a.shape)) > 1
