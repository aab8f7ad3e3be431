"""cuSPARSE's product of a matrix in BSR and a vector, `cusparse<t>bsrmv`.

cuSPARSE has no product of two such matrices. CuPy supports neither matrices in BSR nor this function, so it is called
through ctypes, in the library that the CUDA module has loaded.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache, partial
from typing import Any

import numpy as np
import scipy.sparse as sp

from diagsparse._arrays import streams
from diagsparse._backends.backend import Backend
from diagsparse._backends.libraries import CUSPARSE

from ..prepare import Prepared

_BY_ROWS = 0  # CUSPARSE_DIRECTION_ROW: order of the values in a block
_NON_TRANSPOSE = 0  # CUSPARSE_OPERATION_NON_TRANSPOSE
_FUNCTIONS = {"float32": "cusparseSbsrmv", "float64": "cusparseDbsrmv"}


def planned_matvec(a: sp.bsr_array, x: np.ndarray, where: Backend) -> Prepared:
    """Return a call of ``A x`` on the GPU that writes to preallocated memory, and the result of a first call.

    Parameters
    ----------
    a : scipy.sparse.bsr_array
        float32 or float64, with square blocks.
    x : numpy.ndarray
        A vector with the dtype of `a`.
    where : Backend
        The first GPU.

    Raises
    ------
    NotImplementedError
        For other GPUs, because cuSPARSE uses the current device.
    RuntimeError
        If cuSPARSE returns an error; the message is its name.
    """
    if where.index:
        raise NotImplementedError(f"cuSPARSE's bsr on {where.name}; it is timed on the first GPU alone")
    library, handle, description = _context()
    side = a.blocksize[0]
    indptr, indices, values, vector = (
        where.core.from_host(np.ascontiguousarray(part).ravel(), where.index)
        for part in (a.indptr.astype(np.int32), a.indices.astype(np.int32), a.data, x)
    )
    y = where.core.empty((a.shape[0],), a.dtype.name, where.index)
    number = np.ctypeslib.as_ctypes_type(a.dtype)
    one, zero = number(1), number(0)
    sizes = (ctypes.c_int(n) for n in (a.shape[0] // side, a.shape[1] // side, len(a.indices)))
    arguments = (
        handle, _BY_ROWS, _NON_TRANSPOSE, *sizes, ctypes.byref(one), description, _pointer(values), _pointer(indptr),
        _pointer(indices), ctypes.c_int(side), _pointer(vector), ctypes.byref(zero), _pointer(y),
    )  # fmt: skip
    _check(library, library.cusparseSetStream(handle, ctypes.c_void_p(streams.current(where.index))))
    function = getattr(library, _FUNCTIONS[a.dtype.name])
    call = partial(_run, library, function, arguments, y, indptr, indices, values, vector)
    return call, call()


def _run(library: Any, function: Callable[..., int], arguments: tuple[Any, ...], result: Any, *operands: Any) -> Any:
    """Call a function of cuSPARSE, and return its result. The operands own the memory of its arguments."""
    _check(library, function(*arguments))
    return result


def _pointer(array: Any) -> ctypes.c_void_p:
    return ctypes.c_void_p(array.ptr)


@cache
def _context() -> tuple[Any, ctypes.c_void_p, ctypes.c_void_p]:
    """Return cuSPARSE, a handle, and the description of a general matrix with zero-based indices."""
    library = ctypes.CDLL(CUSPARSE)
    library.cusparseGetErrorName.restype = ctypes.c_char_p
    handle, description = ctypes.c_void_p(), ctypes.c_void_p()
    _check(library, library.cusparseCreate(ctypes.byref(handle)))
    _check(library, library.cusparseCreateMatDescr(ctypes.byref(description)))
    return library, handle, description


def _check(library: Any, status: int) -> None:
    if status:
        raise RuntimeError(f"cuSPARSE: {library.cusparseGetErrorName(status).decode()}")
