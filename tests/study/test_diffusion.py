"""`gallery.diffusion` against a loop over the faces of all cells."""

from itertools import product

import numpy as np
import pytest
from cases import raises

from diagsparse import gallery

BOUNDARIES = ("dirichlet", "neumann", "periodic")


def by_faces(grid, along, boundaries):
    """Return the dense matrix, one face of a cell after the other."""
    cells = list(np.ndindex(grid))
    A = np.zeros((len(cells), len(cells)))
    for cell, (axis, boundary), step in product(cells, enumerate(boundaries), (-1, 1)):
        other = list(cell)
        other[axis] += step
        here = along[axis][cell]
        i = np.ravel_multi_index(cell, grid)
        if not 0 <= other[axis] < grid[axis]:
            if boundary == "dirichlet":
                A[i, i] += here
            if boundary != "periodic":
                continue
            other[axis] %= grid[axis]
        there = along[axis][tuple(other)]
        flux = 2 * here * there / (here + there)
        A[i, i] += flux
        A[i, np.ravel_multi_index(other, grid)] -= flux
    return A


@pytest.mark.parametrize("grid", [(5,), (3,), (3, 4), (4, 3), (3, 5, 4), (1, 4), (4, 1, 2), (1, 1)])
def test_every_boundary(grid):
    rng = np.random.default_rng(0)
    along = [10.0 ** rng.uniform(-3, 3, grid) for _ in grid]
    for boundaries in product(BOUNDARIES, repeat=len(grid)):
        if any(size < 3 and one == "periodic" for size, one in zip(grid, boundaries, strict=True)):
            continue
        A = gallery.diffusion(grid, tuple(along), boundary=boundaries)
        expected = by_faces(grid, along, boundaries)
        assert np.allclose(A.toarray(), expected, rtol=1e-14, atol=1e-12)
        assert A.format == ("csr" if "periodic" in boundaries and len(grid) > 1 else "dia")
        stored = gallery.diffusion(grid, tuple(along), boundary=boundaries, format="mdia", dtype="float32")
        assert np.allclose(stored.toarray(), expected, rtol=1e-6, atol=1e-4)


def test_coefficients():
    A = gallery.diffusion((6, 7), 2.5)
    assert np.array_equal(A.toarray(), 2.5 * gallery.stencil(5, (6, 7)).toarray())
    y, x = (np.arange(6)[:, None] + 0.5) / 6, (np.arange(7) + 0.5) / 7
    by_function = gallery.diffusion((6, 7), lambda y, x: 1 + x * y)
    assert np.array_equal(by_function.toarray(), gallery.diffusion((6, 7), 1 + x * y).toarray())
    tilted = gallery.diffusion((6, 7), (1, lambda y, x: 0.001 + 0 * x))
    assert tilted.diagonal().round(9).tolist() == [2.002] * 42
    assert gallery.diffusion(4, device="cpu").format == "hm"
    assert gallery.diffusion((0, 3)).shape == (0, 0)
    layers = gallery.diffusion(3, np.array([1, 3, 3]))
    assert np.array_equal(layers.toarray(), [[2.5, -1.5, 0], [-1.5, 4.5, -3], [0, -3, 6]])


@pytest.mark.parametrize(
    ("arguments", "options", "kind", "words"),
    [
        ((4, 0.0), {}, ValueError, "not positive and finite"),
        ((4, np.nan), {}, ValueError, "not positive and finite"),
        ((4, 1j), {}, TypeError, "expected real numbers"),
        (((4, 5), np.ones((5, 4))), {}, ValueError, "expected that of the grid, (4, 5)"),
        (((4, 5), (1, 2, 3)), {}, ValueError, "a tuple of 3"),
        (((2, 2, 2, 2),), {}, ValueError, "expected 1 to 3 axes"),
        ((4,), {"boundary": "robin"}, ValueError, "expected one of dirichlet, neumann, periodic"),
        (((4, 5),), {"boundary": ["neumann"]}, ValueError, "one for each axis"),
        (((4, 2),), {"boundary": "periodic"}, ValueError, "at least 3 cells"),
        ((4.5,), {}, TypeError, "a whole number"),
    ],
)
def test_bad_arguments(arguments, options, kind, words):
    with raises(kind, "gallery.diffusion: ", words):
        gallery.diffusion(*arguments, **options)
