"""NVIDIA's cuDSS, a direct solver of sparse systems on a GPU, through the bindings of nvmath-python."""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from threading import Lock
from typing import Any

import numpy as np

from .._arrays import streams
from .._backends import libraries
from .._backends.backend import CudaError
from .._matrix.sparse_array import SparseArray

_TYPES = {"float32": "R_32F", "float64": "R_64F", "complex64": "C_32F", "complex128": "C_64F"}


class Cudss:
    """The factors of a square csr matrix on a GPU, not taken for symmetric.

    Attributes
    ----------
    nbytes : int
        Of the factors.
    replaced_pivots : bool
        Whether pivots were next to zero: cuDSS puts another number in their place and goes on.
    """

    def __init__(self, csr: SparseArray) -> None:
        self._cudss = cudss = libraries.cudss()
        self._a, self._device = csr, csr._backend.index
        self._lock = Lock()
        wide = max(csr.indptr.itemsize, csr.indices.itemsize) == 8
        index = np.dtype(np.int64 if wide else np.int32)
        self._index = [part if part.dtype == index else part.astype(index) for part in (csr.indptr, csr.indices)]
        index_type = cudss.DataType.R_64I if wide else cudss.DataType.R_32I
        self._type = getattr(cudss.DataType, _TYPES[csr.dtype.name])
        self._undo = ExitStack()
        weakref.finalize(self, _undone, self._undo, self._device)
        runtime = libraries.cuda_runtime()
        with self._calling():
            # cuDSS goes on in the stream of its factors, whatever it is told later: theirs is ours, and others wait.
            self._stream = self._until_the_end(_done(runtime.cudaStreamCreate()), runtime.cudaStreamDestroy)
            event = _done(runtime.cudaEventCreateWithFlags(runtime.cudaEventDisableTiming))
            self._reached = self._until_the_end(event, runtime.cudaEventDestroy)
            self._handle = self._until_the_end(cudss.create(), cudss.destroy)
            cudss.set_stream(self._handle, int(self._stream))
            self._config = self._until_the_end(cudss.config_create(), cudss.config_destroy)
            self._data = cudss.data_create(self._handle)
            self._undo.callback(cudss.data_destroy, self._handle, self._data)
            self._matrix = cudss.matrix_create_csr(
                *csr.shape, csr.nnz, self._index[0].ptr, 0, self._index[1].ptr, csr.values.ptr, index_type, index_type,
                self._type, cudss.MatrixType.GENERAL, cudss.MatrixViewType.FULL, cudss.IndexBase.ZERO,
            )  # fmt: skip
            self._undo.callback(cudss.matrix_destroy, self._matrix)
        csr._core.trim(self._device)  # what our pool holds back cuDSS cannot have
        x = csr._core.empty((csr.shape[0], 1), csr.dtype.name, self._device, "F")
        for phase in (cudss.Phase.ANALYSIS, cudss.Phase.FACTORIZATION):
            self._execute(phase, x, x)
        self.replaced_pivots = bool(self._read(cudss.DataParam.NPIVOTS))
        self.nbytes = self._read(cudss.DataParam.LU_NNZ) * (csr.dtype.itemsize + index.itemsize)

    def solve(self, x: Any) -> None:
        """Write the solutions over the right sides, the columns of a `DeviceArray` in F order."""
        b = self._a._core.empty(x.shape, x.dtype.name, x.device, "F")
        b.assign(x)
        self._execute(self._cudss.Phase.SOLVE, x, b)

    def _until_the_end(self, result: Any, destroy: Any) -> Any:
        self._undo.callback(destroy, result)
        return result

    def _execute(self, phase: Any, x: Any, b: Any) -> None:
        cudss = self._cudss
        with self._lock, self._calling(), ExitStack() as done:
            callers = streams.current(self._device)
            self._follow(self._stream, callers)
            dense = []
            for part in (x, b):
                shape = part.shape[0], part.shape[1], part.shape[0]
                dense.append(cudss.matrix_create_dn(*shape, part.ptr, self._type, cudss.Layout.COL_MAJOR))
                done.callback(cudss.matrix_destroy, dense[-1])
            cudss.execute(self._handle, phase, self._config, self._data, self._matrix, *dense)
            self._follow(callers, self._stream)

    def _follow(self, stream: Any, other: Any) -> None:
        """Let what comes in a stream wait for what is in another."""
        runtime = libraries.cuda_runtime()
        _done(runtime.cudaEventRecord(self._reached, other))
        _done(runtime.cudaStreamWaitEvent(stream, self._reached, 0))

    def _read(self, param: Any) -> int:
        cudss = self._cudss
        value, written = np.zeros(1, np.int64), np.zeros(1, np.uint64)  # of 32 bits or of 64
        with self._lock, self._calling():
            cudss.data_get(self._handle, self._data, param, value.ctypes.data, value.nbytes, written.ctypes.data)
        return int(value[0])

    @contextmanager
    def _calling(self) -> Iterator[None]:
        """Call cuDSS on the matrix's GPU, with errors of ours."""
        try:
            with _on(self._device):
                yield
        except self._cudss.cuDSSError as error:
            if "ALLOC_FAILED" in str(error):
                raise MemoryError(f"factorized: cuDSS lacks memory on {self._a.device}") from error
            raise CudaError(f"factorized: cuDSS: {error}") from error


def _done(returned: tuple[Any, ...]) -> Any:
    """Return what a call of the CUDA run time made, or raise what it says."""
    code, *result = returned
    if code:
        raise CudaError(f"CUDA's run time: {code.name}")
    return result[0] if result else None


@contextmanager
def _on(device: int) -> Iterator[None]:
    """Make a GPU the current one of this thread."""
    runtime = libraries.cuda_runtime()
    before = _done(runtime.cudaGetDevice())
    _done(runtime.cudaSetDevice(device))
    try:
        yield
    finally:
        runtime.cudaSetDevice(before)


def _undone(undo: ExitStack, device: int) -> None:
    """Destroy what was made, the last first, after all work with it."""
    with _on(device):
        _done(libraries.cuda_runtime().cudaDeviceSynchronize())
        undo.close()
