"""The tables of reproducible results: complete, true where a sample is computed again, and shown as they are stored."""

import sys
from functools import partial

import determinism
import pytest
import reproduced
from pages import ROOT
from reproduced import Row, digests
from test_docs_gpu import cuda_module, gpu_kernels

import diagsparse as ds

sys.path.insert(0, str(ROOT / "docs" / "_extensions"))
import reproducible as shown

PAGE = (ROOT / "docs" / "reproducible.md").read_text()
STORED = determinism.stored()
SAMPLE = 23  # every so many rows


@pytest.mark.quick
def test_every_kernel_has_a_row():
    """After a new kernel or format: `python tests/determinism.py --update`."""
    names = [determinism.name(row) for row in reproduced.rows(ds._core)]
    assert names == list(STORED["cpu"]) and len(names) > 150


@pytest.mark.quick
def test_every_kernel_of_a_gpu_has_a_row():
    assert [determinism.name(row) for row in reproduced.rows(cuda_module())] == list(STORED["cuda"])


@pytest.mark.quick
def test_results_of_the_cpu_are_reproducible():
    for row, cells in STORED["cpu"].items():
        assert cells["instruction sets"], row
        assert cells == {**cells, "runs": True, "threads": True, "processes": True}, row


@pytest.mark.quick
def test_exceptions_on_a_gpu_are_those_of_the_pages():
    listed = {exception for exception in shown.exceptions(PAGE) if exception[0] != "factorized"}
    names = {"matvec": "A @ x", "matmul": "A @ B"}
    assert listed == {
        (names[operation], format, kernel)
        for format in ds.formats() for kernel, operation, _, repeats in gpu_kernels(format) if repeats != "yes"
    }  # fmt: skip
    for row, cells in STORED["cuda"].items():
        assert cells, row
        assert all(cells.values()) or shown.is_exception(shown.parsed(row), shown.exceptions(PAGE)), row


def test_a_sample_is_computed_again(device):
    before, found = STORED[device], {}
    rows = reproduced.rows(determinism.module(device))
    for row in rows[len(rows) % SAMPLE :: SAMPLE]:
        found[determinism.name(row)], _ = determinism.cells_here(row, device, partial(digests, dtypes=("float64",)))
    assert len(found) > 5
    assert not determinism.changes({row: before[row] for row in found}, found)


@pytest.mark.quick
def test_a_difference_is_seen():
    row, counted = Row("A @ x", "hm", "row_tiles"), iter(range(1000))
    cells, _ = determinism.cells_here(row, "cpu", lambda *given, calls=1: [str(next(counted))] * calls)
    assert cells == {"runs": False, "threads": False}
    assert determinism.cells_here(row, "cpu", lambda *given, calls=1: [""] * calls) == ({}, "")
    assert determinism.groups({"portable": "a", "avx2": "b", "avx512": "b"}) == [["portable"], ["avx2", "avx512"]]
    sets = {"instruction sets": [["portable"], ["avx2", "avx512"]]}
    assert not determinism.changes({"row": sets}, {"row": {"instruction sets": [["portable"], ["avx2"]]}})
    assert len(determinism.changes({"row": sets}, {"row": {"instruction sets": [["portable", "avx512"]]}})) == 1
    assert determinism.changes({"a": {"runs": True}, "b": {}}, {"a": {"runs": False}, "c": {}}) == [
        "a: runs is False, True is stored", "b: does not exist", "c: missing",
    ]  # fmt: skip
    assert determinism.changes({"a": {"runs": True}}, {"a": {}}) == ["a: gives no result"]


@pytest.mark.quick
def test_what_is_shown():
    yes = {"runs": True, "streams": True, "processes": True}
    rows = {"A @ x: csr row": yes, "A @ x: csr cusparse": yes, "A @ x: hm row": yes}
    rows |= {"A @ X: csr row": {}, "A @ X: hm row": yes}
    lines = shown.table("cuda", {"cuda": rows}, shown.exceptions(PAGE)).splitlines()
    assert lines[2:] == [
        "| `A @ x` | hm, csr (`row`) | yes | yes | yes |",
        "| `A @ x` | csr (`cusparse`) | not promised | not promised | not promised |",
        "| `A @ X` | csr |  |  |  |",
        "| `A @ X` | hm | yes | yes | yes |",
    ]
    values = {"yes": True, "no": False, "": None}
    assert all(shown.cell(value, True) == text for text, value in values.items())
    assert shown.cell([["portable"], ["avx2"]], True) == "no" and shown.cell([["portable", "avx2"]], True) == "yes"
    assert shown.cell([["portable"], ["avx2", "avx512"]], True) == "only AVX2 and AVX-512"
    for device, columns in determinism.COLUMNS.items():
        assert set(shown.COLUMNS[device]) == set(columns)
