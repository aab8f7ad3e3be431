"""Batches on a GPU: arrays of other libraries, streams."""

import numpy as np
import pytest
from batches import check_products, check_rows, of
from cases import DIAGONAL, NO_CUDA, ours, random
from libraries import NAMES, address, read
from libraries import make as array_of

import diagsparse as ds

pytestmark = [pytest.mark.gpu, pytest.mark.skipif(not ds.cuda_available(), reason=NO_CUDA)]
EACH_FORMAT = pytest.mark.parametrize("format", DIAGONAL)


@EACH_FORMAT
@pytest.mark.parametrize("name", NAMES)
def test_arrays_of_libraries(name, format):
    like = ours("banded 9", format, "float64", "cuda")
    host = random(3 * like.values.size, "float64").reshape(3, *like.values.shape)
    values = array_of(name, host)
    b = ds.batch_array(values, like)
    if name != "jax":  # whose reshape copies
        assert b[0]._matrix.values.ptr == address(name, values)
    x = random(27, "float64").reshape(3, 9)
    for given in (x, x[0]):
        check_rows(read(name, b @ array_of(name, given)), b, given, name)
    check_rows(b @ x, b, x, "NumPy in and out")
    if name != "jax":
        out = array_of(name, np.zeros((3, 9)))
        assert b.matvec(array_of(name, x), out=out) is out
        check_rows(read(name, out), b, x, name)


def test_streams():
    cupy = pytest.importorskip("cupy")
    b = of("banded 64", "dia", 3, "float64", "cuda")
    x = random(3 * 64, "float64").reshape(3, 64)
    stream = cupy.cuda.Stream(non_blocking=True)
    cupy.cuda.Device().synchronize()  # the members were written in the default stream, for which this one does not wait
    with stream:
        y = b @ cupy.asarray(x)
        c = b @ b
    stream.synchronize()
    check_rows(y.get(), b, x, "current stream")
    check_products(c, b, b, "current stream")
    given = cupy.asarray(x)
    cupy.cuda.Device().synchronize()
    y = b.matvec(given, stream=stream)
    stream.synchronize()
    check_rows(y.get(), b, x, "stream=")
