"""diagsparse: sparse matrices stored by their structure, such as diagonals, and multiplied at memory speed."""

import logging as _logging
from importlib import import_module as _import_module
from typing import TYPE_CHECKING

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
from ._matrix.stacking import block_diag, hstack, vstack
from ._products.commutators import anticommutator, commutator
from ._products.products import matmul, plan_matmul, plan_matvec
from ._products.sums import syr2k, syrk
from ._show.config import show_config
from ._version import __version__ as __version__
from .compare import compare

if TYPE_CHECKING:
    from . import gallery
    from ._evolution.bounds import spectral_bounds
    from ._evolution.evolve import evolve
    from ._matrix.reordering import reordered
    from ._multigrid.setup import multigrid
    from ._products.batches import batch_array
    from ._products.block_jacobi import block_jacobi
    from ._products.chains import chebyshev_multiply, power_multiply, recurrence_multiply
    from ._products.cholesky import cholesky_banded
    from ._products.forecasts import forecast, memory_report
    from ._products.incomplete import ic0, ilu0
    from ._products.interleaved import interleaved_batch
    from ._products.kron import kron
    from ._products.linear_combination import linear_combination
    from ._products.sampled import sampled_product
    from ._products.solving import factorized
    from ._products.triangular import solve_triangular
    from ._quaternions.quaternion_array import quaternion_array
    from ._solving.solve import solve
    from .advice import array, recommend
    from .io import read, write
    from .structure import analyze

# These modules are imported when one of their names is first used, so that `import diagsparse` is quick.
_LATER = {
    "_evolution.bounds": ("spectral_bounds",),
    "_evolution.evolve": ("evolve",),
    "_matrix.reordering": ("reordered",),
    "_multigrid.setup": ("multigrid",),
    "_products.batches": ("batch_array",),
    "_products.block_jacobi": ("block_jacobi",),
    "_products.chains": ("chebyshev_multiply", "power_multiply", "recurrence_multiply"),
    "_products.cholesky": ("cholesky_banded",),
    "_products.forecasts": ("forecast", "memory_report"),
    "_products.incomplete": ("ic0", "ilu0"),
    "_products.interleaved": ("interleaved_batch",),
    "_products.kron": ("kron",),
    "_products.linear_combination": ("linear_combination",),
    "_products.sampled": ("sampled_product",),
    "_products.solving": ("factorized",),
    "_products.triangular": ("solve_triangular",),
    "_quaternions.quaternion_array": ("quaternion_array",),
    "_solving.solve": ("solve",),
    "advice": ("array", "recommend"),
    "io": ("read", "write"),
    "structure": ("analyze",),
}
_HOMES = {name: module for module, names in _LATER.items() for name in names}
_HOMES |= {module: module for module in ("advice", "gallery", "io", "structure")}

_logging.getLogger("diagsparse").addHandler(_logging.NullHandler())

__all__ = [
    "ConversionWarning", "CudaError", "CudaUnavailable", "analyze", "anticommutator", "array", "batch_array",
    "block_diag", "block_jacobi", "chebyshev_multiply", "cholesky_banded", "commutator", "compare", "cuda_available",
    "diags", "evolve", "eye", "factorized", "forecast", "formats", "gallery", "get_num_threads", "hstack", "ic0",
    "ilu0", "interleaved_batch", "issparse", "kron", "linear_combination", "matmul", "memory_report", "multigrid",
    "norm", "plan_matmul", "plan_matvec", "power_multiply", "quaternion_array", "read", "recommend",
    "recurrence_multiply", "reordered", "sampled_product", "set_memory_pool", "set_num_threads", "show_config",
    "solve", "solve_triangular", "spectral_bounds", "syr2k", "syrk", "vstack", "write", *_classes,
]  # fmt: skip


if not TYPE_CHECKING:  # for mypy, an unknown name remains an error

    def __getattr__(name):
        if name not in _HOMES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        module = _import_module(f"{__name__}.{_HOMES[name]}")
        globals()[name] = value = module if name == _HOMES[name] else getattr(module, name)
        return value

    def __dir__():
        return sorted({*globals(), *__all__})
