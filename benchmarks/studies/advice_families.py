"""Families of matrices of about 200,000 rows, most of which have 12 to 40 MB in csr.

They differ in what matters to formats, so that costs that were fitted to all families but one can be tested on the
remaining one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.spatial import Delaunay

from diagsparse import gallery

from .row_formats import power_law, random_rows

ROWS = 200_000


def families(quick: bool) -> Iterator[tuple[str, str, Callable[[], Any]]]:
    """Yield the name of the family, the name of the matrix, and a function that creates it."""
    g, n = gallery, ROWS // 20 if quick else ROWS
    rng, sites = np.random.default_rng, int(np.log2(n))
    for each in (5, 20):
        yield "random rows", f"{each} random entries a row", partial(random_rows(n, partial(_equal, each)), 1)
    yield "random rows near the diagonal", "8 entries a row within 2000", partial(_near, n, 8, 1000)
    yield "power law", "power law", partial(random_rows(n, power_law), 1)
    yield "a few long rows", "a few long rows", partial(_few_long, n)
    for each, fill in ((2, 1.0), (3, 0.4)):
        yield "8 x 8 blocks", f"8 x 8 blocks, {100 * fill:.0f} % full", partial(_blocks, n, each, fill)
    for unknowns in (1, 3):
        yield "finite elements", f"finite elements, {unknowns} unknowns a node", partial(_elements, n, unknowns)
    yield "scattered diagonals", "nine diagonals", partial(g.random_diagonals, n, 9, seed=0)
    yield "scattered diagonals", "twenty diagonals", partial(g.random_diagonals, n, 20, seed=0)
    for half in (2, 10):
        yield "bands", f"band of {2 * half + 1}", partial(g.banded, n, half, half, seed=0)
    yield "arrow", "arrow", partial(g.arrow, n, seed=0)
    for percent, occupied in ((95, 80), (80, 70)):
        name = f"quasi-band, {percent} % in bands"
        yield "quasi-bands", name, partial(g.quasi_band, n, 1000 / n, percent, occupied, seed=0)
    side = round(n**0.5)
    yield "grids", "grid of variable coefficients", lambda: _variable(g.stencil(5, (side, side)).tocsr())
    yield "grids with holes", "grid with holes", lambda: _holes(g.stencil(5, (side + side // 4,) * 2).tocsr(), rng(0))
    yield "Hamiltonians", "Heisenberg", lambda: g.heisenberg(sites).tocsr()
    yield "Hamiltonians", "Ising, other values", lambda: _variable(g.transverse_ising(sites).tocsr())
    yield "configuration interaction", "configuration interaction", partial(g.ci_matrix, n // 25, seed=0)


def _equal(each: int, rng: np.random.Generator, n: int) -> np.ndarray:
    return np.full(n, each)


def _near(n: int, each: int, reach: int) -> sp.csr_array:
    """Return random entries at most `reach` columns away from the diagonal, as in a mesh with a good numbering."""
    rng = np.random.default_rng(0)
    rows = np.repeat(np.arange(n), each)
    columns = np.clip(rows + rng.integers(-reach, reach + 1, rows.size), 0, n - 1)
    return sp.coo_array((rng.uniform(0.5, 1.5, rows.size), (rows, columns)), shape=(n, n)).tocsr()


def _few_long(n: int) -> sp.csr_array:
    """Return rows of 2 to 8 entries, and twenty that are much longer, as in a circuit."""
    rng = np.random.default_rng(0)
    lengths = rng.integers(2, 9, n)
    lengths[rng.choice(n, 20, replace=False)] = n // 20
    return random_rows(n, lambda *_: lengths)(1)


def _blocks(n: int, each: int, fill: float) -> sp.csr_array:
    pattern = sp.random_array((n // 8, n // 8), density=8 * each / n, rng=np.random.default_rng(0))
    return gallery.blocked(pattern, round(64 * fill * pattern.nnz), seed=0).tocsr()


def _elements(n: int, unknowns: int) -> sp.csr_array:
    """Return a matrix of linear elements on a triangulation of random points, sorted into strips."""
    rng, nodes = np.random.default_rng(0), n // unknowns
    points = rng.random((nodes, 2))
    strips = np.floor(points[:, 0] * (nodes / 50) ** 0.5)
    points = points[np.lexsort((points[:, 1], strips))]
    corners = Delaunay(points).simplices
    i, j = (corners[:, one].ravel() for one in ([0, 1, 2, 0, 1, 2, 0, 1, 2], [0, 0, 0, 1, 1, 1, 2, 2, 2]))
    pattern = sp.coo_array((np.ones(i.size), (i, j)), shape=(nodes, nodes)).tocsr()
    return _variable(sp.csr_array(sp.kron(pattern, np.ones((unknowns, unknowns)), "csr")))


def _variable(A: sp.csr_array) -> sp.csr_array:
    """Return a matrix with other values, which are all different."""
    A.data = np.random.default_rng(1).uniform(0.5, 1.5, A.nnz)
    return A


def _holes(A: sp.csr_array, rng: np.random.Generator) -> sp.csr_array:
    """Return a grid without a third of its points, renumbered, with other values."""
    side = round(A.shape[0] ** 0.5)
    coarse = rng.random((side // 16 + 1,) * 2) < 0.66
    kept = np.kron(coarse, np.ones((16, 16), bool))[:side, :side].ravel()
    return _variable(sp.csr_array(A[kept][:, kept]))
