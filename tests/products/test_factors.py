"""alpha and beta: infinite, undefined, huge, of any type; the same results with every kernel."""

import numpy as np
import pytest
import scipy.sparse as sp
from cases import EACH_DIAGONAL, cells, make, ours, raises, to_device, to_host

import diagsparse as ds

MATVEC = cells("matvec")
MATMUL = cells("matmul")
FACTORS = (np.inf, -np.inf, np.nan, complex(np.inf, 0), complex(np.nan, 1), complex(1, np.inf))


def scaled(alpha, total, beta, y):
    """Return ``alpha total + beta y``: factors without an imaginary part are real, and beta=0 reads nothing."""
    with np.errstate(all="ignore"):
        factor = alpha if alpha.imag else alpha.real
        result = factor * total
        return result + (beta if beta.imag else beta.real) * y if beta != 0 else result


def same(y, expected):
    """Assert that two arrays have the same infinities, and NaN at the same positions; NaN parts are all alike."""
    y = to_host(y)
    assert y.shape == expected.shape
    known = ~np.isnan(expected)
    assert np.array_equal(np.isnan(y), ~known)
    assert np.array_equal(y[known], expected[known].astype(y.dtype))


@MATVEC
@pytest.mark.parametrize("alpha", FACTORS)
def test_infinite_and_undefined_alpha(device, format, kernel, alpha):
    """Rows 1 and 4 store nothing: their sum is 0, and infinity times 0 is no number."""
    a = np.diag([1.0, 0, -2, 3, 0, 1]) + np.diag([1.0, 0, 0, 2, 0], 1)
    a[[1, 4]] = 0
    dtype = "complex128" if isinstance(alpha, complex) else "float64"
    A = make(format, a.astype(dtype)).to(device)
    for view, dense in ((A, a), (A.T, a.T)):
        name = kernel if kernel in view.kernels("matvec") else None
        for x in (np.arange(6.0) - 2, np.stack([np.arange(6.0), -np.ones(6)], 1), np.asfortranarray(np.eye(6)[:, :3])):
            x = x.astype(dtype)
            total = dense @ x
            same(view.matvec(to_device(x, device), alpha=alpha, kernel=name), scaled(alpha, total, 0, 0))
            y = np.ones_like(total)
            out = to_device(y.copy(), device)
            same(
                view.matvec(to_device(x, device), alpha=alpha, beta=2, out=out, kernel=name), scaled(alpha, total, 2, y)
            )


@MATVEC
def test_alpha_beyond_float32(device, format, kernel):
    """1e300 is infinite in float32: rows that store nothing give NaN, as with infinity itself."""
    A = make(format, np.diag([1.0, 0, -2]).astype("float32")).to(device)
    x = to_device(np.ones(3, "float32"), device)
    expected = A.matvec(x, alpha=np.inf, kernel=kernel)
    same(A.matvec(x, alpha=1e300, kernel=kernel), to_host(expected))
    assert np.isnan(to_host(expected)[1])
    chain = ds.recurrence_multiply(A, x, [np.inf], 0, 0, [0, 1])
    same(chain, to_host(expected))


@MATVEC
def test_beta_without_columns(device, format, kernel):
    """A matrix without columns gives y = beta y, whatever alpha; undefined where that is."""
    if format == "cdm":
        pytest.skip("square only")
    A = make(format, sp.csr_array((4, 0))).to(device)
    for x in (np.zeros(0), np.zeros((0, 3)), np.zeros((0, 3), order="F")):
        for alpha, beta, value in (
            (1, 2, 2.0),
            (5, 0, 0.0),
            (np.inf, 2, np.nan),
            (1, np.inf, np.inf),
            (np.nan, 0, np.nan),
        ):
            out = to_device(np.ones((4, *x.shape[1:])), device)
            A.matvec(to_device(x, device), alpha=alpha, beta=beta, out=out, kernel=kernel)
            same(out, np.full((4, *x.shape[1:]), value))
    assert np.array_equal(to_host(A @ to_device(np.zeros(0), device)), np.zeros(4))


@MATMUL
def test_infinite_alpha_of_products(device, format, kernel):
    a = np.diag([1.0, 0, -2, 3]) + np.diag([1.0, 0, 2], 1)
    A = make(format, sp.csr_array(a)).to(device)
    plan = ds.plan_matmul(A, A, kernel=kernel)
    stored = abs(plan().toarray()) * 0 + np.isin(np.subtract.outer(np.arange(4), np.arange(4)) * -1, plan.offsets)
    stored = stored.astype(bool) if len(plan.offsets) and format != "mdia" else (abs(a) @ abs(a)) > 0
    if format == "csr":
        C = plan()
        stored = sp.csr_array((np.ones(C.nnz), C.to("cpu").indices, C.to("cpu").indptr), shape=(4, 4)).toarray() > 0
    if format == "qband":  # whose bands are stored in full; outside of them only stored entries count
        stored |= (abs(a) @ abs(a)) > 0
    for alpha in (np.inf, np.nan):
        with np.errstate(all="ignore"):
            expected = np.where(stored, alpha * (a @ a), 0)
        same(plan(alpha=alpha).toarray(), expected)
        out = plan()
        out.values = 1
        plan(out=out, alpha=alpha, beta=1)
        with np.errstate(all="ignore"):
            same(out.toarray(), np.where(stored, alpha * (a @ a) + 1, 0))


@pytest.mark.parametrize("format", ds.formats())
def test_numbers_beyond_float64(format, device):
    A = ours("banded 65", format, device="cpu").to(device)
    x = to_device(np.ones(65), device)
    for run in (
        lambda: A.matvec(x, alpha=10**400),
        lambda: A.matvec(x, alpha=-(10**400)),
        lambda: A.matvec(x, beta=10**400, out=to_device(np.ones(65), device)),
        lambda: A * 10**400,
        lambda: 10**400 * A,
        lambda: A / 10**400,
        lambda: A ** (10**400),
        lambda: ds.matmul(A, A, alpha=10**400),
        lambda: ds.matmul(A, A, A, beta=10**400),
        lambda: ds.plan_matmul(A, A)(alpha=10**400),
        lambda: ds.plan_matvec(A)(x, alpha=10**400),
        lambda: ds.syrk(A, alpha=10**400),
    ):
        with raises(ValueError, "float64"):
            run()
    assert np.array_equal(to_host(A.matvec(x, alpha=2)), 2 * to_host(A @ x))
    assert np.allclose(to_host(A.matvec(x, alpha=10**300)), 1e300 * to_host(A @ x), rtol=1e-12)


@pytest.mark.quick
@pytest.mark.parametrize("format", ds.formats())
def test_one_rule_for_the_dtype_of_a_sum(format, device):
    """The result has the type of A, B and C, whatever the type of a factor, and beta C is rounded in it."""
    a = sp.csr_array(np.diag([1.0, 2, 3]) + np.diag([1.0, 1], 1))
    wide, narrow = make(format, a).to(device), make(format, a).astype("float32").to(device)
    for beta in (0.1, np.float64(0.1), np.array(0.1), np.float32(0.1)):
        for alpha in (1, np.float64(1), np.array(1.0)):
            assert ds.matmul(narrow, narrow, narrow, alpha=alpha, beta=beta).dtype == np.float32
            assert ds.syrk(narrow, narrow, alpha=alpha, beta=beta).dtype == np.float32
            assert narrow.matvec(to_device(np.ones(3, "float32"), device), alpha=alpha).dtype == np.float32
        result = ds.matmul(wide, wide, narrow, beta=beta)
        assert result.dtype == np.float64
        expected = (a @ a).toarray() + float(beta) * a.toarray()
        assert np.allclose(result.toarray(), expected, rtol=4e-16, atol=0), beta
        assert np.allclose(ds.syrk(wide, narrow, beta=beta).toarray(), (a @ a.T).toarray() + float(beta) * a.toarray(),
                           rtol=4e-16, atol=0)  # fmt: skip


@EACH_DIAGONAL
def test_complex_multiples_of_16_bit_values(format, device):
    for dtype in ("float16", "bfloat16"):
        if dtype == "bfloat16":
            pytest.importorskip("ml_dtypes")
        A = make(format, np.diag([1.0, 2, 3])).astype(dtype).to(device)
        for result in (A * 2j, 2j * A, A / -0.5j):
            assert result.dtype == np.complex64 and np.array_equal(result.toarray(), 2j * np.diag([1.0, 2, 3]))
        assert (2 * A).dtype == dtype and (-A).dtype == dtype and abs(A).dtype == dtype
