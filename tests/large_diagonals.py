"""Matrices of diagonals that span several blocks of a GPU kernel: bands, bands with holes, diagonals far apart."""

import numpy as np
import scipy.sparse as sp

import diagsparse as ds

APART = [*range(-320, -300), *range(-5, 12), *range(290, 311)]  # three bands


def holes(n, offsets, dtype):
    """Return a matrix with these diagonals, some far from others."""
    rng = np.random.default_rng(n)
    rows = [rng.uniform(0.5, 1.5, n - abs(k)).astype(dtype) for k in offsets]
    return sp.diags_array(rows, offsets=offsets, shape=(n, n), dtype=dtype)


CASES = {
    "band": lambda d: ds.gallery.banded(777, 20, 20, seed=1, dtype=d),
    "shifted band": lambda d: holes(700, range(-3, 24), d),
    "narrow": lambda d: ds.gallery.banded(1030, 1, 2, seed=2, dtype=d),
    "wide": lambda d: ds.gallery.banded(450, 52, 50, seed=3, dtype=d),
    "band with holes": lambda d: holes(600, [-6, -5, -3, -1, 0, 1, 2, 4, 6, 7], d),
    "bands apart": lambda d: holes(900, APART, d),
    "bands apart, of few diagonals": lambda d: holes(300, [-101, -100, -99, 0, 1, 99, 101], d),
    "bands that meet": lambda d: holes(500, [*range(-6, 1), *range(5, 12)], d),
    "a narrow band next to a wide one": lambda d: holes(500, [0, *range(19, 44)], d),
    "two narrow bands next to a wide one": lambda d: holes(700, [-90, -89, *range(-30, -8), 0, 60], d),
    "bands with holes apart": lambda d: holes(500, [-203, -201, -200, 0, 1, 3, 200, 202, 203], d),
    "every second offset": lambda d: holes(600, range(-26, 35, 2), d),
    "every third offset, with holes": lambda d: holes(720, [3 * k + 1 for k in range(-8, 15) if k % 5], d),
    "scattered": lambda d: holes(640, [-600, -255, -64, -1, 0, 3, 130, 257, 601], d),
    "random": lambda d: ds.gallery.random_diagonals(515, 60, reach=0.9, seed=4, dtype=d),
}
