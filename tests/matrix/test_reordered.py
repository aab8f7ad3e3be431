"""Rows and columns in another order: `A[p][:, p]` as SciPy has it, and 8 x 8 blocks as `bmsparse_array` counts them."""

import numpy as np
import pytest
import scipy.sparse as sp
from cases import DIAGONAL, EACH_DTYPE, VIEWS, random, to_host
from packings import mirrored, narrow_dtype, toeplitz
from scipy.sparse.csgraph import reverse_cuthill_mckee

import diagsparse as ds


def shuffled(a, seed=0):
    """Return a SciPy matrix with its rows and columns in a random order."""
    p = np.random.default_rng(seed).permutation(a.shape[0])
    return sp.csr_array(a)[p][:, p]


def band(n, dtype="float64", zeros=False):
    """Return a shuffled band with values that differ, some of them explicit zeros if requested."""
    a = shuffled(ds.gallery.banded(n, 2, 3, seed=0))
    values = random(a.nnz, dtype, "reordered")
    values[:: 5 if zeros else a.nnz] *= not zeros
    return sp.csr_array((values, a.indices, a.indptr), shape=a.shape)


def blocks(a):
    return ds.bmsparse_array(a).blocks


def check(A, a, order, B):
    """Check that B is A, which is SciPy's `a`, in this order."""
    p = order.permutation
    assert p.dtype == np.int64 and np.array_equal(np.sort(p), np.arange(A.shape[0]))
    expected = sp.csr_array(a)[p][:, p]
    assert type(B) is type(A) and B.dtype == A.dtype and B.device == A.device
    assert np.array_equal(B.toarray(), expected.toarray(), equal_nan=True)
    assert (order.blocks_before, order.blocks_after) == (blocks(a), blocks(expected))


@EACH_DTYPE
@pytest.mark.parametrize("format", ds.formats())
def test_as_in_scipy(device, format, dtype):
    a = band(101, dtype)
    A = ds.array(a, format, device=device)
    order = ds.reordered(A)
    check(A, a, order, B := order.apply(A))
    assert order.blocks_after < order.blocks_before
    x, y = random(101, dtype, "x"), np.empty(101, dtype)
    y[order.permutation] = to_host(B @ x[order.permutation])
    assert np.allclose(y, a @ x, rtol=1e-4 if np.dtype(dtype).char in "fF" else 1e-12)


@pytest.mark.parametrize("format", ["csr", "coo", "bmsparse", "csb", "ellcsr"])
def test_stored_zeros_stay(device, format):
    a = band(60, zeros=True)
    A = ds.array(a, format, device=device)
    order = ds.reordered(A)
    check(A, a, order, B := order.apply(A))
    assert B.nnz == A.nnz == a.nnz > a.count_nonzero()
    assert blocks(a) > blocks(sp.csr_array(a.toarray()))  # zeros count


@pytest.mark.parametrize("format", ["csr", "hm", "qband", "bmsparse"])
def test_views(device, format):
    a = band(50, "complex128")
    A = ds.array(a, format, device=device)
    order = ds.reordered(A)
    for name, view in VIEWS.items():
        seen = {"N": a, "T": a.T, "C": a.conj(), "H": a.conj().T}[name]
        V = view(A)
        check(V, seen, found := ds.reordered(V), found.apply(V))
        check(V, seen, order, order.apply(V))  # with the order of A


@pytest.mark.parametrize("dtype", ["float32", "complex128"])
@pytest.mark.parametrize("symmetry", ["symmetric", "hermitian"])
@pytest.mark.parametrize("format", [*DIAGONAL, "ellcsr"])
def test_one_triangle_stays_one(device, format, symmetry, dtype):
    a = shuffled(mirrored(70, [0, 1, 3], dtype, symmetry == "hermitian"))
    A = ds.array(a, format, device=device).asformat(format, symmetry=symmetry)
    order = ds.reordered(A)
    for view, seen in ((A, a), (A.T, a.T), (A.conj(), a.conj())):
        check(A, seen, order, B := order.apply(view))
        assert B.symmetry == symmetry and (format == "ellcsr" or B.nbytes < B.unpacked().nbytes)
    assert order.blocks_after < order.blocks_before


def test_one_triangle_with_short_columns():
    a = shuffled(mirrored(300, range(9), "float64"))
    A = ds.ellcsr_array(a, symmetry="symmetric", column_bits=16)
    check(A, a, order := ds.reordered(A), B := order.apply(A))
    assert (B.symmetry, B.column_bits) == ("symmetric", 16)


@pytest.mark.parametrize("format", [*DIAGONAL, "ellcsr"])
def test_nan_and_infinities_stay(format):
    a = shuffled(mirrored(20, [0, 2], "float64"))
    A = ds.array(a, format).asformat(format, symmetry="symmetric")
    values = A.values.copy()
    values[values == values.flat[np.argmax(abs(values))]] = np.nan
    A.values = values
    a = A.to_scipy("csr")
    assert np.isnan(a.data).any()
    order = ds.reordered(A)
    check(A, a, order, order.apply(A))


def test_periods_are_stored_in_full(device):
    a = toeplitz(40, [-1, 0, 17, 18], "float64")
    A = ds.hm_array(a, period=1, device=device)
    order = ds.reordered(A)
    check(A, a, order, B := order.apply(A))
    assert A.period == 1 and B.period is None


@pytest.mark.parametrize("narrow", ["float16", "bfloat16"])
@pytest.mark.parametrize("format", ["hm", "bmsparse"])
def test_narrow_values(device, format, narrow):
    dtype = narrow_dtype(narrow)
    a = band(40)
    A = getattr(ds, f"{format}_array")(a, dtype=dtype, device=device)
    a = sp.csr_array((a.data.astype(dtype).astype(float), a.indices, a.indptr), shape=a.shape)
    order = ds.reordered(A)
    check(A, a, order, B := order.apply(A))
    assert B.dtype == dtype


@pytest.mark.parametrize("container", ["csr", "csc", "coo", "dia", "bsr", "lil", "dok"])
@pytest.mark.parametrize("kind", [sp.csr_array, sp.csr_matrix])
def test_scipys_matrices_stay_scipys(container, kind):
    a = kind(band(30)).asformat(container)
    order = ds.reordered(a)
    B, p = order.apply(a), order.permutation
    assert type(B) is type(a) and B.dtype == a.dtype and order.blocks_after < order.blocks_before
    assert np.array_equal(B.toarray(), a.toarray()[p][:, p])
    assert order.blocks_after == blocks(B)


@pytest.mark.parametrize("dtype", [bool, np.int8, np.uint64, np.longdouble])
def test_scipys_types(dtype):
    a = band(30).astype(dtype)
    order = ds.reordered(a)
    B, p = order.apply(a), order.permutation
    assert B.dtype == dtype and B.nnz == a.nnz and np.array_equal(B.toarray(), a.toarray()[p][:, p])


def test_duplicates_are_one_entry():
    a = sp.coo_array((np.ones(900), (np.repeat([0, 8, 16], 300), np.repeat([16, 0, 8], 300))), shape=(17, 17))
    order = ds.reordered(a)
    assert (order.blocks_before, order.blocks_after) == (3, blocks(order.apply(a)))
    assert a.nnz == 900  # as it was


@pytest.mark.parametrize("format", ds.formats())
@pytest.mark.parametrize("n", [0, 1, 8, 13])
def test_nothing_stored(device, format, n):
    A = getattr(ds, f"{format}_array")((n, n), device=device)
    order = ds.reordered(A)
    check(A, sp.csr_array((n, n)), order, order.apply(A))
    assert order.permutation.tolist() == list(range(n))


def test_one_by_one(device):
    A = ds.bmsparse_array(np.array([[3.0]]), device=device)
    order = ds.reordered(A)
    check(A, np.array([[3.0]]), order, order.apply(A))
    assert (order.blocks_before, order.blocks_after) == (1, 1)


@pytest.mark.parametrize("n", [30, 63, 64, 65, 200])
@pytest.mark.parametrize("reach", [1, 5])
def test_a_shuffled_band(n, reach):
    a = shuffled(ds.gallery.banded(n, reach, reach, seed=1), n)
    order = ds.reordered(a)
    assert (order.blocks_before, order.blocks_after) == (blocks(a), blocks(order.apply(a)))
    assert order.blocks_after < order.blocks_before


@pytest.mark.parametrize("seed", range(20))
def test_never_more_blocks(seed):
    """Any pattern: the order is that of SciPy's function where blocks are fewer, else it stays."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 90))
    a = sp.random_array((n, n), density=rng.choice([0.01, 0.05, 0.3]), rng=rng, format="csr")
    order = ds.reordered(a)
    p = reverse_cuthill_mckee(a) if a.nnz else np.arange(n)
    there, here = blocks(a[p][:, p]), blocks(a)
    assert (order.blocks_before, order.blocks_after) == (here, min(here, there))
    assert np.array_equal(order.permutation, p if there < here else np.arange(n))


def test_the_order_stays_where_the_count_does_not_fall(device):
    a = ds.gallery.stencil(5, (30, 40)).tocsr()
    p = reverse_cuthill_mckee(a)
    assert blocks(a[p][:, p]) > blocks(a)
    A = ds.bmsparse_array(a, device=device)
    order = ds.reordered(A)
    assert order.blocks_after == order.blocks_before == A.blocks and np.array_equal(order.permutation, np.arange(1200))
    B = order.apply(A)
    B.values = 0
    assert np.array_equal(A.toarray(), a.toarray())  # B has values of its own


def test_another_matrix_of_these_rows():
    a, order = band(40), ds.reordered(band(40))
    mass = ds.hm_array(sp.diags_array(np.arange(40.0)))
    assert np.array_equal(order.apply(mass).diagonal(), order.permutation)
    x = sp.linalg.spsolve(a.tocsc(), b := np.ones(40))
    found = np.empty(40)
    found[order.permutation] = sp.linalg.spsolve(order.apply(a).tocsc(), b[order.permutation])
    assert np.allclose(found, x)


def test_mistakes_are_named():
    with pytest.raises(ValueError, match="reordered: A is 3 x 5, expected a square matrix"):
        ds.reordered(ds.csr_array((3, 5)))
    with pytest.raises(ValueError, match="reordered: A is 5 x 3, expected a square matrix"):
        ds.reordered(sp.csr_array((5, 3)))
    with pytest.raises(ValueError, match="reordered: A has 1 dimensions, expected 2"):
        ds.reordered(sp.coo_array(np.ones(3)))
    with pytest.raises(TypeError, match="reordered: A is a ndarray, expected a sparse matrix of SciPy or diagsparse"):
        ds.reordered(np.eye(3))
    order = ds.reordered(ds.csr_array(np.eye(3)))
    with pytest.raises(ValueError, match="apply: A is 4 x 4, expected 3 x 3"):
        order.apply(ds.csr_array((4, 4)))
    with pytest.raises(TypeError, match="apply: A is a ndarray, expected a sparse matrix of SciPy"):
        order.apply(np.eye(3))
