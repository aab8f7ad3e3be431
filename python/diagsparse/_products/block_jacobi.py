"""Block Jacobi: the diagonal blocks of a matrix as a preconditioner."""

from __future__ import annotations

from typing import Any

import scipy.sparse as sp

from .._backends.arguments import integer
from .._backends.backend import CPU
from .._backends.docstrings import completed_by
from .._matrix.convert import convert, unpacked
from .._matrix.operands import require_sparse
from .._matrix.registry import FORMATS
from .factors import Factorization
from .solving import factorized


@completed_by(factorized)
def block_jacobi(A: Any, block: int, *, method: str | None = None) -> Factorization:
    """Factor the diagonal blocks of A, as a preconditioner.

    Parameters
    ----------
    A : sparse matrix (ours or SciPy's), shape (n, n)
        On the CPU or on a GPU.
    block : int
        Number of rows and columns of each block; the last one may be smaller. Blocks of one row are the main diagonal.
        For a grid, a multiple of the length of its lines keeps the couplings along them.

    Returns
    -------
    Factorization
        The factors of the block diagonal part of A, which are those of `factorized`.

    Raises
    ------
    TypeError
        If A is not a sparse matrix.
    ValueError
        If A is not square or has values that are not finite, `block` is not positive, or `method` does not support the
        blocks.
    numpy.linalg.LinAlgError
        If a block is singular.
    ImportError
        On a GPU, if cuDSS is needed but not installed.

    Notes
    -----
    The blocks are factored as one matrix, whose cost `factorized` describes. Inside of a block, only the diagonals that
    A has count, so long blocks of a grid are as cheap as tridiagonal matrices.

    Examples
    --------
    >>> import numpy as np, diagsparse as ds
    >>> from scipy.sparse.linalg import cg
    >>> A, steps = ds.hm_array(ds.gallery.diffusion((40, 50), (0.01, 1.0))), []
    >>> M = ds.block_jacobi(A, 50)
    >>> M
    <factors of A, 2000 x 2000 float64: tridiagonal, 72.0 KB>
    >>> x, info = cg(A, np.ones(2000), M=M, rtol=1e-8, callback=steps.append)
    >>> info, len(steps) < 60
    (0, True)
    """
    a = require_sparse(A, "block_jacobi", "A")
    if a.shape[0] != a.shape[1]:
        raise ValueError(f"block_jacobi: A is {a!r}; expected a square matrix")
    block = integer(block, "block_jacobi: block")
    if block < 1:
        raise ValueError(f"block_jacobi: block={block}, expected a positive number")
    host = unpacked(a if a._backend is CPU else a.to("cpu"))
    entries = convert(host, "csr").to_scipy("coo")
    inside = entries.row // block == entries.col // block
    at = entries.data[inside], (entries.row[inside], entries.col[inside])
    blocks = FORMATS["csr"].array(sp.csr_array(at, shape=a.shape)).to(a.device)
    return Factorization(blocks, 0, method, who="block_jacobi")
