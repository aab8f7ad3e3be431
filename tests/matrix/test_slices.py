"""sell: the height of its slices, rows sorted in windows, and the validation of its arrays."""

import numpy as np
import pytest
import scipy.sparse as sp
from cases import make, raises
from formats import of

import diagsparse as ds

ROWS = 100


def uneven(rows=ROWS, cols=70):
    """Return a matrix whose rows have 0 to all of the columns."""
    rng = np.random.default_rng(3)
    dense = rng.integers(1, 9, (rows, cols)) * (rng.random((rows, cols)) < rng.random((rows, 1)))
    dense[rows // 2] = 0
    return sp.csr_array(dense.astype(float))


@pytest.mark.parametrize("height", [1, 2, 7, 8, 32, 99, 100, 1024])
@pytest.mark.parametrize("sigma", [1, 2, 10, 64, ROWS, 2**31 - 1])
@pytest.mark.parametrize("row_lengths", [False, True])
def test_every_layout(height, sigma, row_lengths, device):
    a, x = uneven(), np.random.default_rng(4).integers(1, 9, (70, 3)).astype(float)
    A = ds.sell_array(a, slice_height=height, sigma=sigma, row_lengths=row_lengths).to(device)
    lengths = np.diff(a.indptr)
    parts = {name: getattr(part, "get", lambda p=part: p)() for name, part in A.parts().items()}
    order = parts.get("row_order", np.arange(ROWS))
    windows = range(0, ROWS, sigma)
    sorted_rows = [first + np.argsort(-lengths[first : first + sigma], kind="stable") for first in windows]
    assert np.array_equal(order, np.concatenate(sorted_rows))
    assert ("row_order" in parts) == (sigma > 1) and ("row_lengths" in parts) == row_lengths
    if row_lengths:
        assert np.array_equal(parts["row_lengths"], lengths[order])
    s = ds.csr_array(a).to(device)._summary()
    assert s.positions_in_slices(height, sigma) == of("sell").positions(lengths[order], height) == parts["values"].size
    options = {"slice_height": height, "sigma": sigma, "row_lengths": int(row_lengths)}
    assert A._format.nbytes(s, **options) == A.nbytes
    assert np.array_equal(A.toarray(), a.toarray()) and np.array_equal(A.T.copy().toarray(), a.toarray().T)
    if device == "cpu":
        assert np.array_equal(A @ x, a @ x) and np.array_equal(A @ x[:, ::2], a @ x[:, ::2])
        assert np.array_equal(A.T @ (a @ x), a.T @ (a @ x))


def test_the_default_height():
    even, staggered = sp.csr_array(np.ones((64, 3))), uneven(640)
    assert ds.sell_array(even).slice_height == 32
    lower = ds.sell_array(staggered)
    assert lower.slice_height == 8 < ds.sell_array(staggered, sigma=640).slice_height
    assert lower.nbytes < ds.sell_array(staggered, slice_height=16).nbytes
    assert ds.sell_array(even, slice_height=4).T.copy().slice_height == 8


def test_copies_keep_the_layout():
    A = ds.sell_array(uneven(), slice_height=4, sigma=16, row_lengths=True)
    for B in (A.copy(), A.conj().copy(), A.astype("complex128")):
        assert all(np.array_equal(B.parts()[name], A.parts()[name]) for name in A.parts())
    assert A.T.copy().row_order is None and A.T.copy().row_lengths is not None


def test_options():
    for name in ("slice_height", "sigma"):
        for wrong in ("8", 8.0, True):
            with raises(TypeError, f"sell_array: {name}={wrong!r}", "expected an integer"):
                make("sell", np.eye(3), **{name: wrong})
        for wrong in (0, -1, 2**31):
            with raises(ValueError, f"sell_array: {name}={wrong}", "expected 1 to"):
                make("sell", np.eye(3), **{name: wrong})
    with raises(ValueError, "slice_height=1025: expected 1 to 1024"):
        make("sell", np.eye(3), slice_height=1025)
    A = ds.csr_array(np.eye(3))
    for height, sigma in ((0, 1), (1025, 1), (8, 0)):
        with raises(ValueError, f"slices of {height} rows", f"windows of {sigma}", "expected 1 to 1024"):
            A._core.padded_size_of_slices(A._matrix, 0, height, sigma)


def damaged(name, change):
    """Return the parts of a matrix of five rows in slices of two, one of them changed."""
    A = ds.sell_array(np.tril(np.ones((5, 4))), slice_height=2, sigma=5, row_lengths=True)
    parts = {part: values.copy() for part, values in A.parts().items()}
    parts[name] = change(parts[name])
    return tuple(parts.get(part) for part in ("values", *A._format.structure, *A._format.optional))


def put(at, value):
    def change(part):
        part.flat[at] = value
        return part

    return change


@pytest.mark.parametrize(
    ("name", "change", "words"),
    [
        ("indices", put(0, 4), ["indices[0, 0] lies outside", "0 to 3", "-1"]),
        ("indices", put(1, -2), ["indices[0, 1] lies outside"]),
        ("indices", put(-1, 0), ["lies outside", "padding, which is all that comes after the last row"]),
        ("indices", put(2, 0), ["indices[1, 0] does not come after"]),
        ("indices", lambda part: part.ravel(), ["indices has shape", "two dimensions"]),
        ("indices", lambda part: part.reshape(-1, 1), ["slice_indptr holds 4 values", "expected 6 values"]),
        ("indices", lambda part: np.zeros((3, 0), np.int32), ["indices have 0 columns", "expected 1 to 1024"]),
        ("indices", lambda part: np.zeros((1, 1025), np.int32), ["indices have 1025 columns"]),
        ("slice_indptr", put(0, 2), ["slice_indptr[0] is wrong", "multiples of the 2 rows"]),
        ("slice_indptr", put(1, 3), ["slice_indptr[1] is wrong"]),
        ("slice_indptr", put(1, 2**40), ["slice_indptr[1] is wrong"]),
        ("slice_indptr", put(-1, 12), ["slice_indptr[3] is wrong", "rise from 0 to"]),
        ("row_order", put(2, 4), ["row_order[", "is wrong", "each of the rows 0 to 4 once"]),
        ("row_order", put(0, 5), ["row_order[0] is wrong"]),
        ("row_order", put(0, -1), ["row_order[0] is wrong"]),
        ("row_lengths", put(0, 3), ["row_lengths[0] is not the count"]),
        ("row_lengths", put(4, 2**30), ["row_lengths[4] is not the count"]),
        ("row_lengths", put(4, -1), ["row_lengths[4] is not the count"]),
    ],
)
def test_arrays_that_do_not_fit(name, change, words):
    with raises(ValueError, "sell_array", *words):
        make("sell", damaged(name, change), shape=(5, 4))


def test_parts_of_sell_as_they_are():
    parts = damaged("values", lambda part: part)
    A = make("sell", parts, shape=(5, 4))
    assert np.array_equal(A.toarray(), np.tril(np.ones((5, 4)))) and np.shares_memory(A.values, parts[0])
    B = make("sell", parts, shape=(5, 4), slice_height=4)
    assert B.slice_height == 4 and np.array_equal(A.toarray(), B.toarray())
    empty = make("sell", (np.ones((0, 6)), np.zeros((0, 6), np.int32), [0, 0]), shape=(3, 2))
    assert empty.slice_height == 6 and empty.nnz == 0 and np.array_equal(empty @ np.ones(2), np.zeros(3))


@pytest.mark.parametrize("longest", [3, 5000])
def test_rows_are_sorted_by_length(longest):
    """Rows of each length are counted, up to some thousand entries; beyond they are compared."""
    lengths = np.random.default_rng(0).integers(0, 4, 10_000)
    lengths[7] = longest
    indptr = np.concatenate(([0], np.cumsum(lengths)))
    columns = np.arange(indptr[-1]) - np.repeat(indptr[:-1], lengths)
    a = sp.csr_array((np.ones(len(columns)), columns, indptr), shape=(10_000, 6000))
    A = ds.sell_array(a, sigma=4096)
    order = np.concatenate(
        [first + np.argsort(-lengths[first : first + 4096], kind="stable") for first in range(0, 10_000, 4096)]
    )
    assert np.array_equal(A.row_order, order) and (A.toarray() == a.toarray()).all()
