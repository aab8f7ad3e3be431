"""What each method needs: forecasts for one set-up and one right-hand side.

The times were fitted to matrices of some thousand to a million rows on two cores of an EPYC, and on an H100.
"""

from __future__ import annotations

from math import ceil
from typing import NamedTuple

from .._products.banded_sizes import stored_values
from . import incomplete
from .problem import Problem

CYCLES = 12  #: cycles of multigrid that a forecast counts with


class Cost(NamedTuple):
    """What a method needs for one right-hand side, with its set-up."""

    nbytes: int  #: of factors or levels
    operations: float  #: multiply-adds
    moved_nbytes: float  #: bytes that are read or written
    seconds: float  #: predicted
    entries: int = 0  #: values in the factors, 0 if there are none


def elimination(problem: Problem, entries: int, integers: int, operations: float, seconds: float) -> Cost:
    """Return the cost of factors with so many values and integers: they are written once, and read once to solve."""
    stored = entries * problem.itemsize + 4 * integers
    return Cost(stored, operations, problem.nnz * problem.itemsize + 2.0 * stored, seconds, entries)


def diagonal(problem: Problem) -> Cost:
    seconds = 1e-4 + 5e-9 * problem.n if problem.on_cpu else 2e-4 + 1e-11 * problem.n
    return elimination(problem, problem.n, 0, problem.n, seconds)


def tridiagonal(problem: Problem) -> Cost:
    seconds = 2e-4 + 5e-8 * problem.n if problem.on_cpu else 1e-3 + 2e-10 * problem.n
    return elimination(problem, 4 * problem.n, problem.n, 10.0 * problem.n, seconds)


def triangular(problem: Problem) -> Cost:
    seconds = 1.5e-4 + 1e-8 * problem.nnz if problem.on_cpu else 1e-3 + 1e-9 * problem.nnz
    return elimination(problem, problem.nnz, 0, problem.nnz, seconds)


def pentadiagonal(problem: Problem) -> Cost:
    return elimination(problem, 5 * problem.n, 0, 25.0 * problem.n, 1e-3 + 1.2e-6 * problem.n)


def banded(problem: Problem) -> Cost:
    below, above = problem.reach
    if not problem.on_cpu:
        return _by_cyclic_reduction(problem, below, above)
    operations = 2.0 * problem.n * (below * (below + above) + 2 * below + above + 1)
    entries = problem.n * (2 * below + above + 1)
    each = 3e-11 + 5e-9 / max(below, 16)  # LAPACK works in blocks where the band is wide
    return elimination(problem, entries, problem.n, operations, 3e-4 + 1e-7 * problem.n + each * operations)


def _by_cyclic_reduction(problem: Problem, below: int, above: int) -> Cost:
    entries = stored_values(problem.n, below, above)
    operations = 14.0 * problem.n * max(below, above, 1) ** 2
    seconds = 2e-3 + 4e-12 * entries * problem.itemsize / 2 + 5e-13 * operations
    return elimination(problem, entries, 0, operations, seconds)


def cholesky(problem: Problem) -> Cost:
    below, _ = problem.reach
    operations = problem.n * (below + 1.0) ** 2
    return elimination(problem, problem.n * (below + 1), 0, operations, 3e-4 + 1e-7 * problem.n + 3e-10 * operations)


def corrected(problem: Problem) -> Cost:
    seconds = 5e-4 + 2e-7 * problem.n if problem.on_cpu else 3e-3 + 1e-9 * problem.n
    return elimination(problem, 2 * problem.nnz, problem.n, 5.0 * problem.nnz, seconds)


def dense(problem: Problem) -> Cost:
    operations = problem.n**3 / 3 + problem.n**2
    return elimination(problem, problem.n**2, problem.n, operations, 2e-4 + 7e-11 * operations)


def orthogonal(problem: Problem) -> Cost:
    operations = 2 * problem.n**3 / 3 + 2.0 * problem.n**2
    return elimination(problem, problem.n**2, 0, operations, 2e-4 + 3e-10 * operations)


def reordered(problem: Problem) -> Cost:
    entries, operations = problem.factor_entries, problem.factor_operations
    if problem.on_cpu:
        seconds = 5e-4 + 5e-7 * problem.n + 3e-8 * entries + 2.5e-10 * operations
    else:
        seconds = 0.2 + 4e-7 * problem.nnz + 1e-12 * operations
    return elimination(problem, entries, entries, operations, seconds)


def cycles(problem: Problem) -> Cost:
    axes = len(problem.grid or ())
    steps = ceil(problem.nnz / max(1, problem.n))  # those around periodic axes have diagonals of their own
    weights, coarsening = (3**axes - 1) / 2**axes, 2.0**axes
    vectors = 3 if problem.symmetric else 4 + axes  # lines have pivots
    levels = coarsening / (coarsening - 1)
    values = steps + weights + vectors + (3**axes + weights + vectors) / (coarsening - 1)
    moved = CYCLES * problem.itemsize * problem.n * (4 * steps + 20) * levels
    moved *= 1 if problem.symmetric else 5  # lines, vectors of GMRES, and more iterations
    seconds = 5e-3 + moved / (1.5e10 if problem.on_cpu else 2e12)
    operations = CYCLES * 5 * steps * problem.n * levels
    return Cost(int(values * problem.n * problem.itemsize), operations, moved, seconds)


def iterations(problem: Problem) -> Cost:
    entries = min(incomplete.FILL * problem.nnz, problem.n**2)
    setup = entries**2 / max(1, problem.n) / 2
    steps = incomplete.STEPS * (entries + problem.nnz)
    moved = steps * (problem.itemsize + 4.0)
    seconds = 1e-3 + 1e-7 * entries + 1e-9 * setup + moved / 1e9
    return Cost(entries * (problem.itemsize + 4), setup + steps, moved, seconds, entries)
