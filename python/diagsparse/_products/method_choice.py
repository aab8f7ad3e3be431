"""Which method factors a matrix: by its offsets, unless one is asked for."""

from __future__ import annotations

from typing import Any

from .._backends import libraries
from .._backends.backend import CPU, Backend
from .._matrix.sparse_array import SparseArray
from . import host_factors


def _methods(backend: Backend) -> Any:
    """Return the module with the methods of a device; that of a GPU is imported at its first use."""
    if backend is CPU:
        return host_factors
    from . import device_methods

    return device_methods


def reach(a: SparseArray) -> tuple[int, int]:
    """Return the largest distances of nonzero diagonals below and above the main one."""
    offsets = a._summary().offsets
    if a._backend is CPU or abs(offsets).max(initial=0) > 1:  # counting nonzeros takes as long as a tridiagonal solve
        offsets = offsets[a._summary().fill > 0]
    return int(-min(offsets.min(initial=0), 0)), int(max(offsets.max(initial=0), 0))


def default_method(a: SparseArray, below: int, above: int, members: int) -> str:
    """Return the name of the method that suits the bandwidth, for a matrix of `members` diagonal blocks."""
    if is_triangular(below, above) and max(below, above) > 0:
        return "triangular"
    methods, needed = _methods(a._backend), _first_that_fits(a, below, above)
    return methods.chosen(a, below, above, needed, members)


def is_triangular(below: int, above: int) -> bool:
    """Whether a matrix with these offsets has diagonals on one side of the main one alone."""
    return min(below, above) == 0


def _first_that_fits(a: SparseArray, below: int, above: int) -> str:
    """Return the first method that supports offsets from `-below` to `above`."""
    methods = _methods(a._backend)
    return next(name for name in methods.METHODS if max(below, above) <= methods.REACH.get(name, a.shape[0]))


def checked_method(a: SparseArray, method: str | None, below: int, above: int, members: int) -> str:
    """Return the name of the method after checks, by default the one that suits the bandwidth."""
    order = list(_methods(a._backend).METHODS)
    requested = method
    if method is None:
        method = default_method(a, below, above, members)
    elif method not in order:
        raise ValueError(f"no method {method!r} on {a.device}; expected {', '.join(order)}")
    elif order.index(method) < order.index(_first_that_fits(a, below, above)) or (
        method == "triangular" and not is_triangular(below, above)
    ):
        raise ValueError(f"method {method!r}, but A has offsets from {-below} to {above}")
    if method == "cudss" and isinstance(why := libraries.cudss(), Exception):
        reason = "" if requested else f"A has offsets from {-below} to {above}, which need NVIDIA's cuDSS on a GPU; "
        hint = "pip install 'diagsparse[cudss]', or write A.to(\"cpu\")"
        raise ImportError(f"{reason}cuDSS is not available ({why}): {hint}") from why
    return method
