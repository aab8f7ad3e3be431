"""Reordering of rows and columns so that a matrix occupies fewer 8 x 8 blocks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from .convert import convert
from .registry import COMMON, FORMATS
from .sparse_array import SparseArray
from .summary import BLOCK


def require_matrix(A: Any, who: str) -> None:
    """Raise TypeError or ValueError unless `A` is a two-dimensional sparse matrix."""
    if not sparse.issparse(A):
        raise TypeError(f"{who}: A is a {type(A).__name__}, expected a sparse matrix of SciPy or diagsparse")
    if A.ndim != 2:
        raise ValueError(f"{who}: A has {A.ndim} dimensions, expected 2")


def as_sparse_array(A: Any, who: str) -> SparseArray:
    """Return a matrix of diagsparse unchanged, and convert one of SciPy to dia or csr with a supported dtype."""
    require_matrix(A, who)
    if isinstance(A, SparseArray):
        return A
    dtype = np.result_type(A.dtype, np.float64 if A.dtype.kind in "iub" else np.float32)
    dtype = {"g": np.dtype(np.float64), "G": np.dtype(np.complex128)}.get(dtype.char, dtype)  # long doubles
    return FORMATS["dia" if A.format == "dia" else COMMON].array(A.astype(dtype, copy=False))


@dataclass(frozen=True, eq=False)
class Reordering:
    """A permutation of the rows and columns of a square matrix, and its numbers of 8 x 8 blocks; see `reordered`."""

    permutation: NDArray[np.int64]  # (n,): row i of the reordered matrix is row permutation[i] of A
    blocks_before: int  # occupied 8 x 8 blocks of A
    blocks_after: int  # occupied blocks of the reordered matrix; equal to `blocks_before` only for the identity

    def apply(self, A: Any) -> Any:
        """Return ``A[p][:, p]``, where p is the permutation, in the format and on the device of A.

        Parameters
        ----------
        A : SciPy sparse array or matrix, of any dtype; or SparseArray, shape (n, n)
            The matrix that was reordered, or another matrix on the same unknowns: one with new values, or the mass
            matrix that belongs to a stiffness matrix.

        Returns
        -------
        SciPy sparse array or matrix, or SparseArray
            A copy of A's class and dtype. Explicit zeros are preserved, except in the diagonal formats. A triangle
            that represents a symmetric matrix is preserved; diagonals with a period are stored in full.

        Raises
        ------
        TypeError
            If A is neither a SciPy sparse object nor a SparseArray.
        ValueError
            If A is not n x n.
        MemoryError
            If the result does not fit: a matrix with fewer blocks may have many more diagonals.

        Notes
        -----
        The cost is O(nnz log nnz) time, and a few times the bytes of A in csr. A matrix on a GPU is copied to the host
        and back.
        """
        require_matrix(A, "apply")
        p = self.permutation
        if A.shape != (len(p), len(p)):
            raise ValueError(f"apply: A is {A.shape[0]} x {A.shape[1]}, expected {len(p)} x {len(p)}")
        if not isinstance(A, SparseArray):
            return type(A)(A.tocsr()[p][:, p])
        csr = FORMATS[COMMON].array(convert(A, COMMON).to("cpu").to_scipy()[p][:, p])
        return A._format.reordered(A, csr.to(A.device)).astype(A.dtype, copy=False)


def reordered(A: Any) -> Reordering:
    """Compute an order of rows and columns in which a square matrix occupies fewer 8 x 8 blocks.

    This is the reverse Cuthill-McKee order of the pattern of A + A.T if it lowers the exact number of blocks, else the
    identity. `bmsparse_array` stores these blocks.

    Parameters
    ----------
    A : SciPy sparse array or matrix, of any dtype; or SparseArray, on any device; shape (n, n)
        Explicit zeros count as entries, except in the diagonal formats.

    Returns
    -------
    Reordering
        It has the ``permutation``, int64 of shape (n,), and the numbers of blocks ``blocks_before`` and
        ``blocks_after``; ``apply(A)`` returns the reordered matrix.

    Raises
    ------
    TypeError
        If A is neither a SciPy sparse object nor a SparseArray.
    ValueError
        If A is not square, not 2-D, or has 2^31 rows or more.

    Notes
    -----
    The cost is O(nnz log nnz) time, on the host. Only the pattern is reordered.

    Examples
    --------
    >>> import numpy as np
    >>> import diagsparse as ds
    >>> rng = np.random.default_rng(0)
    >>> shuffled = rng.permutation(1000)
    >>> A = ds.bmsparse_array(ds.gallery.banded(1000, 4, 4, seed=0).tocsr()[shuffled][:, shuffled])
    >>> order = ds.reordered(A)
    >>> order.blocks_before, order.blocks_after
    (6321, 373)

    In a product with the reordered matrix, x and y are in the new order, as are b and x of a linear system:

    >>> p, B = order.permutation, order.apply(A)
    >>> x, y = rng.random(1000), np.empty(1000)
    >>> y[p] = B @ x[p]
    >>> np.allclose(y, A @ x)
    True
    """
    matrix = convert(as_sparse_array(A, "reordered"), COMMON)
    m, n = matrix.shape
    if m != n:
        raise ValueError(f"reordered: A is {m} x {n}, expected a square matrix")
    entries, before = matrix.to("cpu").to_scipy(), matrix._summary().blocks()
    order = cuthill_mckee(entries)
    after = count_blocks(*permuted_indices(entries, order))
    return Reordering(order, before, after) if after < before else Reordering(np.arange(n), before, before)


def cuthill_mckee(csr: Any) -> NDArray[np.int64]:
    """Return the reverse Cuthill-McKee order of the pattern of a square matrix plus its transpose."""
    if csr.nnz == 0:
        return np.arange(csr.shape[0])
    pattern = sparse.csr_array((np.ones(csr.nnz, np.int8), csr.indices, csr.indptr), shape=csr.shape)
    from scipy.sparse.csgraph import reverse_cuthill_mckee  # the module takes long to import

    order: NDArray[np.int64] = reverse_cuthill_mckee(pattern).astype(np.int64)
    return order


def permuted_indices(csr: Any, order: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the row and column of every entry after row and column order[i] have become row and column i."""
    position = np.empty_like(order)
    position[order] = np.arange(len(order))
    return np.repeat(position, np.diff(csr.indptr)), position[csr.indices]


def count_blocks(rows: NDArray[np.int64], columns: NDArray[np.int64]) -> int:
    """Count the 8 x 8 blocks that entries at these positions occupy."""
    if not len(rows):
        return 0
    i, j = (np.asarray(positions // BLOCK, np.int32) for positions in (rows, columns))  # fewer than 2^31 rows
    shape = int(i.max()) + 1, int(j.max()) + 1
    return int(sparse.coo_array((np.ones(len(i), np.int8), (i, j)), shape=shape).tocsr().nnz)  # duplicates are summed
