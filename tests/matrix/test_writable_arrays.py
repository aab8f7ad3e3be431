"""Index arrays of csr, csc and coo, and `data` of dia, are written to: the matrix follows, as SciPy's does."""

import gc
import pickle
import threading

import numpy as np
import pytest
import scipy.sparse as sp
from cases import raises
from scipy.sparse import csgraph

import diagsparse as ds

INDEXED = pytest.mark.parametrize("format", ["csr", "csc", "coo"])
N = 12
X = np.linspace(1, 2, N)


def theirs(format="csr", dtype="float64"):
    rng = np.random.default_rng(3)
    a = sp.random_array((N, N), density=0.4, rng=rng, format=format, dtype=np.float64)
    a = a.astype(dtype)
    if np.dtype(dtype).kind == "c":
        a.data += 1j * rng.random(a.nnz)
    return a


def both(format, dtype="float64"):
    """Return a matrix, and SciPy's."""
    s = theirs(format, dtype)
    if format != "coo":
        s.sort_indices()
    else:
        s = sp.coo_array(sp.csr_array(s))
    return getattr(ds, f"{format}_array")(s, copy=True), s


def mirror(a):
    """Number the columns of csr, the rows of the others from the end, which leaves them out of order."""
    index = a.row if a.format == "coo" else a.indices
    index[:] = N - 1 - index


def permute(a):
    """Reverse the entries of each line, values and indices."""
    if a.format == "coo":
        row, col = a.coords
        for part in (row, col, a.data):
            part[:] = part[::-1].copy()
        return
    for first, last in zip(a.indptr[:-1], a.indptr[1:], strict=True):
        a.indices[first:last] = a.indices[first:last][::-1].copy()
        a.data[first:last] = a.data[first:last][::-1].copy()


def drop(a):
    """Write zeros away as SciPy's compiled code does: entries move up, and pointers become smaller."""
    if a.format == "coo":
        a.col[a.col == 0] = 1  # some repeat now
        return
    kept = 0
    indptr, indices, data = a.indptr, a.indices, a.data
    first = 0
    for line in range(N):
        last = indptr[line + 1]
        for at in range(first, last):
            if data[at] > 0.5:
                indices[kept], data[kept] = indices[at], data[at]
                kept += 1
        first, indptr[line + 1] = last, kept


def repeat(a):
    """Have several entries at one place."""
    index = a.col if a.format == "coo" else a.indices
    index[:] = index // 2


WRITES = {"mirror": mirror, "permute": permute, "drop": drop, "repeat": repeat}
USES = {
    "A @ x": lambda A: A @ X,
    "A.T @ x": lambda A: A.T @ X,
    "x @ A": lambda A: X @ A,
    "A @ A": lambda A: (A @ A).toarray(),
    "toarray": lambda A: A.toarray(),
    "sum": lambda A: A.sum(axis=0),
    "A + A.T": lambda A: (A + A.T).toarray(),
    "copy": lambda A: A.copy().toarray(),
    "csr": lambda A: A.tocsr().toarray(),
    "csc": lambda A: A.tocsc().toarray(),
    "SciPy's": lambda A: sp.csr_array(A).toarray(),
    "pickle": lambda A: pickle.loads(pickle.dumps(A)).toarray(),
    "diagonal": lambda A: A.diagonal(),
    "A[3]": lambda A: A[3].toarray(),
    "max": lambda A: A.max(),
    "-A": lambda A: (-A).toarray(),
}


@INDEXED
@pytest.mark.parametrize("write", WRITES)
@pytest.mark.parametrize("use", USES)
def test_what_is_written_is_taken_over(format, write, use):
    A, s = both(format)
    WRITES[write](A)
    WRITES[write](s)
    assert np.allclose(USES[use](A), USES[use](s.copy()))
    assert np.array_equal(A.data, s.data[: len(A.data)]), "values stay in the order of the user"


@INDEXED
def test_one_permutation_of_a_copy(format):
    A, name = both(format)[0], "col" if format == "coo" else "indices"
    dense, expected = A.toarray(), np.zeros((N, N))
    order = np.random.default_rng(0).permutation(N)
    expected[(order, slice(None)) if format == "csc" else (slice(None), order)] = dense
    converted = [getattr(ds.array(dense, other), f"to{format}")() for other in ("csr", "csc", "coo", "hm")]
    for B in (A.copy(), A.asformat(format, copy=True), *converted, pickle.loads(pickle.dumps(A)), A[:, :], 1 * A):
        getattr(B, name)[:] = order[getattr(B, name)]
        assert np.array_equal(B.toarray(), expected) and np.allclose(B @ X, expected @ X)
        assert np.array_equal(A.toarray(), dense)


@INDEXED
@pytest.mark.parametrize("write", ["mirror", "permute"])
def test_views_follow(format, write):
    A, s = both(format, "complex128")
    before = A.T, A.conj(), A.H, A.T.conj().T
    WRITES[write](A)
    WRITES[write](s)
    dense = s.toarray()
    for views in (before, (A.T, A.conj(), A.H, A.T.conj().T)):
        for view, expected in zip(views, (dense.T, dense.conj(), dense.conj().T, dense.conj()), strict=True):
            assert np.allclose(view.toarray(), expected) and np.allclose(view @ X, expected @ X)
    through = A.T  # and what is written through a view reaches the matrix
    (through.col if format == "coo" else through.indices)[:] = s.row if format == "coo" else s.indices
    assert np.allclose(A.toarray(), dense)
    mirror(through.T)
    mirror(s)
    assert np.allclose(A.toarray(), s.toarray())


@INDEXED
def test_matrices_on_the_same_structure_stay_as_they_are(format):
    A = both(format)[0]
    others = [2 * A, abs(A), A.copy(), A.astype("complex64")]
    before = [B.toarray() for B in others]
    mirror(A)
    assert A.has_canonical_format is False
    A @ X
    for B, dense in zip(others, before, strict=True):
        assert np.array_equal(B.toarray(), dense)


@INDEXED
def test_the_order_of_the_user_stays(format):
    """New values for a pattern that was written once, as finite elements do."""
    A, s = both(format)
    permute(A)
    permute(s)
    for seed in range(3):
        values = np.random.default_rng(seed).random(s.nnz)
        A.data[:] = values
        s.data[:] = values
        assert np.allclose(A @ X, s @ X) and np.array_equal(A.data, values)
        A *= 2
        s *= 2
        assert np.allclose(A.toarray(), s.toarray())
    copied = A.copy()
    assert np.array_equal(copied.data, A.data) and np.array_equal(copied.T.toarray(), A.toarray().T)
    for name in ("row", "col") if format == "coo" else ("indices", "indptr"):
        assert np.array_equal(getattr(copied, name), getattr(s, name))
    A.data = 3
    assert (A.data == 3).all() and set(np.unique(A.toarray())) == {0, 3}
    assert np.allclose(copied.toarray(), s.toarray())
    permute(copied)
    assert copied.has_canonical_format and np.allclose(copied.toarray(), s.toarray())


@INDEXED
def test_sorting_in_place(format):
    A, s = both(format)
    view, index = A.T, A.col if format == "coo" else A.indices
    permute(A)
    assert not A.has_canonical_format
    A.sum_duplicates()
    s = sp.csr_array(s) if format == "coo" else s
    assert A.has_canonical_format and np.array_equal(A.data, s.data) and np.array_equal(index, s.indices)
    index[0] = index[0]  # which is still the matrix's
    assert np.array_equal(A.toarray(), s.toarray()) and np.array_equal(view.toarray(), s.toarray().T)
    repeat(A)
    expected, count = A.toarray(), A.nnz
    A.sum_duplicates()
    assert A.has_canonical_format and len(A.data) == count and np.allclose(A.toarray(), expected)


@pytest.mark.parametrize("format", ["csr", "csc"])
def test_names_of_scipys(format):
    A, s = both(format)
    A.indices = A.indices[::1] * 0 + s.indices  # the same, of another array
    assert A.has_sorted_indices and np.array_equal(A.toarray(), s.toarray())
    permute(A)
    assert not A.has_sorted_indices and not A.copy().has_sorted_indices and A.sorted_indices().has_sorted_indices
    A.check_format()
    A.sort_indices()
    assert A.has_sorted_indices and np.array_equal(A.indices, s.indices)
    assert np.array_equal(A.sorted_indices().toarray(), s.toarray())
    A[0, int(s[[0]].nonzero()[1][0])] = 7.0
    permute(A)
    A[0, int(s[[0]].nonzero()[1][0])] = 8.0  # sorts first, as SciPy's does
    assert A[0, int(s[[0]].nonzero()[1][0])] == 8 and A.has_sorted_indices


def test_shorter_index_arrays():
    A = ds.csr_array(np.eye(4))
    A.indptr = np.array([0, 1, 2, 2, 2])
    A.indices = np.array([3, 0])
    assert np.array_equal(np.argwhere(A.toarray()), [[0, 3], [1, 0]]) and A.nnz == 2
    A.eliminate_zeros()
    assert len(A.data) == 2
    with raises(TypeError, "indices", "float64", "expected integers"):
        A.indices = np.array([0.5, 1])
    with raises(ValueError, "indices", "one dimension"):
        A.indices = np.array([[0, 1]])
    with raises(ValueError, "indices", "4294967296", "int32"):
        A.indices = np.array([0, 2**32])
    held, before = A.indices, A.indices.copy()
    A.indices = before[::-1]
    assert np.array_equal(held, before) and np.array_equal(A.indices, before[::-1])  # who holds one keeps it
    held[0] = 99  # which is the matrix's no more
    assert np.array_equal(np.argwhere(A.toarray()), [[0, 0], [1, 3]])


@INDEXED
def test_what_is_no_matrix_is_refused_until_it_is_one(format):
    A, s = both(format)
    index = A.col if format == "coo" else A.indices
    kept = index[0]
    for wrong in (-1, N, 2**31 - 1):
        index[0] = wrong
        for use in (lambda: A @ X, A.toarray, lambda: A.T.copy(), lambda: ds.plan_matmul(A, A), A.check_format):
            with raises(ValueError, f"{format}_array", "written to"):
                use()
    index[0] = kept
    assert np.array_equal(A.toarray(), s.toarray())
    if format != "coo":
        A.indptr[3] = 1000
        with raises(ValueError, "written to"):
            A @ X
        A.indptr[3] = s.indptr[3]
        assert np.array_equal(A.toarray(), s.toarray())


@INDEXED
def test_between_two_writes_nothing_is_taken_over(format):
    A, s = both(format)
    names = ("row", "col") if format == "coo" else ("indptr", "indices")
    before = [getattr(s, name).copy() for name in names]
    for index in range(2):
        getattr(A, names[index])[:] = N + 5  # no matrix
        assert A.shape == (N, N) and A.dtype == np.float64 and A.T.shape == (N, N) and A.conj().format == format
        A.data = s.data[::-1]
        A.data[:] = A.values[::-1].copy()
        A *= 2
        A /= 2
        assert all(getattr(A, name).shape == getattr(s, name).shape for name in names)
    for name, index in zip(names, before, strict=True):
        setattr(A, name, index)
    assert np.array_equal(A.toarray(), s.toarray())


@INDEXED
def test_plans_refuse_another_structure(format):
    A = ds.csr_array(theirs("csr"), copy=True)
    plan = ds.plan_matmul(A, A)
    expected = (A @ A).toarray()
    assert A.indices.size and np.allclose(plan().toarray(), expected)
    mirror(A)
    with raises(ValueError, "plan"):
        plan(A, A)


@pytest.mark.parametrize("format", [*ds.formats()])
def test_matrices_whose_arrays_nobody_has_export_nothing(format):
    A = ds.array(ds.gallery.tridiagonal(N), format)
    for use in (*USES.values(), repr, lambda A: A._repr_html_(), lambda A: A.to_scipy()):
        use(A)
    assert A._matrix.exporter is None


@INDEXED
def test_the_last_reference(format):
    A, s = both(format)

    def index():
        return A.col if format == "coo" else A.indices

    index()
    assert np.allclose(A @ X, s @ X) and A._matrix.exporter is None  # nothing was written
    held = index()[2:5]  # a view of it is a reference, too
    assert index() is index() and held.base is index()
    assert np.allclose(A @ X, s @ X) and A._matrix.exporter is not None
    value, column = s.data[2], held[0]
    line = memoryview(held)
    del held
    gc.collect()
    A @ X
    line[0] = N - 1 if column != N - 1 else 0
    del line
    moved = A.toarray()
    assert (moved != s.toarray()).sum() in (1, 2) and value in moved
    assert np.allclose(A @ X, moved @ X)


@INDEXED
def test_threads_that_read(format):
    """A matrix whose arrays somebody holds is used by several threads at once."""
    A, s = both(format)
    mirror(A)
    mirror(s)
    held, expected, wrong = A.data, s @ X, []

    def work():
        for _ in range(50):
            if not np.allclose(A @ X, expected) or not np.allclose(A.T @ X, s.T @ X):
                wrong.append(1)
            assert (A.row if format == "coo" else A.indices).size == s.nnz

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong and held.size == s.nnz


def test_parts_of_other_matrices_are_read_only():
    A = ds.hyb_array(ds.gallery.arrow(40), width=1)
    for array in (A.coo.row, A.coo.col, A.coo.T.row, *A.coo.coords):
        assert not array.flags.writeable
    with raises(ValueError, "row", "part of another matrix", ".copy()"):
        A.coo.row = A.coo.row
    copied = A.coo.copy()
    copied.row[:] = copied.row
    assert np.array_equal(copied.toarray(), A.coo.toarray())


def test_a_conjugate_has_no_values_to_write_to():
    A = both("csr", "complex128")[0]
    with raises(ValueError, "read-only"):
        A.conj().data[0] = 1  # a copy, which would be lost


# ---- data of dia ----------------------------------------------------------------------------------------
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


@pytest.mark.parametrize("normed", [False, True])
@pytest.mark.parametrize("format", ds.formats())
def test_laplacian(format, normed):
    s = abs(sp.csr_array(ds.gallery.tridiagonal(N)))
    s.setdiag(0)
    s.eliminate_zeros()
    A = ds.array(s, format)
    assert np.allclose(csgraph.laplacian(A, normed=normed).toarray(), csgraph.laplacian(s, normed=normed).toarray())
    assert np.array_equal(A.toarray(), s.toarray())


def test_a_use_without_memory_takes_over_at_the_next_one():
    A, s = both("csr")
    mirror(A), mirror(s)
    A.data[:], s.data[:] = 7, 7
    real, short = np.ndarray.copy, [True]

    class Values(np.ndarray):
        def copy(self, *how):
            if short.pop() if short else False:
                raise MemoryError
            return real(self, *how)

    exporter = A._matrix.exporter
    exporter.values = exporter.values.view(Values)
    with pytest.raises(MemoryError):
        A @ X
    A.data[:], s.data[:] = 5, 5
    assert np.allclose(A @ X, s @ X)


def test_a_sort_that_is_interrupted_ends_at_the_next_use():
    A, s = both("csr")
    mirror(A), mirror(s)
    assert np.allclose(A @ X, s @ X)
    exporter, calls = A._matrix.exporter, [False, True]  # the second time is after the values, before the indices

    class Copies(dict):
        def items(self):
            if calls and calls.pop(0):
                raise KeyboardInterrupt
            return super().items()

    exporter._copies = Copies(exporter._copies)
    with pytest.raises(KeyboardInterrupt):
        A.sort_indices()
    assert np.allclose(A @ X, s @ X) and np.array_equal(A.toarray(), s.toarray())
    assert A.has_sorted_indices
