"""Diagonals aligned by row or by column: wherever it makes a difference it has to be said."""

import numpy as np
import pytest
import scipy.sparse as sp
from cases import make, raises, random, to_device

import diagsparse as ds

SHAPES = [(5, 5), (4, 7), (7, 4), (1, 6), (6, 1)]


def offsets_in(shape):
    return [k for k in (-4, -1, 0, 2, 3) if -shape[0] < k < shape[1]]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("dtype", ["float32", "complex128", "float16"])
def test_scipys_call_with_its_alignment(shape, dtype, device):
    offsets = offsets_in(shape)
    data = random((len(offsets), shape[1]), "complex128" if dtype == "complex128" else "float32", shape).astype(dtype)
    expected = sp.dia_array((data.astype("complex128"), offsets), shape=shape).toarray()
    A = ds.dia_array((to_device(data, device), offsets), shape=shape, align="column")
    assert A.dtype == dtype and A.device == device and A.values.shape == (len(offsets), shape[0])
    assert np.array_equal(A.toarray().astype("complex128"), expected)
    narrow = np.ascontiguousarray(data[:, :-2])  # SciPy accepts any width
    expected = sp.dia_array((narrow.astype("complex128"), offsets), shape=shape).toarray()
    B = ds.dia_array((to_device(narrow, device), offsets), shape=shape, align="column")
    assert np.array_equal(B.toarray().astype("complex128"), expected)


def test_an_unsaid_alignment_is_refused(device):
    for shape in SHAPES:
        offsets = offsets_in(shape)
        by_row = to_device(random((len(offsets), shape[0]), "float64"), device)
        with raises(ValueError, 'align="row"', 'align="column"', "SciPy", "values[d, i] = A[i, i + offsets[d]]"):
            ds.dia_array((by_row, offsets), shape=shape)
        A = ds.dia_array((by_row, offsets), shape=shape, align="row")
        assert np.array_equal(np.asarray(A.parts()["offsets"]), offsets)
        with raises(ValueError, "align"):
            ds.dia_array((to_device(np.ones((1, shape[0] + 1)), device), [max(offsets, key=abs)]), shape=shape)


def test_no_word_is_needed_where_both_are_one_matrix(device):
    ones = to_device(np.ones((3, 5)), device)
    A = ds.dia_array((ones, [-1, 0, 1]), shape=(5, 5))
    assert np.array_equal(A.toarray(), ds.dia_array((ones, [-1, 0, 1]), shape=(5, 5), align="column").toarray())
    B = ds.dia_array((to_device(np.arange(5.0)[None], device), [0]), shape=(5, 5))
    assert np.array_equal(B.toarray(), np.diag(np.arange(5.0)))
    given = np.array([[7.0, 7, 7, 7, 9]])
    assert np.array_equal(ds.dia_array((given, [1]), shape=(5, 5), align="row").diagonal(1), [7, 7, 7, 7])
    with raises(ValueError, "align"):
        ds.dia_array((to_device(given, device), [1]), shape=(5, 5))


def test_symmetric_parts_by_column(device):
    data = random((2, 6), "float64")
    upper = sp.dia_array((data, [0, 2]), shape=(6, 6)).toarray()
    A = ds.dia_array((to_device(data, device), [0, 2]), shape=(6, 6), align="column", symmetry="symmetric")
    assert np.array_equal(A.toarray(), upper + np.triu(upper, 1).T)


def test_words_that_are_refused():
    data = np.ones((2, 4))
    for align in ("columns", "", 1, "Row"):
        with raises(ValueError, "align", '"row" or "column"'):
            ds.dia_array((data, [0, 1]), shape=(4, 4), align=align)
    with raises(ValueError, "align", "period"):
        ds.dia_array((np.ones((2, 1)), [0, 1]), shape=(4, 4), align="column", period=1)
    with raises(TypeError, "align", "matrix"):
        ds.dia_array(np.eye(3), align="row")
    with raises(TypeError, "align"):
        ds.hm_array(np.eye(3), align="row")
    for offsets, words in (([0, 9], "hold 9"), ([1, 1], "repeat 1")):
        for align in (None, "row", "column"):
            with raises(ValueError, "dia_array", words):
                ds.dia_array((data, offsets), shape=(4, 4), align=align)


@pytest.mark.parametrize("format", ["hm", "cdm", "csr"])
def test_scipys_own_objects_know_theirs(format):
    a = sp.dia_array((random((3, 6), "float64"), [-2, 0, 1]), shape=(6, 6))
    assert np.array_equal(make(format, a).toarray(), a.toarray())
    assert np.array_equal(ds.dia_array(a).toarray(), a.toarray())
