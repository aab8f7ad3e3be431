"""Unions of matrices: the structure that they share, and their values in it.

A union is computed once, for `linear_combination`, which then only adds values.
"""

from __future__ import annotations

from functools import reduce
from typing import Any

import numpy as np

from .._backends import memory
from .._backends.types import real_type
from .._matrix.sparse_array import SparseArray
from .._matrix.summary import diagonal_length
from .._matrix.union import Run, Union

_WHO = "linear_combination"


def require_values(count: int, of_terms: int, terms: list[SparseArray]) -> None:
    """Raise MemoryError if the values of the sum, real and complex, and those of all terms do not fit."""
    item = real_type(terms[0]._dtype).itemsize
    nbytes = item * (3 * count + of_terms * (1 + any(t._dtype.kind == "c" for t in terms)))
    memory.require_free(nbytes, f"{_WHO}: the values of {len(terms)} matrices in their union", terms[0]._backend)


def of_diagonals(format: Any, terms: list[SparseArray]) -> Union:
    """Return the union of matrices of the family of diagonals, each of which keeps its own diagonals only."""
    first = terms[0]
    occupied = [format.occupied(t).tolist() for t in terms]
    offsets = sorted(set().union(*occupied))
    counts = [sum(diagonal_length(first.shape, k) for k in of) for of in (offsets, *occupied)]
    require_values(counts[0], sum(counts[1:]), terms)
    matrix = format.zeros_on(first.shape, real_type(first._dtype), offsets, first._backend)
    parts = [format.laid_out(t, format, own, t._dtype) for t, own in zip(terms, occupied, strict=True)]
    starts = [{offset: start for offset, _, _, start in format.spans(part).tolist()} for part in parts]
    runs = [
        Run(start, length, [(own[offset], k) for k, own in enumerate(starts) if offset in own])
        for offset, _, length, start in format.spans(matrix).tolist()
    ]
    return Union(matrix, [part._matrix.values for part in parts], runs)


def of_values(format: Any, terms: list[SparseArray]) -> Union:
    """Return the union of matrices whose values are not contiguous by diagonals: a value of each term for each."""
    real = real_type(terms[0]._dtype)
    matrix = reduce(lambda a, b: format.combined(a, b, zeros=True), (_pattern(t, real) for t in terms))
    matrix = matrix.copy() if matrix._op else matrix
    matrix.values = 0
    count = matrix._matrix.values.size
    used = [k for k, t in enumerate(terms) if t.nnz]
    require_values(count, len(used) * count, terms)
    values = [format.combined(matrix, t, zeros=True)._matrix.values if t.nnz else t._matrix.values for t in terms]
    return Union(matrix, values, [Run(0, count, [(0, k) for k in used])])


def _pattern(a: SparseArray, real: np.dtype) -> SparseArray:
    """Return a real matrix that stores the same positions."""
    return abs(a).astype(real, copy=False)
