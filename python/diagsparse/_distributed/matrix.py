"""Matrices whose rows are distributed over processes, and their products with vectors."""

from __future__ import annotations

from threading import RLock
from typing import Any

import numpy as np

from .._backends.memory import human
from .._matrix.protocols import not_pickled
from .._matrix.sparse_array import SparseArray
from .._show import display
from . import columns, drawing
from .arrays import array_module, current, module_of
from .collective import agree, checked_root
from .matmul import matmul
from .operands import checked_operands
from .petsc import petsc_matrix
from .plan import Plan
from .ranges import Partition
from .transpose import transposed
from .vector import Vector


class DistributedArray:
    """A sparse matrix of which every process has a contiguous range of rows.

    Created by `from_rows`, `from_local`, `from_global` and `load`, not by calling the class. ``D @ x`` multiplies it by
    a `Vector` or by a distributed block of vectors (see `vector`), or by an array of those rows of a vector that this
    process has. ``D @ E`` is the product of two distributed matrices: the rows of E have to be divided like the columns
    of D. Every process has to compute these products.

    Attributes
    ----------
    comm : mpi4py communicator
        The processes: a duplicate of the communicator with which the matrix was built, for its own messages.
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
        with current(device):
            self._plan = Plan(block, rows, cols, comm, device, engine)
        self.halo, self._nnz = self._plan.report, sum(comm.allgather(block.nnz))
        self._transposed: DistributedArray | None = None
        self._main: Any = None  # the main diagonal, when it has been used
        self._windows: dict[int, Any] = {}  # of `deep_halo`: the rows around these, by the number of steps

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

        Rows that need elements of the halo are stored separately, so this is a copy, unless there are none. Diagonal k
        of the whole matrix is diagonal ``k + first`` here, where `first` is the first of these rows.
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

        It is no view. At the first use, it is built by exchanging the elements in columns of other processes, and it is
        cached, so it needs the memory of the matrix once more. Every process has to use it.
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
        root, local = checked_root(self.comm, root, "gather"), self._plan.local()
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
        row is added up in the order of its offsets, so on the CPU the result has the same bits for any number of
        processes. With qband, this holds if all of them store the same diagonals as bands.

        Examples
        --------
        >>> from diagsparse import distributed, gallery
        >>> D = distributed.from_global(gallery.tridiagonal(5))
        >>> x, y = distributed.vector(D, 1.0), distributed.vector(D, 10.0)
        >>> D.matvec(x, out=y, alpha=2, beta=1).gather()
        array([12., 10., 10., 10., 12.])
        """
        return self._multiply(x, out, alpha, beta)

    def rmatvec(self, x: Any, *, out: Any = None, alpha: complex = 1, beta: complex = 0) -> Any:
        """Return ``alpha D.H x + beta out``, the product with the adjoint.

        The parameters are those of `matvec`, with rows and columns exchanged. The first call builds `T`. Every process
        has to call this.
        """
        if self.dtype.kind != "c":
            return self.T.matvec(x, out=out, alpha=alpha, beta=beta)
        return self.T._multiply(x, out, alpha, beta, conjugated=True)

    def __matmul__(self, other: Any) -> Any:
        if isinstance(other, DistributedArray):
            C = matmul(self, other)
            return DistributedArray(C, self._rows, other._cols, self.comm, self.device, self.engine)
        return self.matvec(other)  # which raises on all processes if one of them has something else

    def diagonal(self) -> Vector:
        """Return the main diagonal of a square matrix, as a distributed vector; raise ValueError for others."""
        first, last = self.row_range
        if self.shape[0] != self.shape[1]:
            raise ValueError(f"diagonal: a {self.shape[0]} x {self.shape[1]} matrix, expected a square one")
        if self._main is None:
            self._main = self._plan.local().diagonal(first)[: last - first]
        with current(self.device):
            return Vector(module_of(self.device).array(self._main), self._rows, self.comm, self.device)

    def _multiply(
        self, x: Any, out: Any, alpha: Any, beta: Any, *, conjugated: bool = False, agreed: bool = False
    ) -> Any:
        """Return ``alpha D x + beta out``, with the conjugate of D if `conjugated` is true.

        All processes check their operands together, unless a caller that has built them says that they are `agreed` on.
        """
        with self._lock, current(self.device):
            error: Exception | None = None
            kind = None
            try:  # all that may fail comes before the first message
                local, target = checked_operands(self, x, out, alpha, beta)
                which = local.dtype.name, local.shape[1:], complex(alpha), complex(beta)
                kind = "matvec: the type of x and its columns, alpha or beta", which
                result, xp = target, array_module(local)
                if self.dtype.kind == "c" and self.format in ("csr", "qband"):
                    # Complex rows are rounded differently for other orders of x, which rows of it may have or not.
                    local = xp.ascontiguousarray(local)
                    result = None if target is None else xp.ascontiguousarray(target)
                if conjugated:
                    local, alpha, beta = xp.conjugate(local), np.conjugate(alpha), np.conjugate(beta)
                    result = None if target is None else xp.conjugate(result)
                elif target is not None and xp.may_share_memory(target, local):
                    local = local.copy(order="K")
                memory = self._plan.memory(local, result)
            except Exception as raised:
                error = raised
            if not agreed:
                agree(self.comm, error, kind)
            elif error is not None:
                raise error
            result = self._plan.product(local, *memory, alpha, beta)
            if conjugated:
                result = xp.conjugate(result, out=result if target is None else target)
            elif target is not None and result is not target:
                target[...] = result
                result = target
        if not isinstance(x, Vector):
            return result
        return Vector(result, self._rows, self.comm, self.device) if out is None else out

    # ---- representations --------------------------------------------------------------------------
    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        raise TypeError(f"{self!r} is no array; use D.local for the rows of this process, or D.gather()")

    __reduce__ = not_pickled(
        "{self!r} cannot be pickled, because it belongs to running processes; use distributed.save"
    )

    def __repr__(self) -> str:
        first, last = self.row_range
        return (
            f"<distributed {self.format}_array {self.shape[0]} x {self.shape[1]} {self.dtype}: {self.nnz} stored, "
            f"rows {first} to {last} in {human(self.nbytes)} on process {self.comm.rank} of {self.comm.size}>"
        )

    def _repr_html_(self) -> str:
        return display.page(repr(self), [drawing.halos([self.halo])], display.lines([self.halo.summary()]))


def require_distributed(D: Any, who: str, square: bool = True) -> None:
    """Raise TypeError unless D is a distributed matrix, or ValueError if it has to be square and is not."""
    if not isinstance(D, DistributedArray):
        raise TypeError(f"distributed.{who}: {type(D).__name__}, expected a distributed matrix; see from_global")
    if square and D.shape[0] != D.shape[1]:
        raise ValueError(f"distributed.{who}: a {D.shape[0]} x {D.shape[1]} matrix, expected a square one")
