"""Matrices whose rows are distributed over processes, and their products with vectors."""

from __future__ import annotations

from threading import RLock
from typing import Any

import numpy as np

from .._backends.memory import human
from .._backends.types import product_dtypes
from .._matrix.sparse_array import SparseArray
from .._show import display
from . import columns, drawing
from .arrays import as_local, current, module_of
from .collective import agree
from .matmul import matmul
from .plan import Plan
from .ranges import Partition
from .transpose import transposed
from .vector import Vector


class DistributedArray:
    """A sparse matrix of which every process has a contiguous range of rows.

    Created by `from_rows`, `from_local` and `from_global`. ``D @ x`` multiplies it by a `Vector` (see `vector`), or by
    the rows of one that this process has, as an array; every process has to call it.

    Attributes
    ----------
    comm : mpi4py communicator
        The processes.
    shape : (int, int)
        Shape of the whole matrix.
    dtype : dtype
        Type of its values.
    format : str
        Format of the rows of each process.
    device : str
        Where the rows of this process are: ``"cpu"``, ``"cuda"``, ``"cuda:1"``, ...
    engine : str
        What carries messages: ``"mpi"`` between hosts; between GPUs ``"nccl"``, ``"cuda_mpi"`` (an MPI that reads their
        memory itself) or ``"pinned"`` (through pinned memory of the hosts).
    halo : Halo
        The elements of x that this process receives for a product, and those that it sends.
    """

    __array_priority__ = 12.0
    __array_ufunc__ = None  # x @ D raises

    def __init__(
        self, block: SparseArray, rows: Partition, cols: Partition, comm: Any, device: str, engine: str
    ) -> None:
        self.comm, self.shape, self.dtype, self.format = comm, (rows.rows, cols.rows), block.dtype, block.format
        self._rows, self._cols, self._lock = rows, cols, RLock()
        self.device, self.engine = device, engine
        self._plan = Plan(block, rows, cols, comm, device, engine)
        self.halo, self._nnz = self._plan.report, sum(comm.allgather(block.nnz))
        self._transposed: DistributedArray | None = None

    # ---- what it is -------------------------------------------------------------------------------
    @property
    def row_range(self) -> tuple[int, int]:
        """The rows ``(first, last)`` of this process."""
        return self._rows.range(self.comm.rank)

    @property
    def column_range(self) -> tuple[int, int]:
        """The elements ``(first, last)`` of a vector x that this process has for ``D @ x``."""
        return self._cols.range(self.comm.rank)

    @property
    def local(self) -> SparseArray:
        """The rows of this process, as a matrix with all columns.

        It is put together from the rows with and without elements of the halo, so this is a copy, unless there are only
        rows without.
        """
        return self._plan.local().to(self.device)

    @property
    def nnz(self) -> int:
        """Number of stored elements on all processes together."""
        return self._nnz

    @property
    def nbytes(self) -> int:
        """Bytes of the rows of this process."""
        return sum(plan.matrix.nbytes for piece in self._plan.pieces for plan in piece.plans)

    @property
    def T(self) -> DistributedArray:
        """The transpose, distributed by rows, too.

        It is built at the first use, by exchanging the elements in columns of other processes, and cached, so it needs
        the memory of the matrix once more. Every process has to ask for it.
        """
        if self._transposed is None:
            self._transposed = DistributedArray(
                transposed(self.comm, self._plan.local(), self._rows, self._cols),
                self._cols, self._rows, self.comm, self.device, self.engine,
            )  # fmt: skip
            self._transposed._transposed = self
        return self._transposed

    def gather(self, root: int | None = 0) -> SparseArray | None:
        """Return the whole matrix on process `root`, and None on the others; on all of them if `root` is None.

        The result is on the host. Every process has to call this.
        """
        local = self._plan.local()
        parts = self.comm.allgather(local) if root is None else self.comm.gather(local, root)
        if parts is None:
            return None
        found = []
        for components in zip(*map(columns.components, parts), strict=True):
            placed = [columns.Placed(one, self._rows.range(p)[0], np.asarray) for p, one in enumerate(components)]
            found.append(columns.put_together(placed, self.shape))
        return columns.composed(self.format, found)

    def to_petsc(self) -> Any:
        """Return the matrix as one of PETSc, for its solvers and those of SLEPc.

        PETSc calls the products of this matrix on the memory of its own vectors; nothing is copied. The rows and
        columns are distributed as here. Every process has to call this::

            from petsc4py import PETSc

            A = distributed.from_global(gallery.stencil(5, 100)).to_petsc()
            x, b = A.createVecs()
            b.set(1)
            solver = PETSc.KSP().create(A.comm)
            solver.setOperators(A)
            solver.setType("cg")
            solver.pc.setType("jacobi")
            solver.solve(b, x)

        Returns
        -------
        petsc4py.PETSc.Mat
            Of type "python". It has products with the matrix, its transpose and its adjoint, the main diagonal, and
            multiples of the matrix and of the identity added to it, which leave this matrix as it is. So there are all
            solvers that need only products, and the Jacobi preconditioner.

        Raises
        ------
        ImportError
            If petsc4py is not installed.
        TypeError
            If PETSc's scalars cannot represent the values: for complex values, PETSc has to be configured with
            ``--with-scalar-type=complex``.
        ValueError
            If PETSc's indices have 32 bits and the shape needs more, or the matrix is on a GPU.
        """
        from .petsc import petsc_matrix  # which needs petsc4py

        return petsc_matrix(self)

    # ---- products ---------------------------------------------------------------------------------
    def matvec(self, x: Any, *, out: Any = None, alpha: complex = 1, beta: complex = 0) -> Any:
        """Return ``alpha D x + beta out`` for a distributed vector or block.

        Every process has to call this.

        Parameters
        ----------
        x : Vector, or ndarray of shape (c,) or (c, k)
            A vector with n rows, distributed like the columns; or the rows `column_range` of it.
        out : Vector or ndarray, optional
            Receives the result and is returned; of the same kind as `x`.
        alpha, beta : scalar
            A `beta` other than 0 needs `out`.

        Returns
        -------
        Vector or ndarray
            Of the same kind as `x`, with NumPy's result type of D and x.

        Raises
        ------
        ValueError, TypeError
            On all processes, if shapes, ranges of rows or types do not fit on one of them.

        Notes
        -----
        The rows that need no element of other processes are multiplied while the halo is exchanged; see `halo`. Each
        row is added up in the order of its offsets, so the result has the same bits for any number of processes.
        """
        local, target = self._checked(x, out, beta)
        with self._lock, current(self.device):
            result = self._plan.product(local, target, alpha, beta)
        return (
            (out if out is not None else Vector(result, self._rows, self.comm, self.device))
            if isinstance(x, Vector)
            else result
        )

    def rmatvec(self, x: Any, *, out: Any = None, alpha: complex = 1, beta: complex = 0) -> Any:
        """Return ``alpha D.H x + beta out``, the product with the adjoint; see `matvec`."""
        if self.dtype.kind != "c":
            return self.T.matvec(x, out=out, alpha=alpha, beta=beta)
        before = None if out is None else out.conj() if beta else out.copy()
        result = self.T.matvec(np.conjugate(x), out=before, alpha=np.conj(alpha), beta=np.conj(beta))
        return np.conjugate(result, out=out)

    def __matmul__(self, other: Any) -> Any:
        if isinstance(other, (Vector, np.ndarray)):
            return self.matvec(other)
        if isinstance(other, DistributedArray):
            return DistributedArray(matmul(self, other), self._rows, other._cols, self.comm, self.device, self.engine)
        return NotImplemented

    def diagonal(self) -> Vector:
        """Return the main diagonal of a square matrix, as a distributed vector."""
        first, last = self.row_range
        if self.shape[0] != self.shape[1]:
            raise ValueError(f"diagonal: a {self.shape[0]} x {self.shape[1]} matrix, expected a square one")
        values = self._plan.local().diagonal(first)[: last - first]
        return Vector(module_of(self.device).array(values), self._rows, self.comm, self.device)

    def _checked(self, x: Any, out: Any, beta: complex) -> tuple[Any, Any]:
        """Return the local arrays of the operands."""
        error, local, target = None, None, None
        try:
            local, target = self._operands(x, out, beta)
        except Exception as raised:
            error = raised
        agree(self.comm, error, ("block of columns", local.shape[1:]) if local is not None else None)
        return local, target

    def _operands(self, x: Any, out: Any, beta: complex) -> tuple[Any, Any]:
        first, last = self.column_range
        if isinstance(x, Vector) and x._rows != self._cols:
            raise ValueError(f"matvec: x has {x.shape} elements in other ranges than the columns of {self!r}")
        local = x.local if isinstance(x, Vector) else as_local(x, self.device)
        if local.ndim not in (1, 2) or len(local) != last - first:
            raise ValueError(f"matvec: x has shape {local.shape}, expected {last - first} rows, {first} to {last}")
        if out is not None and isinstance(out, Vector) != isinstance(x, Vector):
            raise TypeError(f"matvec: out is a {type(out).__name__} and x a {type(x).__name__}")
        if isinstance(out, Vector) and out._rows != self._rows:
            raise ValueError(f"matvec: out has {out.shape} elements in other ranges than the rows of {self!r}")
        target = out.local if isinstance(out, Vector) else out
        wanted, result = product_dtypes(self.dtype, local.dtype)
        shape = (self.row_range[1] - self.row_range[0], *local.shape[1:])
        if target is None and beta != 0:
            raise ValueError(f"matvec: beta={beta} needs out")
        if target is not None and (target.shape != shape or target.dtype != result):
            raise ValueError(f"matvec: out is {target.dtype} {target.shape}, expected {result} {shape}")
        return local.astype(wanted, copy=False), target

    # ---- representations --------------------------------------------------------------------------
    def __repr__(self) -> str:
        first, last = self.row_range
        return (
            f"<distributed {self.format}_array {self.shape[0]} x {self.shape[1]} {self.dtype}: {self.nnz} stored, "
            f"rows {first} to {last} in {human(self.nbytes)} on process {self.comm.rank} of {self.comm.size}>"
        )

    def _repr_html_(self) -> str:
        return display.page(repr(self), [drawing.halos([self.halo])], display.lines([self.halo.summary()]))
