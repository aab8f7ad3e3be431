"""What diagonal formats read from all values at once: rows as csr, comparisons, extremes, norms; and `setdiag`."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from cases import EACH_DIAGONAL, EACH_DTYPE, VIEWS, case

import diagsparse as ds

pytestmark = pytest.mark.quick
SHAPES = ((0, 0), (5, 5), (200, 200), (130, 330), (330, 130), (9000, 9000))


def mixed(shape, dtype="float64", *, offsets=(-70, -64, -3, 0, 1, 65, 129), seed=0):
    """Return diagonals that are zero, full, or both in blocks of some rows, as a SciPy csr without zeros."""
    rng, (m, n) = np.random.default_rng(seed), shape
    values = rng.uniform(-1, 1, (len(offsets), n)) * (1 + 1j if np.dtype(dtype).kind == "c" else 1)
    values[rng.uniform(size=values.shape) < 0.3] = 0
    for at, row in enumerate(values):
        row[100 + 70 * at : 230 + 70 * at] = 1 + at  # no zeros
        row[300 + 40 * at : 500 + 40 * at] = 0
    inside = [k for k in offsets if -m < k < n]
    chosen = values[: len(inside)].astype(dtype)
    csr = sp.csr_array(sp.dia_array((chosen, inside), shape=shape)) if inside else sp.csr_array(shape, dtype=dtype)
    csr.eliminate_zeros()
    return csr


def with_padding(a, format):
    """Return a matrix in this format, whose padding is NaN, on the CPU."""
    A = ds.array(a, format)
    if format == "dia" and A.values.size:
        outside = np.ones(A.values.shape, bool)
        for row, k in zip(outside, A.offsets.tolist(), strict=True):
            row[max(0, -k) : min(A.shape[0], A.shape[1] - k)] = False
        A.values[outside] = np.nan
    return A


def same(result, expected):
    """Whether a csr matrix has exactly these entries, in order."""
    result = result.to_scipy() if ds.issparse(result) else result
    expected = sp.csr_array(expected)
    expected.sort_indices()
    return (
        (result.format, result.shape, result.dtype) == ("csr", expected.shape, expected.dtype)
        and np.array_equal(result.indptr, expected.indptr)
        and np.array_equal(result.indices, expected.indices)
        and np.array_equal(result.data, expected.data)
    )


def in_each_shape(format):
    return [shape for shape in SHAPES if format != "cdm" or shape[0] == shape[1]]


@EACH_DIAGONAL
@EACH_DTYPE
def test_conversions_to_csr_and_coo(format, dtype):
    for shape in in_each_shape(format):
        a = mixed(shape, dtype)
        A = with_padding(a, format)
        for name, view in VIEWS.items():
            with case(f"{shape} {name}"):
                expected = sp.csr_array(view(a) if name != "H" else a.T.conj())
                assert same(view(A).tocsr(), expected)
                coo = view(A).tocoo()
                assert np.array_equal(coo.row, np.repeat(np.arange(coo.shape[0]), np.diff(expected.indptr)))
    many = mixed((300, 300), dtype, offsets=range(-290, 290))  # more diagonals than rows of a block
    assert same(ds.array(many, format).tocsr(), many)
    whole = sp.csr_array(np.full((70, 70), 2, dtype))
    assert same(ds.array(whole, format).tocsr(), whole)


@EACH_DIAGONAL
def test_threads_write_the_same(format):
    a, threads = mixed((40_000, 40_000)), ds.get_num_threads()
    A = ds.array(a, format)
    try:
        for count in (1, 3):
            ds.set_num_threads(count)
            assert same(A.tocsr(), a) and same(A[::2], a[::2]) and same(A > 0.5, a > 0.5), count
            assert np.array_equal(A.tocoo().row, a.tocoo().row), count
    finally:
        ds.set_num_threads(threads)


@EACH_DIAGONAL
def test_rows_and_columns(format):
    rng = np.random.default_rng(1)
    for shape in in_each_shape(format):
        for dtype in ("float64", "complex64"):
            a = mixed(shape, dtype)
            A = with_padding(a, format)
            for view, b in ((A, a), (A.T, sp.csr_array(a.T)), (A.conj(), a.conj())):
                for axis in (0, 1):
                    extent = b.shape[axis]
                    masks = [rng.uniform(size=extent) < share for share in (0, 0.5, 1)]
                    lists = [[], [-1, 0, 0], rng.permutation(extent), np.array([3, 1, 3], "uint8"), [True] * extent]
                    slices = [slice(None, None, 2), slice(None, None, -1), slice(4, 1, -3), slice(7, 3, 2)]
                    for index in [*masks, *(one for one in lists if extent > 3), *slices]:
                        which = (index, slice(None)) if axis == 0 else (slice(None), index)
                        with case(f"{shape} {dtype} {axis} {index}"):
                            assert same(view[which], b[which])
                            assert axis or not isinstance(index, np.ndarray) or same(view[index], b[index])


@EACH_DIAGONAL
def test_rows_that_do_not_exist_are_errors_as_in_scipy(format):
    a = mixed((5, 5))
    A = ds.array(a, format)
    for index in ([5], [-6], [0, 7], np.ones(4, bool), np.ones(6, bool), np.array([2**64 - 1], "uint64")):
        for which in ((index, slice(None)), (slice(None), index)):
            with case(f"{which}"):
                with pytest.raises(IndexError):
                    a[which]
                with pytest.raises(IndexError):
                    A[which]


@EACH_DIAGONAL
def test_rows_of_packed_matrices(format):
    a = sp.csr_array(ds.gallery.stencil(5, (12, 11)))
    for options in ({"symmetry": "symmetric"}, {"period": 11}, {"symmetry": "symmetric", "period": 11}):
        A = ds.array(a, format).asformat(format, **options)
        assert same(A[[5, 2]], a[[5, 2]]) and same(A[:, ::3], a[:, ::3]) and same(A > 0, a > 0)
        assert A.max() == 4 and A.min() == -1 and np.isclose(ds.norm(A), sp.linalg.norm(a))
    assert same(ds.array(a, format).astype("float16")[::5], a[::5].astype("float32"))


@EACH_DIAGONAL
def test_comparisons_with_numbers(format):
    for shape in in_each_shape(format):
        for dtype in ("float32", "complex128"):
            a = mixed(shape, dtype)
            A = with_padding(a, format)
            for view, b in ((A, a), (A.T, sp.csr_array(a.T)), (A.conj(), a.conj())):
                assert same(view != 0, b != 0) and same(view > 0.25, b > 0.25) and same(view < -0.5, b < -0.5), shape
                some = b.data[0] if b.nnz else 1
                assert same(view == some, b == some) and (view == np.nan).nnz == 0, shape


@EACH_DIAGONAL
@EACH_DTYPE
def test_extremes(format, dtype):
    for shape in in_each_shape(format)[1:]:
        a = mixed(shape, dtype)
        A = with_padding(a, format)
        for which in ("max", "min", "nanmax", "nanmin"):
            for explicit in (False, True):
                for view, b in ((A, a), (A.H, sp.csr_array(a.T.conj()))):
                    result, expected = (getattr(one, which)(explicit=explicit) for one in (view, b))
                    assert result == expected and result.dtype == expected.dtype, (shape, which, explicit)
    full = np.random.default_rng(0).uniform(1, 2, (6, 6)).astype(dtype)
    for change in (1, 0, np.nan):  # every element is stored
        full[2, 3] *= change
        A, a = ds.array(sp.csr_array(full), format), sp.csr_array(full)
        for which in ("max", "min", "nanmax", "nanmin"):
            assert np.array_equal(getattr(A, which)(), getattr(a, which)(), equal_nan=True), (which, change)
    assert ds.array(sp.csr_array((4, 4), dtype=dtype), format).max() == 0
    zeros = ds.array(sp.csr_array(np.eye(3, dtype=dtype)), format)
    zeros.values[...] = 0
    assert zeros.max(explicit=True) == 0 and zeros.min() == 0


@pytest.mark.parametrize("format", ds.formats())
@EACH_DTYPE
def test_norms(format, dtype):
    limits = np.finfo(dtype)
    for scale in (1, limits.max / 64, limits.tiny, 0):
        for shape in ((9, 9), (9000, 9000)):
            a = mixed(shape, dtype) * np.dtype(dtype).type(scale)
            A = with_padding(a, format)
            with np.errstate(over="ignore"):  # the norm itself may be too large
                expected = np.linalg.norm((a.data / (scale or 1)).astype("complex128")) * float(scale)
            assert np.allclose([ds.norm(A), ds.norm(A.H)], expected, rtol=1e-5), (scale, shape)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for value in (np.inf, np.nan):
            A = ds.array(np.array([[value, 1], [0, 1]], dtype), format)
            assert np.array_equal(ds.norm(A), value, equal_nan=True)
        if np.dtype(dtype).kind == "c":
            assert ds.norm(ds.array(np.array([[complex(np.inf, np.nan)]], dtype), format)) == np.inf


@EACH_DIAGONAL
def test_diagonals_are_set_where_they_are_stored(format):
    for shape in in_each_shape(format)[1:4]:
        for view in VIEWS.values():
            a = mixed(shape, "complex128", offsets=(-3, 0, 1))
            A = ds.array(a, format)
            values, seen = A.values, view(A)
            expected = seen.toarray()
            for new, k in ((2 + 3j, 0), (np.arange(50) * 1j, 0), (np.arange(2), 0), ([7], 0), ([], 0), (range(9), 0)):
                seen.setdiag(new, k)
                length = min(len(np.atleast_1d(new)), *expected.shape) if np.ndim(new) else min(expected.shape)
                np.fill_diagonal(expected[:length, :length], new if np.ndim(new) == 0 else np.asarray(new)[:length])
                with case(f"{shape} {new} {k}"):
                    assert np.array_equal(seen.toarray(), expected) and np.array_equal(view(A).toarray(), expected)
            assert np.shares_memory(values, A.values) and seen._matrix is A._matrix
    A = ds.array(sp.csr_array(np.diag(np.ones(4))), format)
    A.setdiag(A.values.ravel()[:4][::-1] * 3)
    assert np.array_equal(A.toarray(), 3 * np.eye(4))
