"""A data layer for QuTiP, with which its solvers run on matrices of this library.

Importing the module registers the data layer; it requires the extra ``qutip``. ``H.to("diagsparse")`` and
``H.to("diagsparse-cuda")`` convert operators and states to this library on the host and on a GPU, and `qutip.Qobj`
accepts a matrix of this library directly. The name ``"diagsparse-cuda"`` is registered only if there is a GPU and CuPy
is installed.
"""

from __future__ import annotations

from importlib.util import find_spec as _find_spec
from typing import Any

try:
    from qutip.core import data as _data
    from qutip.core.data import iadd as _iadd  # noqa: F401  # the most recent name that is used
except ImportError as error:
    message = f'diagsparse.qutip needs QuTiP 5.3 ({error}): pip install "diagsparse[qutip]"'
    raise ImportError(message, name="qutip") from error

from ._backends.backend import cuda_available as _cuda_available
from ._matrix.base import issparse as _issparse
from ._qutip import layer as _layer
from ._qutip import operators as _operators
from ._qutip import states as _states
from ._qutip.operators import CudaSparse, Sparse
from ._qutip.states import CudaDense
from ._qutip.terms import terms

__all__ = ["CudaDense", "CudaSparse", "Sparse", "terms"]


def _created(arg: Any, shape: tuple[int, int] | None, copy: bool = True) -> Sparse:
    """Return the data of a `qutip.Qobj` that is created from a matrix of this library."""
    if shape is not None and tuple(shape) != arg.shape:
        raise ValueError(f"shapes do not match: {shape} and {arg.shape}")
    if arg.device != "cpu" and CudaSparse not in _data.to.dtypes:
        message = f"Qobj: the matrix is on {arg.device}, which needs CuPy: pip install cupy-cuda13x, or use A.to('cpu')"
        raise ImportError(message, name="cupy")
    return (Sparse if arg.device == "cpu" else CudaSparse)(arg.copy() if copy else arg)


_data.create.add_creators([(_issparse, _created, 90)])
_data.to.add_conversions(
    [
        (Sparse, _data.CSR, _operators.from_csr, 1),
        # More expensive than the inverse, so that mixed operations use the types of this library.
        (_data.CSR, Sparse, _operators.to_csr, 3),
        (_data.Dense, Sparse, _operators.to_dense, 3),
    ]
)
_data.to.register_group("diagsparse", dense=_data.Dense, sparse=Sparse, diagonal=Sparse)
_layer.add_operators(Sparse)

# Programs and QuTiP's tests loop over all registered types, so types that cannot be created here are not registered.
if _cuda_available() and _find_spec("cupy"):
    _data.to.add_conversions(
        [
            (CudaSparse, Sparse, lambda given: CudaSparse(given.matrix, given.factor), 1),
            (Sparse, CudaSparse, lambda given: Sparse(given.matrix, given.factor), 3),
            (CudaDense, _data.Dense, lambda given: CudaDense(given.as_ndarray()), 2),
            (_data.Dense, CudaDense, _states.to_dense, 2),
        ]
    )
    _data.to.register_group("diagsparse-cuda", dense=CudaDense, sparse=CudaSparse, diagonal=CudaSparse)
    _layer.add_operators(CudaSparse)
    _layer.add_states(CudaDense, CudaSparse)
