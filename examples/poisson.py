"""Solve -Laplace(u) = 1 on the unit square, with u = 0 on its boundary, on any number of processes.

    mpiexec -n 4 python examples/poisson.py --points 1000

Every process builds its own rows of the matrix, and computes from the five offsets which elements of a vector it
receives for a product, and which ones it sends. Needs mpi4py; with petsc4py, PETSc solves the problem as well.
"""

import argparse
from importlib.util import find_spec
from time import perf_counter

from mpi4py import MPI

from diagsparse import distributed, gallery

MAXIMUM = 0.0736713532815  # of u, from its Fourier series


def say(text):
    """Print a line, once."""
    if MPI.COMM_WORLD.rank == 0:
        print(text, flush=True)


def solved_by_cg(D, b, rtol):
    """Return the solution by the conjugate gradient method of diagsparse, and the number of iterations."""
    steps = []
    x, _ = distributed.cg(D, b, rtol=rtol, M="jacobi", callback=steps.append)
    return x, len(steps)


def solved_by_petsc(D, b, rtol):
    """Return the solution by the conjugate gradient method of PETSc, and the number of iterations."""
    A = D.to_petsc()
    from petsc4py import PETSc

    solver = PETSc.KSP().create(A.comm)
    solver.setOperators(A)
    solver.setType("cg")
    solver.setNormType(PETSc.KSP.NormType.UNPRECONDITIONED)
    solver.setTolerances(rtol=rtol, max_it=D.shape[0])
    solver.pc.setType("jacobi")
    x = distributed.vector(D)  # PETSc's vectors share the memory of ours
    solver.solve(*(PETSc.Vec().createWithArray(v.local, (len(v.local), len(v)), comm=A.comm) for v in (b, x)))
    return x, solver.getIterationNumber()


BACKENDS = {"cg": solved_by_cg, "petsc": solved_by_petsc}


def main():
    """Build the matrix, and solve the problem with each backend."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--points", type=int, default=300, help="interior grid points along each axis (default: 300)")
    parser.add_argument("--rtol", type=float, default=1e-8, help="relative residual to reach (default: 1e-8)")
    parser.add_argument("--backend", choices=BACKENDS, help="solver (default: all that are installed)")
    options = parser.parse_args()
    backends = [options.backend] if options.backend else ["cg", "petsc"] if find_spec("petsc4py") else ["cg"]

    points, unknowns = options.points, options.points**2

    def rows(first, last):
        return gallery.stencil(5, points, rows=(first, last), format="hm")

    D = distributed.from_rows(rows, (unknowns, unknowns))
    b = distributed.vector(D, 1 / (points + 1) ** 2)

    say(f"{points} x {points} points: {unknowns} unknowns, {D.nnz} stored elements")
    say(D.halo.summary())
    for backend in backends:
        start = perf_counter()
        x, iterations = BACKENDS[backend](D, b, options.rtol)
        seconds = perf_counter() - start
        residual = distributed.norm(b - D @ x) / distributed.norm(b)
        largest = max(D.comm.allgather(x.local.max(initial=0)))
        say(f"{backend:5}: {iterations} iterations, {seconds:.2f} s, relative residual {residual:.1e}")
        say(f"       largest u = {largest:.6f}; {MAXIMUM:.6f} in the limit of fine grids")


if __name__ == "__main__":
    main()
