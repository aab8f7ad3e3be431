"""What substitution on both devices has in common: the formats that it reads, and the error for a zero pivot."""

from __future__ import annotations

import numpy as np

from .._matrix.base import CONJUGATED
from .._matrix.convert import convert
from .._matrix.sparse_array import SparseArray

DIAGONALS = ("dia", "hm", "cdm")  #: formats whose diagonals are read as they are stored


class Singular(np.linalg.LinAlgError):
    """A singular matrix; the pivot in `row` is zero."""

    def __init__(self, row: int) -> None:
        super().__init__(f"the pivot of row {row} is zero")
        self.row = row


def stored(a: SparseArray) -> SparseArray:
    """Return `a` as diagonals or csr, whose values are stored as they are: only diagonals may be transposed."""
    if a.format in DIAGONALS:
        return a.copy() if a._op & CONJUGATED else a
    csr = convert(a, "csr")
    return csr.copy() if csr._op else csr
