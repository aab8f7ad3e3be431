"""diagsparse: sparse matrices whose structure pays, stored by diagonals and multiplied at memory speed."""

import logging as _logging

from . import gallery
from ._array import formats, issparse
from ._backend import (
    CudaError,
    CudaUnavailable,
    cuda_available,
    get_num_threads,
    set_num_threads,
    show_config,
)
from ._batches import batch_array
from ._chains import chebyshev_multiply, power_multiply, recurrence_multiply
from ._construct import array
from ._forecast import forecast, memory_report
from ._formats import *  # noqa: F403
from ._formats import __all__ as _classes
from ._pools import set_memory_pool
from ._products import matmul, plan_matmul, plan_matvec
from ._sums import syr2k, syrk
from ._types import ConversionWarning
from .compare import compare
from .io import read, write

__version__ = "0.1.0"


_logging.getLogger("diagsparse").addHandler(_logging.NullHandler())

__all__ = [
    "ConversionWarning",
    "CudaError",
    "CudaUnavailable",
    "array",
    "batch_array",
    "chebyshev_multiply",
    "compare",
    "cuda_available",
    "forecast",
    "formats",
    "gallery",
    "get_num_threads",
    "issparse",
    "matmul",
    "memory_report",
    "plan_matmul",
    "plan_matvec",
    "power_multiply",
    "read",
    "recurrence_multiply",
    "set_memory_pool",
    "set_num_threads",
    "show_config",
    "syr2k",
    "syrk",
    "write",
    *_classes,
]
