"""Operators of quantum physics, built by diagonals: sums of Pauli strings, chains of spins and bosons."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import product
from math import prod
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._backends.docstrings import completed_by
from .arguments import Dtype, Format, Rows, checked_dtype, gallery_function, numbers, whole_number
from .palettes import diagonals_for
from .rows import row_range

_of_spins = completed_by("""
Parameters
----------
dtype : dtype, optional
    By default float64 if the result is real, and complex128 otherwise.

Returns
-------
dia_array, shape (2**sites, 2**sites)
""")


@gallery_function
@_of_spins
def pauli_sum(
    strings: Iterable[str],
    coefficients: ArrayLike,
    *,
    dtype: Dtype = None,
    rows: Rows = None,
    format: Format = None,
) -> Any:
    """Return a sum of Pauli strings with coefficients, sum c_k P_k.

    A Pauli string is a Kronecker product of the matrices I, X, Y and Z. Site 0 is the leftmost factor.

    Parameters
    ----------
    strings : iterable of str
        The strings, with one letter I, X, Y or Z for each site.
    coefficients : array_like
        One coefficient for each string.

    Raises
    ------
    ValueError, TypeError
        If the strings have different lengths or other letters, if their number differs from that of the coefficients,
        if there are more than 30 sites, or 40 with `rows`, or if the values are complex and `dtype` is real.
    MemoryError
        If the diagonals do not fit in memory. The message states the number of bytes.

    Notes
    -----
    A string with f letters X or Y occupies up to 2**f diagonals. Building the matrix takes one pass over 2**sites
    columns for each string and each of its diagonals, and temporarily needs twice the memory of the diagonals. With
    ``format="mdia"``, large matrices get their palette from the values that the strings of a diagonal can have, and no
    value is written for each element, except on diagonals that depend on all sites.

    Examples
    --------
    >>> from diagsparse import gallery
    >>> gallery.pauli_sum(["XX", "ZI"], [2, 1]).toarray()
    array([[ 1.,  0.,  0.,  2.],
           [ 0.,  1.,  2.,  0.],
           [ 0.,  2., -1.,  0.],
           [ 2.,  0.,  0., -1.]])
    >>> gallery.pauli_sum(["Y"], [1]).toarray()
    array([[0.+0.j, 0.-1.j],
           [0.+1.j, 0.+0.j]])
    """
    strings = list(strings)
    factors = numbers("coefficients", coefficients)
    if len(strings) != len(factors):
        raise ValueError(f"{len(strings)} strings and {len(factors)} coefficients, expected equal numbers")
    for string in strings:
        if not isinstance(string, str) or set(string) - set("IXYZ"):
            raise ValueError(f"string {string!r}, expected letters I, X, Y, Z")
        if len(string) != len(strings[0]):
            raise ValueError(f"strings {strings[0]!r} and {string!r}, expected equal lengths")
    sites = len(strings[0]) if strings else 0
    _check_sites(sites, rows)
    # In row r of a factor X, Y or Z, the element is 1, -i (-1)**r or (-1)**r. The product is real if the Ys are even.
    factors = np.array(
        [c * (-1j) ** string.count("Y") for c, string in zip(factors.tolist(), strings, strict=True)], complex
    )
    real = not factors.imag.any()
    dtype = checked_dtype((np.float64 if real else np.complex128) if dtype is None else dtype)
    if not real and dtype.kind != "c":
        raise TypeError(f"complex values do not fit dtype {dtype}")
    flips: dict[tuple[int, ...], list[tuple[str, Any]]] = {}  # strings by the sites that they flip
    for string, factor in zip(strings, (factors if dtype.kind == "c" else factors.real).astype(dtype), strict=True):
        flips.setdefault(tuple(s for s, letter in enumerate(string) if letter in "XY"), []).append((string, factor))
    selected = row_range(rows, (2**sites, 2**sites))
    most = sum(min(2 ** len(flipped), selected.shape[0]) for flipped in flips)
    diagonals = diagonals_for(selected, dtype, format, most)
    for box in selected.boxes((2,) * sites):
        signs = [(1 - 2 * bit).astype(dtype) for bit in box.coordinates]
        for flipped, terms in flips.items():
            values = np.zeros((1,) * len(box.shape), dtype)
            for string, factor in terms:
                values = values + prod((signs[s] for s, letter in enumerate(string) if letter in "YZ"), start=factor)
            for bits in product(*(box.ranges[s] for s in flipped)):
                at = box.part({s: range(bit, bit + 1) for s, bit in zip(flipped, bits, strict=True)})
                assert at is not None  # these bits are in the box
                axes = tuple(part if size > 1 else slice(None) for part, size in zip(at, values.shape, strict=True))
                own: NDArray[Any] = values[axes]
                if own.any():
                    offset = sum((1 - 2 * bit) << (sites - 1 - s) for s, bit in zip(flipped, bits, strict=True))
                    diagonals.add(box, offset, own, at)
    return diagonals.matrix()


@gallery_function
@_of_spins
def heisenberg(
    sites: int,
    *,
    couplings: Sequence[float] = (1.0, 1.0, 1.0),
    field: Sequence[ArrayLike] = (0.0, 0.0, 0.0),
    periodic: bool = False,
    dtype: Dtype = None,
    rows: Rows = None,
    format: Format = None,
) -> Any:
    """Return the Hamiltonian of a Heisenberg chain: sum (jx X X + jy Y Y + jz Z Z) + sum (hx X + hy Y + hz Z).

    The first sum runs over neighbouring sites, the second over all sites.

    Parameters
    ----------
    couplings : sequence of 3 numbers
        jx, jy and jz.
    field : sequence of 3 numbers or arrays of shape (sites,)
        hx, hy and hz. A field along Y makes the result complex.

    Examples
    --------
    >>> from diagsparse import gallery
    >>> gallery.heisenberg(2).toarray()
    array([[ 1.,  0.,  0.,  0.],
           [ 0., -1.,  2.,  0.],
           [ 0.,  2., -1.,  0.],
           [ 0.,  0.,  0.,  1.]])
    """
    sites = _check_sites(whole_number("sites", sites, "a count of spins"), rows)
    for name, three in (("couplings", numbers("couplings", couplings)), ("field", field)):
        if len(three) != 3:
            raise ValueError(f"{name} has {len(three)} elements, expected three, along X, Y and Z")
    terms = [({s: letter, t: letter}, j) for s, t in _bonds(sites, periodic)
             for letter, j in zip("XYZ", couplings, strict=True)]  # fmt: skip
    for letter, h in zip("XYZ", field, strict=True):
        terms += [({s: letter}, value) for s, value in enumerate(_on_sites("field", h, sites))]
    terms = [(letters, value) for letters, value in terms if value] or [({}, 0.0)]
    strings = ["".join(letters.get(s, "I") for s in range(sites)) for letters, _ in terms]
    return pauli_sum(strings, [value for _, value in terms], dtype=dtype, rows=rows, format=format)


@gallery_function
@_of_spins
def transverse_ising(
    sites: int,
    *,
    coupling: float = 1.0,
    field: ArrayLike = 1.0,
    longitudinal: ArrayLike = 0.0,
    periodic: bool = False,
    dtype: Dtype = None,
    rows: Rows = None,
    format: Format = None,
) -> Any:
    """Return the Hamiltonian of an Ising chain in a field: -coupling sum Z Z - field sum X - longitudinal sum Z.

    Parameters
    ----------
    coupling : float
        Coupling of neighbouring spins.
    field, longitudinal : number or array of shape (sites,)
        Transverse and longitudinal field, for all sites or for each of them.

    Examples
    --------
    >>> from diagsparse import gallery
    >>> gallery.transverse_ising(2).toarray()
    array([[-1., -1., -1.,  0.],
           [-1.,  1.,  0., -1.],
           [-1.,  0.,  1., -1.],
           [ 0., -1., -1., -1.]])
    """
    sites = _check_sites(whole_number("sites", sites, "a count of spins"), rows)
    across, along = (
        -np.array(_on_sites(name, h, sites), float) for name, h in (("field", field), ("longitudinal", longitudinal))
    )
    return heisenberg(sites, couplings=(0, 0, -coupling), field=(across, 0, along), periodic=periodic, dtype=dtype,
                      rows=rows, format=format)  # fmt: skip


@gallery_function
def bose_hubbard(
    sites: int,
    *,
    levels: int = 3,
    hopping: float = 1.0,
    interaction: float = 1.0,
    potential: ArrayLike = 0.0,
    periodic: bool = False,
    dtype: Dtype = float,
    rows: Rows = None,
    format: Format = None,
) -> Any:
    """Return the Hamiltonian of bosons on a chain with at most ``levels - 1`` bosons per site.

    H = -hopping sum (b+ b + h. c.) + interaction / 2 sum n (n - 1) - potential sum n. The first sum runs over
    neighbouring sites, the others over all sites. Site 0 is the leftmost Kronecker factor.

    Parameters
    ----------
    sites : int
        Number of sites.
    levels : int
        Number of states per site.
    hopping, interaction : float
        Coefficients of the first two sums.
    potential : number or array of shape (sites,)
        Chemical potential, for all sites or for each of them.

    Returns
    -------
    dia_array, shape (levels**sites, levels**sites)
        Real symmetric, with one diagonal for each direction of each bond.

    Examples
    --------
    >>> from diagsparse import gallery
    >>> gallery.bose_hubbard(2, levels=2, potential=[1, 2]).toarray()
    array([[ 0.,  0.,  0.,  0.],
           [ 0., -2., -1.,  0.],
           [ 0., -1., -1.,  0.],
           [ 0.,  0.,  0., -3.]])
    """
    sites, levels = (
        whole_number("sites", sites, "a count of sites"),
        whole_number("levels", levels, "a count of levels"),
    )
    most = _most_sites(rows)
    if levels < 1 or sites * np.log2(max(levels, 1)) > most:
        raise ValueError(f"{levels} levels on {sites} sites, expected 1 to 2**{most} states")
    hopping, interaction, dtype = float(hopping), float(interaction), checked_dtype(dtype)
    bonds = _bonds(sites, periodic)
    potentials = _on_sites("potential", potential, sites)
    selected = row_range(rows, (levels**sites, levels**sites))
    diagonals = diagonals_for(selected, dtype, format, most=2 * len(bonds) + 1)
    for box in selected.boxes((levels,) * sites):
        count, main = box.coordinates, np.zeros(box.shape, dtype)
        for n, mu in zip(count, potentials, strict=True):
            main += (interaction / 2 * n * (n - 1) - mu * n).astype(dtype)
        if main.any():
            diagonals.add(box, 0, main)
        for one, other in bonds:
            # A boson moves from t to s; a row has the numbers after that.
            for s, t in ((one, other), (other, one)):
                value = hopping * (np.sqrt(count[s] * (count[t] + 1)) * (count[t] < levels - 1))
                if value.any():
                    offset = levels ** (sites - 1 - t) - levels ** (sites - 1 - s)
                    diagonals.add(box, offset, -value.astype(dtype))
    return diagonals.matrix()


def _most_sites(rows: Rows) -> int:
    """Return the largest number of spins, and the base-2 logarithm of the largest number of states."""
    return 30 if rows is None else 40


def _check_sites(sites: int, rows: Rows) -> int:
    if sites > (most := _most_sites(rows)):
        raise ValueError(f"{sites} sites, expected at most {most} (2**{most} rows)")
    return sites


def _bonds(sites: int, periodic: bool) -> list[tuple[int, int]]:
    return [(s, s + 1) for s in range(sites - 1)] + ([(0, sites - 1)] if periodic and sites > 2 else [])


def _on_sites(name: str, values: ArrayLike, sites: int) -> list[Any]:
    """Return a list with one number for each site."""
    given = np.asarray(values)
    if given.dtype.kind not in "biuf" or given.shape not in ((), (sites,)):
        raise ValueError(f"{name} is {given.dtype} {given.shape}, expected a real number, or {sites} of them")
    return np.broadcast_to(given, sites).tolist()
