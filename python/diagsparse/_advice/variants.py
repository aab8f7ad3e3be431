"""Options that change the result for the caller: values in fewer bytes, and another order of rows and columns."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._backends.types import dtype_name
from .._matrix.registry import FORMATS
from .._matrix.reordering import reordered
from .._matrix.sparse_array import SparseArray
from .._show.columns import digits
from .candidate import Candidate
from .candidates import Candidates
from .models import MODELS

_NARROWER = {"float64": ("float32", "float16"), "float32": ("float16",), "complex128": ("complex64",)}
_FEW, _SAMPLED = 32, 4096  # numbers of values that are checked before all of them
_WORTH = 1.2  # least speedup of an offer
_ORDERED = 60e-9  # seconds per entry to compute and apply an order
_PERMUTED = 2.5e-9  # seconds per row to permute x and y, in each product


def narrower(candidates: Candidates, names: list[str], requested: bool) -> list[Candidate]:
    """Return the layouts with values in fewer bytes that represent all of them exactly."""
    csr, layouts = candidates.csr, list[Candidate]()
    for dtype in _NARROWER.get(dtype_name(csr.dtype), ()):
        if not exact(csr, dtype):
            break
        able = [name for name in names if dtype != "float16" or FORMATS[name].narrow]
        stored = Candidates(
            csr, candidates.machine, candidates.op, dtype, candidates.statistics, candidates.seconds_to_csr
        )
        layouts += stored.layouts(able, requested)
    return layouts


def exact(csr: SparseArray, dtype: str) -> bool:
    """Return whether a narrower dtype represents all values exactly."""
    values = csr._backend.host(csr._matrix.values)
    return all(_same_in(dtype, some) for some in (values[:: max(1, len(values) // _SAMPLED)], values))


def _same_in(dtype: str, values: NDArray[Any]) -> bool:
    """Return whether these values are unchanged by a conversion to `dtype`."""
    with np.errstate(over="ignore"):
        changed = values.astype(dtype).astype(values.dtype) != values
    return bool(np.isnan(values[changed]).all())


def reordered_layouts(candidates: Candidates, names: list[str], requested: bool) -> list[Candidate]:
    """Return the layouts in reverse Cuthill-McKee order, if it reduces the number of 8 x 8 blocks."""
    csr = candidates.csr
    if csr.shape[0] != csr.shape[1] or not csr.nnz:
        return []
    order = reordered(csr)
    if order.blocks_after == order.blocks_before:
        return []
    sorted_rows = Candidates(
        order.apply(csr), candidates.machine, candidates.op, seconds_to_csr=candidates.seconds_to_csr
    )
    more = _PERMUTED * csr.shape[0]
    return [
        replace(one, seconds=one.seconds + more, conversion=one.conversion + ordering(csr), order=order)
        for one in sorted_rows.layouts(names, requested)
    ]


def ordering(csr: SparseArray) -> float:
    """Return the predicted seconds to compute and apply an order."""
    return _ORDERED * csr.nnz


def hints(candidates: Candidates, best: Candidate) -> list[str]:
    """Return a hint on the speedup by values in fewer bytes, if a sample of the values allows them."""
    csr = candidates.csr
    own = dtype_name(csr.dtype)
    dtype = next(iter(_NARROWER.get(own, ())), None)
    if dtype is None or candidates.op == "matmul" or best.dtype != own or not csr.nnz:
        return []
    if best.is_scipy or best.format not in MODELS:  # narrower values would need another layout
        return []
    sample = csr._backend.host(csr._matrix.values[:_SAMPLED])
    if not (_same_in(dtype, sample[:_FEW]) and _same_in(dtype, sample)):
        return []
    one = Candidates(csr, candidates.machine, candidates.op, dtype, candidates.statistics)
    gain = best.seconds / one.seconds(best.format, **best.layout)
    if gain < _WORTH:
        return []
    faster = f"With narrow=True, {best.format} would be {digits(gain)}x as fast"
    return [f"{faster}: {dtype} seems to represent all values exactly."]
