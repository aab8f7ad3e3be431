"""The contenders of ``diagsparse bench solve``: the methods of diagsparse, and those of other libraries."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from inspect import signature
from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from scipy.sparse.linalg import cg, splu, spsolve_triangular

from .._arrays import device_arrays
from .._backends import libraries
from .._backends.backend import CPU, Backend
from .._matrix.convert import convert
from .._multigrid.setup import multigrid
from .._products.incomplete import ic0
from .._products.interleaved import interleaved_batch
from .._products.solving import factorized
from .._solving.methods import METHODS
from .._solving.problem import Problem
from .bench_solve_cases import SolveCase
from .peers import cupy

REDUCTION = 1e-8  #: by which iterative methods reduce the residual
_MOST_VALUES = 2e8  # values in the factors of a direct solver, above which it is left out
_CG_STARTS = 4  # as the residual that the iteration updates can be smaller than that of its solution
_CG_STEPS = 20_000  # iterations of conjugate gradients without multigrid


@dataclass(frozen=True)
class Contender:
    """One way to solve the system of a case."""

    library: str  #: "diagsparse", "SciPy", "PyAMG", "cuDSS", "cuSPARSE" or "CuPy"
    method: str
    prepare: Callable[[], Any]  #: the set-up
    solve: Callable[[Any], Any]  #: returns the solution, given what the set-up returned
    iterative: bool = False
    read: Callable[[Any], Any] = np.asarray  #: returns the solution as an array of NumPy

    @property
    def name(self) -> str:
        """``SciPy splu``."""
        return f"{self.library} {self.method}"


def contenders(case: SolveCase, S: Any, A: Any, b: Any, where: Backend) -> Iterator[Contender]:
    """Yield all contenders: `S` is SciPy's matrix, `A` ours or a batch, `b` the right-hand side on the host."""
    right = b if where is CPU else device_arrays.upload(where, b)
    read = np.asarray if where is CPU else device_arrays.download
    problem = None if case.members else Problem(A)
    fits = problem is None or not case.iterative or problem.factor_entries <= _MOST_VALUES
    if fits and (problem is None or not METHODS[problem.direct].missing()):
        yield Contender(*_name_of(problem), partial(factorized, A), lambda F: F.solve(right), read=read)
    if case.members and where is not CPU:
        interleaved, columns = interleaved_batch(A), device_arrays.upload(where, np.ascontiguousarray(b.T))
        yield Contender(
            "diagsparse", "factorized, interleaved", partial(factorized, interleaved), lambda F: F.solve(columns),
            read=lambda x: device_arrays.download(x).T,
        )  # fmt: skip
    if case.iterative and where.name.partition(":")[0] in METHODS["multigrid"].devices:
        for dtype in ("float64", "float32"):
            prepare = partial(multigrid, A, dtype=dtype)
            solve = partial(_by_multigrid, right)
            yield Contender("diagsparse", f"multigrid, {dtype}", prepare, solve, True, read)
    if case.triangular:
        yield _spsv(A, right) if where is not CPU else _spsolve_triangular(S, b)
    elif where is CPU:
        yield from _scipy(case, S, b, fits)
        if case.iterative:
            yield from _pyamg(S, b)
    else:
        if not case.members and not case.iterative:
            yield from _lapack(S, b)
        yield from _on_gpu(case, A, right, fits)


def _name_of(problem: Problem | None) -> tuple[str, str]:
    """Return the library and the method of `factorized`; None is a batch."""
    method = "factorized" if problem is None else problem.direct
    return "cuDSS" if method == "cudss" else "diagsparse", method


def _by_multigrid(b: Any, M: Any) -> Any:
    return M.solve(b, tol=REDUCTION)


# ---- on a CPU -----------------------------------------------------------------------------------------------------
def _scipy(case: SolveCase, S: Any, b: Any, fits: bool) -> Iterator[Contender]:
    """Yield SuperLU, and LAPACK for bands."""
    if case.members:
        blocks = sp.csc_array(sp.kron(sp.diags_array(np.linspace(1, 2, len(b))), S))
        yield Contender("SciPy", "splu", partial(splu, blocks), lambda F: F.solve(b.ravel()).reshape(b.shape))
        return
    if fits:
        csc = sp.csc_array(S)
        yield Contender("SciPy", "splu", partial(splu, csc), lambda F: F.solve(b))
    if not case.iterative:
        yield from _lapack(S, b)


def _lapack(S: Any, b: Any) -> Iterator[Contender]:
    """Yield LAPACK on the host, which factors and solves in one call."""
    half = int(max(S.offsets))
    band = _band(S, half)
    yield Contender("SciPy", "solve_banded", lambda: band, lambda ab: scipy.linalg.solve_banded((half, half), ab, b))
    upper = np.ascontiguousarray(band[: half + 1])
    yield Contender("SciPy", "solveh_banded", lambda: upper, lambda ab: scipy.linalg.solveh_banded(ab, b))


def _spsolve_triangular(S: Any, b: Any) -> Contender:
    csr = sp.csr_array(S)
    return Contender("SciPy", "spsolve_triangular", lambda: csr, lambda csr: spsolve_triangular(csr, b))


def _band(S: Any, half: int) -> Any:
    """Return the diagonals in the order of LAPACK."""
    band = np.zeros((2 * half + 1, S.shape[0]))
    for k in range(-half, half + 1):
        values = S.diagonal(k)
        band[half - k, max(0, k) : max(0, k) + len(values)] = values
    return band


def _pyamg(S: Any, b: Any) -> Iterator[Contender]:
    """Yield conjugate gradients with the hierarchies of PyAMG, if it is installed."""
    try:
        pyamg: Any = importlib.import_module("pyamg")
    except ImportError:
        return
    csr = sp.csr_array(S)
    csr.indices, csr.indptr = csr.indices.astype(np.int32), csr.indptr.astype(np.int32)
    builders = {"Ruge-Stueben": pyamg.ruge_stuben_solver, "smoothed aggregation": pyamg.smoothed_aggregation_solver}

    def solve(levels: Any) -> Any:
        x, info = cg(csr, b, rtol=REDUCTION, atol=0.0, maxiter=500, M=levels.aspreconditioner())
        if info:
            raise ArithmeticError("500 iterations do not suffice")
        return x

    for name, build in builders.items():
        yield Contender("PyAMG", f"{name} + cg", partial(build, csr), solve, True)


# ---- on a GPU -----------------------------------------------------------------------------------------------------
def _spsv(A: Any, b: Any) -> Contender:
    """Return cuSPARSE's substitution by levels, for a csr matrix."""

    def prepare() -> Any:
        csr = convert(A, "csr")
        return csr._core.triangle_of_rows(csr._matrix, 0, True, False)

    def solve(triangle: Any) -> Any:
        x = A._core.empty((b.size, 1), b.dtype.name, b.device, "F")
        x.assign(b.reshape((b.size, 1)))
        triangle.solve(x)
        return x

    return Contender("cuSPARSE", "SpSV", prepare, solve, read=lambda x: x.get().ravel())


def _on_gpu(case: SolveCase, A: Any, b: Any, fits: bool) -> Iterator[Contender]:
    """Yield cuDSS, unless it is the method of diagsparse, and CuPy's conjugate gradients."""
    has_cudss = not isinstance(libraries.cudss(), Exception)
    single = not case.members
    if single and fits and has_cudss and Problem(A).direct != "cudss":
        prepare = partial(factorized, A, method="cudss")
        yield Contender("cuDSS", "cudss", prepare, lambda F: F.solve(b), read=device_arrays.download)
    if case.iterative and (module := cupy()) is not None:
        linalg: Any = importlib.import_module("cupyx.scipy.sparse.linalg")
        csr, right = A.to_cupy("csr"), module.from_dlpack(b)
        bound = {"rtol" if "rtol" in signature(linalg.cg).parameters else "tol": REDUCTION}  # before CuPy 14: tol

        def prepare_jacobi() -> Any:
            inverse = 1 / csr.diagonal()
            return linalg.LinearOperator(csr.shape, matvec=lambda r: inverse * r, dtype=csr.dtype)

        def solve(M: Any) -> Any:
            x, norm = None, module.linalg.norm
            for _ in range(_CG_STARTS):
                x, info = linalg.cg(csr, right, x, **bound, maxiter=_CG_STEPS, M=M)
                if info:
                    raise ArithmeticError(f"{_CG_STEPS} iterations do not suffice")
                if norm(right - csr @ x) <= REDUCTION * norm(right):
                    break
            return x

        yield Contender("CuPy", "cg + Jacobi", prepare_jacobi, solve, True, lambda x: x.get())
        yield Contender("diagsparse", "ic0 and CuPy's cg", partial(ic0, A), solve, True, lambda x: x.get())
