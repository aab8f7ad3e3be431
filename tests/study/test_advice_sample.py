"""What advice learns of a matrix from some thousand entries."""

import numpy as np
import pytest
import scipy.sparse as sp
from advised_matrices import SUITING, random

import diagsparse as ds
from diagsparse import gallery
from diagsparse._advice import sample

SAMPLED = 4096  # approximate number of entries that are read, kSampledEntries of src/cpp/core/sample.hpp


@pytest.mark.parametrize("name", SUITING)
def test_a_sample_represents_the_whole(name, device):
    S = SUITING[name][0]().tocsr()
    found, exact = sample.Sample.of(ds.csr_array(S, device=device)), ds.csr_array(S)._summary()
    assert set(found.offsets.tolist()) <= set(exact.offsets.tolist())
    assert abs(found.blocks / exact.blocks() - 1) < 0.1
    if len(exact.offsets) < 100:
        fill = dict(zip(exact.offsets.tolist(), exact.fill.tolist(), strict=True))
        met = [(fill[k], count) for k, count in zip(found.offsets.tolist(), found.fill.tolist(), strict=True)]
        assert sum(abs(a - b) for a, b in met) < 0.2 * S.nnz
    lengths = np.diff(S.indptr)
    changes = np.mean(np.diff(lengths // 4) != 0) + np.mean(np.diff(lengths % 4) != 0)
    assert abs(found.branches - changes) < 0.06


def test_a_small_matrix_is_read_whole():
    S = random(300, 9)
    found, (i, j) = sample.Sample.of(ds.csr_array(S)), S.tocoo().coords
    assert found.blocks == len({(a // 8, b // 8) for a, b in zip(i.tolist(), j.tolist(), strict=True)})
    assert found.masks * S.nnz == pytest.approx(
        len({(a // 32, b - a) for a, b in zip(i.tolist(), j.tolist(), strict=True)})
    )
    assert found.lines * S.nnz == pytest.approx(len(set((j // 8).tolist())))
    assert found.in_full_blocks == 0 and sample.Sample.of(ds.csr_array(np.ones((24, 24)))).in_full_blocks == 1


@pytest.mark.parametrize("shape", [(1, 60_000), (200, 20_000), (3, 400_000), (20_000, 200)])
def test_of_long_rows_some_entries_are_read(shape):
    A = ds.csr_array(sp.csr_array(np.ones(shape, np.float32)))
    found = sample.Sample.of(A)
    assert len(found.offsets) <= 6 * SAMPLED and found.lines < 0.2
    assert len(sample.Sample.of(ds.csr_array(gallery.arrow(100_000, seed=0))).offsets) <= 6 * SAMPLED


def test_entries_that_lie_together_are_found():
    row = sp.csr_array(np.random.default_rng(0).random((1, 20_000)))
    A = ds.csr_array(sp.vstack([row, sp.csr_array((19_999, 20_000))]).tocsr())
    found = sample.Sample.of(A)
    assert len(found.offsets) > 10 and 0.8 < found.blocks / A._summary().blocks() < 1.2
    assert "fill" not in ds.recommend(A).reason or " 12 %" in ds.recommend(A).reason
