"""bmsparse: the bits of ``bitmap[p]``, from the highest, are the elements of block p row by row; its values follow."""

import numpy as np

EXAMPLE = {  # what the header of src/cpp/formats draws
    "block_indptr": [0, 1],
    "block_col": [0],
    "bitmap": np.array([0xC0E0703800000000], np.uint64),
    "value_indptr": [0, 11],
    "values": [1.0, 5, 9, 2, 6, 10, 3, 7, 11, 4, 8],
}
ORDER = "values", "block_indptr", "block_col", "bitmap", "value_indptr"


def decode(parts, shape):
    A = np.zeros(shape, parts["values"].dtype)
    pointers = parts["block_indptr"]
    for i in range(len(pointers) - 1):
        for p in range(pointers[i], pointers[i + 1]):
            bits = f"{int(parts['bitmap'][p]):064b}"
            positions = [position for position in range(64) if bits[position] == "1"]
            values = parts["values"][parts["value_indptr"][p] : parts["value_indptr"][p + 1]]
            for position, value in zip(positions, values, strict=True):
                A[8 * i + position // 8, 8 * parts["block_col"][p] + position % 8] += value
    return A


def sizes(a, item):
    """Return the number of values in the matrix, and its bytes."""
    entries = a.tocoo()
    blocks = len(set(zip((entries.row // 8).tolist(), (entries.col // 8).tolist(), strict=True)))
    return a.nnz, a.nnz * item + 20 * blocks + 8 * (-(-a.shape[0] // 8) + 2)


def draw(case, dense, mask):
    """Return parts for the constructor."""
    kind = case.pick([np.int32, np.int64])
    values, pointers, columns, bitmaps, begins = [], [0], [], [], [0]
    for i in range(0, len(dense), 8):
        for j in range(0, dense.shape[1], 8):
            block = mask[i : i + 8, j : j + 8]
            if not block.any():
                continue
            whole = np.zeros((8, 8), bool)
            whole[: block.shape[0], : block.shape[1]] = block
            bitmaps.append(int("".join("01"[int(bit)] for bit in whole.ravel()), 2))
            columns.append(j // 8)
            values.extend(dense[i : i + 8, j : j + 8][block])
            begins.append(len(values))
        pointers.append(len(columns))
    result = np.array(values, dense.dtype), np.array(pointers), np.array(columns, kind), np.array(bitmaps, np.uint64)
    return (*result, np.array(begins)), {}
