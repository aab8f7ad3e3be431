"""Products of two matrices of masked diagonals: which use masks, what they need, and their symmetry.

The functions are methods of the layout of `mdia_array`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .._backends import memory
from .._backends.arguments import SYMMETRIES
from .._backends.backend import CPU
from .._matrix.convert import convert, widen
from .._matrix.registry import COMMON, FORMATS
from .._matrix.request import Request
from .._matrix.sparse_array import SparseArray
from .._show import display
from .format import Format
from .own_products import OwnProducts

_ROWS = 32  # of a block
_MIN_FILL = 1 / 16  # geometric mean of the fill of both operands, from which products use masks
_MAX_LISTED = 1 << 22  # pairs of diagonals up to which the offsets of a product are listed before it is planned


def blocks_of(rows: int) -> int:
    """Return the number of blocks of a matrix with this number of rows."""
    return -(-rows // _ROWS)


def as_operand(format: Any, a: SparseArray) -> SparseArray:
    """Return the operand of a product, which may store one triangle, in a dtype of arithmetic."""
    return widen(a)  # products read a stored triangle directly


def for_product(format: Any, a: SparseArray, other: SparseArray, repeated: bool, named: bool) -> Format:
    """Return the format in which two matrices are multiplied: this one, or csr if their diagonals are nearly empty."""
    # The cost of a mask of 32 elements does not depend on how many are stored. AMD EPYC, two threads, random
    # elements on diagonals of n = 10^5, ms of a product (of a call of its plan) by masks, and by csr: 10 diagonals
    # with fill 0.25 3.5 (2.6), 7.1 (3.0); with fill 0.06 2.1 (1.3), 1.9 (0.5). 40 diagonals with fill 0.25 50 (38),
    # 52 (21); with fill 0.06 27 (16), 10 (5). Hamiltonians of 16 spins, with fill 0.28 in whole blocks: 9.9 (5.2),
    # 16 (13).
    return format if named or a.fill * other.fill >= _MIN_FILL**2 else FORMATS[COMMON]


def symmetry_of_product(format: Any, a: SparseArray, b: SparseArray) -> int:
    """Return the symmetry that a product has because of that of its operands, 0 for none."""
    # If S is symmetric, S S is symmetric and S conj(S) is Hermitian; if S is Hermitian, the other way round.
    of_a = a._matrix.symmetry
    if a._matrix is not b._matrix or not of_a:
        return 0
    symmetric, hermitian = SYMMETRIES.index("symmetric"), SYMMETRIES.index("hermitian")
    return of_a if a._op == b._op else symmetric + hermitian - of_a


def as_factor(format: Any, a: SparseArray, planned: SparseArray, packed: bool) -> SparseArray:
    """Return a new operand of a plan as its kernels read it."""
    return format.without_palette(convert(a, format.name))


def planned(format: Any, a: SparseArray, b: SparseArray, request: Request) -> tuple[Any, SparseArray, SparseArray]:
    """Return the native plan of a product and its operands; raise MemoryError if the masks of C do not fit."""
    left, right = (format.without_palette(convert(operand, format.name)) for operand in (a, b))
    (m, n), backend = (a.shape[0], b.shape[1]), left._backend
    if (pairs := diagonal_count(left) * diagonal_count(right)) > 1 << 12:
        count = min(pairs, m + n - 1)
        if pairs < _MAX_LISTED:
            offsets = np.unique(np.add.outer(format.all_offsets(left), format.all_offsets(right)))
            count = int(((-m < offsets) & (offsets < n)).sum())
        masks = f"masks of {display.counted(count, 'diagonal')}"
        what = f"matmul: {display.operand(a)} times {display.operand(b)}: {masks}"
        nbytes = 4 * blocks_of(m) * count + (12 if backend is CPU else 44) * pairs
        memory.require(nbytes, request.max_bytes, what, f"{COMMON}_array plans by rows", backend)
    return OwnProducts.planned(format, left, right, request)


def diagonal_count(a: SparseArray) -> int:
    """Return a bound of the number of diagonals, including mirror images."""
    count = a._matrix.parts()["offsets"].size
    return 2 * count if a._matrix.symmetry else count
