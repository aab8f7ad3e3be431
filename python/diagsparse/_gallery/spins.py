"""Hamiltonians of spins."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np

from .making import Dtype, Format, checked_dtype, of_diagonals, whole

_MODELS = {"ising": (True, False, "x"), "xy": (False, True, "z"), "heisenberg": (True, True, "z")}  # ZZ, XX + YY, field


def spin_chain(
    sites: int,
    *,
    coupling: float = 1.0,
    field: float = 1.0,
    periodic: bool = False,
    model: str = "ising",
    dtype: Dtype = float,
    format: Format = None,
) -> Any:
    """Hamiltonian of a chain of spins 1/2, a Kronecker sum of order 2**`sites`, in the Pauli matrices X, Y, Z.

    - "ising" (transverse field): H = -coupling sum Z Z - field sum X
    - "xy":                       H = -coupling sum (X X + Y Y) - field sum Z
    - "heisenberg":               H = -coupling sum (X X + Y Y + Z Z) - field sum Z

    The first sums run over neighbours (`periodic` joins last and first, from 3 sites on), the second over sites; site 0
    is the leftmost Kronecker factor.  H is real symmetric, with at most 2 sites + 1 occupied diagonals.

    >>> from diagsparse import gallery
    >>> gallery.spin_chain(3).offsets
    array([-4, -2, -1,  0,  1,  2,  4], dtype=int32)
    """
    sites = whole("spin_chain", "sites", sites, "a count of spins")
    if sites > 30:
        raise ValueError(f"gallery.spin_chain: sites is {sites}, expected at most 30 (2**30 rows)")
    if model not in _MODELS:
        raise ValueError(f"gallery.spin_chain: model is {model!r}, expected one of {', '.join(map(repr, _MODELS))}")
    coupling, field, dtype = float(coupling), float(field), checked_dtype("spin_chain", dtype)
    aligned, flipped, along = _MODELS[model]
    bonds = [(s, s + 1) for s in range(sites - 1)] + ([(0, sites - 1)] if periodic and sites > 2 else [])
    # A diagonal is an array with one axis per spin, by the bits of its columns: 0 is up, 1 is down.
    spins = [np.array([1, -1], dtype).reshape([2 if axis == s else 1 for axis in range(sites)]) for s in range(sites)]
    main = np.zeros((2,) * sites, dtype)
    for s, t in bonds if aligned else []:
        main -= coupling * spins[s] * spins[t]
    for spin in spins if along == "z" else []:
        main -= field * spin
    diagonals = {0: main} if main.any() else {}
    # X leads from up to column "down", X X + Y Y from (up, down) to columns (down, up), and both back again.
    flips = [({s: 1, t: 0}, -2 * coupling) for s, t in bonds if flipped and coupling]
    flips += [({s: 1}, -field) for s in range(sites) if along == "x" and field]
    for (columns, value), sign in product(flips, (1, -1)):
        offset = sign * sum((2 * down - 1) << (sites - 1 - s) for s, down in columns.items())
        at = tuple(columns[s] ^ (sign < 0) if s in columns else slice(None) for s in range(sites))
        diagonals.setdefault(offset, np.zeros(main.shape, dtype))[at] = value
    return of_diagonals(diagonals, 2**sites, dtype, format)
