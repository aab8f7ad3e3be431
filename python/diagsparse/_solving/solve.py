"""`solve`: a system by the method that suits the matrix, with the errors of the solution."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator
from typing import Any, Literal, NamedTuple, overload

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgWarning

from .._arrays import owners
from .._arrays.host_dense import as_numpy
from .._matrix.operands import require_sparse
from .._products import factors
from .._products.batch import Batch
from .errors import Errors, System, can_be_refined
from .methods import FACTORIZED, METHODS, Method, Solver, Unsolvable, names
from .problem import Problem
from .ranking import LAST, Ranking
from .report import SolveReport
from .scaling import Equation, equilibrated, errors_of_rows

_GOAL, _LIMIT = 4, 1000  # backward errors without tol=, in units of eps: aimed at, and allowed
_FIRST = 1e-4  # fraction to which an iteration first reduces the residual
_SMALLEST, _LARGEST = 1e-6, 0.1  # limits of this fraction when the residual is solved for
_REFINEMENTS = 10
_SINGULAR = 0.01  # least |A| |x| eps / |b|, and relative residual, of a solution without correct digits
_DOUBTED = 1e-8  # the same for a matrix with which another method found a pivot that is zero
_SMALL = 1000  # rows up to which orthogonal factors are tried for such a matrix


@overload
def solve(
    A: Any, b: Any, *, tol: float | None = None, method: str | None = None, report: Literal[True]
) -> tuple[Any, SolveReport]: ...


@overload
def solve(
    A: Any, b: Any, *, tol: float | None = None, method: str | None = None, report: Literal[False] = False
) -> Any: ...


def solve(
    A: Any, b: Any, *, tol: float | None = None, method: str | None = None, report: bool = False
) -> Any | tuple[Any, SolveReport]:
    """Return x with ``A x = b``, for one or several right-hand sides, by a method that suits the matrix.

    Diagonal, tridiagonal and banded matrices are factored as such. Large matrices of grids that are symmetric, or have
    a dominant main diagonal, are solved by conjugate gradients or GMRES with multigrid, other matrices by a direct
    solver that reorders them, or by GMRES with incomplete factors if complete ones would be too large.
    ``recommend(A, op="solve")`` explains the choice.

    Parameters
    ----------
    A : sparse matrix (ours or SciPy's), shape (n, n), batch_array or interleaved_batch
        On the CPU or on a GPU.
    b : array_like, shape (n,) or (n, k); for a batch (count, n), interleaved (n, count), or (n,) for all members
        The right-hand sides. If A is on a GPU, also an array of CuPy, PyTorch or JAX, or a `DeviceArray`, there.
    tol : float, optional
        Bound for the backward error ``|b - A x| / (|A| |x| + |b|)`` of each right-hand side, in the maximum norm. By
        default x is as accurate as that of a direct solver: at most 1000 times the rounding error of its dtype.
    method : str, optional
        A method of `factorized`, "multigrid" or "ilu", instead of the choice.
    report : bool
        Return ``(x, report)``, where the `SolveReport` names the method, the reason and the errors.

    Returns
    -------
    array
        The solution: an array of the same shape as `b`, and on a GPU of the same library, on the CPU of NumPy; for a
        batch of shape (count, n), interleaved (n, count). It has the dtype of ``A @ b``: float64 for float32 matrices
        and float64 right-hand sides.

    Raises
    ------
    TypeError
        If A is not a sparse matrix, or `b` is sparse.
    ValueError
        If A is not square, the shape of `b` does not fit, `tol` is not positive, or `method` does not support the
        matrix; on the CPU also for values of A that are not finite.
    numpy.linalg.LinAlgError
        If the matrix is singular, the system has no solution, the solution overflows, or no method reaches `tol`; on a
        GPU also for values that are not finite. The message contains the errors. Without `tol`, also if x has no
        correct digits, because A is singular to working precision; with `tol` this is a `scipy.linalg.LinAlgWarning`.
    ImportError
        On a GPU, if cuDSS is needed but not installed.
    MemoryError
        If factors or levels do not fit.

    Notes
    -----
    The errors are computed from x, not tracked by an iteration: this takes one product with A. If they are too large,
    the system is solved again for the residual, and the result is added to x; if that does not help, the next method is
    tried. A right-hand side with values that are not finite has no bound.

    If the rows of A differ in size by more than a factor of 1000, direct methods solve the system with rows and columns
    that are multiplied by powers of two, and refine that solution, so that small rows count as much as large ones. If
    pivots grow so much that the error remains too large, orthogonal factors ("qr") of small matrices are tried last.

    The cost is that of `factorized` or `multigrid`. For several calls with the same matrix, call these once.

    Examples
    --------
    >>> import numpy as np, diagsparse as ds
    >>> A = ds.diags({0: 2.0, 1: 1.0}, shape=(3, 3))
    >>> ds.solve(A, np.array([3.0, 3.0, 2.0]))
    array([1., 1., 1.])
    >>> ds.solve(A, np.ones((3, 2))).shape
    (3, 2)
    >>> G = ds.hm_array(ds.gallery.diffusion((300, 300)))
    >>> x, report = ds.solve(G, np.ones(90000), tol=1e-12, report=True)
    >>> report.method, bool(report.backward_error.max() <= 1e-12)
    ('multigrid', True)
    """
    began = time.perf_counter()
    a: Any = A if isinstance(A, Batch) else require_sparse(A, "solve", "A")
    if a.shape[0] != a.shape[1]:
        raise ValueError(f"solve: A is {a!r}; expected a square matrix")
    if tol is not None and not (isinstance(tol, (int, float, np.number)) and 0 < tol < np.inf):
        raise ValueError(f"solve: tol={tol!r}, expected a positive number")
    right = _right_sides(a, b)
    given = Equation(System(a, owners.owner_of(right)), right)
    problem, scaled = Problem(a), None
    failed: dict[str, str] = {}
    no_memory: dict[str, MemoryError] = {}
    zero_pivot = hopeless = False  # of a method that is as stable as any other but orthogonal factors
    for candidate, reason in _choices(problem, method):
        allowed = candidate.name == LAST and a.shape[0] <= _SMALL if zero_pivot else True
        if failed and (candidate.missing() or (candidate.direct and (hopeless or not allowed))):
            continue
        most_stable = a.device.partition(":")[0] in candidate.pivoting
        try:
            if keeps_rows := candidate.keeps_rows and (isinstance(a, Batch) or problem.symmetric):
                own = given
            else:
                own = scaled = scaled or equilibrated(given)
            with np.errstate(all="ignore"):  # the errors are computed afterwards
                solver = candidate.prepare(problem if own is given else Problem(own.system.A))
                ready = time.perf_counter()
                found = _refined(own.system, solver, own.b, tol if own is given else None)
                x = own.unscaled(found.x)
                errors = found.errors if own is given else given.system.errors(x, given.b)
                of_rows = found.errors.backward
                if keeps_rows and not isinstance(a, Batch):
                    of_rows = errors_of_rows(given, x, errors)
                _require_no_overflow(own, solver, found, errors)
        except Unsolvable as error:
            raise np.linalg.LinAlgError(f"solve: {error}") from None
        except np.linalg.LinAlgError as error:
            failed[candidate.name], zero_pivot = str(error).removeprefix("solve: "), zero_pivot or most_stable
            continue
        except MemoryError as error:
            if method is not None:
                raise
            failed[candidate.name], no_memory[candidate.name] = str(error).removeprefix("solve: "), error
            continue
        limit = _LIMIT * found.eps if tol is None else float(tol)
        useless = _useless(found.errors, found.eps, _DOUBTED if zero_pivot else _SINGULAR)
        if wrong := _wrong(errors, found.errors, of_rows, found.eps, limit, useless if tol is None else None):
            failed[candidate.name] = wrong
            hopeless |= most_stable and found.errors.worst <= _LIMIT * found.eps  # no method has a smaller error
            continue
        if useless is not None and useless.any():
            warnings.warn(f"solve: {_singular(found.errors, useless)}", LinAlgWarning, stacklevel=2)
        used = getattr(solver, "method", candidate.name)
        if candidate.name in METHODS and used != candidate.name:
            failed[candidate.name], reason = "its factors would be inaccurate", METHODS[used].reason(problem)
        result = SolveReport(
            used, reason, failed, a.shape, str(owners.dtype_of(x)), a.device, limit,
            errors.backward, errors.residuals, found.steps, ready - began, time.perf_counter() - ready,
        )  # fmt: skip
        return (x, result) if report else x
    if no_memory and failed.keys() == no_memory.keys():
        raise next(iter(no_memory.values()))
    raise np.linalg.LinAlgError("solve: " + "; ".join(f"{name}: {why}" for name, why in failed.items()))


class _Found(NamedTuple):
    """A solution with its errors, and how often it was refined."""

    x: Any
    errors: Errors
    steps: int
    eps: float


def _right_sides(a: Any, b: Any) -> Any:
    """Return right-hand sides as an array; raise if they do not fit."""
    factors.require_dense(b)
    owners.refuse_gpu_array(b, a._backend, "solve", "b")
    if owners.owner_of(b) is None:
        b = as_numpy(b, "solve")
        factors.require_numbers(b.dtype)
    if isinstance(a, Batch):
        factors.require_rows_of_batch(a, b.shape, a._interleaved)
    elif len(b.shape) not in (1, 2) or b.shape[0] != a.shape[0]:
        raise ValueError(f"solve: b has shape {tuple(b.shape)}, but A is {a.shape[0]} x {a.shape[1]}")
    return b


def _choices(problem: Problem, method: str | None) -> Iterator[tuple[Method, str]]:
    """Yield the methods to be tried, and why."""
    a = problem.A
    if method is not None:
        if method not in (known := names(a.device)):
            raise ValueError(f"solve: no method {method!r} on {a.device}; expected {', '.join(known)}")
        if isinstance(a, Batch) and not METHODS[method].direct:
            raise ValueError(f"solve: method {method!r} is for a single matrix, and A is a batch")
        yield METHODS[method], "It was asked for."
    elif isinstance(a, Batch):
        yield FACTORIZED, "All members of a batch are factored together, as it suits their diagonals."
    else:
        for one in Ranking(problem):
            yield one, one.reason(problem)


def _refined(system: System, solver: Solver, b: Any, tol: float | None) -> _Found:
    """Return a solution, after solving for its residual while that makes its errors smaller."""
    x = solver(b, max(tol or 0.0, _FIRST))
    eps = float(np.finfo(owners.dtype_of(x)).eps)
    goal = _GOAL * eps if tol is None else float(tol)
    errors, steps = system.errors(x, b), 0
    while errors.worst > goal and steps < _REFINEMENTS and can_be_refined(x):
        reduction = min(max(goal / errors.worst / 2, _SMALLEST), _LARGEST)
        try:
            better = x + solver(errors.residual, reduction)
        except np.linalg.LinAlgError:
            break
        after = system.errors(better, b)
        if not after.worst < errors.worst:
            break
        slow = after.worst > errors.worst / 2
        x, errors, steps = better, after, steps + 1
        if slow:
            break
    return _Found(x, errors, steps, eps)


def _require_no_overflow(own: Equation, solver: Solver, found: _Found, errors: Errors) -> None:
    """Raise Unsolvable if a solution is not finite, but an accurate one for a much smaller right-hand side is."""
    overflowing = errors.finite & ~np.isfinite(errors.backward)
    if not overflowing.any() or not can_be_refined(found.x):
        return
    info, sizes = np.finfo(owners.dtype_of(found.x)), own.system.largest(own.b)
    _, exponent = np.frexp(sizes[np.isfinite(sizes)].max(initial=0.0))
    b = own.b * 2.0 ** -int(exponent) * 2.0 ** (info.minexp // 2)
    y = solver(b, _FIRST)
    backward, size = own.system.errors(y, b).backward, own.system.largest(own.unscaled(y))[overflowing].max()
    if (backward[overflowing] <= max(_FIRST, _LIMIT * found.eps)).all() and np.isfinite(size):
        power = round(np.log10(size) + np.log10(2) * (int(exponent) - info.minexp // 2))
        raise Unsolvable(f"the solution overflows {info.dtype}: its largest element is about 1e{power}")


def _useless(scaled: Errors, eps: float, singular: float) -> NDArray[np.bool_]:
    """Return which solutions have no correct digits: |A| |x| eps / |b| and the residual are at least `singular`."""
    return scaled.finite & (scaled.growth * eps >= singular) & (scaled.residuals > singular)


def _singular(scaled: Errors, useless: NDArray[np.bool_]) -> str:
    growth = scaled.growth[useless].max()
    return f"A is singular to working precision for this b: |A| |x| / |b| is {growth:.2g}"


def _wrong(
    errors: Errors,
    scaled: Errors,
    of_rows: NDArray[np.float64],
    eps: float,
    limit: float,
    useless: NDArray[np.bool_] | None,
) -> str:
    """Return what is wrong with a solution, with its errors; "" if nothing is.

    `scaled` are the errors in the system that was solved, and `of_rows` the backward errors in one whose rows have
    about the same size: a solution must not ignore small rows. `useless` are the right-hand sides whose solutions have
    no correct digits, or None if they are accepted.
    """
    missed = errors.finite & ~(errors.backward <= limit)
    ignored = errors.finite & ~(of_rows <= max(limit, eps**0.5))
    if missed.any():
        which, what = missed, f"the backward error is larger than {limit:.2g}"
    elif useless is not None and useless.any():
        which, what = useless, f"{_singular(scaled, useless)} (tol= accepts such solutions)"
    elif ignored.any():
        most = of_rows[ignored].max()
        which, what = ignored, f"rows of A differ in size, and the backward error of a small one is {most:.2g}"
    else:
        return ""
    column = int(np.argmax(which))
    where = f" of right-hand side {column}" if len(which) > 1 else ""
    return (
        f"{what}; the backward error{where} is {errors.backward[column]:.2g}, and its relative residual "
        f"{errors.residuals[column]:.2g}"
    )
