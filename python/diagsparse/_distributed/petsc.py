"""Distributed matrices as matrices of PETSc, which calls their products instead of reading their elements."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np

DistributedArray: TypeAlias = Any  # of a module above


def petsc_matrix(D: DistributedArray) -> Any:
    """Return a matrix of petsc4py with the products of D; see `DistributedArray.to_petsc`."""
    try:
        from petsc4py import PETSc
    except ImportError as error:
        raise ImportError(f"to_petsc needs petsc4py ({error}): pip install petsc petsc4py") from error
    if D.device != "cpu":
        raise ValueError(f"to_petsc: a matrix on {D.device}, expected one on the CPU, where PETSc's vectors are")
    scalar, largest = np.dtype(PETSc.ScalarType), np.iinfo(PETSc.IntType).max
    if np.result_type(D.dtype, scalar) != scalar:
        option = "scalar-type=complex" if D.dtype.kind == "c" != scalar.kind else "precision=double"
        raise TypeError(
            f"to_petsc: a {D.dtype} matrix, and this PETSc computes in {scalar}; configure it with --with-{option}"
        )
    if max(D.shape) > largest:
        raise ValueError(
            f"to_petsc: a {D.shape[0]} x {D.shape[1]} matrix, and this PETSc counts to {largest}; configure it with "
            "--with-64-bit-indices"
        )
    return Shell(D).matrix()


class Shell:
    """What PETSc calls of ``factor D + shift I``, by the names that petsc4py expects; PETSc may change both numbers."""

    def __init__(self, D: DistributedArray, factor: complex = 1.0, shift: complex = 0.0) -> None:
        self.D, self._factor, self._shift = D, factor, shift

    def matrix(self) -> Any:
        """Return the matrix of petsc4py, with the rows of D on each process."""
        from petsc4py import PETSc

        (m, n), rows, cols = self.D.shape, self.D.row_range, self.D.column_range
        return PETSc.Mat().createPython(((rows[1] - rows[0], m), (cols[1] - cols[0], n)), self, comm=self.D.comm)

    def mult(self, mat: Any, x: Any, y: Any) -> None:
        """Compute ``y = A x``."""
        _multiply(self.D, x, y, self._factor, self._shift)

    def multTranspose(self, mat: Any, x: Any, y: Any) -> None:
        """Compute ``y = A.T x``."""
        _multiply(self.D.T, x, y, self._factor, self._shift)

    def multHermitian(self, mat: Any, x: Any, y: Any) -> None:
        """Compute ``y = A.H x``."""
        complex_values = self.D.dtype.kind == "c"
        _multiply(self.D.T, x, y, self._factor.conjugate(), self._shift.conjugate(), conjugated=complex_values)

    def getDiagonal(self, mat: Any, diagonal: Any) -> None:
        """Compute the main diagonal."""
        with diagonal.buffer_w as out:
            out[:] = self._factor * self.D.diagonal().local + self._shift

    def scale(self, mat: Any, factor: complex) -> None:
        """Multiply the matrix by a number; D remains as it is."""
        self._factor, self._shift = factor * self._factor, factor * self._shift

    def shift(self, mat: Any, summand: complex) -> None:
        """Add a number to the main diagonal; D remains as it is."""
        self._shift += summand

    def duplicate(self, mat: Any, values: Any) -> Any:
        """Return another matrix of PETSc with the same D."""
        return Shell(self.D, self._factor, self._shift).matrix()

    def copy(self, mat: Any, to: Any, structure: Any) -> None:
        """Make another matrix of PETSc equal to this one."""
        other = to.getPythonContext()
        other.D, other._factor, other._shift = self.D, self._factor, self._shift


def _multiply(D: DistributedArray, x: Any, y: Any, factor: complex, shift: complex, conjugated: bool = False) -> None:
    """Compute ``y = factor D x + shift x`` on the arrays of PETSc's vectors, whose sizes PETSc has checked."""
    with x.buffer_r as local, y.buffer_w as out:
        if shift:
            out[:] = local
        D._multiply(local, out, factor, shift, conjugated=conjugated, agreed=True)
