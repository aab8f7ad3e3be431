"""Devices as the CPU sees them: what is missing is named, nothing is loaded early, arrays there are refused."""

import types

import numpy as np
import pytest
from cases import NO_CUDA, raises

import diagsparse as ds
from diagsparse._backends import backend, libraries
from diagsparse._matrix import devices
from diagsparse._show.config import config

FORMATS = pytest.mark.parametrize("format", ds.formats())
EYE = np.eye(3)


@pytest.fixture
def machine(monkeypatch):
    """A machine with a driver and a CUDA module of two devices, parts of which a test removes."""
    cuda = types.SimpleNamespace(device_count=lambda: 2)
    monkeypatch.setattr(libraries, "driver_found", lambda: True)
    monkeypatch.setattr(libraries, "preload", lambda: None)
    monkeypatch.setattr(backend, "find_spec", lambda name: object())
    monkeypatch.setattr(backend, "import_module", lambda name: cuda)
    backend.gpu.cache_clear()
    backend.missing.cache_clear()
    yield cuda
    backend.gpu.cache_clear()
    backend.missing.cache_clear()


def test_devices_by_name(machine):
    assert ds.cuda_available()
    assert [backend.get_backend(name).name for name in ("cpu", "cuda", "cuda:0", "cuda:1")] == [
        "cpu",
        "cuda",
        "cuda",
        "cuda:1",
    ]
    assert backend.get_backend("cuda") is backend.get_backend("cuda:0") is not backend.get_backend("cuda:1")
    assert backend.get_backend(None) is backend.CPU is backend.get_backend("cpu")
    assert backend.get_backend(None, backend.get_backend("cuda")) is backend.get_backend("cuda")


def test_no_driver(machine, monkeypatch):
    monkeypatch.setattr(libraries, "driver_found", lambda: False)
    with raises(ds.CudaUnavailable, "driver", "libcuda.so.1", 'use device="cpu"'):
        backend.get_backend("cuda")
    assert not ds.cuda_available() and "driver" in config()["cuda"]


def test_no_cuda_module(machine, monkeypatch):
    monkeypatch.setattr(backend, "find_spec", lambda name: None)
    with raises(ds.CudaUnavailable, "no CUDA module", "nvcc", 'use device="cpu"'):
        backend.get_backend("cuda")
    assert not ds.cuda_available()


def test_a_library_that_is_missing(machine, monkeypatch):
    tried = []

    def import_module(name):
        tried.append(name)
        raise ImportError("libcusparse.so.12: cannot open shared object file")

    monkeypatch.setattr(backend, "import_module", import_module)
    with raises(ds.CudaUnavailable, "libcusparse.so.12", 'pip install "diagsparse[cuda13]"', 'use device="cpu"'):
        backend.get_backend("cuda")
    assert len(tried) == 2, "the wheels were not given a chance"
    assert not ds.cuda_available()


def test_the_wheels_are_loaded_before_the_second_try(machine, monkeypatch):
    loaded = []

    def import_module(name):
        if not loaded:
            raise ImportError("libcusparse.so.12: cannot open shared object file")
        return machine

    monkeypatch.setattr(libraries, "preload", lambda: loaded.append(True))
    monkeypatch.setattr(backend, "import_module", import_module)
    assert ds.cuda_available() and loaded == [True]


def test_preload_takes_the_libraries_in_order(tmp_path, monkeypatch):
    for name in ("cu13/lib/libcusparse.so.12", "cu13/lib/libnvJitLink.so.13", "cusparse/lib/libcusparse.so.12"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    loaded = []
    monkeypatch.setattr(
        libraries, "find_spec", lambda name: types.SimpleNamespace(submodule_search_locations=[str(tmp_path)])
    )
    monkeypatch.setattr(libraries.ctypes, "CDLL", lambda path, mode: loaded.append(path))
    libraries.preload()
    assert [path.rsplit("/", 1)[1] for path in loaded] == ["libnvJitLink.so.13", "libcusparse.so.12"]
    assert all("cu13" in path for path in loaded)


def test_no_device_answers(machine):
    machine.device_count = lambda: 0
    with raises(ds.CudaUnavailable, "no GPU", 'use device="cpu"'):
        backend.get_backend("cuda")
    assert not ds.cuda_available()


def test_a_device_beyond_the_last(machine):
    with raises(ds.CudaUnavailable, "cuda:2", "cuda:0 to cuda:1", 'use device="cpu"'):
        backend.get_backend("cuda:2")
    machine.device_count = lambda: 1
    with raises(ds.CudaUnavailable, "cuda:7", "cuda:0", 'use device="cpu"'):
        backend.get_backend("cuda:7")


def test_a_driver_that_breaks_does_not_break_the_question(machine):
    def broken():
        raise OSError("driver is in a bad state")

    machine.device_count = broken
    assert ds.cuda_available() is False and "bad state" in config()["cuda"]


@pytest.mark.parametrize("name", ["cuda:", "cuda:-1", "cuda:x", "cuda:1.0", "cuda: 1", "cuda:0x1"])
def test_names_that_are_no_device(name):
    with raises(ValueError, name, '"cuda:1"'):
        ds.array(EYE, "hm", device=name)


# ---- memory and arrays ----------------------------------------------------------------------------
def test_memory_pools_by_name():
    with raises(ValueError, "'mine'", '"own", "cupy" or "torch"'):
        ds.set_memory_pool("mine")
    if not ds.cuda_available():
        with raises(ds.CudaUnavailable, 'device="cpu"'):
            ds.set_memory_pool("own")


class OnTheGpu:
    """What an array on a GPU looks like from outside."""

    shape, ndim, dtype = (3,), 1, np.dtype(float)

    def __dlpack_device__(self):
        return 2, 0


@FORMATS
def test_arrays_on_a_gpu_are_refused_with_a_matrix_on_the_cpu(format):
    A, x = ds.array(EYE, format, device="cpu"), OnTheGpu()
    for run in (lambda: A.matvec(x), lambda: A @ x, lambda: x @ A, lambda: A * x, lambda: A + x):
        with raises(TypeError, "on the cpu", "on cuda", 'A.to("cuda")'):
            run()


class ModuleOfGpus:
    """A GPU module whose arrays record operations in their order; none can be read by the host."""

    def __init__(self):
        self.calls = []

    def empty(self, shape, dtype, device):
        return ArrayOnAGpu(self, shape, dtype, device)

    def synchronize(self, device):
        self.calls.append(("synchronize", device))


class ArrayOnAGpu:
    def __init__(self, module, shape, dtype, device):
        self.module, self.shape, self.dtype, self.device = module, shape, np.dtype(dtype), device
        self.itemsize, self.size = self.dtype.itemsize, int(np.prod(shape))
        self.strides = np.empty(shape, self.dtype).strides

    def assign(self, source):
        self.module.calls.append(("copy", source.device, self.device))

    def get(self):
        pytest.fail("the array went to the host")


def test_arrays_go_from_gpu_to_gpu_without_the_host():
    cuda = ModuleOfGpus()
    here, there = (backend.Backend(cuda, index) for index in (0, 1))
    copy = devices.copied_array(cuda.empty((3, 4), "uint32", 0), here, there)
    assert (copy.shape, copy.dtype, copy.device) == ((3, 4), np.uint32, 1)
    assert cuda.calls == [("synchronize", 0), ("copy", 0, 1), ("synchronize", 1)]


@pytest.mark.gpu
@pytest.mark.skipif(not ds.cuda_available(), reason=NO_CUDA)
@FORMATS
def test_every_array_of_a_format_is_copied_on_a_gpu(format):
    A, where = ds.array(np.diag(np.arange(1.0, 40.0)) + np.eye(39, k=3), format, device="cuda"), backend.gpu(0)
    for name, part in A.parts().items():
        copy = devices.copied_array(part, where, where)
        np.testing.assert_array_equal(where.host(copy), where.host(part), err_msg=name)
