"""csb: ``A[p // across * z + local_row[e], p % across * z + local_col[e]] = values[e]`` for entry e of block p."""

import numpy as np

EXAMPLE = {  # what the header of src/cpp/formats draws
    "local_row": [0, 0, 1, 1, 1, 0, 0, 0, 1, 1, 1],
    "local_col": [0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0],
    "block_indptr": [0, 4, 5, 5, 6, 10, 11],
    "values": [1.0, 5, 9, 2, 6, 10, 3, 7, 11, 4, 8],
}
OPTIONS = {"block": 2}
ORDER = "values", "local_row", "local_col", "block_indptr"
BLOCKS = [2**bits for bits in range(1, 17)]


def count(shape, z):
    """Return how many blocks there are, down and across."""
    return -(-shape[0] // z), -(-shape[1] // z)


def size_of(shape, blocks):
    """Return the smallest block of which there are so many."""
    return next(z for z in BLOCKS if np.prod(count(shape, z)) == blocks)


def decode(parts, shape):
    A = np.zeros(shape, parts["values"].dtype)
    start = parts["block_indptr"]
    z = size_of(shape, len(start) - 1)
    for p in range(len(start) - 1):
        row, column = divmod(p, count(shape, z)[1])
        for e in range(start[p], start[p + 1]):
            A[row * z + int(parts["local_row"][e]), column * z + int(parts["local_col"][e])] += parts["values"][e]
    return A


def sizes(a, item):
    """Return the number of values in the matrix, and its bytes."""

    def nbytes(z, block):
        blocks = np.prod(count(a.shape, z))
        return a.nnz * (item + (2 if size_of(a.shape, blocks) <= 256 else 4)) + block * blocks + 8

    chosen = min(reversed(BLOCKS), key=lambda z: nbytes(z, 256))  # as a choice counts a block
    return a.nnz, nbytes(chosen, 8)


def draw(case, dense, mask):
    """Return parts for the constructor, in blocks of any size."""
    z = case.pick([2, 2, 4, 8, 256, 1024])
    down, across = count(dense.shape, z)
    i, j = np.nonzero(mask)
    block = i // z * across + j // z
    order = np.argsort(block, kind="stable")
    i, j, start = i[order], j[order], np.searchsorted(block[order], np.arange(down * across + 1))
    kind = case.pick([np.uint16, np.int32, np.int64])
    return (dense[i, j], (i % z).astype(kind), (j % z).astype(kind), start), {}
