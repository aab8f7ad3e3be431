"""Diagonals for tests of JAX and PyTorch: structures, random values with NaN in the padding, and SciPy's matrices."""

import importlib
import os
import warnings

import numpy as np
import pytest
import scipy.sparse as sp

SHAPES = {  # offsets and shape
    "band": ((-1, 0, 2), (6, 6)),
    "wide": ((3, -1, 0), (5, 9)),
    "tall": ((-6, -1, 1), (9, 4)),
    "corners": ((-6, 6), (7, 7)),
    "no diagonals": ((), (4, 5)),
    "no rows": ((), (0, 3)),
    "no columns": ((), (3, 0)),
    "many": (tuple(range(-69, 70, 2)), (70, 73)),  # a loop in JAX
}
DTYPES = ("float32", "float64", "complex64", "complex128")
EACH_SHAPE = pytest.mark.parametrize("name", SHAPES)


def random(*shape, dtype="float64", seed=0):
    draw = np.random.default_rng(seed)
    real = draw.standard_normal(shape)
    return (real + 1j * draw.standard_normal(shape) if np.dtype(dtype).kind == "c" else real).astype(dtype)


def inside(offsets, shape):
    """Return which values are elements of the matrix, of shape (D, m)."""
    columns = np.arange(shape[0]) + np.array(offsets, int).reshape(-1, 1)
    return (columns >= 0) & (columns < shape[1])


def padded(offsets, shape, dtype="float64", seed=0):
    """Return random values, with NaN outside of the matrix."""
    return np.where(inside(offsets, shape), random(len(offsets), shape[0], dtype=dtype, seed=seed), np.nan).astype(
        dtype
    )


def scipys(values, offsets, shape):
    """Return the matrix as SciPy's."""
    k, i = np.nonzero(inside(offsets, shape))
    return sp.csr_array((values[k, i], (i, i + np.array(offsets, int)[k])), shape=shape)


def load(library):
    """Return the module of diagsparse for a library, or skip the test."""
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pytest.importorskip(library)
        return importlib.import_module(f"diagsparse.{library}")


@pytest.fixture
def x64():
    """Use 64-bit numbers in JAX."""
    jax = pytest.importorskip("jax")
    before = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", True)
    yield
    jax.config.update("jax_enable_x64", before)
