"""The matrices for which recommendations are tested: the gallery in sizes within and beyond the caches, and files."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from diagsparse import gallery
from diagsparse.io import read_floats

from ..experiment import matrix_files
from .row_formats import power_law, random_rows


def _blocks(n: int, each: int, fill: float) -> sp.csr_array:
    pattern = sp.random_array((n // 8, n // 8), density=8 * each / n, rng=np.random.default_rng(0))
    return gallery.blocked(pattern, round(64 * fill * pattern.nnz), seed=0).tocsr()


def matrices(large: bool, quick: bool) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Yield names of matrices and functions that create them; `large` is for GPUs."""
    g, s = gallery, 0.05 if quick else 4 if large else 1  # factor of the number of rows
    side = s**0.5
    more = 2 if large else 0  # sites
    yield "tridiagonal", partial(g.banded, round(1e6 * s), 1, 1, seed=0)
    for n in (30, 300, 1000):
        n = max(10, round(n * side))
        yield f"stencil 5, {n} x {n}", partial(g.stencil, 5, (n, n))
    yield "stencil 5, periodic", partial(g.stencil, 5, (round(300 * side),) * 2, periodic=True)
    yield "stencil 9", partial(g.stencil, 9, (round(300 * side),) * 2)
    yield "stencil 7", partial(g.stencil, 7, (round(60 * s ** (1 / 3)),) * 3)
    yield "stencil 27", partial(g.stencil, 27, (round(40 * s ** (1 / 3)),) * 3)
    yield "stencil 5, float32", partial(g.stencil, 5, (round(500 * side),) * 2, dtype="float32")
    yield "stencil 5, complex", partial(g.stencil, 5, (round(500 * side),) * 2, dtype=complex)
    for rows, half in ((10_000, 5), (100_000, 2), (100_000, 20), (20_000, 100)):
        yield f"band of {2 * half + 1}", partial(g.banded, round(rows * s), half, half, seed=0)
    for rows, d in ((100_000, 20), (10_000, 50)):
        yield f"{d} diagonals", partial(g.random_diagonals, round(rows * s), d, seed=0)
    yield "Toeplitz", lambda: g.toeplitz(np.r_[[4.0, 1, 0.5, 0.2], np.zeros(round(5e4 * s) - 4)])
    yield "Hessenberg", partial(g.hessenberg, round(800 * side), seed=0)
    yield "triangular", partial(g.triangular, round(500 * side), seed=0)
    yield "arrow", partial(g.arrow, round(1e5 * s), seed=0)
    for symmetric in (False, True):
        words = ", symmetric" * symmetric
        yield f"configuration interaction{words}", partial(g.ci_matrix, round(8192 * side), symmetric=symmetric, seed=0)
    for n in (8, 10) if quick else (10 + more, 14 + more, 16 + more):
        yield f"Heisenberg, {n} sites", partial(g.heisenberg, n)
        yield f"Ising, {n} sites", partial(g.transverse_ising, n)
    yield "bosons", partial(g.bose_hubbard, 5 if quick else 9 + more)
    for percent, occupied in ((95, 80), (80, 70)):
        name = f"quasi-band, {percent} % in bands"
        yield name, partial(g.quasi_band, round(5e4 * s), 0.05 / s, percent, occupied, seed=0)
    for each, fill in ((3, 1.0), (3, 0.5), (5, 0.2)):
        yield f"blocks {100 * fill:.0f} % full", partial(_blocks, round(8e4 * s) // 8 * 8, each, fill)
    for rows, each in ((2000, 8), (30_000, 8), (300_000, 16), (5000, 100)):
        yield (f"random, {each} in each of {round(rows * s):,}", partial(random_rows(rows, partial(_equal, each)), s))
    for rows in (300_000, 20_000):
        yield f"power law of {round(rows * s):,} rows", partial(random_rows(rows, power_law), s)
    yield "twice as wide as high", partial(_wide, round(200_000 * s))
    for name, path in matrix_files().items():
        yield name, partial(_in_file, path)


def _equal(each: int, rng: np.random.Generator, n: int) -> np.ndarray:
    return np.full(n, each)


def _wide(n: int) -> sp.csr_array:
    return gallery.banded(n, 3, 3, seed=0).tocsr()[: n // 2]


def _in_file(path: Path) -> Any:
    return read_floats(path).to_scipy("csr")
