"""coosc: ``A[row[e], col[e]] = values[e]``, column by column; those of column i from indptr[i] to indptr[i + 1]."""

from formats import pointed

EXAMPLE = {  # what the header of src/cpp/formats draws
    "row": [0, 1, 0, 1, 2, 1, 2, 3, 2, 3, 3],
    "col": [0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 4],
    "values": [1.0, 9, 5, 2, 10, 6, 3, 11, 7, 4, 8],
    "indptr": [0, 2, 5, 8, 10, 11],
}
ORDER = pointed.ORDER

_FORMAT = pointed.Pointed(axis=1)
decode, sizes, draw = _FORMAT.decode, _FORMAT.sizes, _FORMAT.draw
