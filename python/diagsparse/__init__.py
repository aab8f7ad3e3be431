"""diagsparse: sparse matrices stored by their structure, such as diagonals, and multiplied at memory speed."""

import logging as _logging

from . import gallery
from ._backends.backend import (
    CudaError,
    CudaUnavailable,
    cuda_available,
    get_num_threads,
    set_num_threads,
)
from ._backends.pools import set_memory_pool
from ._backends.types import ConversionWarning
from ._formats import *  # noqa: F403
from ._formats import __all__ as _classes
from ._matrix.base import issparse
from ._matrix.builders import diags, eye
from ._matrix.norms import norm
from ._matrix.registry import formats
from ._matrix.reordering import reordered
from ._matrix.stacking import block_diag, hstack, vstack
from ._multigrid.setup import multigrid
from ._products.batches import batch_array
from ._products.block_jacobi import block_jacobi
from ._products.chains import chebyshev_multiply, power_multiply, recurrence_multiply
from ._products.cholesky import cholesky_banded
from ._products.forecasts import forecast, memory_report
from ._products.incomplete import ic0, ilu0
from ._products.interleaved import interleaved_batch
from ._products.kron import kron
from ._products.products import matmul, plan_matmul, plan_matvec
from ._products.solving import factorized
from ._products.sums import anticommutator, commutator, syr2k, syrk
from ._products.triangular import solve_triangular
from ._show.config import show_config
from ._solving.solve import solve
from ._version import __version__ as __version__
from .advice import array, recommend
from .compare import compare
from .io import read, write
from .structure import analyze

_logging.getLogger("diagsparse").addHandler(_logging.NullHandler())

__all__ = [
    "ConversionWarning", "CudaError", "CudaUnavailable", "analyze", "anticommutator", "array", "batch_array",
    "block_diag", "block_jacobi", "chebyshev_multiply", "cholesky_banded", "commutator", "compare", "cuda_available",
    "diags", "eye", "factorized", "forecast", "formats", "gallery", "get_num_threads", "hstack", "ic0", "ilu0",
    "interleaved_batch", "issparse", "kron", "matmul", "memory_report", "multigrid", "norm", "plan_matmul",
    "plan_matvec", "power_multiply", "read", "recommend", "recurrence_multiply", "reordered", "set_memory_pool",
    "set_num_threads", "show_config", "solve", "solve_triangular", "syr2k", "syrk", "vstack", "write", *_classes,
]  # fmt: skip
