"""Other libraries in the experiments on blocks: MKL's bsr, and how cuSPARSE's is called."""

import ctypes
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp
from cases import NO_CUDA

import diagsparse as ds
from benchmarks.papers import cusparse_bsr, paper_004_peers
from diagsparse._backends.backend import CPU, get_backend
from diagsparse._study import peers
from diagsparse._study.exactness import MatvecCheck, vector
from diagsparse._study.sampled import SampledMatmul


def blocks(rows=45, columns=45, dtype="float32"):
    return sp.random_array((rows, columns), density=0.2, rng=np.random.default_rng(0), format="csr", dtype=dtype)


@pytest.mark.skipif(peers.mkl() is None, reason="MKL or sparse_dot_mkl is not installed")
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_mkl_multiplies_blocks_of_2_by_2(dtype):
    a, found = blocks(dtype=dtype), {}
    contenders = paper_004_peers.squares(a, ds.csr_array(a), ds.bmsparse_array(a), CPU)
    for name, prepare, _ in contenders:
        found[name] = prepare()[1]
    assert list(found) == ["SciPy csr", "SciPy bsr", "MKL csr", "MKL bsr 2 x 2"]
    assert found["MKL bsr 2 x 2"].blocksize == (2, 2) and found["MKL bsr 2 x 2"].shape == (46, 46)
    check = SampledMatmul(a, a)
    assert all(check(C) <= 1 for C in found.values())


class Library:
    """The functions of cuSPARSE that are called, on arrays of the host; arguments as in its header."""

    def __init__(self):
        self.stream = None

    def cusparseSetStream(self, handle, stream):
        self.stream = (handle, stream)
        return 0

    def cusparseGetErrorName(self, status):
        return b"CUSPARSE_STATUS_INVALID_VALUE" if status == 3 else b""

    def _bsrmv(
        self,
        number,
        handle,
        direction,
        transposed,
        mb,
        nb,
        nnzb,
        alpha,
        description,
        val,
        row_ptr,
        col,
        dim,
        x,
        beta,
        y,
    ):
        if (handle, description) != ("handle", "description"):
            return 3
        assert (direction, transposed, alpha._obj.value, beta._obj.value) == (0, 0, 1, 0)

        def at(pointer, count, kind):
            return np.ctypeslib.as_array(ctypes.cast(pointer, ctypes.POINTER(kind)), (count,))

        mb, nb, nnzb, dim = (n.value for n in (mb, nb, nnzb, dim))
        values = at(val, nnzb * dim * dim, number).reshape(nnzb, dim, dim)
        a = sp.bsr_array((values, at(col, nnzb, ctypes.c_int), at(row_ptr, mb + 1, ctypes.c_int)), (mb * dim, nb * dim))
        at(y, mb * dim, number)[:] = a @ at(x, nb * dim, number)
        return 0

    def cusparseSbsrmv(self, *arguments):
        return self._bsrmv(ctypes.c_float, *arguments)

    def cusparseDbsrmv(self, *arguments):
        return self._bsrmv(ctypes.c_double, *arguments)


class OnHost(np.ndarray):
    """An array that has a pointer, as those of a GPU do."""

    @property
    def ptr(self):
        return self.ctypes.data


HOST = SimpleNamespace(
    index=0,
    name="cuda",
    core=SimpleNamespace(
        from_host=lambda values, device: values.copy().view(OnHost),
        empty=lambda shape, dtype, device: np.empty(shape, dtype).view(OnHost),
    ),
)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_cusparse_is_called_as_its_header_says(monkeypatch, dtype):
    library = Library()
    monkeypatch.setattr(cusparse_bsr, "_context", lambda: (library, "handle", "description"))
    bsr, x = blocks(24, 40, dtype).tobsr((8, 8)), vector(40, dtype)
    call, y = cusparse_bsr.planned_matvec(bsr, x, HOST)
    assert MatvecCheck(bsr.tocsr(), x)(np.asarray(y)) <= 1 and library.stream[0] == "handle"
    y[:] = 0
    assert call() is y and y.any()
    monkeypatch.setattr(cusparse_bsr, "_context", lambda: (library, "another", "description"))
    with pytest.raises(RuntimeError, match="cuSPARSE: CUSPARSE_STATUS_INVALID_VALUE"):
        cusparse_bsr.planned_matvec(bsr, x, HOST)


def test_cusparse_is_called_on_the_first_gpu_alone():
    with pytest.raises(NotImplementedError, match="on cuda:1"):
        cusparse_bsr.planned_matvec(
            blocks().tobsr((3, 3)), np.ones(45, "float32"), SimpleNamespace(index=1, name="cuda:1")
        )


@pytest.mark.gpu
@pytest.mark.skipif(not ds.cuda_available(), reason=NO_CUDA)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_cusparse_multiplies_blocks_by_vectors(dtype):
    a, where = blocks(61, 45, dtype), get_backend("cuda")
    x = vector(45, dtype)
    A = ds.bmsparse_array(a, device="cuda")
    found = {name: prepare()[1] for name, prepare, _ in paper_004_peers.vectors(a, A.tocsr(), A, x, where)}
    assert list(found) == ["cuSPARSE, A x", "cuSPARSE bsr, A x"]
    assert all(MatvecCheck(a, x)(where.host(y)) <= 1 for y in found.values())
