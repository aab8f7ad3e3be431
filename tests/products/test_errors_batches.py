"""Arguments that a batch refuses, and the messages."""

import numpy as np
import pytest
from batches import batch, of
from cases import matrix, ours, raises, to_device

import diagsparse as ds


def test_matrices_that_form_no_batch():
    A = ours("banded 9", "dia")
    with raises(ValueError, "values have shape (3, 6, 8)", "(count, 6, 9)", "dia_array 9 x 9"):
        ds.batch_array(np.zeros((3, 6, 8)), A)
    with raises(ValueError, "values have shape (6, 9)", "(count, 6, 9)"):
        ds.batch_array(np.zeros((6, 9)), A)
    for dtype, supported in (("int64", "float64"), ("float16", "float32"), (np.clongdouble, "complex128")):
        with raises(TypeError, np.dtype(dtype).name, f"values.astype('{supported}')"):
            ds.batch_array(np.zeros((3, 6, 9), dtype), A)
    with raises(TypeError, "like is SciPy's dia_array, expected a dia_array"):
        ds.batch_array(np.zeros((3, 6, 9)), A.to_scipy("dia"))
    with raises(TypeError, "like is csr_array", "dia_array, hm_array or cdm_array"):
        ds.batch_array(np.zeros((3, 6)), ours("banded 9", "csr"))
    with raises(ValueError, "transposed view", "copy()"):
        ds.batch_array(np.zeros((3, 6, 9)), A.T)
    for options in ({"symmetry": "symmetric"}, {"dtype": np.float16}):
        packed = ds.dia_array(ds.gallery.tridiagonal(9), **options)
        with raises(ValueError, "like is", "packed", "unpacked()"):
            ds.batch_array(np.zeros((3, *packed.values.shape)), packed)
    with raises(ValueError, "empty list", "(values, like)"):
        ds.batch_array([])
    with raises(TypeError, "(values, like)"):
        ds.batch_array(np.zeros((3, 6, 9)))


@pytest.mark.parametrize("other", ["format", "dtype", "offsets", "shape", "view"])
def test_lists_that_differ(other):
    A = ours("banded 9", "dia")
    wrong = {
        "format": ours("banded 9", "hm"),
        "dtype": ours("banded 9", "dia", "float32"),
        "offsets": ours("diagonal 17", "dia"),
        "shape": ours("banded 8", "dia"),
        "view": A.T,
    }[other]
    with raises(ValueError, "matrix 2 is", repr(wrong)):
        ds.batch_array([A, A, wrong, A.T])


def test_members_that_there_are_not():
    b = of("banded 9", "dia", 3)
    for i in (3, -4):
        with raises(IndexError, f"index {i}", "3 members"):
            b[i]
    with raises(TypeError, "index", "integer"):
        b["a"]


def test_vectors_that_do_not_fit(device):
    b = of("wide 20 x 70", "dia", 3, "float64", device)
    for shape in ((2, 70), (20,), (3, 20), (2, 70, 1), (3, 20, 1), (3, 70, 1, 1), ()):
        with raises(ValueError, "matvec", shape, "3 matrices 20 x 70", "(3, 70)"):
            b.matvec(to_device(np.zeros(shape), device))
    with raises(ValueError, "rmatvec", "(3, 20)"):
        b.rmatvec(to_device(np.zeros((3, 70)), device))
    x = to_device(np.zeros((3, 70)), device)
    with raises(ValueError, "out has shape (20,)", "(3, 20)"):
        b.matvec(x, out=to_device(np.zeros(20), device))
    with raises(TypeError, "out is float32", "float64"):
        b.matvec(x, out=to_device(np.zeros((3, 20), "float32"), device))
    with raises(ValueError, "beta=2", "no out"):
        b.matvec(x, beta=2)
    with raises(TypeError, "alpha=1j", "complex"):
        b.matvec(x, alpha=1j)
    if device == "cpu":
        with raises(ValueError, "stream", "cpu"):
            b.matvec(x, stream=0)
        with raises(TypeError, "out is list", "NumPy"):
            b.matvec(x, out=[])


def test_products_that_do_not_fit(device):
    b, wide = (of(name, "dia", 3, "float64", device) for name in ("banded 9", "wide 20 x 70"))
    with raises(ValueError, "9 x 9", "20 x 70", "9 columns", "20 rows"):
        b @ wide
    with raises(ValueError, "A is a batch of 3", "B of 2"):
        b @ of("banded 9", "dia", 2, "float64", device)
    with raises(TypeError, "csr_array", "batch_array"):
        b.matmul(ours("banded 9", "csr", "float64", device))
    for bad in (ours("banded 9", "csr", "float64", device), matrix("banded 9")):
        with raises(TypeError, "matmul: B is csr_array", "expected a batch_array or a matrix of diagonals"):
            b @ bad
    with raises(TypeError, "matmul: A is csr_array", "expected a batch_array or a matrix of diagonals"):
        ours("banded 9", "csr", "float64", device) @ b
    with raises(TypeError, "unsupported operand"):
        b @ 2.0
    with raises(TypeError, "out is dia_array", "batch_array"):
        b.matmul(b, out=b[0])
    with raises(ValueError, "out", "expected 3 members"):
        b.matmul(b, out=of("banded 9", "dia", 2, "float64", device))
    with raises(ValueError, "out is dia 9 x 9", "another structure"):
        b.matmul(b, out=of("banded 9", "dia", 3, "float64", device))
    full = batch(ours("dense 9", "dia", "float64", device), 3)
    with raises(ValueError, "out is one of the operands"):
        full.matmul(full, out=full)
    with raises(ValueError, "float32", "float64"):
        full.matmul(full, out=batch(full[0], 3, "float32"))
