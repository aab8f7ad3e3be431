"""syrk and syr2k: alpha A A^T + beta C and alpha (A B^T + B A^T) + beta C, complete or one triangle."""

import numpy as np
import pytest
import scipy.sparse as sp
from cases import DTYPES, EACH_DIAGONAL, MULTIPLYING, at_night, holding, matrix, ours, random
from oracle import assert_within, long, longest_row

import diagsparse as ds

FORMATS = pytest.mark.parametrize("format", ds.formats())
MULTIPLIED = pytest.mark.parametrize("format", MULTIPLYING)
TRIANGLES = {None: lambda a: a, "lower": np.tril, "upper": np.triu}
NAMES = ("banded 9", "stencil 27", "corners 65", "dense 9", "wide 20 x 70", "empty rows", "0x5", "5x0", "0x0", "1x1")


def pair(a, b, trans):
    """Return the factors of the first product in extended precision."""
    a, b = long(a), long(b)
    return {"N": (a, b.T), "T": (a.T, b), "H": (a.T.conj(), b)}[trans]


def check(C, pairs, what, triangle, alpha=1, beta=0, c=None, dtype=None):
    """Assert that C is the triangle of the sum of these products within the bound."""
    keep = TRIANGLES[triangle]
    ref = sum((x @ y).toarray() for x, y in pairs) * alpha
    magnitude = sum((abs(x) @ abs(y)).toarray() for x, y in pairs) * abs(alpha)
    if beta != 0:
        ref, magnitude = ref + beta * long(c.toarray()), magnitude + abs(beta) * abs(long(c.toarray()))
    terms = sum(longest_row(x) for x, _ in pairs) + 2
    assert_within(C.toarray(), keep(ref), keep(magnitude), terms, what, dtype)


def second(name, dtype):
    """Return a matrix of the same shape on other diagonals."""
    m, n = matrix(name).shape
    rows, columns = np.nonzero((np.arange(n)[None, :] - np.arange(m)[:, None]) % 3 == 1)
    return sp.csr_array((random(len(rows), dtype, name), (rows, columns)), shape=(m, n))


@MULTIPLIED
@pytest.mark.parametrize("trans", at_night("NTH", before="NH"))
@pytest.mark.parametrize("triangle", TRIANGLES)
@pytest.mark.parametrize("dtype", at_night(["float32", "complex128"], before=["complex128"]))
def test_syrk(format, trans, triangle, dtype):
    for name in holding(format, NAMES):
        a, A = matrix(name, dtype), ours(name, format, dtype)
        for kernel in A.kernels("matmul") or [None]:
            C = ds.syrk(A, trans=trans, triangle=triangle, kernel=kernel)
            assert C.format == format
            check(C, [pair(a, a, trans)], f"{name} {trans} {triangle}", triangle, dtype=dtype)
        n = C.shape[0]
        c = second(name, dtype) @ second(name, dtype).T if trans == "N" else sp.eye_array(n, dtype=dtype)
        c = sp.csr_array(c + np.eye(n, k=1, dtype=dtype))  # has entries in both triangles
        for alpha, beta in ((2, None), (-0.5, 0.25)):
            C = ds.syrk(A, ds.array(c, format), alpha=alpha, beta=beta, trans=trans, triangle=triangle)
            scale = 1 if beta is None else beta
            check(C, [pair(a, a, trans)], f"{name} {trans} {alpha} {beta}", triangle, alpha, scale, c, dtype)


@MULTIPLIED
@pytest.mark.parametrize("trans", at_night("NTH", before="NH"))
@pytest.mark.parametrize("triangle", TRIANGLES)
@pytest.mark.parametrize("dtype", at_night(["float64", "complex64"], before=["float64"]))
def test_syr2k(format, trans, triangle, dtype):
    for name in holding(format, NAMES):
        a, b = matrix(name, dtype), second(name, dtype)
        A, B = ours(name, format, dtype), ds.array(b, format)
        pairs = [pair(a, b, trans), pair(b, a, trans)]
        C = ds.syr2k(A, B, trans=trans, triangle=triangle)
        assert C.format == format
        check(C, pairs, f"{name} {trans} {triangle}", triangle, dtype=dtype)
        c = sp.csr_array(C.toarray() + 1)
        C = ds.syr2k(A, B, ds.array(c, "csr"), alpha=2, beta=-0.5, trans=trans, triangle=triangle)
        check(C, pairs, f"{name} {trans} {triangle}, with C", triangle, 2, -0.5, c, dtype)


@pytest.mark.parametrize("format", ["dia", "hm"])
def test_one_triangle_stores_one_triangle(format):
    A = ours("random diagonals 127", format)
    B = ds.array(second("random diagonals 127", "float64"), format)
    for make in (ds.syrk, lambda *a, **k: ds.syr2k(A, B, *a[1:], **k)):
        whole, lower, upper = (make(A, triangle=triangle) for triangle in TRIANGLES)
        assert sorted(lower.offsets) == [k for k in sorted(whole.offsets) if k <= 0]
        assert sorted(upper.offsets) == [k for k in sorted(whole.offsets) if k >= 0]
        assert lower.nnz + upper.nnz == whole.nnz + 127 and lower.nbytes < whole.nbytes
        full = ds.array(np.ones((127, 127)), format)
        assert sorted(make(A, full, triangle="lower").offsets) == list(range(-126, 1))
        assert sorted(make(A, full, triangle="upper").offsets) == list(range(127))


@EACH_DIAGONAL
@pytest.mark.parametrize("triangle", ["lower", "upper"])
def test_a_plan_of_one_triangle(format, triangle):
    A = ours("banded 9", format)
    plan, C = ds.plan_matmul(A, A.T, triangle=triangle), ds.syrk(A, triangle=triangle)
    assert plan.offsets.tolist() == sorted(C.offsets) and plan.nbytes == C.nbytes
    result = plan()
    assert np.array_equal(result.toarray(), C.toarray())
    twice = A * 2
    assert plan(twice, twice.T, out=result) is result and np.array_equal(result.toarray(), 4 * C.toarray())
    entries = ds.plan_matmul(A, A.T, triangle=triangle, format="csr")()
    assert entries.format == "csr" and np.array_equal(entries.toarray(), C.toarray())


@pytest.mark.quick
@FORMATS
def test_views_and_scipy_operands(format):
    a = matrix("random diagonals 127", "complex128")
    A = ds.array(a, format)
    check(ds.syrk(A.T), [pair(a.T, a.T, "N")], "syrk of A.T", None)
    check(ds.syrk(A.H, trans="H"), [pair(a.conj().T, a.conj().T, "H")], "syrk of A.H", None)
    check(ds.syrk(a), [pair(a, a, "N")], "syrk of SciPy's", None)
    check(ds.syr2k(A, a), [pair(a, a, "N")] * 2, "syr2k of both", None)
    check(ds.syr2k(a, A.conj()), [pair(a, a.conj(), "N"), pair(a.conj(), a, "N")], "syr2k of both", None)


@pytest.mark.quick
@FORMATS
def test_mixed_dtypes(format):
    for dtype_a, dtype_b, dtype_c in (("float32", "complex64", "float64"), ("float64", "float32", "float32"),
                                      ("complex64", "float64", "float32")):  # fmt: skip
        a, b = matrix("banded 9", dtype_a), second("banded 9", dtype_b)
        c = matrix("banded 9", dtype_c)
        expected = np.result_type(a.dtype, b.dtype, c.dtype)
        C = ds.syr2k(ds.array(a, format), ds.array(b, format), ds.array(c, format))
        wide = a.astype(expected), b.astype(expected)
        check(C, [pair(*wide, "N"), pair(*wide[::-1], "N")], f"{dtype_a} {dtype_b}", None, 1, 1, c, expected)


@pytest.mark.parametrize("format", ["dia", "hm", "csr"])
def test_same_bits_for_any_number_of_threads(format):
    for dtype in DTYPES:
        A = ds.array(ds.gallery.random_diagonals(600, 30, seed=6, dtype=dtype), format)
        results = set()
        for threads in (1, 2, 3, 4):
            ds.set_num_threads(threads)
            results.add(ds.syrk(A, triangle="upper").toarray().tobytes())
        assert len(results) == 1, dtype
