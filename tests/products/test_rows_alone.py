"""Some rows of a matrix alone: their products have the bits that these rows of the whole product have.

So the result of a product does not depend on how its rows are distributed. Rows a..b are taken as a slice, with all
columns, and as a matrix of its own without the columns that these rows do not use.
"""

import numpy as np
import pytest
import scipy.sparse as sp
from cases import DIAGONAL, STORING_16_BITS, case, fits

import diagsparse as ds

FORMATS = (*DIAGONAL, "qband", "mdia", "csr")
PAIRS = [("float64", "float64"), ("complex128", "complex128"), ("complex64", "float64"), ("float32", "complex128"),
         ("float32", "float32"), ("complex64", "complex64"), ("float64", "complex64"), ("float16", "float32"),
         ("bfloat16", "complex64"), ("complex128", "float64")]  # fmt: skip
FACTORS = [(1, 0), (2.5, 0), (1, 1), (0.3, -1.7), (0.3 - 1.1j, 1.9), (-1, 0.7 + 0.2j)]
LAYOUTS = {
    "vector": lambda x: x[:, 0].copy(),
    "every third": lambda x: np.repeat(x[:, 0], 3)[::3],
    "one column": lambda x: x[:, :1].copy(),
    "C": lambda x: np.array(x, order="C"),
    "F": lambda x: np.array(x, order="F"),
    "both apart": lambda x: np.repeat(np.repeat(x, 2, axis=0), 3, axis=1)[::2, ::3],
}
VIEWS = {"N": lambda A: A, "T": lambda A: A.T, "H": lambda A: A.H}


def values(rng, shape, dtype, special=False):
    """Return random values, some of them infinite, undefined or -0 if they may be special."""
    x = rng.standard_normal(shape)
    if special:
        x[rng.random(shape) < 0.03] = rng.choice([np.inf, -np.inf, np.nan, -0.0])
    if np.dtype(dtype).kind == "c":
        x = x + 1j * rng.standard_normal(shape)
    return x.astype(dtype)


def diagonals(rng, n, count, dtype):
    """Return a square SciPy matrix of full diagonals, in a band, far from it and in the corners."""
    count = min(count, 2 * n - 1)
    near = np.arange(-(count // 2), count - count // 2)
    offsets = rng.choice(np.union1d(near, rng.integers(1 - n, n, count)), count, replace=False)
    offsets = np.unique(np.clip(offsets, 1 - n, n - 1))
    return sp.diags_array([values(rng, n - abs(k), dtype) for k in offsets], offsets=offsets, shape=(n, n)).tocsr()


def ours(a, format, dtype):
    """Return a SciPy matrix in a format, or in hm if it is not square and the format stores only such matrices."""
    if format == "qband":
        return ds.qband_array(a, dtype=dtype, offsets=offsets_of(a))
    return ds.array(a, format if fits(format, a.shape) else "hm", dtype=dtype)


def offsets_of(a):
    """Return the offsets of a SciPy matrix, ascending."""
    a = a.tocoo()
    return np.unique(a.col - a.row)


def assert_same_bits(y, expected):
    """Compare bit by bit; any NaN is like any other."""
    y, expected = (np.ascontiguousarray(z) for z in (y, expected))
    assert y.dtype == expected.dtype and y.shape == expected.shape
    real = y.real.dtype
    y, expected = y.view(real), expected.view(real)
    same = (y.view(f"i{real.itemsize}") == expected.view(f"i{real.itemsize}")) | (np.isnan(y) & np.isnan(expected))
    assert same.all(), (np.argwhere(~same)[:5], y[~same][:5], expected[~same][:5])


def multiply(A, x, y, layout, alpha, beta):
    """Return alpha A x + beta y, computed in place in this layout."""
    return A.matvec(LAYOUTS[layout](x), out=LAYOUTS[layout](y), alpha=alpha, beta=beta)


def factors(rng, dtype):
    """Return alpha and beta for results of this type."""
    pair = FACTORS[rng.integers(len(FACTORS))]
    return pair if dtype.kind == "c" else np.real(pair)


def check(format, seed, pair, n, count):
    """Compare some rows of products with a random matrix."""
    rng = np.random.default_rng(seed)
    narrow = pair[0] in ("float16", "bfloat16")
    if narrow and format not in STORING_16_BITS:
        return
    a_dtype = pytest.importorskip("ml_dtypes").bfloat16 if pair[0] == "bfloat16" else pair[0]
    a = diagonals(rng, n, count, "float32" if narrow else a_dtype)
    A = ours(a, format, a_dtype)
    dtype = np.result_type("float32" if narrow else a_dtype, pair[1])
    columns = rng.choice([1, 2, 3, 4, 5, 7, 9])
    special = format != "cdm" and rng.random() < 0.3  # cdm also stores opposite diagonals, as zeros
    x, y = values(rng, (n, columns), pair[1], special), values(rng, (n, columns), dtype)
    first = rng.integers(n)
    last = first + 1 if rng.random() < 0.2 else rng.integers(first, n) + 1
    rows = slice(first, last)
    for op in VIEWS if format in (*DIAGONAL, "qband") else "N":
        index = rows if op == "N" else (slice(None), rows)
        part = a[index]
        used = np.unique(part.tocoo().coords[op == "N"])
        own = part[:, used] if op == "N" else part[used]
        alone = [(ours(part, format, a_dtype), ...)]
        if len(used) > 0:
            alone.append((ours(own, format, a_dtype), used))
        if format != "qband":  # a slice may store other diagonals as bands
            alone.append((A[index], ...))
        for layout in LAYOUTS:
            if format == "csr" and dtype.kind == "c" and layout not in ("vector", "one column"):
                continue  # complex products are rounded differently if x or y is not contiguous
            alpha, beta = factors(rng, dtype)
            what = f"{n = }, {count} diagonals, {rows}, {seed = }, {columns} columns, {alpha = }, {beta = }"
            with case(f"{format}, {op}, {pair}, {layout}, {what}"):
                whole = multiply(VIEWS[op](A), x, y, layout, alpha, beta)[rows]
                for B, at in alone:
                    assert_same_bits(multiply(VIEWS[op](B), x[at], y[rows], layout, alpha, beta), whole)


@pytest.mark.quick
@pytest.mark.parametrize("format", FORMATS)
def test_few_rows(format):
    for seed, pair in enumerate(PAIRS[:4]):
        check(format, seed, pair, 61, 15)


@pytest.mark.parametrize("format", FORMATS)
def test_any_rows(format):
    rng = np.random.default_rng(1)
    for seed in range(80):
        n = int(rng.choice([1, 2, 7, 8, 16, 33, 100, 257, 1000, 1023, 1031, 2056, 3000]))
        check(format, seed, PAIRS[seed % len(PAIRS)], n, int(rng.choice([1, 2, 5, 12, 13, 24, 30, 60])))


@pytest.mark.parametrize("format", DIAGONAL)
@pytest.mark.parametrize("pair", PAIRS[:6])
def test_products_by_diagonals(format, pair):
    rng = np.random.default_rng(2)
    for n, count in ((7, 3), (61, 9), (300, 5), (300, 40), (1031, 21)):
        a, b = (diagonals(rng, n, count, dtype) for dtype in pair)
        first = rng.integers(n - 1)
        rows = slice(first, rng.integers(first, n) + 1)
        B, dtype = ds.array(b, format), np.result_type(*pair)
        for alpha, beta in FACTORS[:4] if dtype.kind == "f" else FACTORS:
            with case(f"n = {n}, {count} diagonals, {rows}, {alpha = }, {beta = }"):
                A = ds.array(a, format)
                plan = ds.plan_matmul(A, B, kernel="row_tiles")
                C = plan()
                whole = plan(out=C, alpha=alpha, beta=beta).toarray()[rows]
                alone = ds.plan_matmul(ours(a[rows], format, pair[0]), B, kernel="row_tiles")
                C = alone()
                assert_same_bits(alone(out=C, alpha=alpha, beta=beta).toarray(), whole)


def test_packed_diagonals_are_full_ones():
    rng = np.random.default_rng(3)
    for n, count in ((61, 9), (1031, 15), (2056, 45)):
        for dtype, symmetry in (("float64", "symmetric"), ("complex128", "symmetric"), ("complex128", "hermitian")):
            a = diagonals(rng, n, count, dtype)
            a = a + (a.conj() if symmetry == "hermitian" else a).T
            for x_dtype in ("float64", "complex128"):
                x = values(rng, (n, 3), x_dtype)
                packed, full = ds.hm_array(a, symmetry=symmetry), ds.hm_array(a)
                for layout, of_x in LAYOUTS.items():
                    with case(f"n = {n}, {count} diagonals, {symmetry}, {dtype} times {x_dtype}, {layout}"):
                        assert_same_bits(packed @ of_x(x), full @ of_x(x))


@pytest.mark.parametrize("format", DIAGONAL)
def test_powers_are_repeated_products(format):
    rng = np.random.default_rng(4)
    for n, count, dtype in ((61, 9, "float64"), (3000, 30, "float64"), (3000, 30, "complex128")):
        A = ds.array(diagonals(rng, n, count, dtype) / count, format)
        x = values(rng, n, dtype)
        assert_same_bits(ds.power_multiply(A, x, 3, kernel="blocked"), A @ (A @ (A @ x)))
