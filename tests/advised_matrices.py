"""Matrices whose formats are known, for the tests of advice."""

import numpy as np
import scipy.sparse as sp

from diagsparse import gallery


def random(n, each, dtype=float):
    rng = np.random.default_rng(0)
    indptr = each * np.arange(n + 1)
    A = sp.csr_array((rng.uniform(1, 2, n * each).astype(dtype), rng.integers(0, n, n * each), indptr), shape=(n, n))
    A.sum_duplicates()
    return A


def full_blocks(n, each):
    pattern = sp.random_array((n // 8, n // 8), density=8 * each / n, rng=np.random.default_rng(0))
    return gallery.blocked(pattern, 64 * pattern.nnz, seed=0)


SUITING = {
    "stencil": (lambda: gallery.stencil(5, (300, 301)), {"dia", "hm", "cdm"}),
    "band": (lambda: gallery.banded(20_000, 7, 7, seed=0), {"dia", "hm", "cdm"}),
    "masked diagonals": (lambda: gallery.heisenberg(14), {"mdia"}),
    "quasi-band": (lambda: gallery.quasi_band(20_000, 0.1, 95, 80, seed=0), {"qband"}),
    "random": (lambda: random(20_000, 8), {"csr"}),
    "full blocks": (lambda: full_blocks(16_000, 5), {"bmsparse"}),
    "arrow": (lambda: gallery.arrow(20_000, seed=0), {"csr", "qband"}),
}
