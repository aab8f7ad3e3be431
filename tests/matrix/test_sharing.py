"""What may be written to, and what a copy shares: nothing."""

import copy
import pickle
from itertools import product

import numpy as np
import pytest
import scipy.sparse as sp
from cases import EACH_DIAGONAL, VIEWS, holding, host, make, matrix, ours, raises, to_device, to_host

import diagsparse as ds

FORMATS = pytest.mark.parametrize("format", ds.formats())


# ---- read-only ------------------------------------------------------------------------------------
@FORMATS
def test_structure_is_read_only(format):
    A = make(format, matrix("banded 65").copy())
    plan = ds.plan_matmul(A, A)
    for B in (A, A.copy(), A.T.copy(), A.tocsr(), plan(), plan(), A + A, 2 * A, pickle.loads(pickle.dumps(A))):
        for name, part in B.parts().items():
            if name != "values":
                with raises(ValueError, "read-only"):
                    part[0] = 10**9
                given = part if name == "starts" else getattr(B, name)  # of a copy it is one to write to
                assert not given.flags.writeable or not np.shares_memory(given, part), name
            else:
                assert part.flags.writeable


@FORMATS
def test_scipy_arrays_are_copied_where_writing_could_lead_out_of_bounds(format):
    for scipy_format in ("csr", "csc", "coo"):
        a = sp.csr_array(matrix("banded 65").toarray()).asformat(scipy_format)  # all of it writeable
        A = make(format, a)
        expected = A @ np.ones(65)
        for index in a.coords if scipy_format == "coo" else (a.indices, a.indptr):
            index[...] = 10**9
        assert np.array_equal(A @ np.ones(65), expected)
    out = A.to_scipy("csr")
    out.indices[...] = 10**9
    out.indptr[...] = -7
    assert np.array_equal(A @ np.ones(65), expected)
    near = A.to_scipy()
    for name in ("indices", "indptr"):
        if hasattr(near, name):
            getattr(near, name)[...] = 10**9
    assert np.array_equal(A @ np.ones(65), expected)


def test_large_arrays_are_copied_in_the_type_that_is_stored():
    n = 70_000
    columns, values = np.arange(2 * n)[::-2] // 2, np.arange(4.0 * n)[::4]
    pointers = np.arange(n + 1)
    reference = sp.csr_array((values, columns, pointers), shape=(n, n))
    assert len(np.unique(columns)) == n
    for index, swapped in product((np.int32, np.int64), (False, True)):
        given = (values.astype(">f8") if swapped else values, columns.astype(index), pointers.astype(index))
        A = ds.csr_array(given, shape=(n, n))
        assert A.dtype == np.float64 and A.dtype.isnative
        stored = A.parts()["indptr"]
        assert stored.dtype == np.int64 and np.array_equal(stored, pointers)
        assert np.array_equal(A.indices, columns) and np.array_equal(A.values, values)
    narrower = ds.csr_array(reference, dtype=np.float32)
    assert narrower.dtype == np.float32 and np.array_equal(narrower.values, values.astype(np.float32))


@FORMATS
def test_shape_and_dtype_are_not_settable(format):
    A = make(format, np.eye(3))
    for name, value in (
        ("shape", (9, 9)),
        ("shape", (1, 9)),
        ("dtype", np.float32),
        ("nnz", 1),
        ("T", A),
        ("format", "coo"),
    ):
        with pytest.raises(AttributeError):
            setattr(A, name, value)
    assert A.shape == (3, 3) and A.dtype == np.float64 and np.array_equal(A @ np.ones(3), np.ones(3))


# ---- out= that is part of the matrix --------------------------------------------------------------
@FORMATS
def test_out_inside_of_the_values_is_refused(format, device):
    n = 65
    A = ours("banded 65", format).copy().to(device)
    before = A.toarray()
    x = to_device(np.ones(n), device)
    flat = A.values.ravel()
    out = flat[5 : 5 + n]
    for run in (
        lambda: A.matvec(x, out=out),
        lambda: A.rmatvec(x, out=out, alpha=2, beta=1),
        lambda: ds.plan_matvec(A)(x, out=out),
        lambda: ds.power_multiply(A, x, 3, out=out),
        lambda: ds.chebyshev_multiply(A, x, [1.0, 2, 3], out=out),
    ):
        with raises(ValueError, "out", "A's values"):
            run()
        assert np.array_equal(A.toarray(), before)
    if device == "cpu":
        for out in (flat[: 2 * n : 2], flat[n - 1 :: -1], flat[: 2 * n].reshape(n, 2)[:, ::-1]):
            with raises(ValueError, "out", "A's values"):
                A.matvec(np.ones((n, 2)) if out.ndim == 2 else x, out=out)
        with raises(ValueError, "toarray", "A's values"):
            tiny = make(format, np.eye(1))
            tiny.toarray(out=tiny.values.ravel()[:1].reshape(1, 1))
    assert np.array_equal(A.toarray(), before)


@EACH_DIAGONAL
def test_out_inside_of_a_batch_is_refused(format, device):
    like = make(format, ds.gallery.tridiagonal(4)).to(device)
    values = np.ones((5, *like.values.shape))
    b = ds.batch_array(to_device(values, device), like)
    out = b.values.ravel()[:20].reshape((5, 4))
    with raises(ValueError, "out", "values"):
        b.matvec(to_device(np.ones(4), device), out=out)
    assert np.array_equal(to_host(b.values), values)


# ---- copies ---------------------------------------------------------------------------------------
def copies(A):
    """Return all that promises to be independent of A."""
    result = {
        "copy()": A.copy(), "copy": copy.copy(A), "deepcopy": copy.deepcopy(A), "conj": A.conj(copy=True),
        "transpose": A.transpose(copy=True), "T.copy": A.T.copy(), "astype": A.astype(A.dtype),
        "pickle": pickle.loads(pickle.dumps(A)).to(A.device),
    }  # fmt: skip
    for format in ds.formats():
        if format == "cdm" and A.shape[0] != A.shape[1]:
            continue
        result[f"to{format}"] = getattr(A, f"to{format}")(copy=True)
        result[f"asformat {format}"] = A.asformat(format, copy=True)
        result[f"{format}_array"] = make(format, A, copy=True)
    return result


@FORMATS
def test_copies_are_copies(format, device):
    names = holding(format, ("banded 65", "wide 20 x 70"))
    for name, view, dtype in product(names, VIEWS, ("float64", "complex128")):
        A = VIEWS[view](ours(name, format, dtype).copy().to(device))
        expected = A.toarray()
        result = copies(A)
        images = {what: B.toarray() for what, B in result.items()}
        A._matrix.values.fill(77)
        for what, B in result.items():
            assert np.array_equal(B.toarray(), images[what]), what
            assert not (what != "conj" and "ranspose" not in what and "T." not in what) or np.array_equal(
                B.toarray(), expected
            ), what


@FORMATS
def test_copies_of_scipy_arrays(format):
    for scipy_format in ("csr", "csc", "coo", "dia", "bsr", "lil"):
        a = sp.csr_array(matrix("banded 64").toarray()).asformat(scipy_format)
        A = make(format, a, copy=True)
        expected = A.toarray()
        if scipy_format != "lil":
            a.data[...] = 77
        assert np.array_equal(A.toarray(), expected)
        A.values[...] = 5
        assert scipy_format == "lil" or (a.data == 77).all()


@EACH_DIAGONAL
def test_packed_copies(format, device):
    A = make(format, ds.gallery.tridiagonal(9), symmetry="symmetric", period=1).to(device)
    for B in (
        A.copy(),
        A.asformat(format, copy=True),
        A.asformat(format, copy=True, symmetry="symmetric"),
        A.unpacked(),
    ):
        expected = B.toarray()
        A.values = 3
        assert np.array_equal(B.toarray(), expected)
        A.values = host({"v": make(format, ds.gallery.tridiagonal(9), symmetry="symmetric", period=1).values})["v"]


@EACH_DIAGONAL
def test_copies_of_batches(format, device):
    like = make(format, ds.gallery.tridiagonal(4)).to(device)
    b = ds.batch_array([like, 2 * like])
    for c in (b.copy(), copy.copy(b), copy.deepcopy(b)):
        c[0].values = 7
        assert c.device == b.device and np.array_equal(b[0].toarray(), like.toarray())
    c = pickle.loads(pickle.dumps(b))
    assert c.device == "cpu" and np.array_equal(c[1].toarray(), 2 * like.toarray())
    with raises(TypeError, "b.values == c.values"):
        b == c  # noqa: B015
