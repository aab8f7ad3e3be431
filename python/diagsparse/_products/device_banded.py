"""Bands on a GPU: factors by block cyclic reduction, or by LAPACK on the host where pivoting is needed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .._backends import memory
from .._backends.backend import CPU
from .._matrix.convert import convert
from .._matrix.sparse_array import SparseArray
from . import host_methods
from .banded_sizes import stored_values

_OF_DIAGONALS = ("dia", "hm", "cdm")


def banded(a: SparseArray, below: int, above: int) -> tuple[Callable[[Any, Any], None], int]:
    """Return a solver for the diagonals of `a` from `-below` to `above`, and the bytes of the factors."""
    nbytes = stored_values(a.shape[0], below, above) * a.dtype.itemsize
    memory.require_free(nbytes, f"factorized: factors of a band of {a.shape[0]} rows", a._backend)
    diagonals = a if a.format in _OF_DIAGONALS else convert(a, "hm")
    factors = a._core.factor_band(diagonals._matrix, diagonals._op, below, above)
    if factors is None:
        return _pivoting(diagonals, below, above)
    copied = 0 if diagonals is a else diagonals.nbytes  # the factors refer to them
    return factors.solve, factors.nbytes + copied


def _pivoting(a: SparseArray, below: int, above: int) -> tuple[Callable[[Any, Any], None], int]:
    """Factor on the host; right-hand sides are copied to it, and solutions back."""
    n, core, device = a.shape[0], a._core, a._backend.index
    values = n * (2 * below + above + 1)
    memory.require_free(values * a.dtype.itemsize, "factorized: factors on the host, as pivoting is needed", CPU)
    try:
        factored, nbytes = host_methods.banded(a.to("cpu"), a.dtype.type(0), below, above, n)
    except np.linalg.LinAlgError:  # it is a ValueError, too
        raise
    except ValueError:
        raise np.linalg.LinAlgError("values are not finite") from None

    def solve(b: Any, x: Any) -> None:
        with np.errstate(all="ignore"):
            found = factored(b.T.get().T, "N", host_methods.ALL)
        x.assign(core.from_host(np.ascontiguousarray(found.T), device).T)

    return solve, nbytes
