"""Matrices of diagonals in JAX, with gradients.

`from_array` converts a matrix to `Diagonals`, a pytree that can be used in functions under `jax.jit`, `jax.grad`,
`jax.vmap` and their combinations. The module requires the extra ``jax``.
"""

from __future__ import annotations

try:
    import jax as _jax  # noqa: F401
except ImportError as error:
    message = f'diagsparse.jax needs JAX ({error}): pip install "diagsparse[jax]"'
    raise ImportError(message, name="jax") from error

from ._learning.jax_diagonals import Diagonals, from_array

__all__ = ["Diagonals", "from_array"]
