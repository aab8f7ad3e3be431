"""C = alpha op(A) op(B) + beta C for sparse operands: all pairs of formats, kernels, dtypes and views."""

from itertools import product

import numpy as np
import pytest
import scipy.sparse as sp
from cases import (
    DIAGONAL,
    DTYPES,
    EACH_DTYPE,
    VIEWS,
    at_night,
    cells,
    holding,
    kernel_of,
    matrix,
    multiplies_itself,
    ours,
    pairs,
    raises,
    random,
)
from oracle import assert_within, check_matmul, long, longest_row, seen

import diagsparse as ds

CELLS = cells("matmul")
FORMATS = pytest.mark.parametrize("format", ds.formats())
SQUARE = ("banded 9", "corners 65", "random diagonals 127", "dense 9", "arrow 33", "superdiagonal only",
          "subdiagonal only", "nothing stored", "0x0", "1x1", "explicit zeros", "periodic stencil")  # fmt: skip
PAIRS = [  # operands of different shapes: (m x k), (k x n)
    ("wide 20 x 70", "tall 70 x 20"), ("tall 70 x 20", "wide 20 x 70"), ("0x5", "5x0"), ("5x0", "0x5"),
    ("1x7", "7x1"), ("7x1", "1x7"), ("7x1", "1x1"), ("nothing stored, wide", "dense 9"), ("0x0", "0x5"),
    ("tridiagonal 65", "banded 65"), ("corners 65", "tridiagonal 65"), ("superdiagonal only", "subdiagonal only"),
]  # fmt: skip


def other(name, dtype):
    """Return a second matrix on another structure of the same order."""
    a = matrix(name, dtype)
    b = sp.csr_array(a.T) if a.nnz % 2 else sp.csr_array(a + a.T)
    return sp.csr_array((random(b.nnz, dtype, name, "other"), b.indices, b.indptr), shape=b.shape)


@CELLS
@EACH_DTYPE
def test_squares_of_every_view(device, format, kernel, dtype):
    for name in holding(format, SQUARE):
        a, b = matrix(name, dtype), other(name, dtype)
        A, B = ours(name, format, dtype, device), ds.array(b, format, device=device)
        some = ("NN", "TN", "NH") if a.shape[0] > 50 else [x + y for x in VIEWS for y in VIEWS]
        for op_a, op_b in some:
            left, right = VIEWS[op_a](A), VIEWS[op_b](B)
            C = left.matmul(right, kernel=kernel_of(left, kernel, "matmul"))
            check_matmul(C, seen(a, op_a), seen(b, op_b), f"{name}: {op_a}(A) @ {op_b}(B)")


RULED = "qband", "bmsparse", "mdia"  # formats with products of their own, which go by csr where that is quicker


@pairs("format", "right")
def test_pairs_of_formats(format, right):
    for name_a, name_b in [*PAIRS, *((name, name) for name in SQUARE)]:
        if not (holding(format, [name_a]) and holding(right, [name_b])):
            continue
        if format == "cdm" and right in DIAGONAL and not holding("cdm", [name_b]):
            continue  # a rectangular product does not stay in cdm: see test_errors.py
        a, b = matrix(name_a, "float32"), matrix(name_b, "float32")
        A, B = ours(name_a, format, "float32"), ours(name_b, right, "float32")
        C = A @ B
        check_matmul(C, a, b, f"{name_a} @ {name_b}")
        if format in DIAGONAL and right in DIAGONAL:
            assert C.format == format  # the diagonal family stays; mixed: the left operand's format
            assert set(C.offsets) >= sumset(A, B) and (format == "cdm" or set(C.offsets) == sumset(A, B))
        elif format != right and {format, right} & {"mdia"} and {format, right} <= {"mdia", *DIAGONAL}:
            assert C.format == "mdia"
        elif format == right and format in RULED:
            assert C.format in (format, "csr")  # test_qband.py, test_bmsparse.py, test_mdia.py: which
        elif format == right or format not in (*DIAGONAL, *RULED):
            assert C.format == format
        else:  # only the left one has products of its own
            assert C.format == "csr"


def sumset(A, B):
    """Return the offsets that a product of these may have."""
    m, n = A.shape[0], B.shape[1]
    sums = {int(i) + int(j) for i in A.offsets for j in B.offsets}
    return {k for k in sums if -m < k < n}


@pytest.mark.parametrize("dtype_a", DTYPES)
@pytest.mark.parametrize("dtype_b", DTYPES)
def test_mixed_dtypes(dtype_a, dtype_b):
    a, b = matrix("random diagonals 127", dtype_a), other("random diagonals 127", dtype_b)
    for format in filter(multiplies_itself, ds.formats()):
        A, B = ds.array(a, format), ds.array(b, format)
        for kernel in A.kernels("matmul"):
            for op in VIEWS:
                C = ds.matmul(VIEWS[op](A), B, kernel=kernel_of(VIEWS[op](A), kernel, "matmul"))
                check_matmul(C, seen(a, op), b, f"{format} {kernel}: {op}({dtype_a}) @ {dtype_b}")


@CELLS
@pytest.mark.parametrize("dtype", at_night(["float64", "complex64"], before=["complex64"]))
def test_matmul_with_transposes_alpha_beta_and_c(device, format, kernel, dtype):
    for name in holding(format, ("banded 9", "superdiagonal only", "1x1", "0x0", "nothing stored")):
        a, b = matrix(name, dtype), other(name, dtype)
        c = matrix(name, dtype) * 2 + sp.eye_array(a.shape[0], dtype=dtype, format="csr")
        A, B, C = (ds.array(x, format, device=device) for x in (a, b, c))
        scalars = [(1, 1), (2, -0.5), (0, 1), (1, 0), (-0.25, None)]
        scalars += [(1j, 0.5 - 2j)] if dtype == "complex64" else []
        for trans_a, trans_b in product("NTH", "NTH"):
            left, right = seen(a, trans_a), seen(b, trans_b)
            for alpha, beta in scalars:
                names = {"trans_a": trans_a, "trans_b": trans_b, "alpha": alpha, "kernel": kernel}
                what = f"{name} {trans_a}{trans_b} alpha={alpha} beta={beta}"
                D = ds.matmul(A, B, **names)
                check_matmul(D, left, right, what, alpha, dtype=np.dtype(dtype))
                D = ds.matmul(A, B, C, beta=beta, **names)
                check_matmul(D, left, right, what, alpha, 1 if beta is None else beta, c, np.dtype(dtype))
        assert np.array_equal(C.toarray(), c.toarray()), "C was changed"
        assert np.array_equal(A.toarray(), a.toarray()) and np.array_equal(B.toarray(), b.toarray())


@pairs("format", "format_c")
def test_c_of_another_dtype_and_format(format, format_c):
    a, c = matrix("banded 9", "float32"), matrix("banded 9", "complex128")
    for C in (ds.array(c, format_c), ds.array(c.T.tocsr(), format_c).T, ds.array(c.conj(), format_c).conj()):
        D = ds.matmul(ds.array(a, format), ds.array(a, format), C, beta=2)
        check_matmul(D, a.astype("complex128"), a, f"{format} + {format_c}", 1, 2, c, np.dtype("complex128"))


@CELLS
def test_complex_scalars_on_real_values_give_complex_results(device, format, kernel):
    a = matrix("banded 9", "float64")
    A = ds.array(a, format, device=device)
    for scalars in ({"alpha": 1j}, {"alpha": 1 + 2j}, {"c": A, "beta": 1j}):
        c = scalars.get("c")
        try:
            C = ds.matmul(A, A, kernel=kernel, **scalars)
        except TypeError as error:
            assert "complex" in str(error)
            continue
        check_matmul(C, a.astype(complex), a, scalars, scalars.get("alpha", 1), scalars.get("beta", 0), c and a)


@pytest.mark.parametrize("format", DIAGONAL)
@pytest.mark.parametrize("target", ds.formats())
def test_format_of_the_result_on_request(format, target):
    a = matrix("random diagonals 127", "complex64")
    A = ds.array(a, format)
    for C in (A.matmul(A, format=target), ds.matmul(A, A, format=target), ds.matmul(A, A, A, beta=0, format=target)):
        assert C.format == target
        check_matmul(C, a, a, f"{format} -> {target}")
    C = ds.array(a, "csr").matmul(A, format=target)
    assert C.format == target
    check_matmul(C, a, a, f"csr -> {target}")


@CELLS
def test_out(device, format, kernel):
    for name in holding(format, ("banded 9", "random diagonals 127", "1x1", "0x0")):
        for dtype in ("float32", "complex128"):
            a, b = matrix(name, dtype), other(name, dtype)
            A, B = ds.array(a, format, device=device), ds.array(b, format, device=device)
            out = ds.matmul(A, B, kernel=kernel)
            out.values = np.nan  # must be overwritten, not updated
            C = ds.matmul(A, B, out=out, kernel=kernel)
            assert C is out
            check_matmul(C, a, b, f"{name} {dtype}")
            out.values = np.nan
            assert A.matmul(B, out=out, kernel=kernel) is out
            check_matmul(C, a, b, f"{name} {dtype}")


@pytest.mark.parametrize("format", DIAGONAL)
def test_out_may_be_c(format):
    """C <- alpha A B + beta C in place, when C has the structure of the result."""
    for dtype in ("float64", "complex64"):
        a = matrix("random diagonals 127", dtype)
        A = ds.array(a, format)
        C = A @ A
        C.values[...] = random(C.values.shape, dtype, "c")
        c = sp.csr_array(C.toarray())
        D = ds.matmul(A, A, C, alpha=0.5, beta=-2, out=C)
        assert D is C
        check_matmul(D, a, a, f"out is c, {dtype}", 0.5, -2, c)


@FORMATS
def test_scipy_operands_on_either_side(format):
    a, b = matrix("banded 9", "complex64"), other("banded 9", "complex64")
    A = ds.array(a, format)
    for scipy_format in ("csr", "csc", "coo", "dia", "bsr", "lil"):
        for cls in (sp.csr_array, sp.csr_matrix):
            theirs = cls(b).asformat(scipy_format)
            for C, left, right in ((theirs @ A, b, a), (theirs @ A.T, b, a.T)):  # which SciPy does
                assert sp.issparse(C)
                check_matmul(ds.csr_array(C), left, right, f"{type(theirs).__name__} and {format}")
            for C, left, right in (
                (A @ theirs, a, b), (ds.matmul(A, theirs), a, b), (ds.matmul(theirs, A), b, a),
                (A.matmul(theirs), a, b), (A.T @ theirs, a.T, b),
            ):  # fmt: skip
                assert ds.issparse(C), type(C)
                check_matmul(C, left, right, f"{format} and {type(theirs).__name__}")


@CELLS
def test_zeros_from_cancellation_stay_stored(device, format, kernel):
    a, b = np.array([[1.0, 1.0], [0, 0]]), np.array([[1.0, 0], [-1.0, 1.0]])
    C = ds.array(a, format, device=device).matmul(ds.array(b, format, device=device), kernel=kernel)
    assert np.array_equal(C.toarray(), a @ b) and C.toarray()[0, 0] == 0
    assert 0 in C.offsets if format in DIAGONAL else C.nnz == 2
    assert C.count_nonzero() < C.nnz


@pytest.mark.quick
@CELLS
def test_nan_and_inf(device, format, kernel):
    """Row i of C is not finite exactly where a stored entry of A meets a NaN of B."""
    a = np.eye(70) + np.eye(70, k=1) + np.eye(70, k=-69)
    for bad in (np.nan, np.inf):
        b = np.eye(70) + np.eye(70, k=2)
        b[30, 32] = bad
        C = ds.array(a, format, device=device).matmul(ds.array(b, format, device=device), kernel=kernel).toarray()
        assert {tuple(at) for at in np.argwhere(~np.isfinite(C)).tolist()} == {(30, 32), (29, 32)}


@CELLS
def test_real_factors_meet_infinities_as_they_are(device, format, kernel):
    """2 (inf + 1i) is inf + 2i; were 2 widened to 2 + 0i, zero times infinity would be no number."""
    if kernel == "cusparse":
        pytest.skip("cuSPARSE multiplies operands of one type: the narrower one is widened")
    infinite = np.eye(70, dtype=complex)
    infinite[[3, 40, 41], [3, 40, 41]] = complex(np.inf, 1), complex(-1, -np.inf), complex(np.inf, 0)
    expected = infinite.diagonal().copy()
    expected.real, expected.imag = 2 * expected.real, 2 * expected.imag
    for values in ("float64", "float32"):
        A, B = (ds.array(a, format, device=device) for a in (2 * np.eye(70, dtype=values), infinite))
        assert np.array_equal(A.matmul(B, kernel=kernel).to("cpu").diagonal(), expected)
        assert np.array_equal(A.matmul(B.conj(), kernel=kernel).to("cpu").diagonal(), expected.conj())
        if values == "float64":  # a narrower left operand
            assert np.array_equal(B.matmul(A, kernel=kernel).to("cpu").diagonal(), expected)


@cells("matmul", devices=["cpu"])
@EACH_DTYPE
def test_same_bits_for_any_number_of_threads(device, format, kernel, dtype):
    a = ds.gallery.random_diagonals(1000, 40, seed=3, dtype=dtype)
    A = ds.array(a, format)
    for left, right in ((A, A), (A.T, A), (A, A.H)):
        results = set()
        for threads in (1, 2, 3, 4):
            ds.set_num_threads(threads)
            C = left.matmul(right, kernel=kernel_of(left, kernel, "matmul"))
            results.add((C.asformat("hm") if format == "dia" else C).values.tobytes())
        assert len(results) == 1


@CELLS
def test_random_diagonals_across_blocks(device, format, kernel):
    """More rows than one task processes, and diagonals that start and end inside tiles."""
    for dtype in ("float64", "complex64"):
        a = sp.csr_array(ds.gallery.random_diagonals(700, 25, seed=4, dtype=dtype))
        b = sp.csr_array(ds.gallery.random_diagonals(700, 17, reach=0.9, seed=5, dtype=dtype))
        C = ds.array(a, format, device=device).matmul(ds.array(b, format, device=device), kernel=kernel)
        la, lb = long(a), long(b)
        ref, magnitude = (la @ lb).toarray(), (abs(la) @ abs(lb)).toarray()
        assert_within(C.toarray(), ref, magnitude, longest_row(a), dtype, np.dtype(dtype))


@pytest.mark.quick
@CELLS
def test_exact_in_small_integers(device, format, kernel):
    for name in holding(format, ("dense 40", "banded 200", "random diagonals 127", "hessenberg 31", "scattered")):
        a = np.rint(8 * matrix(name).toarray())
        A = ds.array(a, format, device=device)
        assert np.array_equal(A.matmul(A, kernel=kernel).toarray(), a @ a), name
        assert np.array_equal((A.T @ A).toarray(), a.T @ a), name


def test_a_product_that_cdm_does_not_hold_is_hm(device):
    square, tall = np.arange(25.0).reshape(5, 5), np.arange(15.0).reshape(5, 3)
    A, B = ds.cdm_array(square, device=device), ds.dia_array(tall, device=device)
    plan = ds.plan_matmul(A, B)
    for result in (A @ B, plan(), ds.matmul(A, B), ds.matmul(A, B, c=B, beta=2.0) - 2 * B):
        assert result.format == "hm" and np.array_equal(result.toarray(), square @ tall)
    assert plan.format == "hm" and ds.forecast("matmul", A, B).result_nbytes == (A @ B).nbytes
    with raises(ValueError, "CDM", "square", "5 x 3"):
        ds.matmul(A, B, format="cdm")
