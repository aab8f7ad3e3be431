"""Arguments that sampled products refuse, and the messages."""

import numpy as np
import pytest
from cases import ours, raises, to_device
from sampled_products import FORMATS, check, sampled, structure

import diagsparse as ds


def test_shapes_that_do_not_fit(device):
    A = ours("wide 20 x 70", "dia", "float64", device)

    def product(x, y):
        return sampled(A, np.zeros(x), np.zeros(y), device)

    for x in ((70,), (70, 2), (20, 2, 1), (), (19,)):
        with raises(ValueError, "sampled_product: X has shape", x, "20 x 70", "(20,) or (20, p)"):
            product(x, (70,))
    for x, y, expected in (((20,), (20,), (70,)), ((20,), (70, 1), (70,)), ((20, 2), (70, 3), (70, 2))):
        with raises(ValueError, "sampled_product: Y has shape", y, expected):
            product(x, y)
    with raises(ValueError, "Y has shape (2, 70), expected (70, 2)", "pass Y.T"):
        product((20, 2), (2, 70))


def test_operands_that_are_not_numbers():
    A = ours("banded 9", "dia")
    with raises(TypeError, "<U1"):
        ds.sampled_product(A, np.full(9, "a"), np.ones(9))
    with raises(TypeError, "longdouble" if np.longdouble(1).dtype.name == "longdouble" else "float128"):
        ds.sampled_product(A, np.ones(9, np.longdouble), np.ones(9))
    with raises(TypeError, "pattern is ndarray"):
        ds.sampled_product(np.eye(9), np.ones(9), np.ones(9))
    with raises(TypeError, "masked"):
        ds.sampled_product(A, np.ma.masked_equal(np.arange(9.0), 3), np.ones(9))
    with raises(ValueError, "stream="):
        ds.sampled_product(A, np.ones(9), np.ones(9), stream=0)


def test_formats_without_a_kernel():
    for format in set(ds.formats()) - set(FORMATS):
        A = ours("banded 9", format)
        with raises(NotImplementedError, f"no kernel for {format}", "dia, hm, cdm", "mdia", "tocsr()"):
            ds.sampled_product(A, np.ones(9), np.ones(9))


def test_results_that_do_not_fit():
    A = ds.eye(2**44, period=1)
    with raises(MemoryError):
        ds.sampled_product(A, np.broadcast_to(1.0, 2**44), np.broadcast_to(1.0, 2**44))


@pytest.mark.gpu
def test_devices_that_differ():
    A, B = ours("banded 9", "dia"), ours("banded 9", "dia", device="cuda")
    x = to_device(np.ones(9), "cuda")
    with raises(TypeError, "X on cuda"):
        ds.sampled_product(A, x, np.ones(9))
    with raises(ValueError, "pattern is on cuda", "out on cpu"):
        ds.sampled_product(B, x, x, out=A.copy())
    check(ds.sampled_product(B, np.ones(9), x), structure(B), np.ones(9), np.ones(9), "host and device")


def test_values_that_are_read_only():
    """Of a batch, they once were overwritten."""
    values = np.ones((2, 3, 4))
    values.flags.writeable = False
    A = ds.dia_array(ds.gallery.tridiagonal(4))
    batch = ds.batch_array(values, A)
    with pytest.raises(ValueError, match="read-only"):
        ds.sampled_product(batch, np.ones((2, 4)), np.ones((2, 4)), out=batch)
    assert (values == 1).all()
