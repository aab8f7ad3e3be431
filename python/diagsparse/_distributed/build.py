"""Building distributed matrices: from rows, from local blocks, and from a matrix of one process."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .._backends.arguments import integer
from .._backends.backend import get_backend
from .._backends.docstrings import completed_by
from .._backends.memory import require_free
from .._matrix.sparse_array import SparseArray
from .collective import communicator, raise_it, same, together
from .columns import local_matrix, rows_of
from .exchange import chosen_engine
from .matrix import DistributedArray
from .ranges import Partition, checked_partition, checked_shape

_TAG = 7104


def from_rows(
    function: Callable[[int, int], Any], shape: tuple[int, int], *, comm: Any = None, row_ranges: Any = None,
    device: str | None = None, engine: str | None = None,
) -> DistributedArray:  # fmt: skip
    """Build a distributed matrix of which every process builds its own rows.

    Parameters
    ----------
    function : callable
        ``function(first, last)`` returns the rows first to last - 1 as a sparse matrix of shape (last - first, n), with
        all columns; it must not communicate. `diagsparse.gallery` has functions with a parameter ``rows=(first,
        last)``. Matrices in the formats dia, hm, mdia, csr and qband remain in their format; a `dia_array` of SciPy is
        converted to hm, and everything else to csr.
    shape : (int, int)
        Shape (m, n) of the whole matrix.
    comm : mpi4py communicator, optional
        The processes; by default all of them.
    row_ranges : sequence of (int, int), optional
        The rows ``(first, last)`` of each process, contiguous and in the order of the ranks; by default equal numbers.
    device : str, optional
        Where this process stores its rows: ``"cpu"`` (the default), ``"cuda"``, ``"cuda:1"``, ... They are built on the
        host. Vectors on GPUs are arrays of CuPy.
    engine : {"mpi", "nccl", "cuda_mpi", "pinned"}, optional
        What carries messages. Between hosts this is MPI. Between GPUs it is NCCL, if nccl4py is installed and each
        process has a GPU of its own; otherwise an MPI that says that it is CUDA-aware; otherwise MPI, through pinned
        memory of the hosts.

    Returns
    -------
    DistributedArray

    Raises
    ------
    ValueError, TypeError, MemoryError
        On all processes, if one of them raises: for wrong shapes, ranges that are not contiguous, formats that differ,
        and anything that `function` raises.

    Notes
    -----
    The elements of a vector are divided like the rows if the matrix is square, and equally otherwise. Rows that need
    elements of other processes are stored separately from the others, so a process needs memory for its rows once more
    while the matrix is built. It may share memory with the matrix that it is built from, depending on the number of
    processes, so do not change that one afterwards. Every process has to call this, with the same arguments, except for
    the rows themselves.

    Examples
    --------
    >>> from diagsparse import distributed, gallery
    >>> def rows(first, last):
    ...     return gallery.stencil(5, (100, 100), rows=(first, last), format="hm")
    >>> D = distributed.from_rows(rows, (10000, 10000))
    >>> y = D @ distributed.vector(D, 1.0)
    >>> float(distributed.sum(y))
    400.0
    """
    who, comm = "distributed.from_rows", communicator(comm)
    m, n = together(comm, lambda: checked_shape(shape, who))
    rows = together(comm, lambda: checked_partition(row_ranges, m, comm.size, who))
    first, last = rows.range(comm.rank)

    def built() -> SparseArray:
        block = local_matrix(function(first, last))
        if block.shape != (last - first, n):
            raise ValueError(
                f"{who}: function({first}, {last}) returned a {block.shape[0]} x {block.shape[1]} matrix, expected "
                f"{last - first} x {n}"
            )
        return block

    return assembled(together(comm, built), rows, n, comm, who, device, engine)


@completed_by(from_rows)
def from_local(
    block: Any, shape: tuple[int, int] | None = None, *, comm: Any = None, device: str | None = None,
    engine: str | None = None,
) -> DistributedArray:  # fmt: skip
    """Build a distributed matrix from the rows of each process, in the order of the ranks.

    Parameters
    ----------
    block : sparse matrix, shape (r, n)
        The rows of this process, with all columns. Their numbers r may differ, and may be 0.
    shape : (int, int), optional
        Shape (m, n) of the whole matrix; checked if it is given.

    Examples
    --------
    >>> import diagsparse as ds
    >>> from diagsparse import distributed
    >>> block = ds.eye(5, format="hm")  # in a program with one process, its rows are all rows
    >>> distributed.from_local(block, (5, 5)).row_range
    (0, 5)
    """
    who, comm = "distributed.from_local", communicator(comm)
    local = together(comm, lambda: local_matrix(block))
    n = same(comm, local.shape[1], f"{who}: the number of columns")
    rows = Partition(np.cumsum([0, *comm.allgather(local.shape[0])]).tolist())

    def check() -> None:
        if shape is not None and (wanted := checked_shape(shape, who)) != (rows.rows, n):
            raise ValueError(f"{who}: the blocks are a {rows.rows} x {n} matrix, expected {wanted[0]} x {wanted[1]}")

    together(comm, check)
    return assembled(local, rows, n, comm, who, device, engine)


@completed_by(from_rows)
def from_global(
    A: Any, *, comm: Any = None, root: int = 0, row_ranges: Any = None, device: str | None = None,
    engine: str | None = None,
) -> DistributedArray:  # fmt: skip
    """Distribute a matrix that one process has.

    Parameters
    ----------
    A : sparse matrix, shape (m, n)
        The matrix, on process `root`; ignored on the others, where it may be None.
    root : int
        Rank of the process that has the matrix.

    Examples
    --------
    >>> from diagsparse import distributed, gallery
    >>> D = distributed.from_global(gallery.tridiagonal(1000))
    >>> D.format, D.shape, D.nnz
    ('hm', (1000, 1000), 2998)
    """
    who, comm = "distributed.from_global", communicator(comm)

    def checked() -> tuple[int, SparseArray | None]:
        rank = integer(root, f"{who}: root")
        if not 0 <= rank < comm.size:
            raise ValueError(f"{who}: root={rank}, expected 0 to {comm.size - 1}")
        return rank, local_matrix(A) if comm.rank == rank else None

    root, whole = together(comm, checked)
    same(comm, root, f"{who}: root")
    m, n = comm.bcast(None if whole is None else whole.shape, root)
    rows = together(comm, lambda: checked_partition(row_ranges, m, comm.size, who))
    error: Exception | None = None
    if whole is None:
        block = comm.recv(source=root, tag=_TAG)
    else:
        for p in [*(q for q in range(comm.size) if q != root), root]:  # one after another: a copy of one part at a time
            block = None
            try:
                block = rows_of(whole, *rows.range(p)) if error is None else None
            except Exception as raised:
                error = raised
            if p != root:
                comm.send(block, p, _TAG)
    together(comm, lambda: raise_it(error))
    return assembled(block, rows, n, comm, who, device, engine)


def assembled(
    block: SparseArray, rows: Partition, n: int, comm: Any, who: str, device: str | None, engine: str | None
) -> DistributedArray:
    same(comm, (rows.borders.tolist(), n), f"{who}: the ranges of rows and the number of columns")
    same(comm, block.format, f"{who}: the format of the rows")
    dtype = np.result_type(*comm.allgather(block.dtype))
    cols = rows if n == rows.rows else Partition.equal(n, comm.size)
    device = together(comm, lambda: get_backend(device).name if device else "cpu")
    same(comm, device.partition(":")[0], f"{who}: the kind of device")
    engine = chosen_engine(comm, device, engine)
    together(comm, lambda: require_free(block.nbytes, f"{who}: the rows of a process, divided into pieces"))
    return DistributedArray(block.astype(dtype, copy=False), rows, cols, comm, device, engine)
