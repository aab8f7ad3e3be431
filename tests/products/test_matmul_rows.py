"""Products of csr on the CPU: the structure of the result, columns far apart, and their memory."""

import sys

import numpy as np
import pytest
import scipy.sparse as sp
from cases import EACH_DTYPE
from processes import python

import diagsparse as ds


@pytest.mark.parametrize("cols", [1, 63, 64, 65, 4096, 4097, 300_000, 2_000_000])
def test_columns_of_a_product_however_far_apart(cols):
    """Rows with few columns, many, and consecutive ones: each way to sort them."""
    rng = np.random.default_rng(cols)
    a = sp.csr_array(sp.random_array((40, 60), density=0.1, rng=rng))
    b = sp.lil_array((60, cols))
    for row in range(60):
        b[row, rng.integers(0, cols, 5)] = 1.0
    b[7, : min(cols, 500)] = 2.0  # a long row
    b[8, [0, cols - 1]] = 3.0
    b = sp.csr_array(b)
    c = ds.csr_array(a) @ ds.csr_array(b)
    expected = sp.csr_array(a @ b)
    expected.sort_indices()
    assert np.array_equal(c.indptr, expected.indptr) and np.array_equal(c.indices, expected.indices)
    np.testing.assert_allclose(c.values, expected.data, rtol=1e-14)


@pytest.mark.parametrize("broken", [0, 0.02, 0.3])
def test_rows_of_a_product_that_follow_the_row_before(broken):
    """Rows that are the one before, moved by one, with some that are not: in A, in B, at their ends, and empty ones."""
    rng = np.random.default_rng(int(100 * broken))

    def rows_like_one_another(m, n):
        a = sp.lil_array(sp.diags_array([1.0] * 7, offsets=[-40, -1, 0, 1, 2, 39, 60], shape=(m, n)))
        for i in np.flatnonzero(rng.random(m) < broken):
            kind = rng.integers(3)
            a[i, :] = 0
            if kind:
                a[i, rng.integers(0, n, 3 * kind)] = 1.0
        a = sp.csr_array(a)
        a.data[:] = rng.integers(1, 9, a.nnz)
        return a

    for m, k, n in ((300, 300, 300), (150, 400, 90), (400, 90, 300)):
        a, b = rows_like_one_another(m, k), rows_like_one_another(k, n)
        expected = sp.csr_array(a @ b)
        expected.sort_indices()
        for threads in (1, 3):
            ds.set_num_threads(threads)
            c = ds.csr_array(a) @ ds.csr_array(b)
            assert np.array_equal(c.indptr, expected.indptr) and np.array_equal(c.indices, expected.indices)
            assert np.array_equal(c.values, expected.data)


@EACH_DTYPE
def test_few_entries_in_many_columns(dtype):
    """Where columns are far more than entries, no table of them is allocated."""
    rng = np.random.default_rng(4)
    n = 2**31 - 1
    a = sp.csr_array(rng.integers(-3, 4, (40, 30)).astype(dtype))
    columns = np.sort(np.concatenate(([0, n - 1], rng.integers(0, n, 58))))
    dense = (rng.integers(1, 5, (30, 60)) * (rng.random((30, 60)) < 0.4)).astype(dtype)
    b = sp.csr_array(dense)
    b = sp.csr_array((b.data, columns[b.indices].astype(np.int32), b.indptr), shape=(30, n))
    A, B = ds.csr_array(a), ds.csr_array(b)
    C = A @ B
    assert C.shape == (40, n) and ds.forecast("matmul", A, B).workspace_nbytes < 10**6
    result, expected = C.to_scipy("csr"), a.toarray() @ dense
    for i in range(40):
        row = slice(result.indptr[i], result.indptr[i + 1])
        full = np.zeros(60, dtype)
        full[np.searchsorted(columns, result.indices[row])] = result.data[row]
        assert np.array_equal(full, expected[i])
    before = C.values.copy()
    ds.plan_matmul(A, B)(out=C, alpha=2, beta=-1)
    assert np.array_equal(C.values, before)


@pytest.mark.nightly
@pytest.mark.skipif(sys.platform != "linux", reason="peaks are read from /proc")
@pytest.mark.parametrize("operands", [
    "np.ones((1, 1)), sp.csr_array((np.ones(3), ([0, 0, 0], [0, 5, 29_999_999])), shape=(1, 30_000_000))",
    "np.ones((1, 1)), np.ones((1, 5_000_000))",
    "sp.random_array((2000, 500), density=0.02, rng=1), sp.random_array((500, 2_000_000), density=2e-3, rng=2)",
    "np.ones((2, 1)), sp.csr_array((np.ones(1), ([0], [0])), shape=(1, 12_000_000)).T.tocsr().T.tocsr()",
], ids=["few of many columns", "a long row", "random", "an entry"])  # fmt: skip
def test_the_forecast_of_a_product_is_its_peak(operands):
    try:
        out = python(f"""
    import numpy as np, scipy.sparse as sp, diagsparse as ds
    def resident(what):
        with open("/proc/self/status") as lines:
            return 1024 * int(next(line for line in lines if line.startswith(what)).split()[1])
    A, B = map(ds.csr_array, ({operands}))
    ds.csr_array(np.eye(50)) @ ds.csr_array(np.eye(50))
    forecast = ds.forecast("matmul", A, B).total_nbytes
    ds.hm_array((np.ones(1), [0]), shape=(40_000_000,) * 2, period=1).unpacked()  # no freed block is left to be reused
    before = resident("VmRSS")
    with open("/proc/self/clear_refs", "w") as file:
        file.write("5")  # the peak begins here
    C = A @ B
    print(resident("VmHWM") - before, forecast)
    """)
    except AssertionError as error:
        if "clear_refs" in str(error):
            pytest.skip("the peak cannot be reset here")
        raise
    peak, forecast = map(int, out.split())
    assert peak <= forecast + 8e6, (peak, forecast)
