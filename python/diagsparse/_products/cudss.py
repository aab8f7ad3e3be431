"""NVIDIA's cuDSS, a direct solver of sparse systems on a GPU, through the bindings of nvmath-python."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Lock
from typing import Any

import numpy as np

from .._arrays import streams
from .._matrix.base import SparseArray
from .._places import libraries

_TYPES = {"float32": "R_32F", "float64": "R_64F", "complex64": "C_32F", "complex128": "C_64F"}


class Cudss:
    """The factors of a square csr matrix on a GPU, not taken for symmetric, and their bytes.

    Raises
    ------
    numpy.linalg.LinAlgError
        Where pivots had to be replaced and the factors do not solve.
    """

    def __init__(self, csr: SparseArray) -> None:
        self._cudss = cudss = libraries.cudss()
        self._a, self._device = csr, csr._place.index
        self._lock = Lock()
        self._type = getattr(cudss.DataType, _TYPES[csr.dtype.name])
        wide = max(csr.indptr.itemsize, csr.indices.itemsize) == 8
        index = np.dtype(np.int64 if wide else np.int32)
        self._index = [part if part.dtype == index else part.astype(index) for part in (csr.indptr, csr.indices)]
        with _on(self._device):
            self._handle, self._config = cudss.create(), cudss.config_create()
            self._data = cudss.data_create(self._handle)
            self._matrix = cudss.matrix_create_csr(
                *csr.shape, csr.nnz, self._index[0].ptr, 0, self._index[1].ptr, csr.values.ptr,
                *(cudss.DataType.R_64I if wide else cudss.DataType.R_32I,) * 2, self._type,
                cudss.MatrixType.GENERAL, cudss.MatrixViewType.FULL, cudss.IndexBase.ZERO,
            )  # fmt: skip
        weakref.finalize(self, _destroy, cudss, self._device, self._matrix, self._data, self._config, self._handle)
        x = csr._core.empty((csr.shape[0], 1), csr.dtype.name, self._device, "F")
        for phase in (cudss.Phase.ANALYSIS, cudss.Phase.FACTORIZATION):
            self._execute(phase, x, x)
        self._require_regular(x)
        self.nbytes = self._read(cudss.DataParam.LU_NNZ) * (csr.dtype.itemsize + index.itemsize)

    def solve(self, x: Any) -> None:
        """Write the solutions over the right sides, the columns of a `DeviceArray` in F order."""
        core = self._a._core
        b = core.empty(x.shape, x.dtype.name, x.device, "F")
        b.assign(x)
        self._execute(self._cudss.Phase.SOLVE, x, b)

    def _execute(self, phase: Any, x: Any, b: Any) -> None:
        cudss = self._cudss
        with self._lock, _on(self._device):
            cudss.set_stream(self._handle, streams.current(self._device))
            dense = [
                cudss.matrix_create_dn(*part.shape, part.shape[0], part.ptr, self._type, cudss.Layout.COL_MAJOR)
                for part in (x, b)
            ]
            try:
                cudss.execute(self._handle, phase, self._config, self._data, self._matrix, *dense)
            finally:
                for part in dense:
                    cudss.matrix_destroy(part)

    def _read(self, param: Any) -> int:
        cudss = self._cudss
        value, written = np.zeros(1, np.int64), np.zeros(1, np.uint64)  # of 32 bits or of 64
        with self._lock, _on(self._device):
            cudss.data_get(self._handle, self._data, param, value.ctypes.data, value.nbytes, written.ctypes.data)
        return int(value[0])

    def _require_regular(self, x: Any) -> None:
        """Raise where a pivot was replaced and a trial solution does not fit: cuDSS itself goes on."""
        if not self._read(self._cudss.DataParam.NPIVOTS):
            return
        flat = x.T.ravel()
        flat.fill(1)
        self.solve(x)
        off = abs(np.asarray((self._a @ flat).get()) - 1).max()
        if not off < np.finfo(self._a.dtype).eps ** 0.5:
            raise np.linalg.LinAlgError(f"a pivot is zero, and a trial solution misses its right side by {off:.1g}")


@contextmanager
def _on(device: int) -> Iterator[None]:
    """Make a GPU the current one of this thread."""
    runtime: Any = libraries.cuda_runtime()
    before = runtime.cudaGetDevice()[1]
    runtime.cudaSetDevice(device)
    try:
        yield
    finally:
        runtime.cudaSetDevice(before)


def _destroy(cudss: Any, device: int, matrix: int, data: int, config: int, handle: int) -> None:
    steps: tuple[tuple[Callable[..., None], tuple[int, ...]], ...] = (
        (cudss.matrix_destroy, (matrix,)), (cudss.data_destroy, (handle, data)),
        (cudss.config_destroy, (config,)), (cudss.destroy, (handle,)),
    )  # fmt: skip
    with _on(device):
        for destroy, arguments in steps:
            destroy(*arguments)
