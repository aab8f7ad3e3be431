"""Blocks of 4 x 4, 8 x 8 and 16 x 16: a small run, its tables, its picture."""

import json
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

import diagsparse as ds
from benchmarks.studies import block_sizes
from benchmarks.studies.block_sizes import BLOCK_SIZES


@pytest.fixture(scope="module")
def report():
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("DIAGSPARSE_MATRICES", raising=False)
        return BLOCK_SIZES.run(quick=True)


def test_a_small_run(report, tmp_path):
    assert report["ok"] and report["experiment"] == "block-sizes" and len(report["rows"]) > 30
    json.dumps(report)
    text, markdown = BLOCK_SIZES.text(report), BLOCK_SIZES.markdown(report)
    groups = [line.split(" | ") for line in markdown.split("Matrix by matrix")[0].splitlines() if line.startswith("| ")]
    assert sum(int(cells[1]) for cells in groups[2:]) == len(report["rows"])
    assert "entries a block, 16 x 16" in text and markdown.count("\n| stencil 27 |") == 1
    assert list(BLOCK_SIZES.benchmark.pairs(report)) == []
    pytest.importorskip("matplotlib")
    assert BLOCK_SIZES.plot(report, tmp_path / "sizes.png").stat().st_size > 10_000


def test_rows_have_what_is_counted_in_the_matrix(report):
    row = next(row for row in report["rows"] if row["name"] == "Heisenberg, 8 sites")
    A = sp.csr_array(ds.gallery.heisenberg(8))
    i, j = A.nonzero()
    assert row["nnz"] == A.nnz and row["csr"] == ds.csr_array(A).nbytes and row["work"] == (abs(A) > 0).sum(0)[i].sum()
    assert row["sizes"]["8"]["nbytes"] == ds.bmsparse_array(A).nbytes
    assert row["fewest"] == min(n for n in ds.memory_report(A).values() if n is not None)
    for size in (4, 8, 16):
        blocks = set(zip((i // size).tolist(), (j // size).tolist(), strict=True))
        met = sum(middle == row for _, middle in blocks for row, _ in blocks)
        assert row["sizes"][str(size)]["blocks"] == len(blocks) and row["sizes"][str(size)]["pairs"] == met


def test_a_matrix_that_is_not_square_has_no_pairs(report):
    row = next(row for row in report["rows"] if row["name"] == "twice as wide as high")
    assert row["work"] is None and row["sizes"]["8"]["pairs"] is None
    assert np.prod(row["shape"]) > 0 and "| twice as wide as high |" in BLOCK_SIZES.markdown(report)


def test_the_decision_quotes_the_stored_counts():
    root = Path(__file__).resolve().parents[2]
    stored = json.loads((root / "benchmarks" / "results" / "cpu-2-cores-block-sizes.json").read_text())
    page = (root / "docs" / "decisions" / "0018-blocks-of-8-by-8.md").read_text()
    table = [
        line.split(" | ") for line in page.splitlines() if line.startswith(("| below", "| 5 to", "| 12 to", "| 32"))
    ]
    _, *groups = block_sizes._groups(stored)
    assert len(table) == len(groups) == 4
    for (_, smaller, larger, suits), (_, _, of_4, of_16, of_csr, *_) in zip(table, groups, strict=True):
        for said, ratio in ((smaller, of_4), (larger, of_16)):
            percent = round(100 * (float(ratio) - 1))
            word = "more" if percent > 0 else "fewer"
            assert said.startswith(f"{abs(percent)} % {word}" if percent else "the same"), (said, ratio)
        assert "csr, with" not in suits or f"{round(100 * (1 - float(of_csr)))} % fewer" in suits
    pairs = [float(cells[5]) for cells in groups[1:]]
    assert f"has {min(pairs):.1f} to {max(pairs):.1f} times as many pairs" in page
    positions = [float(cells[8]) for cells in groups[1:]]
    assert f"multiplies {min(positions):.1f} to {max(positions):.1f} times as many elements" in page
