"""GMRES with a cycle as the preconditioner, for matrices that are not symmetric."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import solve_triangular

from .hierarchy import Hierarchy
from .vectors import Vectors

RESTART = 20  #: vectors that a residual is made orthogonal to, at most
_OTHERS = 5  # vectors: b, x, the residual, and what a step computes


def gmres_nbytes(n: int, most: int) -> int:
    """Return how many bytes the vectors of at most this many iterations need."""
    return 8 * n * (min(RESTART, most) + 1 + _OTHERS)


def gmres(v: Vectors, hierarchy: Hierarchy, x: Any, residual: Any, limit: float, most: int) -> int:
    """Iterate from x, in place, until the norm of the recurrence's residual reaches a limit, or to a restart.

    Return the number of iterations, of which there are at most `most`. The cycle is applied from the right, so that the
    residuals are those of the system.

    Y. Saad and M. H. Schultz, *GMRES*, SIAM J. Sci. Stat. Comput. 7 (1986), 856-869.
    """
    scale, size, count = hierarchy.scale, v.size(residual)[1], min(RESTART, most)
    basis, rotations = [v.combined(1 / size, residual)], list[Any]()
    R, g = np.zeros((count + 1, count)), np.zeros(count + 1)  # the triangle, and the residual in the basis
    g[0], done = size, 0
    for j in range(count):
        w = v.multiply(v.preconditioned(hierarchy, basis[j]))
        w = w if scale == 1 else v.combined(scale, w)  # so that no square overflows or vanishes
        if hierarchy.singular:
            w = v.shifted(w, -v.mean(w))
        for i, q in enumerate(basis):
            R[i, j] = v.inner(q, w)
            v.add(-R[i, j], q, w)
        R[j + 1, j] = new = v.size(w)[1]
        if not np.isfinite(R[:, j]).all():
            break
        for i, rotation in enumerate(rotations):
            R[i : i + 2, j] = rotation @ R[i : i + 2, j]
        if not (length := float(np.hypot(*R[j : j + 2, j]))) > 0:
            break
        cosine, sine = R[j : j + 2, j] / length
        rotations.append(np.array([[cosine, sine], [-sine, cosine]]))
        R[j : j + 2, j], g[j : j + 2] = (length, 0.0), rotations[j] @ g[j : j + 2]
        done = j + 1
        if abs(g[done]) <= limit or not new > 0:
            break
        basis.append(v.combined(1 / new, w))
    if done:
        y = solve_triangular(R[:done, :done], g[:done])
        direction = v.combined(y[0], basis[0])
        for factor, q in zip(y[1:], basis[1:], strict=False):
            v.add(factor, q, direction)
        size = v.size(direction)[1] or 1.0  # which need not be a number of the type of the cycle
        v.add(scale * size, v.preconditioned(hierarchy, v.combined(1 / size, direction)), x)
    return max(done, 1)
