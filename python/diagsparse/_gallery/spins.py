"""Hamiltonians of spins."""

from __future__ import annotations

from typing import Any

from .arguments import Dtype, Format, Rows, checked_dtype, gallery_function
from .operators import heisenberg

_MODELS = {"ising": (True, False, "x"), "xy": (False, True, "z"), "heisenberg": (True, True, "z")}  # ZZ, XX + YY, field


@gallery_function
def spin_chain(
    sites: int,
    *,
    coupling: float = 1.0,
    field: float = 1.0,
    periodic: bool = False,
    model: str = "ising",
    dtype: Dtype = float,
    rows: Rows = None,
    format: Format = None,
) -> Any:
    """Return the Hamiltonian of a chain of spins 1/2, in the Pauli matrices X, Y and Z.

    - "ising" (transverse field): H = -coupling sum Z Z - field sum X
    - "xy":                       H = -coupling sum (X X + Y Y) - field sum Z
    - "heisenberg":               H = -coupling sum (X X + Y Y + Z Z) - field sum Z

    The first sums run over neighbouring sites, the second ones over all sites. Site 0 is the leftmost Kronecker factor.

    Parameters
    ----------
    coupling, field : float
        Coefficients of the two sums.
    model : {"ising", "xy", "heisenberg"}
        The Hamiltonian.

    Returns
    -------
    dia_array, shape (2**sites, 2**sites)
        Real symmetric, with at most 2 sites + 1 diagonals.

    Examples
    --------
    >>> from diagsparse import gallery
    >>> gallery.spin_chain(3).offsets
    array([-4, -2, -1,  0,  1,  2,  4], dtype=int32)
    """
    if model not in _MODELS:
        raise ValueError(f"model is {model!r}, expected one of {', '.join(map(repr, _MODELS))}")
    aligned, flipped, along = _MODELS[model]
    j, h = -float(coupling), -float(field)
    return heisenberg(
        sites, couplings=(j * flipped, j * flipped, j * aligned), field=(h * (along == "x"), 0, h * (along == "z")),
        periodic=periodic, dtype=checked_dtype(dtype), rows=rows, format=format,
    )  # fmt: skip
