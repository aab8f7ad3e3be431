"""Products that cannot be: shapes, names, outputs and dtypes, refused in the user's words, and nothing changed."""

import array

import numpy as np
import pytest
import scipy.sparse as sp
from cases import DIAGONAL, make, matrix, ours, raises

import diagsparse as ds

FORMATS = pytest.mark.parametrize("format", ds.formats())
EYE = np.eye(3)


@FORMATS
def test_operands_of_impossible_dtypes(format):
    A = make(format, EYE)
    for x in (np.ones(3, object), np.array(["a", "b", "c"]), np.ones(3, np.longdouble), np.ones(3, "M8[s]")):
        with raises(TypeError, "float64"):
            A.matvec(x)
    assert np.array_equal((A @ sp.csr_array(EYE.astype(int))).toarray(), EYE @ EYE)  # as float64, as in SciPy
    with raises(TypeError, "ndarray", "sparse"):
        A.matmul(EYE)
    with raises(TypeError, "ndarray", "sparse"):
        ds.matmul(EYE, A)
    with raises(TypeError, "ndarray"):
        ds.matmul(A, A, EYE)
    for run in (lambda: A.matvec(EYE[0], alpha="2"), lambda: A.matvec(EYE[0], alpha=None),
                lambda: A.matvec(EYE[0], beta="1", out=np.zeros(3)), lambda: ds.matmul(A, A, alpha="2")):  # fmt: skip
        with pytest.raises(TypeError):
            run()


@FORMATS
def test_shapes_that_do_not_fit(format):
    name = "banded 9" if format == "cdm" else "wide 20 x 70"
    A = ours(name, format)
    m, n = A.shape
    for x in (np.ones(n - 1), np.ones(n + 1), np.ones(0)):
        with raises(ValueError, "matvec", f"{len(x)} elements", f"{m} x {n}", f"needs {n}"):
            A.matvec(x)
        with raises(ValueError, f"{len(x)} elements", f"needs {n}"):
            A @ x
    with raises(ValueError, "rmatvec", f"{m + 1} elements", f"needs {m}"):
        A.rmatvec(np.ones(m + 1))
    with raises(ValueError, "matvec", (n + 1, 2), f"needs {n}"):
        A @ np.ones((n + 1, 2))
    with raises(ValueError, (n, 2, 2)):
        A @ np.ones((n, 2, 2))
    with raises(ValueError, (2, m + 1), f"{m} x {n}", f"needs {m}"):
        np.ones((2, m + 1)) @ A
    B = ours("1x7", "dia")
    with raises(ValueError, "matmul", f"{m} x {n}", "1 x 7", n):
        A @ B
    with raises(ValueError, "3 x 3", f"{m} x {n}"):
        A + sp.csr_array(EYE)
    with raises(ValueError, (3, 3), f"{m} x {n}"):
        A - EYE
    with raises(ValueError, "3 x 3", f"{m} x {n}"):
        A * sp.csr_array(EYE)
    with raises(ValueError, "(3, 3)", f"{m} x {n}"):
        A * EYE
    with raises(ValueError, "C is", "3 x 3", f"{m} x {m}"):
        ds.matmul(A, A.T, make("dia", EYE))
    with raises(ValueError, "syr2k", f"{m} x {n}", "1 x 7"):
        ds.syr2k(A, B)


@FORMATS
def test_unknown_names(format):
    A, x = make(format, EYE), np.ones(3)
    quoted = [f'"{kernel}"' for kernel in A.kernels("matvec")]
    for run in (lambda: A.matvec(x, kernel="nope"), lambda: A.rmatvec(x, kernel="nope"),
                lambda: ds.plan_matvec(A, kernel="nope")):  # fmt: skip
        with raises(ValueError, "matvec", '"nope"', format, "cpu", *quoted):
            run()
    quoted = [f'"{kernel}"' for kernel in A.kernels("matmul")]
    for run in (lambda: A.matmul(A, kernel="nope"), lambda: ds.matmul(A, A, kernel="nope"),
                lambda: ds.plan_matmul(A, A, kernel="nope"), lambda: ds.syrk(A, kernel="nope")):  # fmt: skip
        with raises(ValueError, "matmul", '"nope"', "cpu", *quoted):
            run()
    with raises(ValueError, "nope", "matvec", "matmul"):
        A.kernels("nope")
    for run in (lambda: A.asformat("nope"), lambda: ds.array(EYE, "nope"), lambda: A.matmul(A, format="nope"),
                lambda: ds.forecast("convert", A, format="nope"),
                lambda: ds.matmul(A, A, A, format="nope")):  # fmt: skip
        with raises(ValueError, "nope", *ds.formats()):
            run()
    for run in (lambda: ds.matmul(A, A, trans_a="X"), lambda: ds.matmul(A, A, trans_b="n"),
                lambda: ds.syrk(A, trans="C"), lambda: ds.syr2k(A, A, trans=0),
                lambda: ds.plan_matmul(A, A, trans_a=None)):  # fmt: skip
        with raises(ValueError, "trans", '"N", "T" or "H"'):
            run()
    for run in (lambda: ds.syrk(A, triangle="left"), lambda: ds.syr2k(A, A, triangle=0),
                lambda: ds.plan_matmul(A, A.T, triangle="low")):  # fmt: skip
        with raises(ValueError, "triangle", '"lower" or "upper"'):
            run()
    with raises(ValueError, "triangle", "csr_array", '.asformat("hm")'):
        ds.plan_matmul(A.asformat("csr"), A.T, triangle="lower")
    with raises(ValueError, "nope", "matmul", "convert"):
        ds.forecast("nope", A)
    with raises(ValueError, 'forecast: "convert" needs format=', *ds.formats()):
        ds.forecast("convert", A)
    with raises(TypeError, "memory_report: a is ndarray", "sparse matrix"):
        ds.memory_report(EYE)
    with raises(TypeError, "forecast: b is ndarray", "sparse matrix"):
        ds.forecast("matmul", A, EYE)
    with raises(ValueError, "beta", "2"):
        A.matvec(x, beta=2)
    with raises(ValueError, "beta", "2"):
        ds.matmul(A, A, beta=2)
    with raises(ValueError, "axis", 5):
        A.sum(axis=5)
    with raises(ValueError, "axes", "(0, 1)"):
        A.transpose((0, 1))
    for shape in ((0, 0), (0, 4), (4, 0)):
        if format != "cdm" or shape == (0, 0):
            empty = make(format, shape)
            for x in (np.ones(shape[1]), np.ones((shape[1], 0)), np.ones((shape[1], 2))):
                with raises(ValueError, 'no kernel "nope"'):
                    empty.matvec(x, kernel="nope")
                assert np.array_equal(empty @ x, np.zeros((shape[0], *x.shape[1:])))


@FORMATS
def test_kernels_that_are_no_names(format):
    A, x = make(format, EYE), np.ones(3)
    for run, who in (
        (lambda k: A.matvec(x, kernel=k), "matvec"),
        (lambda k: A.rmatvec(x, kernel=k), "rmatvec"),
        (lambda k: ds.plan_matvec(A, kernel=k), "matvec"),
        (lambda k: A.matmul(A, kernel=k), "matmul"),
        (lambda k: ds.plan_matmul(A, A, kernel=k), "matmul"),
        (lambda k: ds.syrk(A, kernel=k), "matmul"),
        (lambda k: ds.power_multiply(A, x, 2, kernel=k), "power_multiply"),
    ):
        for kernel in (3, 0, b"row"):
            with raises(TypeError, f"{who}: kernel={kernel!r}: expected a name") as caught:
                run(kernel)
            assert "\n" not in str(caught.value)


@FORMATS
def test_operands_that_are_no_arrays_of_numbers(format):
    A, masked = make(format, EYE), np.ma.array([1.0, 2.0, 3.0], mask=[False, True, False])
    for run in (lambda: A @ "abc", lambda: "abc" @ A):
        with raises(TypeError, "str", type(A).__name__):
            run()
    square = np.ma.array(EYE, mask=EYE == 1)
    for run in (lambda: A @ masked, lambda: masked @ A, lambda: A.matvec(masked), lambda: A * masked,
                lambda: A + square, lambda: A / masked, lambda: ds.power_multiply(A, masked, 2),
                lambda: ds.array(square), lambda: make(format, square)):  # fmt: skip
        with raises(TypeError, "masked array", "x.filled(0)"):
            run()


@FORMATS
def test_out_that_does_not_fit(format):
    A, x = ours("banded 9", format), np.ones(9)
    frozen = np.zeros(9)
    frozen.flags.writeable = False
    for out, kind, words in (
        (np.zeros(8), ValueError, ["(8,)", "(9,)"]),
        (np.zeros((9, 1)), ValueError, ["(9, 1)", "(9,)"]),
        (np.zeros(9, "float32"), TypeError, ["float32", "float64"]),
        (np.zeros(9, complex), TypeError, ["complex128", "float64"]),
        (np.zeros(9, ">f8"), TypeError, [">f8", "float64"]),
        (frozen, ValueError, ["read-only"]),
        ([0.0] * 9, TypeError, ["list", "NumPy"]),
    ):
        for run in (A.matvec, A.rmatvec, ds.plan_matvec(A)):
            with raises(kind, "out", *words):
                run(x, out=out)
        assert not np.any(out)
    with raises(ValueError, "(8, 9)", "(9, 9)"):
        A.toarray(out=np.zeros((8, 9)))
    with raises((ValueError, TypeError), "float32", "float64"):
        A.toarray(out=np.zeros((9, 9), "float32"))


@FORMATS
def test_nothing_changes_after_an_error(format):
    a = matrix("banded 9")
    A, B = ds.array(a.copy(), format), make(format, EYE)
    C = A @ A
    before, c = A.toarray(), C.toarray()
    for run in (
        lambda: A @ B, lambda: A + B, lambda: A.matvec(np.ones(8)), lambda: ds.matmul(A, A, B),
        lambda: ds.matmul(A, A, out=B), lambda: ds.matmul(B, B, out=C), lambda: ds.matmul(A, A, B, out=C),
        lambda: ds.matmul(A, A, A, out=B), lambda: A.astype(int), lambda: A.asformat("nope"),
        lambda: ds.matmul(A, A, A, out=A.astype("complex64")), lambda: ds.matmul(A, A, A, out=np.zeros((9, 9))),
    ):  # fmt: skip
        with pytest.raises((ValueError, TypeError)):
            run()
    assert np.array_equal(A.toarray(), before) and np.array_equal(C.toarray(), c) and np.array_equal(B.toarray(), EYE)


@FORMATS
def test_errors_name_the_operands_that_were_given(format):
    A, B = make(format, np.eye(4) + np.eye(4, k=1)), make(format, np.eye(5))
    plan = ds.plan_matmul(A, A)
    with raises(ValueError, 'matmul: no kernel "nope" for products as ', "there are "):
        A.matmul(A, kernel="nope")
    with raises(ValueError, f"plan: A is <{format}_array 5 x 5", f"created for <{format}_array 4 x 4"):
        plan(B, A)
    with raises(TypeError, f"plan: B is int, expected a {format}_array"):
        plan(A, 5)
    with raises(TypeError, "plan: B is SciPy's csr_array", f'ds.array(B, "{format}")'):
        plan(A, sp.csr_array(EYE))
    with raises(ValueError, "plan: A, 4 x 4 and multiplied as ", "has another structure", "make a new plan"):
        plan(make(format, np.eye(4, k=-1) + np.eye(4)), A)
    with raises(TypeError, f"plan: out is int, expected a {plan.format}_array"):
        plan(A, A, out=5)
    with raises(MemoryError, f"matmul: {format}_array 4 x 4 float64 times {format}_array 4 x 4"):
        ds.matmul(A, A, max_bytes=1)


def test_one_triangle_of_a_plan_is_for_diagonals():
    for format in set(ds.formats()) - set(DIAGONAL):
        A = ds.array(sp.csr_array(np.array([[1.0, 2], [3, 4]])), format)
        with raises(ValueError, "triangle", f"{format}_array", '.asformat("hm")'):
            ds.plan_matmul(A, A, triangle="lower")


def test_a_complex_factor_of_a_real_product():
    A = ds.eye(4, dtype=np.float32)
    for call in (lambda: ds.matmul(A, A, alpha=1j), lambda: ds.matmul(A, A, A, alpha=1j, beta=1)):
        with raises(TypeError, "matmul: alpha=1j", "float32", "expected a real number", "A.astype(np.complex64)"):
            call()
    result = ds.matmul(A.astype(np.complex64), A, alpha=1j)
    assert np.array_equal(result.toarray(), 1j * np.eye(4))


def test_buffers_are_vectors():
    """NumPy counts a memoryview as a scalar; here it is the vector or block that it holds."""
    x = np.arange(4.0)
    A = ds.diags({0: x + 1})
    for given in (memoryview(x), array.array("d", x)):
        assert np.array_equal(A @ given, A @ x) and np.array_equal(given @ A, x @ A)
        assert np.array_equal((A * given).toarray(), A.toarray() * x)
    assert np.array_equal(A @ memoryview(np.ones((4, 2))), A @ np.ones((4, 2)))
    batch = ds.batch_array([A, A])
    assert np.array_equal(batch @ memoryview(x), batch @ x)
    for wrong in (b"abcd", memoryview(b"abcd").cast("c")):
        with pytest.raises(TypeError):
            A @ wrong


def test_numpy_gets_no_array_of_a_batch():
    batch = ds.batch_array([ds.eye(3), 2 * ds.eye(3)])
    for call in (np.asarray, np.array, lambda b: np.array(b, dtype=float)):
        with raises(TypeError, "<batch_array of 2 hm_array 3 x 3", "np.stack([A.toarray() for A in batch])"):
            call(batch)
    assert np.stack([A.toarray() for A in batch]).shape == (2, 3, 3)


def test_a_matrix_too_large_says_what_would_fit():
    with raises(MemoryError, "10" + "0" * 11 + " entries", "8.0 TB", "are free", "period=1"):
        ds.eye(10**12)
    assert ds.hm_array((np.ones(1), [0]), shape=(10**12, 10**12), period=1).nbytes < 100
    with raises(MemoryError, "csr_array", "are free", 'format="hm" needs'):
        ds.diags({k: 1.0 for k in range(20_000)}, shape=(2**31 - 1, 2**31 - 1), format="csr")
