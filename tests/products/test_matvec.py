"""y = alpha op(A) x + beta y for vectors: every format, kernel, dtype, view and case, against the rounding bound."""

from itertools import product

import numpy as np
import pytest
import scipy.sparse as sp
from cases import (
    BIG,
    DTYPES,
    EACH_DTYPE,
    SMALL,
    VIEWS,
    cells,
    holding,
    kernel_of,
    matrix,
    matvec,
    ours,
    random,
    to_device,
    to_host,
)
from oracle import assert_within, check_matvec, long, longest_row

import diagsparse as ds

CELLS = cells("matvec")
FORMATS = pytest.mark.parametrize("format", ds.formats())
ADJOINT = {"N": "H", "T": "C", "C": "T", "H": "N"}
TRANSPOSE = {"N": "T", "T": "N", "C": "H", "H": "C"}


@CELLS
@EACH_DTYPE
def test_vectors(device, format, kernel, dtype):
    for name, op in product(holding(format, (*SMALL, *BIG)), VIEWS):
        V = VIEWS[op](ours(name, format, dtype, device))
        x, z = (to_device(random(n, dtype, name), device) for n in reversed(V.shape))
        y = to_host(V.matvec(x, kernel=kernel_of(V, kernel)))
        check_matvec(y, name, dtype, op, to_host(x), f"{name}: {op}(A).matvec(x)")
        y = to_host(V.rmatvec(z, kernel=kernel_of(V, kernel)))
        check_matvec(y, name, dtype, ADJOINT[op], to_host(z), f"{name}: {op}(A).rmatvec(x)")


@FORMATS
def test_operators_run_the_default_kernel(format, device):
    for name, op in product(holding(format, SMALL), VIEWS):
        V = VIEWS[op](ours(name, format, "complex64", device))
        kernel = V.kernels("matvec")[0]
        x, z = (to_device(random(n, "complex64", name), device) for n in reversed(V.shape))
        assert np.array_equal(to_host(V @ x), to_host(V.matvec(x, kernel=kernel))), name
        assert np.array_equal(to_host(V.dot(x)), to_host(V @ x)), name
        assert np.array_equal(to_host(ds.plan_matvec(V)(x)), to_host(V @ x)), name
        check_matvec(to_host(z @ V), name, "complex64", TRANSPOSE[op], to_host(z), f"{name}: x @ {op}(A)")


@pytest.mark.quick
@CELLS
def test_exact_in_small_integers(device, format, kernel):
    for name in holding(format, SMALL):
        a = np.rint(8 * matrix(name).toarray())
        A = ds.array(a, format, device=device)
        x = np.rint(8 * random(a.shape[1], "float64", "integers"))
        assert np.array_equal(matvec(A, x, kernel, device), a @ x), name
        assert np.array_equal(matvec(A, x.astype("int32"), kernel, device), a @ x), name


@CELLS
@EACH_DTYPE
def test_alpha_and_beta(device, format, kernel, dtype):
    scalars = [(1, 0), (1, 1), (0, 0), (-0.5, 0), (1, -0.75), (2.5, 1), (0, 0.5), (-1.5, 0.25)]
    if "complex" in dtype:
        scalars += [(1j, 0), (0.5 - 1.25j, 0.75j), (1, 1 - 0.5j)]
    for name in holding(format, ("0x5", "5x0", "nothing stored", "banded 9", "random diagonals 127", "wide 20 x 70")):
        for op in VIEWS:
            V = VIEWS[op](ours(name, format, dtype, device))
            x, y0 = random(V.shape[1], dtype, "x"), random(V.shape[0], dtype, "y")
            for alpha, beta in scalars:
                out = to_device(y0.copy() if beta else np.full_like(y0, np.nan), device)  # beta = 0 reads nothing
                y = V.matvec(to_device(x, device), out=out, alpha=alpha, beta=beta, kernel=kernel_of(V, kernel))
                assert y is out
                check_matvec(to_host(y), name, dtype, op, x, f"{name} {op} {alpha} {beta}", alpha, beta, y0)
                out = to_device(random(V.shape[1], dtype, "z"), device)
                z0 = to_host(out).copy()
                V.rmatvec(to_device(y0, device), out=out, alpha=alpha, beta=beta, kernel=kernel_of(V, kernel))
                what = f"{name} r{op} {alpha} {beta}"
                check_matvec(to_host(out), name, dtype, ADJOINT[op], y0, what, alpha, beta, z0)


@CELLS
def test_complex_scalars_on_real_values_give_complex_results(device, format, kernel):
    """Either the right complex result, or a TypeError; never a real part passed off as the result."""
    A, x = ours("banded 9", format, "float64", device), to_device(random(9, "float64"), device)
    for scalars in ({"alpha": 1j}, {"alpha": 1 + 2j}, {"beta": 2j, "out": to_device(np.ones(9), device)}):
        try:
            y = to_host(A.matvec(x, kernel=kernel, **scalars))
        except TypeError as error:
            assert "complex" in str(error)
            continue
        alpha, beta = scalars.get("alpha", 1), scalars.get("beta", 0)
        check_matvec(y, "banded 9", "float64", "N", to_host(x).astype(complex), scalars, alpha, beta, np.ones(9))


@CELLS
@EACH_DTYPE
def test_mixed_dtypes(device, format, kernel, dtype):
    """The result has NumPy's result type, and is as precise as that says."""
    others = [*DTYPES, "int8", "uint16", "int32", "int64", "bool", "float16", ">f8", ">c8"]
    for name in holding(format, ("banded 9", "random diagonals 127", "tall 70 x 20")):
        for op in VIEWS:
            V = VIEWS[op](ours(name, format, dtype, device))
            for other in others:
                x = (4 * random(V.shape[1], "complex64" if "c" in other else "float32")).astype(other)
                for k in (None, 3):
                    given = x if k is None else np.stack([x] * k, axis=1)
                    what = f"{name} {op}: {dtype} times {other}, k={k}"
                    try:
                        y = matvec(V, given, kernel, device)
                    except TypeError as error:
                        raise AssertionError(f"{what}: {error}") from error
                    assert y.dtype == np.result_type(np.dtype(dtype), given.dtype), what
                    check_matvec(y, name, dtype, op, given, what)


def test_lists_subclasses_and_numpy_scalars():
    A = ours("banded 9", "hm", "float32")
    x = random(9, "float32")
    expected = A @ x
    assert np.array_equal(A @ x.tolist(), A.matvec(x.astype(float)))
    assert np.array_equal(A.matvec(np.ma.asarray(x)), expected)
    assert np.array_equal(A.matvec(x, alpha=np.float32(2), beta=np.int64(0)), 2 * expected)
    assert np.array_equal(A.matvec(x, alpha=np.array(2.0)), 2 * expected)


@CELLS
def test_nan_and_inf_reach_only_the_rows_that_store_their_column(device, format, kernel):
    for name in holding(format, ("dense 9", "banded 65", "corners 65", "random diagonals 127", "wide 20 x 70",
                                 "tall 70 x 20", "empty rows", "arrow 33")):  # fmt: skip
        for dtype in ("float32", "complex128"):
            for op in "NT":
                V = VIEWS[op](ours(name, format, dtype, device))
                n = V.shape[1]
                stored = stored_mask(V)
                for bad in (np.nan, np.inf):
                    for j in {0, n // 2, n - 1}:
                        x = random(n, dtype, "x")
                        x[j] = bad
                        y = matvec(V, x, kernel, device)
                        assert np.array_equal(np.isfinite(y), ~stored[:, j]), (name, op, dtype, bad, j)


def stored_mask(A):
    """Return where a matrix stores something: whole diagonals in a diagonal format, and in the bands of qband."""
    m, n = A.shape
    ones, mask = A.to_scipy("coo"), np.zeros((m, n), bool)
    mask[ones.row, ones.col] = True
    whole = [] if A.format == "mdia" else getattr(A, "offsets", [])
    return mask | np.isin(np.arange(n)[None, :] - np.arange(m)[:, None], whole)


@pytest.mark.quick
@CELLS
def test_nan_in_the_matrix_stays_in_its_row(device, format, kernel):
    for shape, (i, j) in (((9, 9), (3, 4)), ((70, 70), (69, 0)), ((70, 70), (0, 69)), ((200, 200), (64, 65))):
        a = np.eye(*shape) + np.eye(*shape, k=1)
        a[i, j] = np.nan
        A = ds.array(a, format, device=device)
        y = matvec(A, np.ones(shape[1]), kernel, device)
        assert np.flatnonzero(np.isnan(y)).tolist() == [i]
        y = matvec(A.T, np.ones(shape[0]), kernel, device)
        assert np.flatnonzero(np.isnan(y)).tolist() == [j]


@cells("matvec", ("dia", "qband"))
def test_the_padding_of_a_layout_is_never_read(device, format, kernel):
    for m, n in ((9, 9), (40, 17), (17, 40), (130, 130)):
        offsets = np.array([-m + 1, -3, 0, 2, n - 1])
        values = np.full((5, m), np.nan)
        for row, k in zip(values, offsets, strict=True):
            row[max(0, -k) : min(m, n - k)] = 1
        dense = sum(np.eye(m, n, k=k) for k in offsets)
        if format == "dia":
            A = ds.dia_array((values, offsets), shape=(m, n), align="row").to(device)
        else:  # with an entry outside of its bands
            pointers, dense[0, 1] = [0] + [1] * m, 1
            A = ds.qband_array((np.append(values, 1), offsets, [0], [1], pointers), shape=(m, n)).to(device)
        for V, expected in ((A, dense), (A.T, dense.T), (A.H.copy(), dense.T)):
            assert np.array_equal(matvec(V, np.ones(V.shape[1]), kernel, device), expected.sum(axis=1))
            assert np.array_equal(V.toarray(), expected)
        assert np.array_equal((abs(A) * 2).toarray(), 2 * dense) and A.count_nonzero() == dense.sum()


@cells("matvec", devices=["cpu"])
@EACH_DTYPE
def test_same_bits_for_any_number_of_threads(device, format, kernel, dtype):
    A = ours("big 20000", format, dtype)
    x = random(A.shape[1], dtype)
    blocks = [x, np.stack([x, x[::-1], 2 * x], axis=1), np.asfortranarray(np.stack([x, -x, 3 * x, x], axis=1))]
    for V, block in product((A, A.T, A.H), blocks):
        results = []
        for threads in (1, 2, 3, 4, 7):
            ds.set_num_threads(threads)
            results.append(V.matvec(block, kernel=kernel_of(V, kernel)).tobytes())
        assert len(set(results)) == 1, (block.shape, block.flags.c_contiguous)


@CELLS
def test_subnormal_and_huge_values_do_not_spill(device, format, kernel):
    tiny, huge = np.finfo(np.float64).smallest_subnormal, 1e308
    a = np.diag([tiny, huge, 1.0, -huge]) + np.diag([huge, tiny, 2.0], -1)
    A = ds.array(a, format, device=device)
    x = np.array([1.0, 0.5, 4.0, 1.0])
    y = matvec(A, x, kernel, device)
    assert_within(y, long(a) @ long(x), abs(a) @ abs(x), longest_row(a), "subnormal and huge")
    assert y[0] == tiny


def test_rows_that_differ_much_in_length(device):
    """Sections of jds of one row and of thousands, short rows, long ones and empty ones; all sums are exact."""
    rng = np.random.default_rng(0)
    lengths = rng.permutation([0] * 50 + [3] * 3000 + [*rng.integers(1, 60, 900), 700, 5000])
    columns = np.concatenate([np.sort(rng.permutation(6000)[:length]) for length in lengths])
    values = rng.integers(-9, 10, len(columns)).astype(float)
    a = sp.csr_array((values, columns, np.concatenate([[0], np.cumsum(lengths)])), shape=(len(lengths), 6000))
    A = ds.jds_array(a).to(device)
    for V, expected in ((A, a), (A.T, a.T), (A.H, a.T), (A.conj(), a)):
        X = rng.integers(-9, 10, (V.shape[1], 3)).astype(float)
        for x in (X[:, 0].copy(), X, np.asfortranarray(X)):
            assert np.array_equal(to_host(V @ to_device(x, device)), expected @ x)
    back = A.tocsr().to("cpu").to_scipy()
    assert all(np.array_equal(getattr(back, part), getattr(a, part)) for part in ("data", "indices", "indptr"))
