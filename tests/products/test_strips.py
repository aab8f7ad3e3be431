"""Products of strips of neighbouring diagonals, which plans store without listing their pairs."""

import numpy as np
import pytest
import scipy.sparse as sp
from cases import DIAGONAL, at_night, cells, kernel_of
from oracle import check_matmul, seen

import diagsparse as ds

CELLS = cells("matmul", DIAGONAL)
FORMATS = pytest.mark.parametrize("format", DIAGONAL)


def matrix(rows, cols, offsets, seed=0):
    """Return a SciPy array with random values on these diagonals, as far as they are inside the matrix."""
    random = np.random.default_rng([rows, cols, seed])
    inside = [k for k in offsets if -rows < k < cols]
    return sp.csr_array(sp.diags_array([random.standard_normal(max(rows, cols)) for _ in inside], offsets=inside,
                                       shape=(rows, cols)) if inside else sp.csr_array((rows, cols)))  # fmt: skip


def around(low, high, *more):
    return sorted({*range(low, high + 1), *more})


SHAPES = {  # rows of A, of B, columns of B, and their diagonals: many pairs of them, so that none is listed
    "wide bands": (300, 300, 300, around(-60, 60), around(-45, 80)),
    "dense": (90, 90, 90, around(-89, 89), around(-89, 89)),
    "rectangular": (120, 310, 200, around(-119, 200), around(-250, 100)),
    "rectangular the other way": (310, 120, 200, around(-200, 100), around(-90, 180)),
    "strips and single ones": (400, 400, 400, around(-30, 30, -399, -200, 77, 79, 399), around(50, 120, -300, -70, 3)),
    "strips whose sums lie outside": (200, 200, 200, around(100, 199), around(90, 199)),
    "every second one": (500, 500, 500, range(-160, 161, 2), around(-40, 40)),
    "nothing on the left": (64, 64, 64, [], around(-63, 63)),
}


EARLY = [shape for shape in SHAPES if shape not in ("dense", "rectangular the other way", "nothing on the left")]


@CELLS
@pytest.mark.parametrize("shape", at_night(SHAPES, before=EARLY))
def test_products_of_strips(device, format, kernel, shape):
    rows, inner, cols, of_a, of_b = SHAPES[shape]
    if format == "cdm" and not rows == inner == cols:
        pytest.skip("cdm is square")
    a, b = matrix(rows, inner, of_a, 1), matrix(inner, cols, of_b, 2)
    A, B = ds.array(a, format, device=device), ds.array(b, format, device=device)
    kernel = kernel_of(A, kernel, "matmul")
    check_matmul(ds.matmul(A, B, kernel=kernel), a, b, shape)
    check_matmul(ds.matmul(B, A, trans_a="T", trans_b="T", kernel=kernel), seen(b, "T"), seen(a, "T"), f"{shape}: T")
    check_matmul(ds.matmul(A, A, trans_b="T", kernel=kernel), a, seen(a, "T"), f"{shape}: A A.T")


@FORMATS
@pytest.mark.parametrize("triangle", ["lower", "upper"])
def test_triangles_and_more_diagonals_of_strips(format, triangle):
    a, c = matrix(260, 260, around(-70, 50, 200), 3), matrix(260, 260, around(-259, -255, 150, 240), 4)
    A, C = ds.array(a, format), ds.array(c, format)
    keep = sp.tril if triangle == "lower" else sp.triu
    whole = (a @ a.T).toarray() + 2 * c.toarray()
    np.testing.assert_allclose(
        ds.syrk(A, C, beta=2, triangle=triangle).toarray(), keep(whole).toarray(), rtol=1e-12, atol=1e-11
    )
    np.testing.assert_allclose(ds.matmul(A, A, C, trans_b="T", beta=2).toarray(), whole, rtol=1e-12, atol=1e-11)


@FORMATS
def test_a_plan_of_bands_grows_with_the_diagonals_and_not_with_their_pairs(format):
    def plan(half, step=1):
        offsets = np.arange(-half, half + 1) * step
        values = np.zeros((offsets.size, 5000), np.float32)
        A = ds.dia_array((values, offsets), shape=(5000, 5000), align="row").asformat(format)
        return ds.plan_matmul(A, A)

    narrow, wide = plan(200), plan(800)
    assert wide.workspace_nbytes < 100 * (2 * 1601 + 2 * 3201)
    assert wide.workspace_nbytes < 4.1 * narrow.workspace_nbytes  # of 16 times the pairs
    scattered = plan(200, 7)
    assert 5 * narrow.workspace_nbytes < scattered.workspace_nbytes < 12 * 802**2 + 100 * 10000  # cdm: two halves a row


@FORMATS
def test_a_plan_of_a_dense_matrix_needs_no_room_for_its_pairs(format):
    """For 999 x 999 pairs, whose terms would need thirty megabytes."""
    A = ds.array(np.ones((500, 500)), format)
    plan = ds.plan_matmul(A, A, max_bytes=10 << 20)
    assert plan.workspace_nbytes < 200_000
    np.testing.assert_array_equal(plan().toarray(), np.full((500, 500), 500.0))


def test_a_plan_of_too_many_pairs_is_refused_with_its_bytes():
    """Scattered diagonals are stored pair by pair, strips are not."""
    offsets = np.arange(-2200, 2200, 2)
    scattered = ds.hm_array(sp.diags_array(np.ones((offsets.size, 1)), offsets=offsets, shape=(4400, 4400)))
    with pytest.raises(MemoryError, match=r"the plan of 4840000 pairs would need 58.2 MB"):
        ds.plan_matmul(scattered, scattered, max_bytes=50 << 20)
