"""Elements, rows, columns and parts by index, read and written, compared with SciPy's csr; extremes and other names."""

import operator
import pickle
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from cases import DIAGONAL, EACH_DTYPE, VIEWS, matrix, ours, raises

import diagsparse as ds

FORMATS = pytest.mark.parametrize("format", ds.formats())
M, N = 20, 70  # of "wide 20 x 70"
PERMUTED = np.random.default_rng(0).permutation(N)
READ = {
    "element": (3, 5), "from the end": (-1, -2), "row": 7, "last row": -1, "row, all of it": (7, slice(None)),
    "part of a row": (4, slice(2, 30)), "steps of a row": (4, slice(None, None, 3)), "picked of a row": (4, [1, 5, 5]),
    "column": (slice(None), 6), "part of a column": (slice(3, 9), 6), "rows": slice(2, 9),
    "columns": (slice(None), slice(5, 40)),
    "window": (slice(3, 13), slice(3, 13)), "window off the diagonal": (slice(3, 13), slice(8, 18)),
    "open": (slice(-5, None), slice(None, 9)),
    "everything": slice(None), "nothing": (slice(5, 5), slice(None)), "dots": ..., "dots and column": (..., 4),
    "every other row": slice(None, None, 2), "backwards": (slice(None), slice(None, None, -1)),
    "picked rows": [3, 3, 1], "picked columns": (slice(None), PERMUTED), "pairs": ([0, 1, 2], [0, 3, 1]),
    "mask of rows": np.arange(M) % 3 == 0, "mask of columns": (slice(None), np.arange(N) % 2 == 0),
    "grid": np.ix_([1, 4, 2], [3, 0, 9]),
}  # fmt: skip


SCIPYS = VIEWS | {"H": lambda a: a.conj().T}


def writable(name, format, dtype="float64"):
    return ours(name, format, dtype).copy()


def dense(result):
    return result.toarray() if sp.issparse(result) else np.asarray(result)


@FORMATS
@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("name", ["wide 20 x 70", "banded 65"])
def test_indexing_as_in_scipy(format, view, name):
    if format == "cdm" and name != "banded 65":
        pytest.skip("cdm is square")
    A, a = VIEWS[view](ours(name, format, "complex128")), SCIPYS[view](matrix(name, "complex128")).tocsr()
    m, n = a.shape
    for what, which in READ.items():
        if name == "banded 65" and "mask" in what:
            which = np.arange(65) % 3 == 0
        if what in ("picked columns",):
            which = (slice(None), np.random.default_rng(0).permutation(n))
        if what == "mask of rows":
            which = np.arange(m) % 3 == 0
        if what == "mask of columns":
            which = (slice(None), np.arange(n) % 2 == 0)
        if m == N and what == "element":
            which = (5, 3)
        result, expected = A[which], a[which]
        assert np.shape(dense(result)) == np.shape(dense(expected)), what
        assert np.array_equal(dense(result), dense(expected)), what
        assert ds.issparse(result) == (sp.issparse(expected) and expected.ndim == 2), what


@FORMATS
def test_masks_and_their_elements(format):
    A, a = ours("banded 9", format), matrix("banded 9")
    assert np.array_equal(dense(A[A > 0.2]), dense(a[a > 0.2])) and np.array_equal(dense(A[A != 0]), dense(a[a != 0]))
    order = np.random.default_rng(1).permutation(9)
    assert np.array_equal(A[order][:, order].toarray(), a.toarray()[order][:, order])
    for rows in ([3, 3, 1], (0, 2), a.toarray()[:, 0] != 0):  # with which SciPy's csr allows no step
        assert np.array_equal(A[rows, 7:1:-3].toarray(), a.toarray()[rows, 7:1:-3])
    for compare in (operator.lt, operator.le, operator.gt, operator.ge):
        for other, theirs in ((0.3, 0.3), (A.T, a.T), (a, a), (np.full((9, 9), 0.1), np.full((9, 9), 0.1))):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", sp.SparseEfficiencyWarning)
                result, expected = compare(A, other), compare(a.toarray(), dense(theirs))
            assert dense(result).dtype == bool and np.array_equal(dense(result), expected)


@pytest.mark.parametrize("format", DIAGONAL)
def test_slices_of_unit_step_keep_the_format_and_what_is_stored(format):
    A = ours("banded 65", format, "float32")
    part = A[10:40, 10:40]
    assert part.format == format and part.dtype == np.float32
    if format != "cdm":  # whose rows hold a diagonal of the opposite corner, too
        assert part.offsets.tolist() == A.offsets[abs(A.offsets) < 30].tolist()
    assert A[3:5, 10:60].format == ("hm" if format == "cdm" else format)
    part.values[...] = 0
    assert A.nnz and abs(A).sum() > 0  # a copy
    narrow = A.astype("float16")
    assert narrow[5:9, 5:9].dtype == narrow.dtype and narrow[5:9, 5:9].format == format


@FORMATS
def test_invalid_indices(format):
    A = ours("banded 9", format)
    for which, words in (((9, 0), "axis 0 of 9"), ((0, -10), "axis 1 of 9"), (9, "axis 0"), ((0, 0, 0), "")):
        with raises(IndexError, words):
            A[which]
    with raises(IndexError, f"{format} has no more than two dimensions", "A.toarray()"):
        A[None]
    for which in ("rows", 1.5, (0, 2.5), np.ones((3, 3, 3), bool)):
        with pytest.raises((IndexError, TypeError, ValueError)):
            A[which]


@FORMATS
@EACH_DTYPE
def test_stored_elements_are_written(format, dtype):
    a = matrix("banded 9", dtype).toarray()
    A = writable("banded 9", format, dtype)
    i, j = a.nonzero()
    A[i[0], j[0]], A[-1, -1] = 7, 3
    A[i[3:6], j[3:6]] = [1, 2, 3]
    a[i[0], j[0]], a[-1, -1], a[i[3:6], j[3:6]] = 7, 3, [1, 2, 3]
    assert np.array_equal(A.toarray(), a)
    view = A.T if dtype[0] == "f" else A.H  # writes to what it shows
    view[j[7], i[7]] = 5 if dtype[0] == "f" else 5 - 2j
    a[i[7], j[7]] = 5 if dtype[0] == "f" else 5 + 2j
    assert np.array_equal(view.toarray(), a.conj().T)
    across, down = j[i == 4], i[j == 4]
    a[4, across], a[down, 4] = across + 1, down + 1
    A[4, across], A[down, 4] = (across + 1)[:, None], (down + 1)[:, None]  # one dimension or two, as SciPy's does
    before, zero = A.toarray(), np.argwhere(a == 0)[-1]
    if A[tuple(zero)] == 0 and format not in DIAGONAL:
        with raises(ValueError, "1 of 1 elements are not stored", "to_scipy"):
            A[tuple(zero)] = 1
    with raises(ValueError, "not stored"):
        A[0, :] = np.arange(9)
    A[2:6, 2:6] = 2 * A[2:6, 2:6]  # zeros need no storage
    before[2:6, 2:6] *= 2
    if dtype[0] == "f":
        with raises(TypeError, "complex values"):
            A[0, 0] = 1j
    assert np.array_equal(A.toarray(), before)


@FORMATS
def test_diagonals_are_set(format):
    A, a = writable("banded 9", format), sp.csr_array(matrix("banded 9"), copy=True).tolil()
    for values, k in ((2.0, 0), (np.arange(9.0), 0), (np.arange(4.0), 1), (5.0, -7), (np.arange(20.0), 3)):
        A.setdiag(values, k)
        a.setdiag(values, k)
        assert A.format == format and np.array_equal(A.toarray(), a.toarray()), k
    with raises(ValueError, "setdiag"):
        A.setdiag(1.0, 9)
    with raises(TypeError, "setdiag: complex"):
        A.setdiag(1j, 5)
    if format != "cdm":
        for shape in ((0, 0), (0, 3), (3, 0)):
            ds.array(sp.csr_array(shape), format).setdiag(1.0)


@pytest.mark.parametrize("format", [f for f in ds.formats() if getattr(ds, f"{f}_array")._format.narrow])
def test_narrow_matrices(format):
    A = ds.array(ds.gallery.tridiagonal(9), format).astype("float16")
    A.setdiag(1, 3)
    A[0, 0] = 4
    assert A.dtype == np.float16 and A[0, 3] == 1 and A[0, 0] == 4 and A[0, 0].dtype == np.float16
    assert A[2:5, 2:5].dtype == np.float16 and (A / np.full(9, 2, "float16")).dtype == np.float32


@pytest.mark.parametrize("format", [*DIAGONAL, "mdia", "ellcsr"])
def test_a_diagonal_of_a_packed_matrix_unpacks_it(format):
    a = ds.gallery.tridiagonal(9)
    A = ds.array(a, format).asformat(format, symmetry="symmetric")
    for value, k in ((0.0, 2), (5.0, 0), (3.0, 1)):
        A.setdiag(value, k)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", sp.SparseEfficiencyWarning)
            a = a.tocsr()
            a.setdiag(value, k)
        assert A.format == format and np.array_equal(A.toarray(), a.toarray())
    assert np.array_equal((A @ np.ones(9)), a @ np.ones(9))


@pytest.mark.parametrize("format", [*DIAGONAL, "mdia", "ellcsr"])
def test_a_value_stored_once_for_two_elements_is_not_written(format):
    A = ds.array(ds.gallery.tridiagonal(9), format).asformat(format, symmetry="symmetric")
    with raises(ValueError, "represents several elements", "A.unpacked()"):
        A[0, 0] = 1
    assert A[3, 4] == A[4, 3] == A.toarray()[3, 4] and np.array_equal(A[2:5, 1:7].toarray(), A.toarray()[2:5, 1:7])


@FORMATS
@EACH_DTYPE
def test_in_place(format, dtype):
    A = writable("banded 9", format, dtype)
    same, view, a = A, A.H, A.toarray()
    A *= 3
    assert A is same and np.allclose(A.toarray(), 3 * a) and np.allclose(view.toarray(), 3 * a.conj().T)
    A /= 2
    assert A is same and np.allclose(A.toarray(), 1.5 * a)
    view *= 2
    assert np.allclose(A.toarray(), 3 * a)
    if dtype[0] == "f":
        with raises(TypeError, "complex", "A = A * s"):
            A *= 1j
    else:
        view *= 1j
        assert np.allclose(A.toarray(), -3j * a)
    rows = list(A)
    assert len(rows) == 9 and np.array_equal(np.array([dense(row) for row in rows]), A.toarray())
    assert np.array_equal(round(A, 1).toarray(), np.round(A.toarray(), 1))
    B = A
    B += A  # a new one
    assert B is not A and np.allclose(B.toarray(), 2 * A.toarray())


@pytest.mark.quick
@FORMATS
@pytest.mark.parametrize("name", ["wide 20 x 70", "explicit zeros", "banded 65"])
def test_extremes_means_and_real_and_imaginary_parts(format, name):
    if format == "cdm" and name == "wide 20 x 70":
        pytest.skip("cdm is square")
    A, a = ours(name, format), matrix(name)
    d = a.toarray()
    for axis in (None, 0, 1):
        for method in ("max", "min", "nanmax", "nanmin", "argmax", "argmin", "mean"):
            result = getattr(A, method)(axis=axis)
            expected = getattr(np, method)(d, axis=axis)
            close = np.array_equal if method != "mean" else np.allclose
            assert close(dense(result).ravel(), np.ravel(expected)), (method, axis)
        for keepdims in (False, True):
            result = A.sum(axis=axis, keepdims=keepdims)
            assert np.shape(result) == np.shape(d.sum(axis=axis, keepdims=keepdims))
            assert np.allclose(result, d.sum(axis=axis, keepdims=keepdims))
            out = np.empty_like(d.mean(axis=axis, keepdims=keepdims))
            assert A.mean(axis=axis, out=out, keepdims=keepdims) is out
            assert np.allclose(out, d.mean(axis=axis, keepdims=keepdims))
    assert [x.tolist() for x in A.nonzero()] == [x.tolist() for x in d.nonzero()]
    for other, theirs in ((A * -2, d * -2), (0.0, 0.0), (-0.5 * d, -0.5 * d)):
        assert np.array_equal(dense(A.maximum(other)), np.maximum(d, theirs))
        assert np.array_equal(dense(A.minimum(other)), np.minimum(d, theirs))
    assert A.maximum(A.tocsr()).format == format
    for function in ("sqrt", "sin", "sign", "floor", "expm1", "arctan"):
        result = getattr(abs(A), function)()
        assert result.format == format and np.allclose(result.toarray(), getattr(np, function)(abs(d)))
    assert np.allclose(abs(A).power(1.5).toarray(), abs(d) ** 1.5)
    C = A * (1 + 2j)
    for view in (C, C.T, C.H, C.conj()):
        assert np.array_equal(view.real.toarray(), view.toarray().real)
        assert np.array_equal(view.imag.toarray(), view.toarray().imag)
        assert view.real.dtype == view.imag.dtype == np.float64 and view.real.format == view.format
    assert A.real is A and A.imag.nnz == A.nnz and A.imag.count_nonzero() == 0


def test_hermitian_storage_of_real_diagonals():
    H = ds.dia_array(np.array([[1, 1j], [-1j, 2]]), symmetry="hermitian")
    for number in (0.0, 1j, np.inf):
        with raises(TypeError, "changes how"):
            H /= number
        assert np.array_equal(H.toarray(), [[1, 1j], [-1j, 2]])


@pytest.mark.parametrize("format", ["csr", "csc", "coo", "dia"])
def test_data_as_scipy_has_it(format):
    for view in VIEWS.values():
        A = view(ours("wide 20 x 70", format, "complex128"))
        theirs = A.to_scipy(format)
        if A.format == format:
            names = {
                "csr": ("indices", "indptr"),
                "csc": ("indices", "indptr"),
                "coo": ("row", "col"),
                "dia": ("offsets",),
            }
            rebuilt = getattr(sp, f"{format}_array")(
                (A.data, A.coords) if format == "coo" else (A.data, *(getattr(A, name) for name in names[format])),
                shape=A.shape,
            )
            assert np.array_equal(rebuilt.toarray(), theirs.toarray())
    A = ours("wide 20 x 70", format)
    A = A.copy()
    assert A.data.flags.writeable and (format == "dia" or np.shares_memory(A.data, A.values))
    assert np.array_equal(pickle.loads(pickle.dumps(A)).toarray(), A.toarray())


def test_matrices_on_a_gpu_say_so(device):
    if device == "cpu":
        pytest.skip("a GPU's")
    A = ds.array(matrix("banded 9"), "csr", device=device)
    for call in (lambda: A[0, 0], lambda: A[1:3, 1:3], A.max, A.nonzero, lambda: A < 1, lambda: A.data, A.tobsr,
                 lambda: A.__setitem__((0, 0), 1)):  # fmt: skip
        with raises(TypeError, "cpu", 'A.to("cpu")'):
            call()
    before = A.toarray()
    A *= 2
    assert np.array_equal(A.toarray(), 2 * before)
    assert np.allclose(A.mean(axis=0), before.mean(axis=0) * 2)
