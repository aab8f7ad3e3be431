"""Matrices on two GPUs: copies between them, and operands that are not on the same one."""

import numpy as np
import pytest
from cases import matrix

import diagsparse as ds
from diagsparse._backends import backend

pytestmark = pytest.mark.gpu


@pytest.fixture(scope="module", autouse=True)
def two_gpus():
    if not ds.cuda_available() or backend.gpu(0).core.device_count() < 2:
        pytest.skip("needs two GPUs")


def on_first(format, name="banded 65"):
    return ds.array(matrix(name), format, device="cuda:0")


@pytest.mark.parametrize("format", ds.formats())
def test_copies_between_gpus(format):
    A = on_first(format)
    B = A.to("cuda:1")
    assert (A.device, B.device) == ("cuda", "cuda:1") and B.format == format
    assert np.array_equal(B.toarray(), A.toarray())
    x = np.linspace(-1, 1, A.shape[1])
    assert np.array_equal(B @ x, A @ x)
    assert np.array_equal(A.T.to("cuda:1").to("cuda:0").toarray(), A.toarray().T)


def test_copies_between_gpus_do_not_pass_the_host(monkeypatch):
    A = on_first("hm")
    monkeypatch.setattr(type(A._backend), "host", None)
    assert A.to("cuda:1").device == "cuda:1"


def test_operands_on_different_gpus_are_refused():
    A = on_first("csr")
    B = A.to("cuda:1")
    for combine in (lambda: A @ B, lambda: A + B, lambda: A != B):
        with pytest.raises(ValueError, match="cuda:1"):
            combine()


def test_vectors_on_another_gpu_are_refused():
    cupy = pytest.importorskip("cupy")
    A = on_first("csr")
    with cupy.cuda.Device(1):
        x = cupy.ones(A.shape[1])
    with pytest.raises(ValueError, match="cuda:1"):
        A @ x
    y = A.to("cuda:1") @ x
    assert y.device.id == 1 and np.allclose(y.get(), A @ np.ones(A.shape[1]))
