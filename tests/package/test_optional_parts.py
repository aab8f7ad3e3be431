"""Missing devices, and the package without its optional modules."""

import numpy as np
import pytest
from processes import python

import diagsparse as ds

FORMATS = pytest.mark.parametrize("format", ds.formats())
EYE = np.eye(3)
WITHOUT_CUDA = pytest.mark.skipif(ds.cuda_available(), reason="this machine has a CUDA device")


@pytest.mark.quick
@WITHOUT_CUDA
@FORMATS
def test_cuda_is_unavailable_and_says_why(format):
    A = ds.array(EYE, format)
    for run in (
        lambda: A.to("cuda"), lambda: A.to("cuda:1"), lambda: ds.array(EYE, format, device="cuda"),
        lambda: ds.array(A, format, device="cuda"), lambda: ds.array(A, device="cuda"),
        lambda: ds.array(EYE, device="cuda"),
        lambda: getattr(ds, f"{format}_array")(A, device="cuda:0"), lambda: type(A)((3, 3), device="cuda"),
    ):  # fmt: skip
        with pytest.raises(ds.CudaUnavailable, match='device="cpu"'):
            run()
    assert issubclass(ds.CudaUnavailable, RuntimeError) and ds.cuda_available() is False


@FORMATS
def test_unknown_devices(format):
    A = ds.array(EYE, format)
    for name in ("gpu", "CUDA", "cpu:0", "", "cuda0"):
        for run in (lambda n=name: A.to(n), lambda n=name: ds.array(EYE, format, device=n),
                    lambda n=name: ds.array(A, device=n)):  # fmt: skip
            with pytest.raises(ValueError, match="cuda"):
                run()
    for name in (5, object(), b"cpu"):
        with pytest.raises((TypeError, ValueError), match="device"):
            A.to(name)


def test_import_without_optional_modules():
    out = python("""
    import sys
    for name in ("diagsparse._cuda", "qutip", "jax", "torch"):
        sys.modules[name] = None  # importing it raises
    import diagsparse as ds
    A = ds.hm_array(ds.gallery.tridiagonal(5))
    print(A @ [1.0, 1, 1, 1, 1], ds.cuda_available())
    for name in ("qutip", "jax", "torch"):
        try:
            __import__(f"diagsparse.{name}")
        except ImportError as error:
            print(error.name, error)
    """)
    product, *errors = out.splitlines()
    assert product == "[1. 0. 0. 0. 1.] False"
    for error, name, needed in zip(errors, ("qutip", "jax", "torch"), ("QuTiP 5.3", "JAX", "PyTorch"), strict=True):
        assert error.startswith(f"{name} diagsparse.{name} needs {needed} (") and f'"diagsparse[{name}]"' in error


@pytest.mark.quick
def test_neither_import_nor_use_on_the_cpu_loads_optional_modules():
    out = python("""
    import sys, diagsparse as ds
    names = ("diagsparse._cuda", "cupy", "torch", "matplotlib", "rich", "click", "fast_matrix_market", "sparse_dot_mkl",
             "qutip", "jax")
    print([name for name in names if name in sys.modules])
    A = ds.hm_array(ds.gallery.tridiagonal(5))
    B = (A @ A.T + A).to("cpu") * 2
    B @ [1.0, 1, 1, 1, 1]
    print("diagsparse._cuda" in sys.modules)
    """)
    assert out == "[]\nFalse\n"


@pytest.mark.quick
def test_show_config(capsys):
    ds.show_config()
    out = capsys.readouterr().out
    for word in ("diagsparse", "numpy", "scipy", "threads", "cuda", ds.__version__):
        assert word in out
