"""Products of diagonals on a GPU that span several blocks of its kernels; borders, holes, which kernel is chosen."""

import numpy as np
import pytest
import scipy.sparse as sp
from cases import DIAGONAL, EACH_DIAGONAL, EACH_DTYPE, NO_CUDA, make
from large_diagonals import APART, CASES, holes
from oracle import check_matmul

import diagsparse as ds

pytestmark = [pytest.mark.gpu, pytest.mark.skipif(not ds.cuda_available(), reason=NO_CUDA)]
KERNELS = {format: ("row", "band", "block", "staged", *("bands",) * (format != "cdm")) for format in DIAGONAL}


@EACH_DIAGONAL
@EACH_DTYPE
@pytest.mark.parametrize("name", CASES)
def test_every_view_of_large_products(name, format, dtype):
    a = sp.csr_array(CASES[name](dtype))
    A = ds.array(a, format, device="cuda")
    for kernel in KERNELS[format]:
        for left, right, la, ra in ((A, A, a, a), (A.T, A, a.T, a), (A, A.H, a, a.conj().T)):
            check_matmul(left.matmul(right, kernel=kernel), la, ra, f"{name} {kernel}")
    plan = ds.plan_matmul(A, A)
    C = plan()
    check_matmul(plan(out=C, alpha=-2, beta=3), a, a, f"{name} alpha, beta", alpha=-2, beta=3, c0=a @ a)


@EACH_DIAGONAL
@EACH_DTYPE
@pytest.mark.parametrize("width", [5, 20, 40])
def test_bands_that_fill_the_device(format, dtype, width):
    """From some 17000 rows on the warps of a row of blocks divide the work differently."""
    A = ds.array(ds.gallery.banded(20_011, width, width - 2, seed=1, dtype=dtype), format, device="cuda")
    for left, right in ((A, A), (A.T, A), (A, A.H)):
        result, expected = (left.matmul(right, kernel=kernel).values.get() for kernel in ("band", "row"))
        scale = abs(left).matmul(abs(right), kernel="row").values.get()
        assert (abs(result - expected) <= 200 * np.finfo(dtype).eps * abs(scale)).all()


@EACH_DIAGONAL
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("n, count, reach", [(2000, 230, 0.25), (1111, 400, 0.9), (5000, 12, 0.01), (700, 699, 0.9)])
def test_staged_sums_as_block_does(format, dtype, n, count, reach):
    """Several tiles of C and several stages, diagonals that end within a tile, views: the bits of `block`."""
    A, B = (
        ds.array(ds.gallery.random_diagonals(n, count, reach=reach, seed=s, dtype=dtype), format, device="cuda")
        for s in (1, 2)
    )
    for left, right in ((A, B), (A.T, B), (A, B.H), (A.H, B.T)):
        plan = ds.plan_matmul(left, right, kernel="staged")
        assert plan.kernel == "staged"
        staged, block = plan(), left.matmul(right, kernel="block")
        assert np.array_equal(staged.values.get(), block.values.get())
        again = ds.plan_matmul(left, right, kernel="block")
        for factors in ({"alpha": 3}, {"alpha": -2, "beta": 0.5}):  # by way of shared memory
            plan(out=staged, **factors)
            again(out=block, **factors)
            assert np.array_equal(staged.values.get(), block.values.get())


def test_staged_takes_triangles_and_other_types_than_planned():
    a = ds.gallery.random_diagonals(900, 240, reach=0.4, seed=3)
    A, narrow = (ds.hm_array(a.astype(t), device="cuda") for t in ("float64", "float32"))
    for triangle in ("lower", "upper"):
        result, expected = (ds.syrk(A, triangle=triangle, kernel=k).values.get() for k in ("staged", "block"))
        assert np.array_equal(result, expected)
    plan = ds.plan_matmul(A, A, kernel="staged")
    for left, right in ((narrow, narrow), (A, narrow)):
        check_matmul(plan(left, right), left.to("cpu").to_scipy("csr"), right.to("cpu").to_scipy("csr"), "other types")
    empty = ds.hm_array((900, 900), device="cuda")
    assert ds.plan_matmul(A, empty, kernel="staged")().nnz == 0


def test_staged_takes_rectangular_matrices():
    a, b = (
        ds.gallery.random_diagonals(1500, 300, reach=0.5, seed=s).tocsr()[rows, columns]
        for s, rows, columns in ((1, slice(0, 1100), slice(0, 900)), (2, slice(0, 900), slice(100, 1500)))
    )
    A, B = ds.hm_array(a, device="cuda"), ds.dia_array(b, device="cuda")
    check_matmul(A.matmul(B, kernel="staged"), a, b, "A B")
    check_matmul(B.T.matmul(A.T, kernel="staged"), b.T, a.T, "B^T A^T")


@EACH_DIAGONAL
def test_operands_of_two_types(format):
    a, b = (sp.csr_array(ds.gallery.random_diagonals(300, 40, seed=s, dtype=d)) for s, d in ((1, "f4"), (2, "c16")))
    A, B = ds.array(a, format, device="cuda"), ds.array(b, format, device="cuda")
    for kernel in KERNELS[format]:
        check_matmul(A.matmul(B, kernel=kernel), a, b, kernel)
        check_matmul(B.matmul(A, kernel=kernel), b, a, kernel)


@EACH_DIAGONAL
@pytest.mark.parametrize("kernel", ["row", "band", "block", "staged"])
def test_infinities_appear_where_they_meet_stored_values(format, kernel):
    a, b = ds.gallery.banded(300, 9, 12, seed=5), ds.gallery.banded(300, 8, 8, seed=6)
    a.data[3, 100], a.data[12, 250], b.data[4, 17], b.data[9, 299] = np.inf, np.nan, -np.inf, np.inf

    def products(device, kernel):
        A, B = ds.array(a, format, device=device), ds.array(b, format, device=device)
        return [x.matmul(y, kernel=kernel).toarray() for x, y in ((A, B), (A, A.T), (B.T, B))]

    for result, expected in zip(products("cuda", kernel), products("cpu", "sequential"), strict=True):
        assert not np.isfinite(expected).all()
        assert np.array_equal(np.isfinite(result), np.isfinite(expected))
        assert np.allclose(result, expected, rtol=1e-13, equal_nan=True)


@EACH_DIAGONAL
@pytest.mark.parametrize("triangle", ["lower", "upper"])
def test_one_triangle_of_a_large_product(format, triangle):
    keep = {"lower": np.tril, "upper": np.triu}[triangle]
    for a in (
        ds.gallery.banded(500, 20, 20, seed=7),
        ds.gallery.banded(333, 2, 30, seed=8, dtype="complex128"),
        ds.gallery.banded(400, 52, 50, seed=8),
    ):
        A = ds.array(a, format, device="cuda")
        for kernel in KERNELS[format]:
            check_matmul(ds.syrk(A, triangle=triangle, kernel=kernel), sp.csr_array(a), sp.csr_array(a).T,
                         f"{kernel} {triangle}", mask=keep)  # fmt: skip


@EACH_DIAGONAL
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_wide_band_times_a_narrow_one(format, dtype):
    for lower, upper in ((52, 50), (30, 41), (3, 70)):
        a, b = (sp.csr_array(ds.gallery.banded(450, *k, seed=9, dtype=dtype)) for k in ((lower, upper), (2, 1)))
        A, B = (ds.array(x, format, device="cuda") for x in (a, b))
        for left, right, la, ra in ((A, B, a, b), (B, A, b, a), (B.T, A.T, b.T, a.T)):
            check_matmul(left.matmul(right, kernel="band"), la, ra, f"{lower} {upper}")


@EACH_DIAGONAL
def test_values_that_begin_anywhere(format):
    """Arrays from outside need not begin at a 16-byte border."""
    a = ds.gallery.banded(400, 10, 10, seed=9)
    A = ds.array(a, format, device="cuda")
    cupy = pytest.importorskip("cupy")
    room = cupy.zeros(A.values.size + 1)
    room[1:] = cupy.asarray(A.values).ravel()
    names = {"dia": ("offsets",), "hm": ("offsets",), "cdm": ("rows",)}[format]
    shifted = make(format, (room[1:].reshape(A.values.shape), *(getattr(A, name) for name in names)), shape=A.shape)
    for kernel in KERNELS[format]:
        check_matmul(shifted.matmul(shifted, kernel=kernel), sp.csr_array(a), sp.csr_array(a), kernel)
        check_matmul(shifted.matmul(shifted.T, kernel=kernel), sp.csr_array(a), sp.csr_array(a).T, kernel)
    x = np.linspace(-1, 1, 400)
    assert np.allclose(shifted @ x, a @ x, rtol=1e-13)


@EACH_DIAGONAL
def test_the_kernel_is_chosen_from_the_diagonals(format):
    def chosen(a, b=None):
        A = ds.array(a, format, device="cuda")
        return ds.plan_matmul(A, A if b is None else ds.array(b, format, device="cuda")).kernel

    assert chosen(ds.gallery.banded(1000, 5, 5)) == "row"
    assert chosen(ds.gallery.banded(20_000, 20, 20)) == "band"
    assert chosen(ds.gallery.random_diagonals(10_000, 100, seed=0)) == "block"
    assert chosen(ds.gallery.random_diagonals(10_000, 400, seed=0)) == "staged"
    assert chosen(holes(200_000, range(-40, 41, 2), "float64")) == "band"  # two bands that interleave
    assert chosen(holes(200_000, range(-100, 101, 5), "float64")) == "block"
    assert chosen(holes(20_000, APART, "float64")) == ("block" if format == "cdm" else "bands")
    assert chosen(ds.gallery.banded(30_000, 20, 20), ds.gallery.banded(30_000, 20, 20, dtype="float32")) == "block"


@EACH_DTYPE
@pytest.mark.parametrize("apart", [2, 3, 4])
def test_rectangular_bands_that_interleave(apart, dtype):
    """Offsets with a common distance, also if those of A and B differ by no multiple of it, and one diagonal alone."""
    rng = np.random.default_rng(apart)

    def band(shape, numbers, shift):
        offsets = [apart * k + shift for k in numbers]
        return sp.csr_array(
            sp.diags_array([rng.uniform(size=900)] * len(offsets), offsets=offsets, shape=shape)
        ).astype(dtype)

    a, b = band((600, 481), range(-12, 9), 1), band((481, 777), range(0, 25), -2)
    for left, right in ((a, b), (b.T, a.T), (a, band((481, 481), [3], 2)), (band((600, 600), [-1], 0), a)):
        for format in ("dia", "hm"):
            A, B = (ds.array(x, format, device="cuda") for x in (left, right))
            plan = ds.plan_matmul(A, B, kernel="band")
            assert plan.kernel == "band"
            C = plan()
            check_matmul(C, left, right, format)
            first = C.values.get()
            assert np.array_equal(plan().values.get(), first)
            check_matmul(plan(out=C, alpha=-2, beta=3), left, right, format, alpha=-2, beta=3, c0=left @ right)


@EACH_DIAGONAL
@pytest.mark.parametrize("apart", [2, 3])
def test_matrices_that_are_added_to_bands_that_interleave(format, apart):
    """C has diagonals between those of A B, or those of another product do."""
    rng = np.random.default_rng(apart)
    offsets = range(-10 * apart, 10 * apart + 1, apart)
    n = 3000
    a, b, c = (
        sp.csr_array(sp.diags_array([rng.uniform(size=n)] * len(ks), offsets=list(ks), shape=(n, n)))
        for ks in (offsets, offsets, [-5, -1, 0, 1, 4])
    )
    A, B, C = (ds.array(x, format, device="cuda") for x in (a, b, c))
    for kernel in (None, "band"):
        check_matmul(ds.matmul(A, B, C, beta=3, kernel=kernel), a, b, format, beta=3, c0=c)


@pytest.mark.parametrize("columns", [40, 3000, 300_000, 4_000_000])
@pytest.mark.parametrize("inner", [3, 100, 1500])
def test_columns_of_csr_products_near_and_far(columns, inner):
    """Bits mark them, of a warp, or of a block of threads in one window or several; or a warp or all sort them."""
    rng = np.random.default_rng(columns + inner)
    b = sp.random_array((inner, columns), density=min(1, 20_000 / (inner * columns)), rng=rng, format="csr")
    for fill in (
        0.005,
        0.02,
        0.9,
    ):  # of A's elements: few products, more than a warp sorts, as many as a large block marks
        a = sp.random_array((500, inner), density=fill, rng=rng, format="csr")
        for m in (a, b):
            m.data = rng.integers(1, 9, m.nnz).astype(float)  # all sums are exact
        A, B = ds.csr_array(a, device="cuda"), ds.csr_array(b, device="cuda")
        expected = a @ b
        expected.sort_indices()
        for C in (A @ B, ds.plan_matmul(A, B)()):
            found = C.to("cpu").to_scipy()
            assert np.array_equal(found.indptr, expected.indptr) and np.array_equal(found.indices, expected.indices)
            assert np.array_equal(found.data, expected.data)


@pytest.mark.parametrize("format", ["dia", "hm"])
@pytest.mark.parametrize("what", [np.inf, np.nan])
def test_separate_bands_give_no_nan_where_nothing_is_stored(format, what):
    """Tiles multiply what is not stored as zeros; infinite sums are done again over what is stored."""
    a = holes(700, APART, "float64").tocsr()
    a[40, 45] = what
    A = ds.array(a, format, device="cuda")
    with np.errstate(all="ignore"):
        result, expected = (
            A.matmul(A, kernel="bands").to("cpu").toarray(),
            A.matmul(A, kernel="row").to("cpu").toarray(),
        )
    assert np.array_equal(np.isnan(result), np.isnan(expected)) and not np.isfinite(result).all()
    assert np.array_equal(result == np.inf, expected == np.inf) and np.array_equal(
        result == -np.inf, expected == -np.inf
    )
    finite = np.isfinite(expected)
    assert np.allclose(result[finite], expected[finite], rtol=1e-12)
    C = ds.plan_matmul(A, A, kernel="bands")
    assert np.array_equal(C().values.get(), C().values.get(), equal_nan=True)


@pytest.mark.parametrize("format", ["dia", "hm"])
def test_rectangular_bands_apart(format):
    rng = np.random.default_rng(1)
    a = sp.csr_array(
        sp.diags_array([rng.uniform(size=600)] * 40, offsets=[*range(-20, 0), *range(100, 120)], shape=(600, 500))
    )
    b = sp.csr_array(
        sp.diags_array([rng.uniform(size=800)] * 30, offsets=[*range(-130, -115), *range(300, 315)], shape=(500, 800))
    )
    A, B = (ds.array(x, format, device="cuda") for x in (a, b))
    check_matmul(A.matmul(B, kernel="bands"), a, b, "bands")
    check_matmul(B.T.matmul(A.T, kernel="bands"), b.T, a.T, "bands, transposed")
    plan = ds.plan_matmul(A, B, kernel="bands")
    C = plan()
    check_matmul(plan(out=C, alpha=-2, beta=3), a, b, "alpha, beta", alpha=-2, beta=3, c0=a @ b)


@EACH_DIAGONAL
def test_products_without_rows(format):
    shapes = [((0, 0), (0, 0))] if format == "cdm" else [((0, 0), (0, 0)), ((0, 5), (5, 3)), ((3, 0), (0, 4))]
    for left, right in shapes:
        A, B = (ds.array(sp.csr_array(shape), format, device="cuda") for shape in (left, right))
        for kernel in KERNELS[format]:
            assert A.matmul(B, kernel=kernel).shape == (left[0], right[1])
