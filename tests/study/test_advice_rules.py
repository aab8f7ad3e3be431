"""Rules that hold for advice on any matrix, whatever the costs of the model, tested on families of all kinds."""

from collections import Counter
from functools import partial

import numpy as np
import pytest
import scipy.sparse as sp
from advised_matrices import full_blocks, random

import diagsparse as ds
from benchmarks.studies.advice_families import families
from diagsparse import gallery
from diagsparse._backends.backend import CPU
from diagsparse._matrix.registry import FORMATS

FAMILIES = {name: make for _, name, make in families(True)}
COMPOSITE = ("qband", "hyb", "ellcsr")
PASSES = ("occupied_diagonals", "entries_on_diagonals", "occupied_blocks", "leading_entries", "padded_size_of_slices",
          "colors_on_diagonals", "symmetries", "repeats_after", "row_lengths", "seeming_symmetries")  # fmt: skip


@pytest.fixture
def passes(monkeypatch):
    """Count the calls of native functions that read the entire matrix."""
    counts = Counter()

    def counted(name, function, *arguments):
        counts[name] += 1
        return function(*arguments)

    for name in PASSES:
        monkeypatch.setattr(CPU.core, name, partial(counted, name, getattr(CPU.core, name)))
    return counts


@pytest.mark.parametrize("reuse", [True, False])
@pytest.mark.parametrize("name", FAMILIES)
def test_what_is_recommended_multiplies(name, reuse):
    A = ds.csr_array(FAMILIES[name]())
    advice, x = ds.recommend(A, reuse=reuse), np.linspace(-1, 1, A.shape[1])
    assert np.allclose(advice.build() @ x, A @ x, rtol=1e-10, atol=1e-10)
    assert advice.reuse == advice.to_dict()["reuse"] == reuse


@pytest.mark.parametrize("name", FAMILIES)
def test_composite_formats_have_something_to_compose(name):
    A = ds.csr_array(FAMILIES[name]())
    s, advice = A._summary(), ds.recommend(A, formats=COMPOSITE)
    listed = {one.name for one in advice.candidates}
    if "qband" in listed:
        assert 0 < FORMATS["qband"].split(s)[1] <= A.nnz / 2
    for format in ("hyb", "ellcsr"):
        if format in listed:
            assert all(FORMATS[format].split(s))
    assert listed | set(advice.left_out) >= set(COMPOSITE)


def test_rows_of_equal_length_are_not_composed():
    for A in (random(5000, 5), full_blocks(8000, 3), gallery.banded(5000, 2, 2, seed=0).tocsr()):
        equal = A[np.flatnonzero(np.diff(sp.csr_array(A).indptr) == np.diff(sp.csr_array(A).indptr).max())]
        advice = ds.recommend(ds.csr_array(sp.csr_array(equal)), formats=["hyb", "csr"])
        assert "stored as in ell" in advice.left_out["hyb"] and advice.format == "csr"


def test_few_of_the_nonzeros_are_no_band():
    """The main diagonal of an arrow contains a third of its nonzeros."""
    advice = ds.recommend(ds.csr_array(gallery.arrow(30_000, seed=0)), formats=["qband", "csr"])
    assert advice.format == "csr" and "less than half" in advice.left_out["qband"]


def test_other_data_between_products_costs_time():
    for make in (lambda: gallery.banded(50_000, 2, 2, seed=0), lambda: random(50_000, 4)):
        A = ds.csr_array(make())
        near, far = (ds.recommend(A, reuse=reuse, formats=["csr"]).current.seconds for reuse in (True, False))
        assert near < far
    with pytest.raises(ValueError, match="reuse"):
        ds.recommend(A, "solve", reuse=False)


# ---- what advice costs: passes over the matrix, not seconds ---------------------------------------------------------
def test_scattered_entries_are_not_searched_for_diagonals(passes):
    ds.recommend(ds.csr_array(random(40_000, 5)))
    assert not passes["colors_on_diagonals"] + passes["occupied_diagonals"] + passes["seeming_symmetries"]
    assert passes["occupied_blocks"] == 0 and sum(passes.values()) <= 6


def test_different_values_on_diagonals_are_not_counted_for_palettes(passes):
    """A palette could not be faster than full diagonals."""
    ds.recommend(ds.csr_array(gallery.banded(100_000, 2, 2, seed=0)))
    assert passes["colors_on_diagonals"] == passes["occupied_blocks"] == 0 and sum(passes.values()) <= 3


def test_a_grid_takes_few_passes(passes):
    advice = ds.recommend(ds.csr_array(gallery.stencil(5, (300, 300))))
    assert advice.format == "dia" and sum(passes.values()) <= 6


@pytest.mark.parametrize("threads", [1, 3])
def test_different_values_on_diagonals(threads):
    """Exact up to 256, even where rows repeat the row above; 0 beyond, wherever the values occur."""
    n, rng = 20_000, np.random.default_rng(0)
    diagonals = [np.full(n, 2.0), rng.integers(0, 256, n).astype(float), np.r_[np.zeros(n - 257), np.arange(257)] + 1,
                 np.repeat([1.0, -1.0, 3.0], n // 3 + 1)[:n], rng.random(n) + 1]  # fmt: skip
    diagonals[1] += 1
    A = sp.diags_array([d[: n - k] for k, d in zip((0, 3, 7, 8, 50), diagonals, strict=True)],
                       offsets=(0, 3, 7, 8, 50), shape=(n, n)).tocsr()  # fmt: skip
    ds.set_num_threads(threads)
    csr = ds.csr_array(A)
    expected = [len(np.unique(A.diagonal(k))) for k in (0, 3, 7, 8, 50)]
    found = CPU.core.colors_on_diagonals(csr._matrix)
    assert found == [count if count <= 256 else 0 for count in expected] and expected[2] <= 257


def test_codes_that_look_up_values_cost_time():
    """On a CPU, palettes of more than two values are smaller, but slower than the values themselves."""
    A = ds.csr_array(gallery.bose_hubbard(9))
    coded, plain = ds.mdia_array(A, palette=True), ds.mdia_array(A)
    assert coded.palette and coded.nbytes < plain.nbytes and not plain.palette
    assert not getattr(ds.recommend(A).build(), "palette", False)
