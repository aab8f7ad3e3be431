"""Sums, products and nonzeros of csr, csc and coo: merges of sorted entries, on the CPU and on a GPU.

Each result is a new matrix, and stores no zeros, as in SciPy, unless asked to.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .._backends import memory
from .._backends.types import dtype_name
from .._matrix.sparse_array import SparseArray
from .._matrix.summary import Summary
from .._matrix.workspaces import sorting


def added(a: SparseArray, b: SparseArray, alpha: complex, beta: complex) -> SparseArray:
    """Return ``alpha a + beta b``; both in one of the three formats, the result in that of `a`."""
    return _merged("sum", a.dtype if a.dtype is b.dtype else np.result_type(a.dtype, b.dtype), (a, alpha), (b, beta))


def sum_on_union(a: SparseArray, b: SparseArray) -> SparseArray:
    """Return ``a + b``, which stores the entries that one of both stores, zero or not."""
    return _merged("sum", a.dtype, (a, 1), (b, 1), zeros=True)


def multiplied(a: SparseArray, b: SparseArray) -> SparseArray:
    """Return the element-wise product, in the format of `a`."""
    return _merged("product", a.dtype if a.dtype is b.dtype else np.result_type(a.dtype, b.dtype), (a, 1), (b, 1))


def without_zeros(a: SparseArray) -> SparseArray:
    """Return `a` without explicit zeros; itself if there are none."""
    if not a._op and a.count_nonzero() == a._matrix.stored:
        return a
    return _merged("sum", a.dtype, (a, 1))


def _merged(how: str, dtype: np.dtype, *terms: tuple[SparseArray, Any], zeros: bool = False) -> SparseArray:
    """Return the "sum" or the "product" of ``(matrix, factor)`` terms, in the format of the first."""
    a, backend = terms[0][0], terms[0][0]._backend
    entries = sum(term.nnz for term, _ in terms)
    nbytes = a._format.nbytes(Summary(a._shape, dtype.itemsize, entries))
    temporary = max(nbytes, sorting(entries, dtype.itemsize, backend))  # room for all entries of both
    if nbytes + temporary > memory.SMALL:
        what = f"{a.format}_array: the {how} of matrices with {entries} entries"
        memory.require_free(nbytes + temporary, what, backend, temporary=temporary)
    raw = [(term._matrix, term._op, factor) for term, factor in terms]
    return a._wrap(backend.core.combine(a._format.name, raw, how, zeros, dtype_name(dtype)))
