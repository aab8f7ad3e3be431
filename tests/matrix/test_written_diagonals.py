"""`data` of dia, aligned by column, is written to: the matrix follows, as SciPy's does."""

import numpy as np
import pytest
import scipy.sparse as sp
from cases import raises
from scipy.sparse import csgraph
from written_arrays import N

import diagsparse as ds


def diagonals(dtype="float64", shape=(5, 7)):
    rng = np.random.default_rng(1)
    data = rng.random((3, shape[1])) + (1j * rng.random((3, shape[1])) if np.dtype(dtype).kind == "c" else 0)
    return sp.dia_array((data.astype(dtype), [1, -2, 3]), shape=shape)


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
@pytest.mark.parametrize("shape", [(5, 7), (7, 5), (6, 6), (0, 3)])
def test_diagonals_by_column(dtype, shape):
    s = diagonals(dtype, shape)
    A = ds.dia_array(s)
    for a in (A, s):
        a.data *= -2
        a.data[a.offsets.tolist().index(1) if 1 in a.offsets else slice(0)] = np.nan
    assert np.array_equal(A.toarray(), s.toarray(), equal_nan=True)
    view, held = A.T, A.data
    held[...] = 3
    assert np.array_equal(view.toarray(), A.toarray().T) and set(np.unique(A.toarray())) <= {0, 3}
    A *= 2
    A @ np.ones(shape[1], dtype)
    assert set(np.unique(A.toarray())) <= {0, 6} and set(np.unique(A.values)) <= {0, 3, 6}
    if held.size and A.nnz:
        assert (held == 6).sum() == A.nnz  # what was done to the values is there, too
    del held
    A @ np.ones(shape[1], dtype)
    assert A._matrix.exporter is None


def test_diagonals_that_cannot_be_written_to():
    A = ds.dia_array(diagonals(shape=(6, 6)))
    for B in (A.T, A.astype("complex128").conj(), ds.dia_array(ds.gallery.tridiagonal(6), symmetry="symmetric")):
        with raises(ValueError, "read-only"):
            B.data[0, 0] = 1
    packed = ds.dia_array(ds.gallery.tridiagonal(6), symmetry="symmetric")
    with raises(ValueError, "data", "packed", "A.values", "B = A.unpacked()"):
        packed.data = 1
    for B in (A.T, A.astype("complex128").conj()):
        with raises(ValueError, "data", "view", ".copy()"):
            B.data = 1
    for wrong in (np.ones((3, 7)), np.ones(7), np.ones((4, 6))):
        with raises(ValueError, f"data: got shape {wrong.shape}, expected a number or shape (3, 6)"):
            A.data = wrong
    with raises(TypeError, "data", "complex128", "float64"):
        A.data = np.full((3, 6), 1j)  # once the imaginary parts were lost
    A.data = np.arange(18.0).reshape(3, 6)
    assert np.array_equal(A.toarray(), sp.dia_array((np.arange(18.0).reshape(3, 6), A.offsets), shape=(6, 6)).toarray())


@pytest.mark.parametrize("normed", [False, True])
@pytest.mark.parametrize("format", ds.formats())
def test_laplacian(format, normed):
    s = abs(sp.csr_array(ds.gallery.tridiagonal(N)))
    s.setdiag(0)
    s.eliminate_zeros()
    A = ds.array(s, format)
    assert np.allclose(csgraph.laplacian(A, normed=normed).toarray(), csgraph.laplacian(s, normed=normed).toarray())
    assert np.array_equal(A.toarray(), s.toarray())
