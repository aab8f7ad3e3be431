"""Interleaved batches: values, members, products and solutions like those of a batch in the other layout."""

import copy
import pickle

import numpy as np
import pytest
from cases import EACH_DIAGONAL, EACH_DTYPE
from solutions import banded, like

import diagsparse as ds


def both(n, below, above, dtype, format, count):
    """Return a batch in both layouts."""
    rows, _ = like(banded(n, below, above, dtype), format, count)
    return rows, ds.interleaved_batch(rows)


@EACH_DTYPE
@EACH_DIAGONAL
@pytest.mark.parametrize("n, below, above", [(13, 1, 1), (9, 2, 1), (1, 0, 0)])
def test_like_a_batch_in_rows(n, below, above, format, dtype, device):
    count = 5
    rows, b = (batch.to(device) for batch in both(n, below, above, dtype, format, count))
    assert (b.shape, b.count, b.format, len(b)) == (rows.shape, count, format, count) and b.dtype == np.dtype(dtype)
    assert np.array_equal(np.sort(b.offsets), np.sort(rows.offsets)) and b.device == rows.device
    assert b.values.shape == (*rows[0].values.shape, count)
    for i, (member, same) in enumerate(zip(b, rows, strict=True)):
        assert np.array_equal(member.toarray(), same.toarray()) and repr(b[i - count]) == repr(same)
    back = b.contiguous()
    assert repr(back) == repr(rows) and np.array_equal(back.to("cpu").values, rows.to("cpu").values)
    x = np.random.default_rng(0).uniform(-1, 1, (n, count)).astype(dtype)
    tolerance = 50 * np.finfo(dtype).eps * abs(rows.to("cpu").values).max()
    for name in ("matvec", "rmatvec"):
        for given, in_rows in ((x, x.T), (np.asfortranarray(x), x.T), (x[:, 0], x[:, 0])):
            y, expected = getattr(b, name)(given), getattr(rows, name)(in_rows).T
            assert y.shape == (n, count) and abs(y - expected).max() <= tolerance
            for order in "CF":
                out = np.array(expected, order=order)
                assert getattr(b, name)(given, out=out, alpha=2, beta=-1) is out
                assert abs(out - expected).max() <= 3 * tolerance
    F, G = ds.factorized(b, -0.25), ds.factorized(rows, -0.25)
    for trans in "NTH":
        for given, in_rows in ((x, x.T), (np.asfortranarray(x), x.T), (x[:, 0], x[:, 0])):
            expected = G.solve(in_rows, trans).T
            assert np.allclose(F.solve(given, trans), expected, rtol=1e4 * np.finfo(dtype).eps, atol=tolerance)
    _, report = ds.solve(b, x, report=True)
    assert report.backward_error.shape == (count,) and report.backward_error.max() <= report.tol
    assert ds.solve(b, x[:, 0]).shape == (n, count)


def test_values_are_shared_and_copies_are_not():
    A = ds.dia_array(ds.gallery.tridiagonal(6))
    values = np.multiply.outer(A.values, [1.0, 2, 3])
    b = ds.interleaved_batch(values, A)
    assert np.shares_memory(b.values, values)
    for other in (copy.copy(b), copy.deepcopy(b), b.copy(), pickle.loads(pickle.dumps(b))):
        assert np.array_equal(other.values, values) and not np.shares_memory(other.values, values)
    assert not np.shares_memory(b[1].values, values)
    b.values[...] = 0
    assert not values.any()
    assert "interleaved_batch of 3 dia_array 6 x 6" in repr(b) and "<table" in b._repr_html_()
    with pytest.raises(TypeError, match="== of batches"):
        assert b == b.contiguous()


def test_pickles_that_were_changed():
    rebuild, (values, like) = ds.interleaved_batch(np.ones((4, 3)), ds.hm_array(ds.eye(4))).__reduce__()
    assert rebuild(values, like).count == 3
    for changed in ((values.reshape(6, 2), like), (values[:, :0], like), (values, None), (values, 2), (None, like)):
        with pytest.raises((ValueError, TypeError), match="interleaved_batch: "):
            rebuild(*changed)


def test_rectangular_members():
    for format in ("dia", "hm"):
        A = ds.diags({0: 1.0, 2: 3.0, -1: -1.0}, shape=(5, 8), format=format)
        rows = ds.batch_array(np.multiply.outer([1.0, 2.0, 3.0], A.values), A)
        b, x = ds.interleaved_batch(rows), np.arange(24.0).reshape(8, 3)
        assert b.shape == (5, 8) and np.array_equal(b @ x, (rows @ x.T).T)
        with pytest.raises(ValueError, match="expected a square matrix"):
            ds.factorized(b)


def test_errors():
    A = ds.hm_array(ds.gallery.tridiagonal(4))
    b = ds.interleaved_batch(np.multiply.outer(A.values, [1.0, 2.0, 0.5]), A)
    for call, kind, message in (
        (lambda: ds.interleaved_batch(np.ones((3, *A.values.shape)), A), ValueError, r"expected \(10, count\)"),
        (lambda: ds.interleaved_batch(np.ones((10, 0)), A), ValueError, "at least one member"),
        (lambda: ds.interleaved_batch(np.ones((10, 2))), TypeError, r"expected \(values, like\), or a batch_array"),
        (lambda: ds.interleaved_batch(np.ones((10, 2)), A.T), ValueError, "use .copy"),
        (lambda: ds.interleaved_batch(np.ones((10, 2)), ds.csr_array(A)), TypeError, "like is csr_array"),
        (lambda: b[3], IndexError, "there are 3 members"),
        (lambda: b @ np.ones((3, 4)), ValueError, r"needs \(4, 3\), or \(4,\) for all of them"),
        (lambda: ds.solve(b, np.ones((3, 4))), ValueError, r"needs \(4, 3\), or \(4,\) for all of them"),
        (lambda: b @ b, TypeError, r"batch.contiguous\(\)"),
        (lambda: b @ A, TypeError, r"batch.contiguous\(\)"),
        (lambda: b.contiguous() @ b, TypeError, r"batch.contiguous\(\)"),
        (lambda: A @ b, TypeError, r"batch.contiguous\(\)"),
        (lambda: ds.interleaved_batch(np.ones((*A.values.shape, 3), int), A), TypeError, r"values.astype\('float64'\)"),
        (lambda: np.asarray(b), TypeError, "batch.values"),
        (lambda: b.matvec(np.ones(4), beta=1), ValueError, "no out was given"),
        (lambda: ds.recommend(b), TypeError, "formats are for a matrix"),
    ):
        with pytest.raises(kind, match=message):
            call()
    b.values[:, 1] = 0
    with pytest.raises(np.linalg.LinAlgError, match="of member 1 is zero"):
        ds.factorized(b)


@pytest.mark.parametrize("n, count", [(1, 1), (4, 1), (7, 1), (0, 3), (0, 1)])
def test_one_member_and_members_without_rows(n, count):
    like = ds.diags({0: np.arange(2.0, n + 2), 1: np.ones(max(0, n - 1))}, shape=(n, n), format="dia")
    batch = ds.interleaved_batch(np.stack([like.values] * count, axis=-1), like)
    x = np.ones((n, count))
    assert (batch @ x).shape == (batch @ x[:, 0]).shape == (n, count)
    np.testing.assert_array_equal((batch @ x).T, [like @ x[:, 0]] * count)
    for solved in (ds.solve(batch, x), ds.factorized(batch).solve(x)):
        np.testing.assert_allclose(batch @ solved, x, rtol=1e-14)
