"""Streams and forked processes as the CPU sees them: streams are refused there, and a forked process has no GPU."""

import sys
import types
from textwrap import dedent

import numpy as np
import pytest
from cases import raises
from processes import in_a_fork, python

import diagsparse as ds
from diagsparse._arrays import streams

FORMATS = pytest.mark.parametrize("format", ds.formats())
EYE = np.eye(3)


@FORMATS
def test_streams_are_refused_on_the_cpu(format):
    A, x = ds.array(EYE, format, device="cpu"), np.ones(3)
    plan = ds.plan_matmul(A, A)
    for run in (
        lambda: A.matvec(x, stream=0), lambda: A.rmatvec(x, stream=7), lambda: A.matmul(A, stream=0),
        lambda: ds.matmul(A, A, stream=object.__new__(Pointed)), lambda: ds.matmul(A, A, A, stream=0),
        lambda: plan(stream=0), lambda: ds.plan_matvec(A)(x, stream=0),
    ):  # fmt: skip
        with raises(ValueError, "stream=", "on the cpu"):
            run()
    assert np.array_equal(A.matvec(x, stream=None), x)


class Pointed:
    ptr = 11


class Torchlike:
    cuda_stream = 12


class Protocol:
    def __cuda_stream__(self):
        return 0, 13


def test_pointers_of_streams():
    assert [streams.pointer(s) for s in (0, 5, np.int64(6), Pointed(), Torchlike(), Protocol())] == [
        0,
        5,
        6,
        11,
        12,
        13,
    ]
    for thing in ("stream", 1.5, object()):
        with raises(TypeError, "stream=", "CuPy or PyTorch"):
            streams.pointer(thing)


def test_the_chosen_stream_comes_first_and_ends_with_its_block(monkeypatch):
    theirs = types.SimpleNamespace(ptr=3)
    monkeypatch.delitem(sys.modules, "torch", raising=False)
    monkeypatch.setitem(
        sys.modules, "cupy", types.SimpleNamespace(cuda=types.SimpleNamespace(get_current_stream=lambda device: theirs))
    )
    assert streams.current(0) == 3 and streams.keep(0, 3) is theirs and streams.keep(0, 4) is None
    chosen = Pointed()
    with streams.using(chosen):
        assert streams.current(0) == 11 and streams.keep(0, 11) is chosen
        with streams.using(None):
            assert streams.current(0) == 11
        with streams.using(7):
            assert streams.current(0) == 7 and streams.keep(0, 7) is None
        with pytest.raises(KeyError), streams.using(0):
            assert streams.current(0) == 0
            raise KeyError
        assert streams.current(0) == 11
    assert streams.current(0) == 3


def test_current_stream_of_pytorch(monkeypatch):
    initialized = [False]
    torch = types.SimpleNamespace(
        cuda=types.SimpleNamespace(is_initialized=lambda: initialized[0]),
        _C=types.SimpleNamespace(_cuda_getCurrentRawStream=lambda device: 40 + device),
    )
    monkeypatch.setitem(sys.modules, "torch", torch)
    monkeypatch.delitem(sys.modules, "cupy", raising=False)
    assert streams.current(1) == 0
    initialized[0] = True
    assert streams.current(1) == 41 and streams.keep(1, 41) is torch


def test_a_forked_process_cannot_use_cuda():
    """Even if there is no GPU: it is enough that the driver was asked for one."""
    printed = python(
        dedent("""
    import warnings
    warnings.simplefilter("ignore")
    import diagsparse as ds
    try:
        from diagsparse import _cuda
    except ImportError:
        print("no module")
        raise SystemExit
    _cuda.device_count()
    ds.cuda_available()
    """)
        + in_a_fork("""
    for call in (_cuda.device_count, lambda: _cuda.memory(0), lambda: _cuda.empty((3,), "float64", 0, "C")):
        try:
            call()
        except ds.CudaError as error:
            assert "forked" in str(error) and "spawn" in str(error)
        else:
            raise AssertionError("no error")
    assert not ds.cuda_available()
    """)
    )
    if "no module" in printed:
        pytest.skip("this build has no CUDA module")
