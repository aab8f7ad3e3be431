"""Other libraries in the experiments on blocks: the peers in table 3.9 of the thesis, and products with vectors.

MKL multiplies csr, and bsr with blocks of 2 x 2, on the CPU, also in a run on a GPU. cuSPARSE multiplies csr; for bsr
it has only products with vectors.
"""

from __future__ import annotations

import operator
from collections.abc import Iterator
from functools import partial

import numpy as np
import scipy.sparse as sp

from diagsparse import measure
from diagsparse._backends.backend import CPU, Backend
from diagsparse._formats import bmsparse_array
from diagsparse._matrix.sparse_array import SparseArray
from diagsparse._study import gpu_peers, peers

from ..experiment import Clock, Contender, Prepared, called, on_device, planned_matvec, planned_square, square
from . import cusparse_bsr
from .paper_004_columns import CUPY, CUSPARSE, CUSPARSE_BSR, MKL, MKL_BSR, SCIPY, SCIPY_BSR, VECTOR
from .paper_004_matrices import BLOCK

MUCH = 8  #: bsr is left out of products with vectors if it needs more than this many times the bytes of csr
_MOST = 1 << 31  # largest number of bytes of a product in SciPy's bsr
_SIDE = 2  # of MKL's blocks; other sizes were slower in the thesis


def squares(a: sp.csr_array, csr: SparseArray, A: bmsparse_array, where: Backend) -> Iterator[Contender]:
    """Yield the peers that compute A A."""
    seconds, theirs = Clock(where, budget=0.1, samples=7), measure.csr32(a)
    if where is not CPU:
        yield CUSPARSE, partial(planned_square, csr, "cusparse"), seconds
        if gpu_peers.cupy() is not None:
            yield CUPY, lambda: square(csr.to_cupy("csr")), seconds
    else:
        yield SCIPY, partial(square, theirs), seconds
        if A.matmul(A, format="bmsparse").blocks * BLOCK**2 * a.dtype.itemsize <= _MOST:
            yield SCIPY_BSR, lambda: square(_bsr(a, BLOCK)), seconds
    if mkl := peers.mkl():
        on_host = Clock(CPU, budget=0.1)
        yield MKL, partial(called, mkl.dot_product_mkl, theirs, theirs), on_host
        yield MKL_BSR, lambda: called(mkl.dot_product_mkl, *[_bsr(a, _SIDE)] * 2), on_host


def vectors(a: sp.csr_array, csr: SparseArray, A: bmsparse_array, x: np.ndarray, where: Backend) -> Iterator[Contender]:
    """Yield the peers that compute A x."""
    seconds = Clock(where, budget=0.05, samples=9)
    fits = A.blocks * BLOCK**2 * a.dtype.itemsize <= MUCH * csr.nbytes
    if where is not CPU:
        yield f"{CUSPARSE}{VECTOR}", partial(planned_matvec, csr, on_device(x, where), "cusparse"), seconds
        if fits:
            yield f"{CUSPARSE_BSR}{VECTOR}", partial(_by_cusparse, a, x, where), seconds
        return
    theirs = measure.csr32(a)
    yield f"{SCIPY}{VECTOR}", partial(called, operator.matmul, theirs, x), seconds
    if fits:
        yield f"{SCIPY_BSR}{VECTOR}", partial(_by_scipy, a, x), seconds
    if mkl := peers.mkl():
        yield f"{MKL}{VECTOR}", partial(called, mkl.dot_product_mkl, theirs, x), seconds


def _bsr(a: sp.csr_array, side: int) -> sp.bsr_array:
    """Return a matrix as SciPy's bsr, padded with zeros to complete blocks."""
    padded = measure.csr32(a).copy()
    padded.resize(*(-(-n // side) * side for n in a.shape))
    return padded.tobsr((side, side))


def _padded(x: np.ndarray, bsr: sp.bsr_array) -> np.ndarray:
    return np.concatenate((x, np.zeros(bsr.shape[1] - len(x), x.dtype)))


def _by_scipy(a: sp.csr_array, x: np.ndarray) -> Prepared:
    bsr = _bsr(a, BLOCK)
    call, y = called(operator.matmul, bsr, _padded(x, bsr))
    return call, y[: a.shape[0]]


def _by_cusparse(a: sp.csr_array, x: np.ndarray, where: Backend) -> Prepared:
    bsr = _bsr(a, BLOCK)
    call, y = cusparse_bsr.planned_matvec(bsr, _padded(x, bsr), where)
    return call, y[: a.shape[0]]
