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
from diagsparse._study import peers

from .. import prepare
from ..experiment import Clock, Contender, gpu_squares
from ..prepare import Prepared
from . import cusparse_bsr
from .paper_004_columns import MKL_BSR, VECTOR
from .paper_004_matrices import BLOCK

MUCH = 8  #: bsr is left out of products with vectors if it needs more than this many times the bytes of csr
_MOST = 1 << 31  # largest number of bytes of a product in SciPy's bsr
_SIDE = 2  # of MKL's blocks; other sizes were slower in the thesis


def squares(a: sp.csr_array, csr: SparseArray, A: bmsparse_array, where: Backend) -> Iterator[Contender]:
    """Yield the peers that compute A A."""
    clock, theirs = Clock(where, budget=0.1, samples=7), measure.csr32(a)
    if where is not CPU:
        yield from gpu_squares(csr, clock, "cuSPARSE")
    else:
        yield "SciPy csr", partial(prepare.square, theirs), clock
        if A.matmul(A, format="bmsparse").blocks * BLOCK**2 * a.dtype.itemsize <= _MOST:
            yield "SciPy bsr", lambda: prepare.square(_bsr(a, BLOCK)), clock
    if mkl := peers.mkl():
        on_host = Clock(CPU, budget=0.1)
        yield "MKL csr", partial(prepare.called, mkl.dot_product_mkl, theirs, theirs), on_host
        yield MKL_BSR, lambda: prepare.called(mkl.dot_product_mkl, *[_bsr(a, _SIDE)] * 2), on_host


def vectors(a: sp.csr_array, csr: SparseArray, A: bmsparse_array, x: np.ndarray, where: Backend) -> Iterator[Contender]:
    """Yield the peers that compute A x."""
    clock = Clock(where, budget=0.05, samples=9)
    fits = A.blocks * BLOCK**2 * a.dtype.itemsize <= MUCH * csr.nbytes
    if where is not CPU:
        z = prepare.on_device(x, where)
        yield f"cuSPARSE{VECTOR}", partial(prepare.planned_matvec, csr, z, "cusparse"), clock
        if fits:
            yield f"cuSPARSE bsr{VECTOR}", partial(_in_blocks, a, x, where), clock
        return
    theirs = measure.csr32(a)
    yield f"SciPy csr{VECTOR}", partial(prepare.called, operator.matmul, theirs, x), clock
    if fits:
        yield f"SciPy bsr{VECTOR}", partial(_in_blocks, a, x, where), clock
    if mkl := peers.mkl():
        yield f"MKL csr{VECTOR}", partial(prepare.called, mkl.dot_product_mkl, theirs, x), clock


def _bsr(a: sp.csr_array, side: int) -> sp.bsr_array:
    """Return a matrix as SciPy's bsr, padded with zeros to complete blocks."""
    padded = measure.csr32(a).copy()
    padded.resize(*(-(-n // side) * side for n in a.shape))
    return padded.tobsr((side, side))


def _in_blocks(a: sp.csr_array, x: np.ndarray, where: Backend) -> Prepared:
    """Return A x by SciPy's or cuSPARSE's bsr."""
    bsr = _bsr(a, BLOCK)
    padded = np.concatenate((x, np.zeros(bsr.shape[1] - len(x), x.dtype)))
    on_cpu = where is CPU
    call, y = (
        prepare.called(operator.matmul, bsr, padded) if on_cpu else cusparse_bsr.planned_matvec(bsr, padded, where)
    )
    return call, y[: a.shape[0]]
