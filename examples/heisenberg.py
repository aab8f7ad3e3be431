"""Find the ground state of an open Heisenberg chain of spins 1/2, on any number of processes.

    mpiexec -n 4 python examples/heisenberg.py --sites 20

H is the sum of X X + Y Y + Z Z over neighbouring sites. Every process builds its own rows as masked diagonals: flipping
two neighbouring spins adds a power of two to the number of a state, and in half of the states they are not opposite.
Needs mpi4py and slepc4py; SLEPc finds the ground state by the Krylov-Schur method.
"""

import argparse
import sys
from time import perf_counter

from mpi4py import MPI

from diagsparse import distributed, gallery

KNOWN = {20: -34.7298933375958}  # by SciPy's eigsh(tol=1e-13)


def say(text):
    """Print a line, once."""
    if MPI.COMM_WORLD.rank == 0:
        print(text, flush=True)


def reference(sites):
    """Return the energy by SciPy, or one that is known; None for a long chain."""
    if sites > 16:
        return KNOWN.get(sites)
    from scipy.sparse.linalg import eigsh

    return eigsh(gallery.heisenberg(sites, format="mdia"), k=1, which="SA", tol=1e-13, return_eigenvectors=False)[0]


def main():
    """Build the Hamiltonian, find the smallest eigenvalue, and compare it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sites", type=int, default=20, help="number of spins (default: 20)")
    parser.add_argument("--tol", type=float, default=1e-12, help="relative tolerance of the energy (default: 1e-12)")
    options = parser.parse_args()
    sites, states = options.sites, 2**options.sites

    def rows(first, last):
        return gallery.heisenberg(sites, rows=(first, last), format="mdia")

    try:
        from slepc4py import SLEPc
    except ImportError as error:
        say(f"this example needs slepc4py ({error}): pip install petsc petsc4py slepc slepc4py")
        return 2

    H = distributed.from_rows(rows, (states, states))

    say(f"{sites} sites: {states} states, {H.nnz} stored elements")
    say(H.halo.summary())
    start = perf_counter()
    solver = SLEPc.EPS().create(H.comm)
    solver.setOperators(H.to_petsc())
    solver.setProblemType(SLEPc.EPS.ProblemType.HEP)
    solver.setWhichEigenpairs(SLEPc.EPS.Which.SMALLEST_REAL)
    solver.setTolerances(options.tol)
    solver.solve()
    say(f"{solver.getIterationNumber()} restarts, {perf_counter() - start:.2f} s")
    if not solver.getConverged():
        say("no eigenvalue has converged")
        return 1
    energy = solver.getEigenvalue(0).real
    say(f"energy    {energy:.12f}")
    if H.comm.rank == 0 and (expected := reference(sites)) is not None:
        say(f"expected  {expected:.12f}, difference {abs(energy - expected):.1e}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
