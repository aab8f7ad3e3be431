"""16-bit values in blocks of 8 x 8: the same, and what becomes of them in other formats."""

import copy
import pickle

import numpy as np
import pytest
from cases import MEDIUM, matrix, raises, random, to_device, to_host
from packings import narrow_dtype, rounded, within

import diagsparse as ds

NARROW = ("float16", "bfloat16")
BLOCKS = (*MEDIUM, "1x1", "dense 40", "scattered", "arrow 33", "one entry")
BOTH = pytest.mark.parametrize("narrow", NARROW)


def blocks(name, narrow, device):
    """Return a matrix in 16 bits, and what it holds, in float64."""
    a, dtype = matrix(name, "float64"), narrow_dtype(narrow)
    return ds.bmsparse_array(a, dtype=narrow, device=device), rounded(a.astype("float32"), dtype.name)


@BOTH
@pytest.mark.parametrize("name", BLOCKS)
def test_blocks_times_vectors(name, narrow, device):
    A, exact = blocks(name, narrow, device)
    for dtype, result in (
        *((t, t) for t in ("float32", "float64", "complex64", "complex128")),
        ("float16", "float32"),
        ("int64", "float64"),
    ):
        for B, b in ((A, exact), (A.T, exact.T)):
            for columns in (None, 1, 2, 3, 4, 9):
                size = b.shape[1] * (columns or 1)
                x = 4 * random(size, "complex128" if "complex" in dtype else "float64", name, columns)
                x = x.astype(dtype) if columns is None else x.astype(dtype).reshape(-1, columns)
                wide = x.astype("complex128" if "complex" in dtype else "float64")
                for given in (x,) if columns is None else (x, np.asfortranarray(x)):
                    for kernel in (None, *B.kernels("matvec")):
                        y = to_host(B.matvec(to_device(given, device) if dtype == result else given, kernel=kernel))
                        assert y.dtype == result and y.shape == (b.shape[0], *x.shape[1:])
                        within(y, b @ wide, b, abs(wide))
    x, y = random(exact.shape[1], "float32", name), random(exact.shape[0], "float32", "y", name)
    built = A.matvec(to_device(x, device), out=to_device(y.copy(), device), alpha=2, beta=-0.5)
    reference = 2 * (exact @ x.astype(float)) - 0.5 * y
    assert np.allclose(to_host(built), reference, rtol=1e-5, atol=1e-4)


@BOTH
def test_conversions_of_narrow_blocks(narrow, device, tmp_path):
    """Operations on single elements widen the values; operations that preserve the layout preserve the type."""
    for name in BLOCKS:
        A, exact = blocks(name, narrow, device)
        dense = exact.toarray()
        assert A.dtype == narrow and A.values.dtype == narrow and narrow in repr(A) and A.format == "bmsparse"
        parts = A.to("cpu").parts()
        ds.write(tmp_path / "blocks.npz", A)
        for same in (
            A.T.T, A.copy(), copy.deepcopy(A), A.T.copy().T, pickle.loads(pickle.dumps(A)), A.to("cpu").to(device),
            pickle.loads(pickle.dumps(A.T)).T, ds.read(tmp_path / "blocks.npz"), A.astype(narrow), A.conj(),
            A.astype("float64").astype(narrow), A.asformat("bmsparse"), A.asformat("bmsparse", copy=True),
            ds.bmsparse_array(parts, shape=A.shape), ds.bmsparse_array(A.parts(), shape=A.shape, copy=True),
            ds.bmsparse_array(tuple(A.parts().values()), shape=A.shape),
            ds.bmsparse_array(tuple(parts.values()), shape=A.shape, dtype=narrow),
            ds.bmsparse_array(A.unpacked().parts(), shape=A.shape, dtype=narrow), ds.bmsparse_array(A, dtype=narrow),
            ds.bmsparse_array(exact, dtype=narrow, device=device), ds.array(exact, "bmsparse", dtype=narrow),
            ds.bmsparse_array(ds.csr_array(exact, device=device), dtype=narrow),
        ):  # fmt: skip
            assert same.dtype == narrow and same.toarray().dtype == narrow and same.nnz == A.nnz, name
            assert np.array_equal(same.toarray().astype(float), dense), name
        wides = A.unpacked(), A.astype("float32"), A.T.unpacked().T, A.tocsr(), A.T.tocsc().T, A.tocoo(), A.toell()
        for wide in wides:
            assert wide.dtype == np.float32 and np.array_equal(wide.toarray(), dense), name
        assert A.unpacked().unpacked().dtype == np.float32 and A.astype("complex64").dtype == np.complex64
        for scaled, expected in ((A * 2, 2 * dense), (-A, -dense), (abs(A), abs(dense)), (A / 2, dense / 2)):
            assert scaled.dtype == narrow and scaled.format == "bmsparse"
            assert np.array_equal(scaled.toarray().astype(float), expected)
        assert (A * 1j).dtype == np.complex64 and np.array_equal((A * 1j).toarray(), 1j * dense)
        assert np.array_equal(A.to_scipy().toarray(), dense) and A.to_scipy().dtype == np.float32
        m, n = A.shape
        for k in (-m + 1, -1, 0, 3):
            d, of_view = A.diagonal(k), A.T.diagonal(-k)
            assert d.dtype == of_view.dtype == narrow and np.array_equal(d, of_view)
            assert not -m < k < n or np.array_equal(d.astype(float), dense.diagonal(k))
        assert A.count_nonzero() == np.count_nonzero(dense) and A.nnz == exact.nnz
        within(np.asarray(A.sum(axis=1)), exact @ np.ones(n), exact, np.ones(n))
        within(np.asarray(A.sum(axis=0)), exact.T @ np.ones(m), exact.T, np.ones(m))
        square = (exact @ exact.T).toarray()
        plan = ds.plan_matmul(A, A.T)
        for product in (A @ A.T, A.matmul(A.T, format="bmsparse"), plan(), plan(A, A.T)):
            assert product.dtype == np.float32 and np.allclose(product.toarray(), square, rtol=1e-5, atol=1e-5)
        assert (A @ A.T.astype("float64")).dtype == np.float64
        for total in (A + A, 3 * A.astype("float64") - A, A + A.tocsr(), A.tocsr() + A):
            assert np.allclose(total.toarray(), 2 * dense)
        assert np.allclose(A.multiply(A).toarray(), dense**2) and np.allclose(A + dense, 2 * dense)
        if device == "cpu":
            assert (A.unpacked() != A).nnz == (exact != A).nnz == 0 and (A.copy() == A).nnz == m * n


@BOTH
def test_zeros_of_blocks_are_dropped_in_place(narrow, device):
    A, exact = blocks("dense 40", narrow, device)
    A.values = np.where(np.arange(1600) % 3, to_host(A.values).astype("float32"), 0)
    dense = A.toarray().astype(float)
    for view in (A, A.T):
        B = view.T.copy().T
        B.eliminate_zeros()
        assert B.dtype == narrow and B.nnz == np.count_nonzero(dense) == A.count_nonzero()
        assert np.array_equal(B.toarray().astype(float), dense if view is A else dense.T)
    assert exact.nnz == A.nnz


@BOTH
def test_bytes_of_blocks(narrow, device):
    for name in ("0x5", "1x1", "dense 40", "tall 70 x 20", "scattered"):
        A, _ = blocks(name, narrow, device)
        assert A.nbytes == 2 * A.nnz + 20 * A.blocks + 8 * (-(-A.shape[0] // 8) + 2)
        wide = A.unpacked()
        assert wide.nbytes == A.nbytes + 2 * A.nnz and wide.blocks == A.blocks and wide.mean_fill == A.mean_fill
        for view in (A, A.T, A.T.copy()):
            report = ds.memory_report(view)
            assert report.pop("bmsparse") == (A.nbytes if view is A else A.T.copy().nbytes)
            for format, nbytes in report.items():
                assert nbytes is None or nbytes == view.asformat(format).nbytes, format
        assert ds.forecast("convert", A, format="bmsparse").total_nbytes == A.nbytes
        for format in ("csr", "hm"):
            forecast = ds.forecast("convert", A, format=format)
            assert forecast.result_nbytes == A.asformat(format).nbytes
            assert A.asformat(format, max_bytes=forecast.total_nbytes).format == format
            with raises(MemoryError, f"{format}_array"):
                A.asformat(format, max_bytes=forecast.result_nbytes - 1)
        assert ds.forecast("matmul", A, A.T).result_nbytes == (A @ A.T).nbytes
        with raises(MemoryError, "bmsparse_array", "float32"):
            A.unpacked(max_bytes=wide.nbytes - 1)
        assert A.unpacked(max_bytes=wide.nbytes).nbytes == wide.nbytes


@BOTH
def test_every_16_bit_number_in_full_blocks(narrow, device):
    """A column of x picks one element of each row of a block, so the products are the values themselves."""
    dtype = narrow_dtype(narrow)
    numbers = np.arange(2**16, dtype=np.uint16).view(dtype)
    numbers = numbers[np.isfinite(numbers.astype(np.float32))]
    count = len(numbers) // 64
    assert count * 64 == len(numbers)
    parts = {
        "values": numbers, "block_indptr": np.arange(count + 1), "block_col": np.arange(count),
        "bitmap": np.full(count, 2**64 - 1, np.uint64), "value_indptr": 64 * np.arange(count + 1),
    }  # fmt: skip
    A = ds.bmsparse_array(parts, shape=(8 * count, 8 * count)).to(device)
    for type in ("float32", "float64"):
        X = np.tile(np.eye(8, dtype=type), (count, 1))
        for kernel in A.kernels("matvec"):
            result = to_host(A.matvec(to_device(X, device), kernel=kernel)).reshape(-1)
            assert np.array_equal(result, numbers.astype(type)), (type, kernel)
            result = to_host(A.T.matvec(to_device(X, device), kernel=kernel)).reshape(count, 8, 8).transpose(0, 2, 1)
            assert np.array_equal(result.reshape(-1), numbers.astype(type)), (type, kernel)
            column = to_host(A.matvec(to_device(X[:, 3].copy(), device), kernel=kernel))
            assert np.array_equal(column, numbers.astype(type).reshape(-1, 8)[:, 3]), (type, kernel)


@BOTH
def test_infinities_of_blocks_meet_only_stored_values(narrow, device):
    narrow_dtype(narrow)  # skips where it is not installed
    a = matrix("dense 40", "float32").toarray()
    a[::2, ::3] = 0
    a[4, 4], a[11, 20], a[30, 31] = np.inf, -np.inf, np.nan
    A = ds.bmsparse_array(a, dtype=narrow, device=device)
    exact = A.toarray().astype(float)
    stored = exact != 0
    for columns in (1, 5):
        X = random(40 * columns, "float32", columns).reshape(40, columns)
        X[7, 0] = np.inf
        with np.errstate(invalid="ignore"):
            for B, b, pattern in ((A, exact, stored), (A.T, exact.T, stored.T)):
                terms = np.where(pattern[:, :, None], b[:, :, None] * X.astype(float), 0)
                expected = terms.sum(axis=1)
                for kernel in B.kernels("matvec"):
                    y = to_host(B.matvec(to_device(X, device), kernel=kernel))
                    assert np.allclose(y, expected, rtol=1e-4, atol=1e-3, equal_nan=True), (columns, kernel)


@BOTH
def test_chains_of_blocks(narrow, device):
    A, exact = blocks("banded 65", narrow, device)
    x = random(65, "float32", "chain")
    for B, b in ((A, exact), (A.T, exact.T)):
        y = to_host(ds.power_multiply(B, to_device(x, device), 3))
        assert y.dtype == np.float32 and np.allclose(y, b @ (b @ (b @ x)), rtol=1e-4, atol=1e-3)
