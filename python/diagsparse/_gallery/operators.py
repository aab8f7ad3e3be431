"""Operators of quantum physics, built by diagonals: sums of Pauli strings, chains of spins and bosons."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import product
from math import prod
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._backends.docstrings import completed_by
from .arguments import Dtype, Format, checked_dtype, gallery_function, numbers, whole_number
from .construction import from_diagonals, require_memory

_MOST_SITES = 30  # largest number of spins: 2**30 rows
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
def pauli_sum(strings: Iterable[str], coefficients: ArrayLike, *, dtype: Dtype = None, format: Format = None) -> Any:
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
        if there are more than 30 sites, or if the values are complex and `dtype` is real.
    MemoryError
        If the diagonals do not fit in memory. The message states the number of bytes.

    Notes
    -----
    A string with f letters X or Y occupies up to 2**f diagonals. Building the matrix takes one pass over 2**sites
    columns for each string and each of its diagonals, and temporarily needs twice the memory of the diagonals.

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
    _check_sites(sites)
    # A factor i for each Y; the product is real if their number is even.
    factors = np.array(
        [c * 1j ** string.count("Y") for c, string in zip(factors.tolist(), strings, strict=True)], complex
    )
    real = not factors.imag.any()
    dtype = checked_dtype((np.float64 if real else np.complex128) if dtype is None else dtype)
    if not real and dtype.kind != "c":
        raise TypeError(f"complex values do not fit dtype {dtype}")
    flips: dict[tuple[int, ...], list[tuple[str, complex]]] = {}  # strings by the sites that they flip
    for string, factor in zip(strings, factors, strict=True):
        flips.setdefault(tuple(s for s, letter in enumerate(string) if letter in "XY"), []).append((string, factor))
    require_memory(sum(2 ** len(sites) for sites in flips) * 2**sites * dtype.itemsize)
    # A diagonal is an array with one axis per site, by the bits of its columns; Z and Y change sign with the bit.
    signs = [np.array([1, -1], dtype).reshape([2 if axis == s else 1 for axis in range(sites)]) for s in range(sites)]
    diagonals: dict[int, NDArray[Any]] = {}
    for flipped, terms in flips.items():
        values = np.zeros((2,) * sites, dtype)
        for string, factor in terms:
            term = dtype.type(factor if dtype.kind == "c" else factor.real)
            values += prod((signs[s] for s, letter in enumerate(string) if letter in "YZ"), start=term)
        for bits in product((0, 1), repeat=len(flipped)):
            offset = sum((2 * bit - 1) << (sites - 1 - s) for s, bit in zip(flipped, bits, strict=True))
            at: list[Any] = [slice(None)] * sites
            for s, bit in zip(flipped, bits, strict=True):
                at[s] = bit
            if values[tuple(at)].any():
                diagonals.setdefault(offset, np.zeros(values.shape, dtype))[tuple(at)] += values[tuple(at)]
    return from_diagonals(diagonals, 2**sites, dtype, format)


@gallery_function
@_of_spins
def heisenberg(
    sites: int,
    *,
    couplings: Sequence[float] = (1.0, 1.0, 1.0),
    field: Sequence[ArrayLike] = (0.0, 0.0, 0.0),
    periodic: bool = False,
    dtype: Dtype = None,
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
    sites = _check_sites(whole_number("sites", sites, "a count of spins"))
    for name, three in (("couplings", numbers("couplings", couplings)), ("field", field)):
        if len(three) != 3:
            raise ValueError(f"{name} has {len(three)} elements, expected three, along X, Y and Z")
    terms = [({s: letter, t: letter}, j) for s, t in _bonds(sites, periodic)
             for letter, j in zip("XYZ", couplings, strict=True)]  # fmt: skip
    for letter, h in zip("XYZ", field, strict=True):
        terms += [({s: letter}, value) for s, value in enumerate(_on_sites("field", h, sites))]
    terms = [(letters, value) for letters, value in terms if value] or [({}, 0.0)]
    strings = ["".join(letters.get(s, "I") for s in range(sites)) for letters, _ in terms]
    return pauli_sum(strings, [value for _, value in terms], dtype=dtype, format=format)


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
    sites = _check_sites(whole_number("sites", sites, "a count of spins"))
    across, along = (
        -np.array(_on_sites(name, h, sites), float) for name, h in (("field", field), ("longitudinal", longitudinal))
    )
    return heisenberg(sites, couplings=(0, 0, -coupling), field=(across, 0, along), periodic=periodic, dtype=dtype,
                      format=format)  # fmt: skip


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
    if levels < 1 or sites * np.log2(max(levels, 1)) > _MOST_SITES:
        raise ValueError(f"{levels} levels on {sites} sites, expected 1 to 2**{_MOST_SITES} states")
    hopping, interaction, dtype = float(hopping), float(interaction), checked_dtype(dtype)
    bonds = _bonds(sites, periodic)
    require_memory((2 * len(bonds) + 1) * levels**sites * dtype.itemsize)
    count = [np.arange(levels).reshape([levels if axis == s else 1 for axis in range(sites)]) for s in range(sites)]
    main = np.zeros((levels,) * sites, dtype)
    for n, mu in zip(count, _on_sites("potential", potential, sites), strict=True):
        main += (interaction / 2 * n * (n - 1) - mu * n).astype(dtype)
    diagonals = {0: main} if main.any() else {}
    for one, other in bonds if hopping and levels > 1 else []:
        # A boson moves from t to s, in columns with at least one boson on t and a free level on s.
        for s, t in ((one, other), (other, one)):
            offset = levels ** (sites - 1 - t) - levels ** (sites - 1 - s)
            value = np.sqrt((count[s] + 1) * count[t]) * (count[s] < levels - 1)
            diagonal = diagonals.setdefault(offset, np.zeros(main.shape, dtype))
            diagonal -= (hopping * value).astype(dtype)
    return from_diagonals(diagonals, levels**sites, dtype, format)


def _check_sites(sites: int) -> int:
    if sites > _MOST_SITES:
        raise ValueError(f"{sites} sites, expected at most {_MOST_SITES} (2**{_MOST_SITES} rows)")
    return sites


def _bonds(sites: int, periodic: bool) -> list[tuple[int, int]]:
    return [(s, s + 1) for s in range(sites - 1)] + ([(0, sites - 1)] if periodic and sites > 2 else [])


def _on_sites(name: str, values: ArrayLike, sites: int) -> list[Any]:
    """Return a list with one number for each site."""
    given = np.asarray(values)
    if given.dtype.kind not in "biuf" or given.shape not in ((), (sites,)):
        raise ValueError(f"{name} is {given.dtype} {given.shape}, expected a real number, or {sites} of them")
    return np.broadcast_to(given, sites).tolist()
