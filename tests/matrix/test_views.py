"""Views, dense copies and Python's protocols: what shares memory, what is independent, what is refused."""

import numpy as np
import pytest
import scipy.sparse as sp
from cases import EACH_DTYPE, SMALL, VIEWS, holding, matrix, ours, random
from oracle import seen

import diagsparse as ds

FORMATS = pytest.mark.parametrize("format", ds.formats())


@pytest.mark.quick
@FORMATS
def test_views_of_views(format):
    chains = ["T", "H", "C", "TT", "TH", "HT", "HH", "CT", "CC", "TC", "CH", "THC", "HCT", "TTT", "HHH", "CTHC"]
    for name in holding(format, ("banded 9", "wide 20 x 70", "0x5")):
        for dtype in ("float32", "complex64"):
            a = matrix(name, dtype)
            for chain in chains:
                A, expected = ours(name, format, dtype), a
                for op in chain:
                    A, expected = VIEWS[op](A), seen(expected, op)
                assert A.shape == expected.shape and A.dtype == dtype
                assert np.array_equal(A.toarray(), expected.toarray()), chain
                x = random(A.shape[1], dtype)
                assert np.allclose(A @ x, expected @ x, rtol=1e-5, atol=1e-5), chain
                back = A.T if (chain.count("T") + chain.count("H")) % 2 else A
                assert back.format == format and back.nnz == ours(name, format, dtype).nnz


@FORMATS
def test_views_follow_their_origin_and_copies_do_not(format):
    A = ds.array(matrix("banded 9", "complex64").copy(), format)
    views, copies = (
        [A.T, A.H, A.conj(), A.mT, A.transpose(), A.adjoint()],
        [A.copy(), A.T.copy(), A.H.copy(), A + 0 * A],
    )
    before = [c.toarray() for c in copies]
    A.values[...] *= 3
    dense = A.toarray()
    for view, expected in zip(views, (dense.T, dense.conj().T, dense.conj(), dense.T, dense.T, dense.conj().T)):
        assert np.array_equal(view.toarray(), expected)
    assert all(np.array_equal(c.toarray(), b) for c, b in zip(copies, before, strict=True))
    assert not np.shares_memory(A.transpose(copy=True).values, A.values)
    assert np.array_equal(A.transpose((1, 0)).toarray(), dense.T)


@FORMATS
def test_results_do_not_share_memory_with_their_operands(format):
    A = ds.array(matrix("banded 9").copy(), format)
    for result in (A * 1, A / 1, -A, abs(A), A + A, A - A, A * A, A**1, A + 0, A.astype("float64"), A @ A, 0 + A):
        if result is not A:
            assert not np.shares_memory(result.values, A.values)
    result = A + 0
    result.values[...] = 7
    assert np.array_equal(A.toarray(), matrix("banded 9").toarray()), "A + 0 is an alias of A"


@FORMATS
@EACH_DTYPE
def test_toarray(format, dtype):
    for name in holding(format, SMALL):
        for op in VIEWS:
            A, expected = VIEWS[op](ours(name, format, dtype)), seen(matrix(name, dtype), op).toarray()
            for order in (None, "C", "F"):
                dense = A.toarray(order=order)
                assert np.array_equal(dense, expected) and dense.dtype == dtype
                assert order is None or dense.flags[f"{order}_CONTIGUOUS"]
                out = np.full(A.shape, np.nan, dtype, order or "C")
                assert A.toarray(out=out) is out and np.array_equal(out, expected), f"{name} {op}"
            assert np.array_equal(A.todense(), expected)


@pytest.mark.quick
@FORMATS
def test_attributes(format):
    A = ours("banded 9", format, "complex64")
    assert (A.ndim, A.shape, A.dtype, A.format, A.device) == (2, (9, 9), np.dtype("complex64"), format, "cpu")
    assert A.to("cpu") is A and A.size == A.nnz
    assert type(A).__name__ == f"{format}_array" and type(A) is getattr(ds, f"{format}_array")
    for view in (A.T, A.H, A.conj()):
        assert view.nnz == A.nnz and view.nbytes == A.nbytes and view.ndim == 2
    assert np.array_equal(A.transpose([1, 0]).toarray(), A.transpose((1, 0)).toarray())
    if hasattr(A, "offsets"):
        assert sorted(A.T.offsets) == sorted(-A.offsets)


@pytest.mark.quick
@FORMATS
def test_protocols(format):
    A = ours("banded 9", format)
    with pytest.raises(ValueError, match="ambiguous"):
        bool(A)
    with pytest.raises(TypeError, match=r"shape\[0\]"):
        len(A)
    assert len(list(A)) == 9
    assert bool(ds.array(np.array([[2.0]]), format)) and not bool(ds.array(np.array([[0.0]]), format))
    assert A.kernels() == A.kernels("matvec") and A.kernels("matvec")


@FORMATS
def test_products_that_make_no_sense(format):
    A = ours("banded 9", format)
    for scalar in (2, 1.5, np.float64(2), np.array(3.0)):
        with pytest.raises(ValueError, match="scalar"):
            A @ scalar
        with pytest.raises(ValueError, match=r"scalar|shape \(\)"):
            scalar @ A
    for thing in (None, object(), {1: 2}):
        for run in (lambda t=thing: A @ t, lambda t=thing: t @ A, lambda t=thing: A + t, lambda t=thing: A * t,
                    lambda t=thing: t - A):  # fmt: skip
            with pytest.raises(TypeError):
                run()
    for run in (lambda: A / None, lambda: 1 / A):
        with pytest.raises(TypeError):
            run()
    for power, error in ((-1, ValueError), (np.nan, ValueError), (1j, ValueError), (np.ones(2), NotImplementedError)):
        with pytest.raises(error, match="positive"):
            A**power
    with pytest.raises(NotImplementedError, match="fill"):
        A**0
    with pytest.raises(NotImplementedError, match="fill"):
        A + 1
    with pytest.raises(NotImplementedError, match="fill"):
        2 - A
    assert np.array_equal((A + 0).toarray(), A.toarray()) and np.array_equal((0 - A).toarray(), -A.toarray())


def test_padding_that_we_make_is_zero():
    """Nobody reads the padding of dia, but files, pickles and whole-array arithmetic see it."""
    junk = [np.full(size, np.inf) for size in range(50, 3000, 50)]  # what a later allocation may find
    del junk
    A = ours("random diagonals 127", "dia")
    for B in (A @ A, A + A, A * A, A.T.copy(), A.asformat("hm").asformat("dia"), ds.syrk(A), ds.matmul(A, A, A)):
        for k, row in zip(B.offsets, B.values, strict=True):
            outside = np.r_[row[: max(0, -k)], row[min(127, 127 - k) :]]
            assert not outside.any(), f"diagonal {k}: {outside}"


def test_arithmetic_does_not_warn_of_the_padding():
    """Warnings are errors here: whatever the caller's padding holds, it is not part of the matrix."""
    values = np.array([[np.inf, 1.0, 4.0], [1e308, 4.0, 9.0], [4.0, 9.0, -1.0]])
    values[1, 0] = -1e308
    values[1, 0], values[1, 1:] = 2.0, (4.0, 9.0)
    A = ds.dia_array((values, [-1, 0, 1]), shape=(3, 3), align="row")
    dense = np.array([[2.0, 4, 0], [1, 4, 9], [0, 4, 9]])
    assert np.array_equal(A.toarray(), dense)
    assert np.array_equal((A**0.5).toarray(), dense**0.5)
    assert np.array_equal((A * 0).toarray(), 0 * dense)
    B = ds.dia_array((np.array([[1e300, 1.0, 2.0]]), [-1]), shape=(3, 3), align="row")
    assert np.array_equal(B.astype("float32").toarray(), B.toarray())
    assert np.array_equal((B * 1e300).toarray(), B.toarray() * 1e300)


@pytest.mark.parametrize("format", [f for f in ds.formats() if f not in ("csc", "coosc", "cdm")])
def test_diagonals_of_a_transpose_take_no_transpose(format, monkeypatch):
    n = 2**31 - 1  # rows of the transpose: pointers to them need 17 GB
    a = sp.csr_array((np.array([1.0, 2j, 3, 4j]), [0, 5, 1, 2], [0, 2, 3, 4]), shape=(3, n))
    A = ds.csr_array(a).asformat(format)
    monkeypatch.setattr("diagsparse._backends.memory.available_bytes", lambda backend=None: 1 << 30)
    for k in (-5, -1, 0, 1, 2):
        assert np.array_equal(A.T.diagonal(k), A.diagonal(-k)), k
        assert np.array_equal(A.H.diagonal(k), A.diagonal(-k).conj()), k
        assert np.array_equal(A.conj().diagonal(k), A.diagonal(k).conj()), k
        assert A.T.trace(k) == A.trace(-k) and A.H.trace(k) == A.trace(-k).conj()
    assert A.T.trace() == 4 + 4j and A.T.count_nonzero() == A.H.count_nonzero() == 4
