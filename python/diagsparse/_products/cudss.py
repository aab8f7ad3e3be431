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
    """The factors of a square csr matrix on a GPU, without making use of symmetries.

    Attributes
    ----------
    nbytes : int
        Bytes of the factors.
    replaced_pivots : bool
        Whether cuDSS replaced pivots that were almost zero.
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
            # cuDSS uses the stream in which it factored for all later calls, so we create one, and synchronize with it.
            self._stream = self._created(_done(runtime.cudaStreamCreate()), runtime.cudaStreamDestroy)
            event = _done(runtime.cudaEventCreateWithFlags(runtime.cudaEventDisableTiming))
            self._reached = self._created(event, runtime.cudaEventDestroy)
            self._handle = self._created(cudss.create(), cudss.destroy)
            cudss.set_stream(self._handle, int(self._stream))
            self._config = self._created(cudss.config_create(), cudss.config_destroy)
            self._data = cudss.data_create(self._handle)
            self._undo.callback(cudss.data_destroy, self._handle, self._data)
            self._matrix = cudss.matrix_create_csr(
                *csr.shape, csr.nnz, self._index[0].ptr, 0, self._index[1].ptr, csr.values.ptr, index_type, index_type,
                self._type, cudss.MatrixType.GENERAL, cudss.MatrixViewType.FULL, cudss.IndexBase.ZERO,
            )  # fmt: skip
            self._undo.callback(cudss.matrix_destroy, self._matrix)
        csr._core.trim(self._device)  # returns the memory that our pool reserves, for cuDSS
        x = csr._core.empty((csr.shape[0], 1), csr.dtype.name, self._device, "F")
        for phase in (cudss.Phase.ANALYSIS, cudss.Phase.FACTORIZATION):
            self._execute(phase, x, x)
        self.replaced_pivots = bool(self._read(cudss.DataParam.NPIVOTS))
        self.nbytes = self._read(cudss.DataParam.LU_NNZ) * (csr.dtype.itemsize + index.itemsize)

    def solve(self, b: Any, x: Any) -> None:
        """Write the solutions for `b` to `x`: columns of `DeviceArray`s in F order; `x` may be `b`."""
        if x is b:
            b = self._a._core.empty(x.shape, x.dtype.name, x.device, "F")
            b.assign(x)
        self._execute(self._cudss.Phase.SOLVE, x, b)

    def _created(self, result: Any, destroy: Any) -> Any:
        """Return a new object, which is destroyed together with the factors."""
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
        """Let later work in `stream` wait for earlier work in `other`."""
        runtime = libraries.cuda_runtime()
        _done(runtime.cudaEventRecord(self._reached, other))
        _done(runtime.cudaStreamWaitEvent(stream, self._reached, 0))

    def _read(self, param: Any) -> int:
        cudss = self._cudss
        value, written = np.zeros(1, np.int64), np.zeros(1, np.uint64)  # cuDSS writes 32 or 64 bits
        with self._lock, self._calling():
            cudss.data_get(self._handle, self._data, param, value.ctypes.data, value.nbytes, written.ctypes.data)
        return int(value[0])

    @contextmanager
    def _calling(self) -> Iterator[None]:
        """Call cuDSS on the GPU of the matrix, and translate its errors."""
        try:
            with _on(self._device):
                yield
        except self._cudss.cuDSSError as error:
            if "ALLOC_FAILED" in str(error):
                raise MemoryError(f"cuDSS is out of memory on {self._a.device}") from error
            raise CudaError(f"cuDSS: {error}") from error


def _done(returned: tuple[Any, ...]) -> Any:
    """Return the result of a call of the CUDA runtime; raise CudaError if it failed."""
    code, *result = returned
    if code:
        raise CudaError(f"CUDA runtime: {code.name}")
    return result[0] if result else None


@contextmanager
def _on(device: int) -> Iterator[None]:
    """Set the current GPU of this thread."""
    runtime = libraries.cuda_runtime()
    before = _done(runtime.cudaGetDevice())
    _done(runtime.cudaSetDevice(device))
    try:
        yield
    finally:
        runtime.cudaSetDevice(before)


def _undone(undo: ExitStack, device: int) -> None:
    """Destroy all objects in reverse order, after all work has finished."""
    with _on(device):
        _done(libraries.cuda_runtime().cudaDeviceSynchronize())
        undo.close()
