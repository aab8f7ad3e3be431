"""Test matrices: bands, finite differences, quantum spins, random diagonals.

Every function returns a SciPy sparse array: a `dia_array` where the nonzeros lie on diagonals (its padding is zero),
else a `csr_array`.  With ``format=`` it returns a diagsparse matrix of that format instead.  ``dtype`` is float32,
float64, complex64 or complex128.  Random values are uniform in [-1, -0.1] and [0.1, 1] (complex: both parts), so that
none is zero; ``seed`` is what `numpy.random.default_rng` takes, and the same seed and dtype give the same bits.  Bad
arguments raise ValueError or TypeError that name what was given and expected.  The cost is that of writing the result.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from itertools import product
from math import prod
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray
from scipy import sparse

Dtype = DTypeLike | None
Format = str | None
Seed = int | Sequence[int] | np.random.Generator | None
_DTYPES = tuple(np.dtype(name) for name in ("float32", "float64", "complex64", "complex128"))
_STENCILS = {3: (1, False), 5: (2, False), 7: (3, False), 9: (2, True), 27: (3, True)}  # points: dimensions, corners
_MODELS = {"ising": (True, False, "x"), "xy": (False, True, "z"), "heisenberg": (True, True, "z")}  # ZZ, XX + YY, field


def banded(n: int, kl: int, ku: int, *, dtype: Dtype = float, seed: Seed = None, format: Format = None) -> Any:
    """Random band of order `n` with `kl` subdiagonals and `ku` superdiagonals (those beyond the corner are left out).

    >>> from diagsparse import gallery
    >>> gallery.banded(5, 1, 2, seed=0).offsets
    array([-1,  0,  1,  2], dtype=int32)
    """
    n = _count("banded", "n", n, "an order")
    kl = _count("banded", "kl", kl, "a count of subdiagonals")
    ku = _count("banded", "ku", ku, "a count of superdiagonals")
    return _random_band("banded", n, np.arange(-min(kl, n), min(ku, n) + 1), dtype, seed, format)


def triangular(n: int, lower: bool = True, *, dtype: Dtype = float, seed: Seed = None, format: Format = None) -> Any:
    """Random full triangle of order `n`, lower or upper, main diagonal included.

    >>> from diagsparse import gallery
    >>> gallery.triangular(4, lower=False, seed=0).nnz
    10
    """
    n = _count("triangular", "n", n, "an order")
    return _random_band("triangular", n, np.arange(1 - n, 1) if lower else np.arange(n), dtype, seed, format)


def hessenberg(n: int, *, dtype: Dtype = float, seed: Seed = None, format: Format = None) -> Any:
    """Random upper Hessenberg matrix of order `n`: the upper triangle and one subdiagonal.

    >>> from diagsparse import gallery
    >>> gallery.hessenberg(4, seed=0).nnz
    13
    """
    n = _count("hessenberg", "n", n, "an order")
    return _random_band("hessenberg", n, np.arange(-1, n), dtype, seed, format)


def random_diagonals(
    n: int, count: int, reach: float = 0.25, *, dtype: Dtype = float, seed: Seed = None, format: Format = None
) -> Any:
    """Random matrix of order `n` with `count` full diagonals, at random offsets up to about +-`reach` n.

    The offsets are drawn uniformly without replacement from -w ... w, where w = 1.04 reach n, at most n - 1.  With the
    default reach, w = 0.26 n and a mean length of 0.87 n fit the structured matrices in tables 1 and 2 of Haque,
    Parvez, Hossain, Algorithms 17(1):31, 2024: the counts of nonzeros of the factors and of their product.

    >>> from diagsparse import gallery
    >>> gallery.random_diagonals(1000, 9, seed=0).offsets.size
    9
    """
    n, count = _count("random_diagonals", "n", n, "an order"), _count("random_diagonals", "count", count, "a count")
    if not 0 <= reach <= 1:
        raise ValueError(f"gallery.random_diagonals: reach is {reach}, expected a share of n from 0 to 1")
    width = min(n - 1, round(1.04 * reach * n))
    if count > (available := max(0, 2 * width + 1)):
        raise ValueError(f"gallery.random_diagonals: count is {count}, but n = {n}, reach = {reach} leave {available}")
    rng = np.random.default_rng(seed)
    offsets = np.sort(rng.choice(available, count, replace=False)) - width if count else np.arange(0)
    return _random_band("random_diagonals", n, offsets, dtype, rng, format)


def arrow(n: int, *, dtype: Dtype = float, seed: Seed = None, format: Format = None) -> Any:
    """Random arrowhead of order `n`: first row, first column and main diagonal (a `csr_array`), diagonals' worst case.

    >>> from diagsparse import gallery
    >>> gallery.arrow(4, seed=0).nnz
    10
    """
    n = _count("arrow", "n", n, "an order")
    rest, zero = np.arange(1, n), np.zeros(max(n - 1, 0), dtype=int)
    rows, columns = np.concatenate((np.arange(n), zero, rest)), np.concatenate((np.arange(n), rest, zero))
    values = _random(len(rows), _dtype("arrow", dtype), np.random.default_rng(seed))
    return _as(sparse.csr_array((values, (rows, columns)), shape=(n, n)), format)


def tridiagonal(
    n: int, *, lower: complex = -1, main: complex = 2, upper: complex = -1, dtype: Dtype = float, format: Format = None
) -> Any:
    """Tridiagonal matrix of order `n` with constant diagonals (zero ones left out), by default the second difference.

    >>> from diagsparse import gallery
    >>> gallery.tridiagonal(3).toarray()
    array([[ 2., -1.,  0.],
           [-1.,  2., -1.],
           [ 0., -1.,  2.]])
    """
    n = _count("tridiagonal", "n", n, "an order")
    values = _values("tridiagonal", "(lower, main, upper)", (lower, main, upper))
    return _constant("tridiagonal", (n, n), np.arange(-1, 2), values, dtype, format)


def toeplitz(
    first_column: ArrayLike, first_row: ArrayLike | None = None, *, dtype: Dtype = None, format: Format = None
) -> Any:
    """Toeplitz matrix (m x n) of a first column (m,) and a first row (n,); only the nonzero diagonals are stored.

    As in `scipy.linalg.toeplitz`, `first_row` defaults to the conjugate of the column and its first element is ignored.
    `dtype` defaults to that of the values, float64 for integers.

    >>> from diagsparse import gallery
    >>> gallery.toeplitz([4, 1, 0], [4, 0, 2, 0]).toarray()
    array([[4., 0., 2., 0.],
           [1., 4., 0., 2.],
           [0., 1., 4., 0.]])
    """
    column = _values("toeplitz", "first_column", first_column)
    row = column.conj() if first_row is None else _values("toeplitz", "first_row", first_row)
    values = np.concatenate((column[::-1], row[1:]))
    offsets = np.arange(len(values)) - (len(column) - 1)
    dtype = values.dtype if dtype is None and values.dtype.kind in "fc" else dtype
    return _constant("toeplitz", (len(column), len(row)), offsets, values, dtype, format)


def stencil(
    points: int, shape: int | Sequence[int], *, periodic: bool = False, dtype: Dtype = float, format: Format = None
) -> Any:
    """Negative Laplacian by finite differences on a grid (unit spacing, C order), Dirichlet or periodic.

    `points` is 3 (1-D), 5 or 9 (2-D), 7 or 27 (3-D); `shape` is the grid's, one number standing for all its axes; the
    matrix has a row per grid point.  Neighbours hold -1 and the main diagonal points - 1; 9 and 27 points take the
    corners in (27: the matrix of the HPCG benchmark).  Periodic axes need 3 points or more; in two and three dimensions
    a periodic grid comes as a `csr_array`, since its wrapped diagonals are mostly empty.

    >>> from diagsparse import gallery
    >>> gallery.stencil(5, (100, 200)).offsets
    array([-200,   -1,    0,    1,  200], dtype=int32)
    """
    if points not in _STENCILS:
        raise ValueError(f"gallery.stencil: points is {points!r}, expected one of {', '.join(map(str, _STENCILS))}")
    dimensions, corners = _STENCILS[points]
    sizes = tuple(shape) if isinstance(shape, Sequence) else (shape,) * dimensions
    grid = tuple(_count("stencil", "shape", size, "a count of grid points") for size in sizes)
    if len(grid) != dimensions:
        raise ValueError(f"gallery.stencil: shape is {grid}, but {points} points need a {dimensions}-D grid")
    if periodic and min(grid) < 3:
        raise ValueError(f"gallery.stencil: shape is {grid}, but a periodic axis needs at least 3 points")
    dtype = _dtype("stencil", dtype)
    steps = [step for step in product((-1, 0, 1), repeat=dimensions) if corners or sum(map(abs, step)) <= 1]
    coefficients = np.array([-1 if any(step) else points - 1 for step in steps], dtype)
    n, strides = prod(grid), [prod(grid[axis + 1 :]) for axis in range(dimensions)]
    if periodic:
        index = np.arange(n).reshape(grid)
        columns = np.stack([np.roll(index, step, range(dimensions)).ravel() for step in steps], axis=1)
        parts = np.tile(coefficients, n), columns.ravel(), np.arange(n + 1) * points
        csr = sparse.csr_array(parts, shape=(n, n)).sorted_indices()
        return _as(csr.todia() if dimensions == 1 else csr, format)
    diagonals: dict[int, NDArray[Any]] = {}  # on a grid of one or two points across, several steps share an offset
    for step, coefficient in zip(steps, coefficients, strict=True):
        at = tuple(slice(max(0, s), size + min(0, s)) for s, size in zip(step, grid, strict=True))  # its columns
        diagonals.setdefault(sum(map(operator.mul, step, strides)), np.zeros(grid, dtype))[at] += coefficient
    return _dia({offset: values for offset, values in diagonals.items() if values.any()}, n, dtype, format)


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
    sites = _count("spin_chain", "sites", sites, "a count of spins")
    if sites > 30:
        raise ValueError(f"gallery.spin_chain: sites is {sites}, expected at most 30 (2**30 rows)")
    if model not in _MODELS:
        raise ValueError(f"gallery.spin_chain: model is {model!r}, expected one of {', '.join(map(repr, _MODELS))}")
    coupling, field, dtype = float(coupling), float(field), _dtype("spin_chain", dtype)
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
    return _dia(diagonals, 2**sites, dtype, format)


def _as(matrix: Any, format: Format) -> Any:
    if format is None:
        return matrix
    from ._matrix.construct import array  # here, so that the gallery works without the compiled core

    return array(matrix, format)


def _dia(diagonals: dict[int, NDArray[Any]], n: int, dtype: np.dtype[Any], format: Format) -> Any:
    """Square matrix of these diagonals, each an array with one element per column."""
    offsets = np.array(sorted(diagonals), dtype=int)
    data = np.empty((len(offsets), n), dtype)
    for row, offset in zip(data, offsets, strict=True):
        row[:] = diagonals[offset].ravel()
    return _as(sparse.dia_array((data, offsets), shape=(n, n)), format)


def _constant(
    where: str, shape: tuple[int, int], offsets: NDArray[Any], values: NDArray[Any], dtype: Dtype, format: Format
) -> Any:
    """Matrix with one constant per diagonal; those that are zero or outside the shape are left out."""
    dtype = _dtype(where, dtype)
    if values.dtype.kind == "c" and dtype.kind != "c":
        raise TypeError(f"gallery.{where}: complex values do not fit dtype {dtype}")
    keep = (values != 0) & (offsets > -shape[0]) & (offsets < shape[1])
    data = np.where(_inside(shape, offsets[keep]), values[keep, None].astype(dtype), dtype.type(0))
    return _as(sparse.dia_array((data, offsets[keep]), shape=shape), format)


def _random_band(where: str, n: int, offsets: NDArray[Any], dtype: Dtype, seed: Seed, format: Format) -> Any:
    offsets = offsets[abs(offsets) < n]
    data = _random((len(offsets), n), _dtype(where, dtype), np.random.default_rng(seed))
    data[~_inside((n, n), offsets)] = 0
    return _as(sparse.dia_array((data, offsets), shape=(n, n)), format)


def _inside(shape: tuple[int, int], offsets: NDArray[Any]) -> NDArray[np.bool_]:
    """Where column j of diagonal k lies in the matrix: (diagonals, columns), as a `dia_array` stores them."""
    columns = np.arange(shape[1])
    return (columns >= offsets[:, None]) & (columns < shape[0] + offsets[:, None])


def _random(size: int | tuple[int, ...], dtype: np.dtype[Any], rng: np.random.Generator) -> NDArray[Any]:
    if dtype.kind == "c":
        size = (size,) if isinstance(size, int) else size
        return _random((*size, 2), dtype.type(0).real.dtype, rng).view(dtype)[..., 0]
    values = 2 * rng.random(size, dtype.type) - 1
    return np.copysign(dtype.type(0.1) + dtype.type(0.9) * abs(values), values)


def _dtype(where: str, dtype: Dtype) -> np.dtype[Any]:
    if (result := np.dtype(dtype)) not in _DTYPES:
        raise TypeError(f"gallery.{where}: dtype is {result}, expected {', '.join(d.name for d in _DTYPES)}")
    return result


def _count(where: str, name: str, value: Any, meaning: str) -> int:
    if not hasattr(value, "__index__"):
        raise TypeError(f"gallery.{where}: {name} is {value!r}, expected {meaning}, a whole number")
    if (result := operator.index(value)) < 0:
        raise ValueError(f"gallery.{where}: {name} is {result}, expected {meaning} >= 0")
    return result


def _values(where: str, name: str, values: ArrayLike) -> NDArray[Any]:
    result = np.asarray(values)
    if result.ndim != 1 or result.dtype.kind not in "biufc":
        raise TypeError(f"gallery.{where}: {name} is {result.dtype} {result.shape}, expected a row of numbers")
    return result
