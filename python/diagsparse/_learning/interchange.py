"""Matrices of diagsparse, SciPy and CuPy as values and offsets for other libraries, and back."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._arrays import owners
from .._backends.backend import cuda_available
from .._formats.dia import dia_array
from .._matrix.operands import is_sparse, require_matrix


def is_matrix(x: Any) -> bool:
    """Whether x is a sparse matrix of diagsparse, SciPy or CuPy."""
    return is_sparse(x)


def diagonals_of(A: Any) -> tuple[Any, list[int], tuple[int, int]]:
    """Return the values of the diagonals of a matrix, aligned by row, their offsets and the shape.

    The values are a NumPy array, or on a GPU a `DeviceArray`. They may share the memory of A, and elements outside of
    the matrix may be anything.
    """
    require_matrix(A, "from_array", "A")
    a = dia_array(A).unpacked()
    a = a.copy() if a._op else a
    return a.values, a.offsets.tolist(), a.shape


def to_matrix(values: Any, offsets: tuple[int, ...], shape: tuple[int, int], format: str) -> Any:
    """Return a matrix of diagsparse with a copy of values, on their device."""
    if owners.owner_of(values) is None or not cuda_available():
        values = np.asarray(values)
    return dia_array((values, list(offsets)), shape=shape, align="row", copy=True).asformat(format)
