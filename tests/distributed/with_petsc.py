"""What `test_petsc.py` runs with several processes: ``mpiexec -n 3 python with_petsc.py solvers``."""

import sys
from contextlib import nullcontext
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp
from petsc4py import PETSc
from scipy.sparse.linalg import eigsh, expm_multiply

import diagsparse as ds
from diagsparse import distributed, gallery
from diagsparse._distributed.petsc import Shell


def random(m, n, format, dtype=float):
    """Return a matrix with some full diagonals and some other elements."""
    rng = np.random.default_rng(m + n)
    diagonals = [k for k in (-m // 2, -1, 0, 1, 3, n // 3) if -m < k < n]
    a = sp.diags_array([rng.standard_normal(max(m, n)) for _ in diagonals], offsets=diagonals, shape=(m, n))
    return ds.array((a + sp.random_array((m, n), density=0.02, rng=rng)).astype(dtype), format)


def filled(vec, seed=0):
    """Fill a vector of PETSc with the same numbers for any number of processes; return those of this one."""
    values = np.random.default_rng(seed).standard_normal(vec.getSize())[slice(*vec.getOwnershipRange())]
    vec.setArray(values)
    return values


def poisson(points=16):
    return distributed.from_global(gallery.stencil(5, points, format="hm"))


def products():
    """Products and the diagonal are those of the matrix, bit by bit."""
    for m, n, dtype in ((60, 60, float), (60, 60, np.float32), (50, 80, float), (80, 50, float)):
        for format in ("dia", "hm", "mdia", "csr", "qband"):
            D = distributed.from_global(random(m, n, format, dtype))
            A = D.to_petsc()
            x, y = A.createVecs()
            assert A.getOwnershipRange() == y.getOwnershipRange() == D.row_range
            assert x.getOwnershipRange() == D.column_range
            values = filled(x)
            A.mult(x, y)
            assert np.array_equal(y.getArray(), D @ values)
            values = filled(y, 1)
            for product in (A.multTranspose, A.multHermitian):
                product(y, x)
                assert np.array_equal(x.getArray(), D.T @ values)
            if m == n:
                assert np.array_equal(A.getDiagonal().getArray(), D.diagonal().local)


def multiples():
    """PETSc may scale and shift its matrix, and add products; the distributed matrix does not change."""
    D = distributed.from_global(random(60, 60, "hm"))
    A = D.to_petsc()
    copy = A.duplicate(copy=True)
    copy.scale(3)
    copy.shift(2)
    copy.scale(-0.5)
    another = A.duplicate()
    copy.copy(another)
    x, y = A.createVecs()
    values = filled(x)
    for matrix, factor, shift in ((A, 1, 0), (copy, -1.5, -1), (another, -1.5, -1)):
        matrix.mult(x, y)
        np.testing.assert_allclose(y.getArray(), factor * (D @ values) + shift * values, rtol=1e-13, atol=1e-13)
        before = filled(y, 1)
        matrix.multTransposeAdd(x, y, y)
        wanted = before + factor * (D.T @ values) + shift * values
        np.testing.assert_allclose(y.getArray(), wanted, rtol=1e-13, atol=1e-13)
        np.testing.assert_allclose(matrix.getDiagonal().getArray(), factor * D.diagonal().local + shift, rtol=1e-13)


def complex_numbers():
    """The products that a PETSc with complex scalars calls, on arrays instead of its vectors."""
    a, z, zeros = random(60, 60, "csr", complex), 1.5 - 0.5j, np.zeros(60, complex)
    a.data *= np.exp(1j * np.arange(a.nnz))
    for whole in (a, random(60, 60, "hm")):
        D, dense = distributed.from_global(whole), whole.toarray()
        shell, (first, last) = Shell(D, 2 + 1j, z), D.row_range
        values = np.exp(1j * np.arange(60))
        x, y = (
            SimpleNamespace(**dict.fromkeys(("buffer_r", "buffer_w"), nullcontext(v[first:last])))
            for v in (values, zeros)
        )
        matrix = (2 + 1j) * dense + z * np.eye(60)
        for multiply, wanted in (
            (shell.mult, matrix),
            (shell.multTranspose, matrix.T),
            (shell.multHermitian, matrix.conj().T),
        ):
            multiply(None, x, y)
            np.testing.assert_allclose(zeros[first:last], (wanted @ values)[first:last], atol=1e-12)


def memory():
    """The products get the memory of PETSc's vectors."""
    D, seen = poisson(), []
    x, y = (distributed.vector(D, 1.0) for _ in range(2))
    A, product, multiply = D.to_petsc(), D.matvec, D._multiply
    D._multiply = lambda local, out, *factors, **options: (
        seen.extend([local, out]),
        multiply(local, out, *factors, **options),
    )
    A.mult(*(PETSc.Vec().createWithArray(v.local, (len(v.local), len(v)), comm=A.comm) for v in (x, y)))
    assert [a.__array_interface__["data"][0] for a in seen] == [v.local.ctypes.data for v in (x, y)]
    D._multiply = multiply
    assert np.array_equal(y.local, product(x).local)


def solvers():
    """KSP solves a system with the Jacobi preconditioner; TS takes explicit and implicit steps of a heat equation."""
    D = poisson()
    A = D.to_petsc()
    x, b = A.createVecs()
    values = filled(b)
    for kind in ("cg", "gmres"):
        solver = PETSc.KSP().create(A.comm)
        solver.setOperators(A)
        solver.setType(kind)
        solver.pc.setType("jacobi")
        solver.setTolerances(rtol=1e-12, max_it=2000)
        solver.solve(b, x)
        assert solver.is_converged, solver.getConvergedReason()
        np.testing.assert_allclose(D @ x.getArray(), values, atol=1e-10)

    A.scale(-1)
    first, last = D.row_range
    exact = expm_multiply(-0.1 * D.gather(None).to_scipy(), np.ones(D.shape[0]))[first:last]
    for kind, step, error in (("rk", 0.01, 1e-5), ("cn", 0.002, 1e-4)):
        x.set(1)
        stepper = PETSc.TS().create(A.comm)
        stepper.setProblemType(PETSc.TS.ProblemType.LINEAR)
        stepper.setType(kind)
        stepper.setRHSFunction(lambda ts, t, u, f: A.mult(u, f), b)
        stepper.setRHSJacobian(lambda ts, t, u, J, P: A.copy(J), A.duplicate())
        stepper.setTimeStep(step)
        stepper.setTolerances(atol=1e-8, rtol=1e-8)
        stepper.setMaxTime(0.1)
        stepper.setExactFinalTime(PETSc.TS.ExactFinalTime.MATCHSTEP)
        stepper.getSNES().getKSP().setTolerances(rtol=1e-10)
        stepper.getSNES().getKSP().pc.setType("jacobi")
        stepper.solve(x)
        np.testing.assert_allclose(x.getArray(), exact, atol=error)


def eigenvalues():
    """SLEPc finds the ground state of a chain of spins."""
    from slepc4py import SLEPc

    n = 2**9
    H = distributed.from_rows(lambda a, b: gallery.heisenberg(9, rows=(a, b), format="mdia"), (n, n))
    solver = SLEPc.EPS().create(H.comm)
    solver.setOperators(H.to_petsc())
    solver.setProblemType(SLEPc.EPS.ProblemType.HEP)
    solver.setWhichEigenpairs(SLEPc.EPS.Which.SMALLEST_REAL)
    solver.setTolerances(1e-12)
    solver.solve()
    expected = eigsh(gallery.heisenberg(9), k=1, which="SA", return_eigenvectors=False)[0]
    assert abs(solver.getEigenvalue(0).real - expected) < 1e-10


def errors():
    """A matrix that this PETSc cannot represent raises on every process."""
    if np.dtype(PETSc.ScalarType) == np.float64:
        D = distributed.from_global(random(20, 20, "hm", complex))
        with pytest.raises(TypeError, match=r"complex128 matrix.*float64.*--with-scalar-type=complex"):
            D.to_petsc()
    if np.dtype(PETSc.IntType) == np.int32:
        n = 2**31 + 10
        D = distributed.from_rows(lambda a, b: ds.diags([1.0], [a], shape=(b - a, n), format="hm"), (6, n))
        with pytest.raises(ValueError, match=r"6 x 2147483658 matrix.*2147483647.*--with-64-bit-indices"):
            D.to_petsc()
    D = poisson()
    D.device = "cuda"
    with pytest.raises(ValueError, match="matrix on cuda, expected one on the CPU"):
        D.to_petsc()


if __name__ == "__main__":
    for name in sys.argv[1:]:
        globals()[name]()
