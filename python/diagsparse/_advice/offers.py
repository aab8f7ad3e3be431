"""What changes something that the caller sees: values in fewer bytes, and another order of rows and columns."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._matrix.registry import FORMATS
from .._matrix.reordering import reordered
from .._matrix.sparse_array import SparseArray
from .._show.columns import digits
from .candidate import Candidate
from .candidates import Candidates
from .models import MODELS

_NARROWER = {"float64": ("float32", "float16"), "float32": ("float16",), "complex128": ("complex64",)}
_LOOKED_AT = 4096  # values, before all are
_WORTH = 1.2  # times as fast that an offer has to be
_ORDERED = 60e-9  # seconds an entry to find an order and to apply it
_PERMUTED = 2.5e-9  # seconds a row to permute x and y, in each product


def narrower(found: Candidates, names: list[str], asked: bool) -> list[Candidate]:
    """Return layouts with values in fewer bytes that hold each of them exactly."""
    csr, made = found.csr, list[Candidate]()
    for dtype in _NARROWER.get(str(csr.dtype), ()):
        if not exact(csr, dtype):
            break
        able = [name for name in names if dtype != "float16" or FORMATS[name].narrow]
        stored = Candidates(csr, found.machine, found.op, dtype, found.survey, found.before)
        made += stored.layouts(able, asked)
    return made


def exact(csr: SparseArray, dtype: str) -> bool:
    """Return whether a narrower type holds all values as they are."""
    values = csr._backend.host(csr._matrix.values)
    return all(_same_in(dtype, some) for some in (values[:: max(1, len(values) // _LOOKED_AT)], values))


def _same_in(dtype: str, values: NDArray[Any]) -> bool:
    """Return whether values are the same in a narrower type."""
    with np.errstate(over="ignore"):
        return np.array_equal(values.astype(dtype).astype(values.dtype), values, equal_nan=True)


def in_order(found: Candidates, names: list[str], asked: bool) -> list[Candidate]:
    """Return the layouts of the matrix in reverse Cuthill-McKee order, where they are faster than as it is."""
    csr = found.csr
    if csr.shape[0] != csr.shape[1] or not csr.nnz:
        return []
    order = reordered(csr)
    if order.after == order.before:
        return []
    sorted_rows = Candidates(order.apply(csr), found.machine, found.op, before=found.before)
    more = _PERMUTED * csr.shape[0]
    return [
        replace(one, seconds=one.seconds + more, conversion=one.conversion + ordering(csr), order=order)
        for one in sorted_rows.layouts(names, asked)
    ]


def ordering(csr: SparseArray) -> float:
    """Return the seconds, by the model, until an order is found and applied."""
    return _ORDERED * csr.nnz


def told(found: Candidates, best: Candidate) -> list[str]:
    """Return what values in fewer bytes would gain, as far as some of the values tell."""
    dtype = next(iter(_NARROWER.get(str(found.csr.dtype), ())), None)
    if dtype is None or found.op == "matmul" or best.dtype != str(found.csr.dtype) or not found.csr.nnz:
        return []
    if best.theirs or best.format not in MODELS:  # a narrower one would be another layout
        return []
    values = found.csr._matrix.values
    if not _same_in(dtype, found.csr._backend.host(values[: min(len(values), _LOOKED_AT)])):
        return []
    one = Candidates(found.csr, found.machine, found.op, dtype, found.survey)
    gain = best.seconds / one.of(best.format, **best.layout).seconds
    if gain < _WORTH:
        return []
    faster = f"With narrow=True, {best.format} would be {digits(gain)}x as fast"
    return [f"{faster}: {dtype} seems to represent all values exactly."]
