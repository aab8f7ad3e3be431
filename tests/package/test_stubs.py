"""The protocol of the compiled modules names what they have, with as many arguments."""

import inspect
import re

import pytest
from cases import NO_CUDA

import diagsparse as ds
from diagsparse._backends import backend, modules, native_objects

pytestmark = pytest.mark.quick


def module_of(name):
    if name == "cpu":
        return backend.CPU.core
    if not ds.cuda_available():
        pytest.skip(NO_CUDA)
    return backend.gpu(0).core


def public(x):
    return {name for name in dir(x) if not name.startswith("_")}


def declared(protocol):
    named = public(protocol)
    for base in protocol.__mro__:
        named |= {name for name in vars(base).get("__annotations__", {}) if not name.startswith("_")}
    return named


def arguments(function):
    """Return the number of arguments of a function according to pybind11; None for one that is not its own."""
    signature = re.match(r"\w+\((.*)\) -> ", function.__doc__ or "")
    if signature is None:
        return None
    depth, count = 0, bool(signature[1])
    for letter in signature[1]:
        depth += (letter in "[(") - (letter in "])")
        count += letter == "," and depth == 0
    return count


@pytest.mark.parametrize("name, protocol", [
    ("cpu", modules.CpuCore), pytest.param("cuda", modules.CudaCore, marks=pytest.mark.gpu),
])  # fmt: skip
def test_the_protocol_is_that_of_the_module(name, protocol):
    module = module_of(name)
    assert public(module) == declared(protocol)
    for kind in ("Matrix", "Plan", "Grid", "HostTriangle", "Triangle", "DeviceArray"):
        if hasattr(module, kind):
            assert public(getattr(module, kind)) == declared(getattr(native_objects, kind)), kind
    for function in public(protocol):
        counted = arguments(getattr(module, function))
        if counted is not None and callable(getattr(protocol, function)):
            assert counted == len(inspect.signature(getattr(protocol, function)).parameters) - 1, function
