"""The methods that solve a system: which matrices each is for, what it needs, and how it is set up.

A method is a line of `METHODS`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._backends import libraries
from .._backends.memory import human
from .._multigrid.setup import multigrid
from .._products.banded_sizes import MOST_REACH
from .._products.method_choice import is_triangular
from .._products.solving import factors
from .._show.columns import percent
from .._show.display import sides
from . import costs, incomplete
from .costs import Cost
from .problem import Problem

Solver = Callable[[Any, float], Any]
"""``solver(b, reduction)`` returns an approximate solution; iterative ones reduce the residual to this fraction."""

_MOST_OTHERS = 1.25  # off-diagonal values of a row, relative to the diagonal one, up to which GMRES converges
_CUDSS = 'pip install "diagsparse[cudss]"'


class Unsolvable(np.linalg.LinAlgError):
    """A system that has no solution, so that no other method needs to be tried."""


@dataclass(frozen=True)
class Method:
    """A way to solve a system."""

    name: str
    devices: tuple[str, ...]
    why_not: Callable[[Problem], str]  #: returns why a matrix cannot be solved by it, "" if it can
    cost: Callable[[Problem], Cost]
    reason: Callable[[Problem], str]  #: a sentence on why the method suits the matrix
    prepare: Callable[[Problem], Solver]  #: factors a matrix, or sets up what an iteration needs
    direct: bool = True
    pivoting: tuple[str, ...] = ("cpu", "cuda")  #: devices on which no other method but "qr" is more stable
    keeps_rows: bool = False  #: whether symmetric matrices have to remain so: their rows are not scaled
    missing: Callable[[], str] = lambda: ""  #: how to install what is missing


def names(device: str) -> list[str]:
    """Return the names of the methods on a device."""
    return [method.name for method in METHODS.values() if device.partition(":")[0] in method.devices]


def rounded(count: float) -> str:
    """Return a large number with two digits: ``950``, ``1.4 million``."""
    for name, size in ((" billion", 1e9), (" million", 1e6)):
        if count >= size:
            return f"{float(f'{count / size:.2g}'):g}{name}"
    return f"{float(f'{count:.2g}'):g}"


# ---- direct methods -----------------------------------------------------------------------------------------------
class _Factored:
    """A solver with factors; `method` is what they are in the end."""

    def __init__(self, A: Any, method: str | None) -> None:
        self._factors = factors(A, 0, method, once=True, who="solve")

    @property
    def method(self) -> str:
        return self._factors.method

    def __call__(self, b: Any, reduction: float) -> Any:
        return self._factors.solve(b)


def _factors(method: str | None) -> Callable[[Problem], Solver]:
    """Return a function that factors a matrix or a batch."""
    return lambda problem: _Factored(problem.A, method)


def _within(limit: int) -> Callable[[Problem], str]:
    """Return the test for methods that support offsets up to a limit."""

    def why_not(problem: Problem) -> str:
        below, above = problem.reach
        return f"A has offsets from {-below} to {above}" if max(below, above) > limit else ""

    return why_not


def _any(problem: Problem) -> str:
    return ""


def _too_wide(problem: Problem) -> str:
    return "" if problem.on_cpu else _within(MOST_REACH)(problem)


def _no_definite_band(problem: Problem) -> str:
    if problem.direct not in ("tridiagonal", "banded"):
        return "A is no narrow band"
    if not problem.symmetric:
        return "A is not symmetric"
    return "" if problem.positive_diagonal else "the main diagonal of A is not positive"


def _only(method: str, what: str) -> Callable[[Problem], str]:
    """Return the test for methods that `factorized` chooses where they suit a matrix."""
    return lambda problem: "" if problem.direct == method else f"A is no {what}"


def _no_triangle(problem: Problem) -> str:
    return "" if is_triangular(*problem.reach) else "A has elements on both sides of the main diagonal"


def _no_pivots(problem: Problem) -> str:
    return "A is triangular, and needs no factors" if is_triangular(*problem.reach) else ""


def _of_band(problem: Problem) -> str:
    below, above = problem.reach
    share = problem.nnz / max(1, problem.n * (below + above + 1))
    full = f"The band from offset {-below} to {above} is {percent(min(1.0, share))} full"
    if not problem.on_cpu:
        return f"{full}, and is eliminated block by block."
    return f"{full}, which suits LAPACK." if below + above < 8 or share >= 0.25 else f"{full}; LAPACK stores all of it."


def _of_reach(problem: Problem) -> str:
    below, above = problem.reach
    return f"A has offsets from {-below} to {above}, and is eliminated in a time proportional to its rows."


def _of_dense(problem: Problem) -> str:
    below, above = problem.reach
    if 2 * below + above + 1 >= problem.n:
        return "A dense matrix needs no more memory than a band."
    return f"A dense matrix has {rounded(problem.n**2)} values, which LAPACK eliminates at full speed."


def _of_fill(problem: Problem) -> str:
    below, above = problem.reach
    empty = problem.nnz < problem.n * (below + above + 1) / 4
    what = "The band of A is wide and mostly empty. " if empty and below + above >= 8 else ""
    values, nbytes = rounded(problem.factor_entries), human(costs.reordered(problem).nbytes)
    return f"{what}After reordering, factors have about {values} values ({nbytes})."


def _no_cudss() -> str:
    return _CUDSS if isinstance(libraries.cudss(), Exception) else ""


# ---- multigrid ----------------------------------------------------------------------------------------------------
def _no_grid(problem: Problem) -> str:
    if problem.A.dtype.kind == "c":
        return "A is complex"
    if problem.grid is None:
        return "A does not couple the neighbours of a grid only"
    if not problem.positive_diagonal and not problem.negative_diagonal:
        return "the main diagonal of A is neither positive nor negative"
    if problem.symmetric or problem.others <= _MOST_OTHERS:
        return ""
    return "A is not symmetric, and its main diagonal does not dominate"


def _of_grid(problem: Problem) -> str:
    what = "is symmetric" if problem.symmetric else "has a dominant main diagonal"
    return (
        f"A {what} and couples neighbours on a grid of {sides(problem.grid or ())} points, so multigrid needs few "
        f"iterations. Factors would have about {rounded(problem.factor_entries)} values."
    )


def _multigrid(problem: Problem) -> Solver:
    """Return conjugate gradients or GMRES with V cycles, or with W cycles if those do not converge.

    If A is not symmetric, lines are smoothed: they suit every convection, and take little longer than points. With a
    negative main diagonal, the matrix of the cycles is -A.
    """
    A, smoother = -problem.A if problem.negative_diagonal else problem.A, None if problem.symmetric else "line"
    try:
        cycles = {"V": multigrid(A, smoother=smoother)}
    except ValueError as error:  # what the positions of elements do not show
        raise np.linalg.LinAlgError(str(error).removeprefix("multigrid: ")) from None
    singular, first, most = cycles["V"].singular, True, 100 if problem.symmetric else 40

    def solve(b: Any, reduction: float) -> Any:
        nonlocal first
        right = b if first or not singular else b - b.mean(axis=0)  # the mean of a residual is due to rounding
        first = False
        try:
            if "W" not in cycles:
                return cycles["V"].solve(right, tol=reduction, maxiter=most)
            return cycles["W"].solve(right, tol=reduction)
        except np.linalg.LinAlgError as error:
            if singular and "there is no solution" in str(error):
                raise Unsolvable(str(error).removeprefix("multigrid.solve: ")) from None
            if "W" in cycles:
                raise
        cycles["W"] = multigrid(A, cycle="W", smoother=smoother)
        return cycles["W"].solve(right, tol=reduction)

    return (lambda b, reduction: -solve(b, reduction)) if problem.negative_diagonal else solve


def _where_finite(prepare: Callable[[Problem], Solver]) -> Callable[[Problem], Solver]:
    """Return the function for an iteration, whose solutions are NaN for right-hand sides that are not finite."""

    def prepared(problem: Problem) -> Solver:
        iterate = prepare(problem)

        def solve(b: Any, reduction: float) -> Any:
            finite = np.isfinite(b).all(axis=0) if isinstance(b, np.ndarray) else np.True_  # not checked on a GPU
            if finite.all():
                try:
                    return iterate(b, reduction)
                except np.linalg.LinAlgError:
                    raise
                except ValueError as error:  # values on a GPU that are not finite
                    raise np.linalg.LinAlgError(str(error)) from None
            return iterate(np.where(finite, b, 0), reduction) + np.where(finite, 0, np.nan)

        return solve

    return prepared


# ---- incomplete factors -------------------------------------------------------------------------------------------
def _no_fill(problem: Problem) -> str:
    if problem.direct not in ("superlu", "cudss"):
        return f'the factors of "{problem.direct}" do not fill up'
    return "" if problem.counts.get(0, 0) == problem.n else "the main diagonal of A has zeros"


def _of_incomplete(problem: Problem) -> str:
    some, all_values = rounded(costs.iterations(problem).entries), rounded(problem.factor_entries)
    return f"Incomplete factors with at most {some} values help GMRES; complete ones would have about {all_values}."


def _incomplete(problem: Problem) -> Solver:
    return incomplete.prepare(problem.A)


# fmt: off
METHODS = {method.name: method for method in (
    Method("diagonal", ("cpu", "cuda"), _within(0), costs.diagonal,
           lambda problem: "A is diagonal.", _factors("diagonal")),
    Method("tridiagonal", ("cpu", "cuda"), _within(1), costs.tridiagonal,
           _of_reach, _factors("tridiagonal"), pivoting=("cpu",)),
    Method("triangular", ("cpu", "cuda"), _no_triangle, costs.triangular,
           lambda problem: "A is triangular, and needs no factors.", _factors("triangular"), pivoting=()),
    Method("cyclic", ("cpu", "cuda"), _only("cyclic", "band with entries in two corners"), costs.corrected,
           lambda problem: "A is a band with entries in two corners, by which its factors are corrected.",
           _factors("cyclic"), pivoting=()),
    Method("cholesky", ("cpu",), _no_definite_band, costs.cholesky,
           lambda problem: "A is a symmetric band. If it is positive definite, it needs half of the factors.",
           _factors("cholesky"), pivoting=(), keeps_rows=True),
    Method("woodbury", ("cpu", "cuda"), _only("woodbury", "narrow band with a few other rows"), costs.corrected,
           lambda problem: "A is a narrow band with a few other rows, by which its factors are corrected.",
           _factors("woodbury"), pivoting=()),
    Method("pentadiagonal", ("cuda",), _within(2), costs.pentadiagonal,
           _of_reach, _factors("pentadiagonal")),
    Method("banded", ("cpu", "cuda"), _too_wide, costs.banded, _of_band, _factors("banded"), pivoting=("cpu",)),
    Method("dense", ("cpu",), _any, costs.dense, _of_dense, _factors("dense")),
    Method("superlu", ("cpu",), _any, costs.reordered, _of_fill, _factors("superlu")),
    Method("qr", ("cpu",), _no_pivots, costs.orthogonal,
           lambda problem: "Orthogonal factors of a dense matrix are accurate where the pivots of all others grow.",
           _factors("qr")),
    Method("cudss", ("cuda",), _any, costs.reordered, _of_fill, _factors("cudss"), missing=_no_cudss),
    Method("multigrid", ("cpu", "cuda"), _no_grid, costs.cycles, _of_grid, _where_finite(_multigrid),
           direct=False, pivoting=(), keeps_rows=True),
    Method("ilu", ("cpu",), _no_fill, costs.iterations, _of_incomplete, _where_finite(_incomplete), direct=False,
           pivoting=()),
)}
# fmt: on
FACTORIZED = Method("factorized", ("cpu", "cuda"), _any, costs.reordered, _of_fill, _factors(None))  #: for a batch
