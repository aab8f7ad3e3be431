"""A plan names the kernel that runs, even if the requested one does not support its operands."""

import numpy as np
import pytest
import scipy.sparse as sp
from cases import DTYPES, EACH_DIAGONAL, EACH_DTYPE
from oracle import check_matmul

import diagsparse as ds
from diagsparse.compare import compare


def dense(dtype="float64", seed=0):
    rng = np.random.default_rng(seed)
    values = rng.uniform(-1, 1, (60, 60))
    return (values + 1j * rng.uniform(-1, 1, (60, 60)) if dtype[0] == "c" else values).astype(dtype)


def far_apart():
    """Two diagonals whose tiles would need far too much memory."""
    ends = [np.ones(1), np.ones(200_000)]
    return sp.diags_array(ends, offsets=[199_999, 0], shape=(200_000, 200_000))


@EACH_DIAGONAL
@EACH_DTYPE
def test_a_plan_names_the_requested_kernel_where_it_runs(format, dtype):
    A = ds.array(dense(dtype), format)
    assert [ds.plan_matmul(A, A, kernel=name).kernel for name in A.kernels("matmul")] == A.kernels("matmul")


@EACH_DIAGONAL
def test_operands_of_two_types_go_by_rows(format):
    a, b = dense("float32"), dense("complex128", 1)
    plan = ds.plan_matmul(ds.array(a, format), ds.array(b, format), kernel="dense_tiles")
    assert plan.kernel == "row_tiles"
    check_matmul(plan(), a, b, "planned for two types")


@pytest.mark.parametrize("format", ["dia", "hm"])
def test_products_that_need_too_much_memory_run_by_rows(format):
    A = ds.array(far_apart(), format)
    assert ds.plan_matmul(A, A, kernel="dense_tiles").kernel == "row_tiles"
    assert ds.plan_matmul(A, A, kernel="sequential").kernel == "sequential"
    nothing = ds.array(sp.csr_array((0, 0)), format)
    assert ds.plan_matmul(nothing, nothing, kernel="dense_tiles").kernel == "row_tiles"


def test_a_plan_takes_values_of_types_that_its_kernel_does_not_multiply():
    plan = ds.plan_matmul(ds.hm_array(dense()), ds.hm_array(dense(seed=1)), kernel="dense_tiles")
    for left in DTYPES:
        for right in DTYPES:
            a, b = dense(left, 2), dense(right, 3)
            check_matmul(plan(ds.hm_array(a), ds.hm_array(b)), a, b, f"{left} by {right}")


def test_compare_lists_no_kernel_twice():
    result = compare(far_apart(), formats=["dia", "hm"], kernels="all", ops=["matmul"], budget=0.01)
    listed = [(row.format, row.kernel) for row in result.rows if row.ours]
    assert sorted(listed) == [(f, k) for f in ("dia", "hm") for k in ("row_tiles", "sequential")]
