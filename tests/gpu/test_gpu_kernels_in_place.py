"""On a GPU, too, a plan names the kernel that runs it, and the benchmark has no row of a kernel that did not run."""

import numpy as np
import pytest
from cases import EACH_DIAGONAL, NO_CUDA

import diagsparse as ds
from diagsparse._study import bench

pytestmark = [pytest.mark.gpu, pytest.mark.skipif(not ds.cuda_available(), reason=NO_CUDA)]

BAND = ds.gallery.banded(600, 20, 20, seed=0)
SCATTERED = ds.gallery.random_diagonals(2000, 12, reach=0.9, seed=0)
WIDE = ds.gallery.banded(700, 300, 300, seed=0)
GRID = ds.gallery.stencil(7, (20, 21, 22))


@EACH_DIAGONAL
@pytest.mark.parametrize(
    "a, asked, runs",
    [
        (BAND, "band", "band"),
        (BAND, "dense_tiles", "dense_tiles"),
        (WIDE, "band", "row"),
        (WIDE, "dense_tiles", "dense_tiles"),
        (SCATTERED, "band", "row"),
        (SCATTERED, "bands", "bands"),
        (WIDE, "bands", "block"),
        (SCATTERED, "dense_tiles", "block"),
        (SCATTERED, "staged", "staged"),
        (GRID, "band", "row"),
        (SCATTERED, "entry", "entry"),
    ],
)
def test_a_plan_names_the_kernel_that_runs(format, a, asked, runs):
    A = ds.array(a, format, device="cuda")
    if asked not in A.kernels("matmul"):
        pytest.skip(f"{format} has no kernel {asked}")
    plan = ds.plan_matmul(A, A, kernel=asked)
    if format == "cdm" and asked == "dense_tiles" and a is BAND:  # a row stores two distant diagonals: tiles are sparse
        runs = "block"
    assert plan.kernel == runs
    other = ds.plan_matmul(A, A, kernel=runs)
    assert np.array_equal(plan().to("cpu").to_scipy("csr").data, other().to("cpu").to_scipy("csr").data)


@pytest.mark.parametrize("asked, runs", [("band", "row"), ("bands", "block"), ("dense_tiles", "block")])
def test_operands_of_two_types(asked, runs):
    A, B = ds.array(BAND, "hm", device="cuda"), ds.array(BAND.astype("float32"), "hm", device="cuda")
    assert ds.plan_matmul(A, B, kernel=asked).kernel == runs
    plan = ds.plan_matmul(A, A, kernel=asked)
    assert plan.kernel == asked or asked == "bands"
    expected = (BAND.tocsr() @ BAND.astype("float32").tocsr()).toarray()
    assert np.allclose(plan(A, B).to("cpu").toarray(), expected)  # of other types than planned


def test_the_rules_choose_the_kernel():
    for a in (BAND, SCATTERED, WIDE, GRID):
        A = ds.array(a, "hm", device="cuda")
        plan = ds.plan_matmul(A, A)
        assert ds.plan_matmul(A, A, kernel=plan.kernel).kernel == plan.kernel


def test_the_benchmark_has_no_row_twice():
    rows = bench.run("random-109-35", device="cuda", quick=True)["rows"]
    ours = [(row["format"], row["kernel"]) for row in rows if row["library"] == "diagsparse"]
    assert len(set(ours)) == len(ours) and ("hm", "row") in ours
    assert not {("hm", "band"), ("dia", "band")} & set(ours)
