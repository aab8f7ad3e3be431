"""Multigrid with matrices that the caller gives for the coarser grids."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from cases import raises

import diagsparse as ds
from diagsparse import gallery


def test_matrices_of_coarse_grids(device):
    """Where the caller gives them: the same equation on the coarse grid, for some of the levels."""

    def k(y, x):
        return np.exp(np.sin(6 * x) * np.cos(4 * y))

    asked = []

    def coarse(shape):
        asked.append(shape)
        return gallery.diffusion(shape, k) if len(asked) < 3 else None

    A = ds.hm_array(gallery.diffusion((127, 95), k)).to(device)
    M = ds.multigrid(A, coarse=coarse)
    assert asked == [level.shape for level in M.levels[1:]]
    assert [level.diagonals for level in M.levels[:4]] == [5, 5, 5, 9]
    b = np.random.default_rng(0).standard_normal(A.shape[0])
    assert np.linalg.norm(b - A @ M.solve(b, tol=1e-9)) <= 1e-9 * np.linalg.norm(b)
    assert M.convergence_factor() < 0.7  # the boundaries of the coarse grids are elsewhere
    for given, words in (
        (lambda shape: gallery.stencil(5, (shape[0], shape[1] + 1)), "expected a real matrix"),
        (lambda shape: -gallery.stencil(5, shape), "not positive"),
        (lambda shape: gallery.stencil(5, shape[::-1]) if shape[0] != shape[1] else None, "not neighbours"),
    ):
        with raises(ValueError, "multigrid: coarse((64, 48))", words):
            ds.multigrid(A, (127, 95), coarse=given)


def test_the_scale_of_coarse_matrices():
    """A factor for each coarser grid; with any other, a warning says so."""
    for shape, factor in (((1000,), 0.5), ((96, 96), 1.0), ((32, 32, 32), 2.0)):
        A = gallery.diffusion(shape, boundary="periodic")
        usual = ds.multigrid(A).convergence_factor()

        def coarse(smaller, power=1.0, factor=factor, shape=shape):
            return gallery.diffusion(smaller, boundary="periodic") * factor ** (power * np.log2(shape[0] / smaller[0]))

        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert ds.multigrid(A, coarse=coarse).convergence_factor() < usual + 0.25
        for wrong in (2, 1 / 4):
            with pytest.warns(UserWarning, match=r"coarse\(\) returned .* is about \S+ times as large as the product"):
                ds.multigrid(A, coarse=lambda smaller, wrong=wrong, coarse=coarse: wrong * coarse(smaller))
    thin = gallery.diffusion((64, 64), (0.001, 1.0))  # the second axis is coarsened alone
    reaction = gallery.diffusion((64, 64)) + sp.eye_array(4096)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ds.multigrid(thin, coarse=lambda s: gallery.diffusion(s, (0.001 * 64 / s[1], s[1] / 64)))
        ds.multigrid(reaction, coarse=lambda s: gallery.diffusion(s) + (64 / s[0]) ** 2 * sp.eye_array(s[0] * s[1]))
