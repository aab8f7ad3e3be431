"""The gallery's matrices of blocks: where the blocks are, and how full."""

import numpy as np
import pytest

from diagsparse import gallery


@pytest.mark.parametrize("size", [1, 3, 8])
@pytest.mark.parametrize("share", [0, 0.4, 1])
def test_blocks_are_where_the_pattern_is(size, share):
    rng = np.random.default_rng(3)
    pattern = rng.random((6, 5)) < 0.5
    shape = (6 * size - size // 2, 5 * size - size // 3)
    room = np.kron(pattern, np.ones((size, size)))[: shape[0], : shape[1]].astype(bool)
    nnz = round(pattern.sum() + share * (room.sum() - pattern.sum()))
    a = gallery.blocked(pattern, nnz, size=size, shape=shape, seed=0)
    stored = a.toarray() != 0
    assert a.shape == shape and a.nnz == stored.sum() == nnz and not stored[~room].any()
    padded = np.pad(stored, [(0, size * n - m) for n, m in zip(pattern.shape, shape, strict=True)])
    found = padded.reshape(6, size, 5, size).any(axis=(1, 3))
    assert np.array_equal(found, pattern)


def test_stored_zeros_of_a_pattern_count():
    pattern = gallery.tridiagonal(4).tocsr()
    pattern.data[:] = 0
    assert gallery.blocked(pattern, 10, size=2, seed=0).nnz == 10


def test_what_does_not_fit_is_refused():
    for nnz in (1, 129):
        with pytest.raises(ValueError, match=f"nnz is {nnz}, but 2 blocks contain from 2 to 128"):
            gallery.blocked(np.ones((1, 2)), nnz)
    with pytest.raises(ValueError, match="size is 0"):
        gallery.blocked(np.ones((1, 2)), 2, size=0)
    with pytest.raises(ValueError, match="1 x 2 blocks of 8"):
        gallery.blocked(np.ones((1, 2)), 2, shape=(9, 16))
