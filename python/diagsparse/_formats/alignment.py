"""Diagonals aligned by row, as in `dia_array`, and by column, as in SciPy and CuPy."""

from __future__ import annotations

from typing import Any

from .._backends import memory
from .._backends.backend import Backend
from .._backends.types import widened
from .._show.columns import counted

ALIGNMENTS = (None, "row", "column")


def checked(align: Any, who: str) -> str | None:
    """Return the user's `align`; raise ValueError if it is invalid."""
    if align not in ALIGNMENTS:
        raise ValueError(f'{who}: align={align!r}: expected "row" or "column"')
    return align


def by_row(
    values: Any, offsets: list[int], shape: tuple[int, int], align: str | None, backend: Backend
) -> tuple[Any, list[int]]:
    """Return ``(values, offsets)`` aligned by row, without a copy if they already are.

    Raises
    ------
    ValueError
        If `align` is None and the alignment makes a difference.
    """
    if align == "row" or (align is None and not any(offsets)):
        return values, offsets
    m, n = shape
    inside = [k for k in offsets if -m < k < n]
    if len(inside) < len(offsets) or len(set(offsets)) < len(offsets) or len(values) != len(offsets):
        return values, offsets  # validation raises
    what = f"dia_array: {counted(len(offsets), 'diagonal')} of a {m} x {n} matrix"
    memory.require_free(len(offsets) * m * values.itemsize, what, backend)
    wide = widened(values.dtype)
    core, given = backend.core, values if wide == values.dtype else values.astype(wide)
    columns = core.realigned("dia", m, n, given, offsets)
    if align is None:
        if tuple(values.shape) == (len(offsets), m):
            rows = core.diagonal_matrix("dia", m, n, offsets, given, "", backend.index)
            if core.differing_diagonal(rows, columns) is None:
                return values, offsets
        raise ValueError(
            "dia_array: (values, offsets) may be aligned by row, values[d, i] = A[i, i + offsets[d]], as here, or by "
            "column, values[d, j] = A[j - offsets[d], j], as in SciPy, and the two differ: "
            'pass align="row" or align="column"'
        )
    aligned = columns.values if wide == values.dtype else columns.values.astype(values.dtype)
    return aligned, columns.parts()["offsets"].tolist()
