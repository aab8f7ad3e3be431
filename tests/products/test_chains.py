"""Chains of products: powers, Chebyshev series and recurrences, against a running bound of their rounding."""

import numpy as np
import pytest
import scipy.sparse as sp
from cases import DIAGONAL, DTYPES, EACH_DTYPE, VIEWS, at_night, cells, matrix, ours, raises, random, to_device, to_host
from numpy.polynomial import Chebyshev
from recurrences import LARGE, SQUARE, assert_close, check, factors, large_case, large_ours, product, small_case
from scipy.sparse.linalg import expm_multiply
from scipy.special import jv

import diagsparse as ds

CELLS = cells("chain")


@CELLS
@EACH_DTYPE
def test_recurrences(device, format, kernel, dtype):
    for name in SQUARE:
        for op in VIEWS:
            V = VIEWS[op](ours(name, format, dtype, device))
            for k in (0, 1, 2, 5):
                x, steps, ref, limit = small_case(name, dtype, op, k)
                y = product(V, x, steps, device, kernel)
                assert y.dtype == dtype, (name, y.dtype)
                assert_close(y, ref, limit, f"{name}: {op}, k = {k}")


@CELLS  # varies fastest: the same case for each
@EACH_DTYPE
@pytest.mark.parametrize("name", at_night(LARGE, before=("band", "reach 300", "periodic")))
def test_several_blocks_of_rows(device, format, kernel, dtype, name):
    for op, k in (("N", 2), ("N", 9), ("H", 3), ("T", 70)):
        V = VIEWS[op](large_ours(name, format, dtype, device))
        x, steps, ref, limit = large_case(name, dtype, op, k)
        assert_close(product(V, x, steps, device, kernel), ref, limit, f"{name}: {op}, k = {k}")


@pytest.mark.quick
@CELLS
def test_powers(device, format, kernel):
    for name in SQUARE:
        a = np.rint(4 * matrix(name).toarray())
        A = ds.array(sp.csr_array(a), format, device=device)
        x = np.rint(4 * random(len(a), "float64"))
        expected = x
        for k in range(5):
            y = ds.power_multiply(A, to_device(x, device), k, kernel=kernel)
            assert np.array_equal(to_host(y), expected), (name, k)  # exact in small integers
            expected = a @ expected


@CELLS
@pytest.mark.parametrize("domain", [(-1, 1), (-0.5, 3.0), (2, -1)])
def test_chebyshev_series_of_a_diagonal_matrix(device, format, kernel, domain):
    """As NumPy evaluates it at the diagonal."""
    at = np.linspace(*domain, 40)
    A = ds.array(sp.diags_array(at), format, device=device)
    for k in (1, 2, 3, 4, 25):
        for kind in ("float64", "complex128"):
            c = random(k, kind)
            y = to_host(ds.chebyshev_multiply(A, to_device(np.ones(40), device), c, domain=domain, kernel=kernel))
            assert y.dtype == kind
            np.testing.assert_allclose(y, Chebyshev(c, domain)(at), rtol=0, atol=1e-13 * k)


@CELLS
def test_time_evolution(device, format, kernel):
    """exp(-i t H) x by Bessel coefficients, against SciPy."""
    n, t, j = 500, 6.0, np.arange(45)
    h = sp.diags_array([np.full(n - 1, 0.4), np.linspace(-0.2, 0.2, n), np.full(n - 1, 0.4)], offsets=[-1, 0, 1])
    x = random(n, "complex128")
    c = np.where(j == 0, 1, 2) * (-1j) ** j * jv(j, t)
    y = to_host(ds.chebyshev_multiply(ds.array(h, format, device=device), to_device(x, device), c, kernel=kernel))
    np.testing.assert_allclose(y, expm_multiply(sp.csc_array(-1j * t * h), x), rtol=0, atol=1e-12)


@CELLS
@EACH_DTYPE
def test_result_types(device, format, kernel, dtype):
    A, a = ours("banded 63", format, dtype, device), matrix("banded 63", dtype)
    for other in (*DTYPES, "int32", "bool", "float16", ">f8"):
        x = random(63, "float32").astype(other)
        for kind in "fc":
            steps = factors(4, kind)
            y = product(A, x, steps, device, kernel)
            product_type = np.result_type(np.dtype(dtype), x.dtype)
            assert y.dtype == (np.result_type(product_type, np.complex64) if kind == "c" else product_type)
            check(y, a, x.astype(y.dtype), steps, f"{dtype}, {other}, {kind}")


@CELLS
def test_blocks_of_columns(device, format, kernel):
    for name in ("0x0", "1x1", "banded 65", "random diagonals 127"):
        A = ours(name, format, "float64", device)
        n = A.shape[0]
        steps = factors(6)
        for p in (0, 1, 3):
            X = random((n, p), "float64", name)
            alone = [product(A, np.ascontiguousarray(X[:, i]), steps, device, kernel) for i in range(p)]
            for given in (X, np.asfortranarray(X), np.repeat(X, 2, axis=1)[:, ::2], X[::-1][::-1]):
                y = product(A, given, steps, device, kernel)
                assert y.shape == (n, p)
                if kernel == "blocked" and device == "cpu":  # a GPU may process them together, one step at a time
                    assert all(np.array_equal(y[:, i], alone[i]) for i in range(p)), (name, p)
                for i in range(p):
                    check(y[:, i], matrix(name), X[:, i], steps, f"{name}: column {i} of {p}")


@CELLS
def test_out(device, format, kernel):
    for name in ("0x0", "banded 65", "random diagonals 127"):
        A, steps = ours(name, format, "float64", device), factors(5)
        n = A.shape[0]
        x = random(n, "float64", name)
        expected = product(A, x, steps, device, kernel)
        for out in (to_device(np.full(n, np.nan), device), to_device(np.full(3 * n, np.nan), device)[::3]):
            y = ds.recurrence_multiply(A, to_device(x, device), *steps, out=out, kernel=kernel)
            assert y is out and np.array_equal(to_host(y), expected), name
        x = to_device(x, device)
        assert ds.recurrence_multiply(A, x, *steps, out=x, kernel=kernel) is x
        assert np.array_equal(to_host(x), expected), f"{name}: in place"
        X = np.stack([random(n, "float64", name)] * 3, axis=1)
        for order in "CF":
            out = to_device(np.array(X, order=order), device)
            ds.recurrence_multiply(A, out, *steps, out=out[:, ::-1] if device == "cpu" else out, kernel=kernel)
            for i in range(3):
                check(to_host(out)[:, i], matrix(name), X[:, i], steps, f"{name}: block in place, {order}")


@pytest.mark.quick
@pytest.mark.parametrize("format", ds.formats())
def test_every_format(format, device):
    for dtype in DTYPES:
        A, a, steps = ours("banded 9", format, dtype, device), matrix("banded 9", dtype), factors(4)
        for kernel in A.kernels("chain"):
            for other in DTYPES:
                x = random(9, other)
                for V, v in ((A, a), (A.H, a.conj().T)):
                    y = product(V, x, steps, device, kernel)
                    check(y, v, x.astype(y.dtype), steps, f"{dtype}, {kernel}, {other}")


@pytest.mark.parametrize("format", ["csr", *DIAGONAL])
def test_same_bits_for_any_number_of_threads(format):
    for name in ("band", "reach 300"):
        for dtype in ("float64", "complex64"):
            A, x = large_ours(name, format, dtype, "cpu"), random(LARGE[name][0], dtype)
            for kernel in A.kernels("chain"):
                result = set()
                for threads in (1, 2, 3, 5):
                    ds.set_num_threads(threads)
                    result.add(ds.chebyshev_multiply(A, x, np.arange(1, 12), domain=(-1, 2), kernel=kernel).tobytes())
                assert len(result) == 1, (name, dtype, kernel)


@CELLS
def test_same_bits_on_every_run(device, format, kernel):
    for name in ("band", "periodic"):
        A, x = large_ours(name, format, "float64", device), random(LARGE[name][0], "float64")
        assert len({ds.power_multiply(A, x, 12, kernel=kernel).tobytes() for _ in range(3)}) == 1


@CELLS
def test_operands_with_a_factor_of_zero_are_not_read(device, format, kernel):
    for n in (9, 30000):
        A = ds.array(sp.diags_array([np.full(n, 1e200)] * 2, offsets=[0, 1], shape=(n, n)), format, device=device)
        x = to_device(np.ones(n), device)
        y = ds.recurrence_multiply(A, x, 1, 0, 0, [3.0, 0, 0, 0], kernel=kernel)  # v_2 is infinite
        assert np.array_equal(to_host(y), np.full(n, 3.0))
        y = ds.recurrence_multiply(A, x, [1, 1, 1e-300], 0, [0, 0, 0], [0, 1, 0, 0], kernel=kernel)
        assert np.array_equal(to_host(y), np.where(np.arange(n) < n - 1, 2e200, 1e200))
        assert not to_host(ds.recurrence_multiply(A, x, 1, 0, 0, [0, 0, 0], kernel=kernel)).any()


@CELLS
def test_nan_spreads_as_far_as_the_diagonals(device, format, kernel):
    A, n = large_ours("band", format, "float64", device), LARGE["band"][0]
    around = format == "cdm"  # a row of cdm holds a superdiagonal and the subdiagonal n rows from it
    for j in (0, 3, 15000, n - 1):
        x = np.ones(n)
        x[j] = np.nan
        for k in (3, 8):
            y = to_host(ds.power_multiply(A, to_device(x, device), k, kernel=kernel))
            reached = np.arange(j - 5 * k, j + 5 * k + 1)
            rows = reached % n if around else reached[(reached >= 0) & (reached < n)]
            assert np.array_equal(np.flatnonzero(np.isnan(y)), np.sort(rows)), (j, k)


@pytest.mark.quick
def test_the_kernels_there_are(device):
    for format in ds.formats():
        A = ours("banded 9", format, "float64", device)
        special = {"mdia": ["fused"]} if device == "cuda" else {}
        expected = [*(["blocked"] if format in DIAGONAL else special.get(format, [])), "steps"]
        assert A.kernels("chain") == A.T.kernels("chain") == expected
        with raises(ValueError, "power_multiply", '"nope"', format, '"steps"'):
            ds.power_multiply(A, np.ones(9), 2, kernel="nope")


def test_operands_of_other_libraries(device):
    a, x = matrix("banded 9"), random(9, "float64")
    if device == "cpu":
        assert np.allclose(ds.power_multiply(a, x.tolist(), 2), a @ (a @ x), atol=1e-14)
    y = ds.power_multiply(ours("banded 9", "hm", "float64", device), x, np.int64(2))
    assert isinstance(y, np.ndarray) and np.allclose(y, a @ (a @ x), atol=1e-14)


def test_small_matrices_by_hand():
    """The recurrence of the docstring, once with all of its factors."""
    A = ds.dia_array(np.array([[1.0, 2.0], [0.0, -1.0]]))
    v0 = np.array([1.0, 1.0])
    v1 = 2 * (A @ v0) + 3 * v0
    v2 = -1 * (A @ v1) + 0.5 * v1 + 4 * v0
    y = ds.recurrence_multiply(A, v0, [2, -1], [3, 0.5], [99, 4], [1, 10, 100])
    assert np.array_equal(y, v0 + 10 * v1 + 100 * v2)
