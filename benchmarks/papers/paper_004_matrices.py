"""The matrices of the experiments on blocks: the nine of the thesis or stand-ins, and further ones for A x."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import product
from math import isqrt
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from diagsparse import gallery
from diagsparse._gallery.construction import random_values
from diagsparse.io import read_floats

from ..experiment import matrix_files
from .paper_004_printed import TABLE, Printed

BLOCK = 8
FILL_BINS = (1, 2, 3, 5, 9, 17, 33, 64, 65)  #: bin edges of the histogram in figure 4.4
FILLS = (1, 2, 4, 6, 8, 12, 16, 24, 32, 48, 64)  #: mean numbers of entries per block


@dataclass(frozen=True, eq=False)
class Matrix:
    """A named matrix; `make(scale)` returns it as SciPy's csr, with about `scale` times its rows."""

    source: str  #: "thesis", "blocks", "gallery" or "file"
    what: str
    make: Callable[[float], sp.csr_array]
    printed: Printed | None = None
    stands_in: bool = False


def matrices(quick: bool, scale: float) -> Iterator[Matrix]:
    """Yield the nine of the thesis, matrices of blocks, matrices of the gallery, and files: two of each if `quick`.

    The nine are read from files, if available, only if `scale` is 1.
    """
    files = matrix_files()
    few = slice(2 if quick else None)
    for printed in list(TABLE)[few]:
        if scale == 1 and printed.name in files:
            yield Matrix("thesis", printed.name, partial(_read, files[printed.name]), printed)
        else:
            yield Matrix("thesis", printed.name, partial(stand_in, printed), printed, stands_in=True)
    for fill in (1, 64) if quick else FILLS:
        yield Matrix("blocks", f"{fill} a block", partial(_filled, fill))
    for what, make in list(_GALLERY.items())[few]:
        yield Matrix("gallery", what, make)
    names = {printed.name for printed in TABLE}
    for name, path in [(name, path) for name, path in files.items() if name not in names][few]:
        yield Matrix("file", name, partial(_read, path))


def _read(path: Path, scale: float) -> sp.csr_array:
    """Return the matrix in a file, unscaled; the real part of a complex one."""
    return sp.csr_array(read_floats(path).to_scipy("csr").real)


def _filled(fill: int, scale: float) -> sp.csr_array:
    pattern = gallery.stencil(7, (_edge(30, scale, 3),) * 3).tocoo()
    return gallery.blocked(pattern, fill * pattern.nnz, size=BLOCK, seed=0)


_GALLERY: dict[str, Callable[[float], sp.csr_array]] = {
    "5-point grid": lambda scale: gallery.stencil(5, (_edge(1000, scale, 2),) * 2).tocsr(),
    "9-point grid": lambda scale: gallery.stencil(9, (_edge(1000, scale, 2),) * 2).tocsr(),
    "7-point grid": lambda scale: gallery.stencil(7, (_edge(100, scale, 3),) * 3).tocsr(),
    "27-point grid": lambda scale: gallery.stencil(27, (_edge(60, scale, 3),) * 3).tocsr(),
    "band of 5 diagonals": lambda scale: gallery.banded(round(1e6 * scale), 2, 2, seed=0).tocsr(),
    "band of 41 diagonals": lambda scale: gallery.banded(round(250_000 * scale), 20, 20, seed=0).tocsr(),
    "quasi-bands": lambda scale: gallery.quasi_band(_edge(32_000, scale, 2), seed=0),
    "scattered diagonals": lambda scale: gallery.random_diagonals(round(100_000 * scale), 50, seed=0).tocsr(),
    "spins": lambda scale: gallery.spin_chain(round(18 + np.log2(scale)), model="heisenberg").tocsr(),
    "configuration interaction": lambda scale: gallery.ci_matrix(_edge(16_384, scale, 2), seed=0),
}


# ---- stand-ins ----------------------------------------------------------------------------------------------------
def stand_in(printed: Printed, scale: float) -> sp.csr_array:
    """Return a matrix of the same kind with the printed numbers of rows, nonzeros and blocks, multiplied by `scale`."""
    rng = np.random.default_rng(0)
    if printed.grid:
        grid = tuple(_edge(points, scale, len(printed.grid)) for points in printed.grid)
        a = gallery.stencil(2 * len(grid) + 1, grid).tocsr()
        return _counted(a, printed.nnz if scale == 1 else a.nnz, rng)
    n = max(32 * BLOCK, round(printed.rows * scale))
    nnz, blocks = (round(count * n / printed.rows) for count in (printed.nnz, printed.blocks))
    order = -(-n // BLOCK)
    keys = _links(order, blocks, printed.hubs, rng) if printed.hubs else _mesh(order, blocks, rng)
    pattern = sp.coo_array((np.ones(len(keys)), np.divmod(keys, order)), shape=(order, order))
    return gallery.blocked(pattern, nnz, size=BLOCK, shape=(n, n), seed=rng)


def _edge(points: int, scale: float, dimensions: int) -> int:
    """Return the points along an edge of a grid with `scale` times the points."""
    return max(2, round(points * scale ** (1 / dimensions)))


def _counted(a: sp.csr_array, nnz: int, rng: np.random.Generator) -> sp.csr_array:
    """Return a matrix with `nnz` nonzeros: without some off-diagonal ones, or with more at random positions."""
    n, coo = a.shape[1], a.tocoo()
    keys = coo.coords[0] * np.int64(n) + coo.coords[1]
    off_diagonal = keys[coo.coords[0] != coo.coords[1]]
    keys = np.setdiff1d(keys, rng.choice(off_diagonal, max(0, len(keys) - nnz), replace=False))
    while (missing := nnz - len(keys)) > 0:
        keys = np.union1d(keys, rng.integers(0, a.shape[0] * n, missing))
    return sp.csr_array((random_values(len(keys), a.dtype, rng), np.divmod(keys, n)), shape=a.shape)


def _mesh(order: int, blocks: int, rng: np.random.Generator) -> Any:
    """Return the positions ``order row + column`` of blocks: points of a plane grid and their nearest neighbours."""
    width, reach = isqrt(order), range(-4, 5)
    steps = sorted(product(reach, reach), key=lambda step: step[0] ** 2 + step[1] ** 2)
    positions = []
    for offset in dict.fromkeys(down * width + right for down, right in steps):
        rows = np.arange(max(0, -offset), min(order, order - offset))
        if len(rows) >= blocks:
            rows = rng.choice(rows, blocks, replace=False)
        positions.append(rows * (order + 1) + offset)
        blocks -= len(rows)
    return np.concatenate(positions)


def _links(order: int, blocks: int, hubs: float, rng: np.random.Generator) -> Any:
    """Return the same for a graph: the main diagonal, links to close nodes, and two fifths by a power law.

    In the latter, the probability of the node of rank r as row and as column is proportional to ``r ** -hubs``.
    """
    shares = np.cumsum(np.arange(1.0, order + 1) ** -hubs)
    node = rng.permutation(order)
    keys = np.arange(order) * np.int64(order + 1)
    while (missing := blocks - len(keys)) > 0:
        row, column = (node[np.searchsorted(shares, rng.uniform(0, shares[-1], missing))] for _ in range(2))
        near = rng.random(missing) < 0.6
        row = np.where(near, rng.integers(0, order, missing), row)
        step = rng.geometric(0.2, missing) * rng.choice([-1, 1], missing)
        column = np.where(near, (row + step) % order, column)
        keys = np.union1d(keys, row * np.int64(order) + column)
    return keys
