"""Arrays of GPU libraries, created and read by the same functions; tests of missing libraries are skipped."""

import os
import warnings
from importlib import import_module

import numpy as np
import pytest

import diagsparse as ds

NAMES = ("cupy", "torch", "jax", "own")


def core():
    """Return the CUDA module."""
    return ds._backends.backend.gpu(0).core


def load(name):
    """Import a library, or skip the test. What it warns of on the way is no concern of ours."""
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            module = import_module(name)
        except ImportError as error:
            pytest.skip(f"{name}: {error}")
        if name == "jax":
            module.config.update("jax_enable_x64", True)
            if module.default_backend() != "gpu":
                pytest.skip("jax sees no GPU")
        if name == "torch" and not module.cuda.is_available():
            pytest.skip("torch sees no GPU")
    return module


def make(name, x):
    """Return a NumPy array as an array of this library on the GPU, in its memory order where the library has orders."""
    if name == "own":
        fortran = x.ndim == 2 and x.flags.f_contiguous and not x.flags.c_contiguous
        return core().from_host(x.T, 0).T if fortran else core().from_host(np.ascontiguousarray(x), 0)
    module = load(name)
    if name == "cupy":
        return module.asarray(x)
    if name == "torch":
        fortran = x.ndim == 2 and x.flags.f_contiguous and not x.flags.c_contiguous
        return module.from_numpy(x.T.copy()).cuda().T if fortran else module.from_numpy(x.copy()).cuda()
    return module.numpy.asarray(x)


def read(name, y):
    """Return an array of this library as NumPy's, after a check that it is one."""
    if name == "own":
        assert isinstance(y, core().DeviceArray), type(y)
        return y.get()
    module = load(name)
    kind = {"cupy": "ndarray", "torch": "Tensor", "jax": "Array"}[name]
    assert isinstance(y, getattr(module, kind)), f"{type(y)} is not of {name}"
    if name == "torch":
        assert y.is_cuda
        return y.cpu().numpy()
    return y.get() if name == "cupy" else np.asarray(y)


def address(name, x):
    """Return the address of the first element."""
    return {"cupy": lambda: x.data.ptr, "torch": lambda: x.data_ptr(), "own": lambda: x.ptr,
            "jax": lambda: x.unsafe_buffer_pointer()}[name]()  # fmt: skip
