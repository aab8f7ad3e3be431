"""Short columns: 32 neighbouring positions of a line share one base; the largest number of the type is padding."""

import numpy as np

CHUNK = 32


def lengthen(indices, bases):
    """Return columns, -1 for padding, of index arrays: a flat one is one line, else each row is."""
    indices = np.asarray(indices)
    if indices.dtype not in (np.uint8, np.uint16):
        return indices
    of_line = -(-indices.shape[-1] // CHUNK)
    lines = np.atleast_2d(indices)
    base = np.zeros(len(lines) * of_line, np.int64) if bases is None else np.asarray(bases, np.int64)
    assert base.shape == (len(lines) * of_line,)
    columns = lines.astype(np.int64) + np.repeat(base.reshape(len(lines), of_line), CHUNK, axis=1)[:, : lines.shape[1]]
    return np.where(lines == np.iinfo(indices.dtype).max, -1, columns).reshape(indices.shape)


def shorten(columns, dtype, cols):
    """Return short indices and bases of columns, -1 for padding; bases are None where the columns fit."""
    most = np.iinfo(dtype).max - 1
    lines = np.atleast_2d(np.asarray(columns, np.int64))
    of_line = -(-lines.shape[1] // CHUNK)
    bases = np.zeros((len(lines), of_line), np.int32)
    for line, row in enumerate(lines):
        for chunk in range(of_line):
            entries = row[chunk * CHUNK : (chunk + 1) * CHUNK]
            bases[line, chunk] = entries[entries >= 0].min(initial=cols) if (entries >= 0).any() else 0
    if cols <= most + 1:
        bases[:] = 0
    short = lines - np.repeat(bases, CHUNK, axis=1)[:, : lines.shape[1]]
    assert short[lines >= 0].max(initial=0) <= most
    indices = np.where(lines < 0, most + 1, short).astype(dtype).reshape(np.shape(columns))
    return indices, None if cols <= most + 1 else bases.ravel()


def drawn(case, columns, cols):
    """Return the column indices, unchanged or short, and their bases if the type needs them."""
    dtype = case.pick([None, None, np.uint16, np.uint8])
    if dtype is None:
        return (columns,)
    try:
        return tuple(part for part in shorten(columns, dtype, cols) if part is not None)
    except AssertionError:  # they are too far apart
        return (columns,)
