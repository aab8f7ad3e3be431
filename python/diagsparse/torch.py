"""Matrices of diagonals in PyTorch, with gradients.

`from_array` converts a matrix to `Diagonals`, whose values are a tensor, and `matvec` multiplies values and vectors.
Both pass gradients on, of any order. The module requires the extra ``torch``.
"""

from __future__ import annotations

try:
    import torch as _torch  # noqa: F401
except ImportError as error:
    message = f'diagsparse.torch needs PyTorch ({error}): pip install "diagsparse[torch]"'
    raise ImportError(message, name="torch") from error

from ._learning.torch_diagonals import Diagonals, from_array, matvec

__all__ = ["Diagonals", "from_array", "matvec"]
