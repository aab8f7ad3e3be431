"""mdia: where bit i of ``mask[b, d]`` is set, the next value is ``A[32 b + i, 32 b + i + offsets[d]]``."""

import itertools

import numpy as np

from .ellcsr import mirror_of

EXAMPLE = {  # what the header of src/cpp/formats draws
    "offsets": [-1, 0, 1],
    "mask": np.array([[0b1110, 0b1111, 0b1111]], np.uint32),
    "block_indptr": [0, 11],
    "values": [9.0, 10, 11, 1, 2, 3, 4, 5, 6, 7, 8],
}
ORDER = "values", "offsets", "mask", "block_indptr"
_HALVES = {"symmetric_columns": 1, "hermitian_columns": 2}


def decode(parts, shape):
    A = np.zeros(shape, parts["values"].dtype)
    half = int(parts["mirrored"][0]) if "mirrored" in parts else 0
    tables, bits, words = {}, {}, {}
    if "table_indptr" in parts:
        for d, (first, last) in enumerate(itertools.pairwise(parts["table_indptr"].tolist())):
            if first < last:
                tables[d], words[d] = parts["values"][first:last], sum(bits.values())
                bits[d] = next(w for w in (0, 1, 2, 4, 8) if last - first <= 2**w)

    def code_of(d, b, row):
        word = sum(int(parts["codes"][b, words[d] + w]) << 32 * w for w in range(bits[d]))
        return word >> row * bits[d] & (2 ** bits[d] - 1)

    for b, masks in enumerate(parts["mask"]):
        values = iter(parts["values"][parts["block_indptr"][b] : parts["block_indptr"][b + 1]])
        for d, (k, mask) in enumerate(zip(parts["offsets"], masks, strict=True)):
            for i in range(32 * b, 32 * b + 32):
                if int(mask) >> (i - 32 * b) & 1:
                    A[i, i + k] = next(values) if d not in tables else tables[d][code_of(d, b, i - 32 * b)]
                    if half and k:
                        A[i + k, i] = A[i, i + k].conj() if half == 2 else A[i, i + k]
    return A


def sizes(a, item):
    """Return the number of values in the matrix, and its bytes."""
    entries, blocks = a.tocoo(), -(-a.shape[0] // 32)
    diagonals = len(set((entries.col - entries.row).tolist()))
    return a.nnz, a.nnz * item + 4 * blocks * diagonals + 8 * (blocks + 1) + 8 * diagonals


def draw(case, dense, mask):
    """Return parts for the constructor: of one half where the matrix allows it, with empty diagonals or without."""
    (m, n), half = mask.shape, case.chance(0.5) and mirror_of(dense, mask)
    rows, columns = np.nonzero(mask)
    offsets = set((columns - rows).tolist()) | {k for k in (0, n - 1, 1 - m) if m and n and case.chance(0.2)}
    offsets = sorted(k for k in offsets if not half or k >= 0)
    masks, values, begins = [], [], [0]
    for first in range(0, m, 32):
        line = []
        for k in offsets:
            inside = [i for i in range(first, min(first + 32, m)) if 0 <= i + k < n and mask[i, i + k]]
            line.append(sum(1 << (i - first) for i in inside))
            values.extend(dense[i, i + k] for i in inside)
        masks.append(line)
        begins.append(len(values))
    mirrored = (np.array([_HALVES[half]], np.uint8),) if half else ()
    masks = np.array(masks, np.uint32).reshape(len(begins) - 1, len(offsets))
    parts = np.array(values, dense.dtype), np.array(offsets, case.pick([np.int32, np.int64])), masks, np.array(begins)
    return (*parts, *mirrored), {}
