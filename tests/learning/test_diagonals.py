"""Diagonals in JAX and PyTorch: results of all operations, compared with SciPy, and errors."""

import numpy as np
import pytest
import scipy.sparse as sp
from cases import at_night, raises
from learned import DTYPES, EACH_SHAPE, SHAPES, load, padded, random, scipys, x64  # noqa: F401

import diagsparse as ds

pytestmark = [pytest.mark.parametrize("library", ["jax", "torch"]), pytest.mark.usefixtures("x64_if_jax")]


@pytest.fixture
def x64_if_jax(library, request):
    load(library)
    if library == "jax":
        request.getfixturevalue("x64")


def array_of(library, x):
    if library == "torch":
        return pytest.importorskip("torch").tensor(x)
    return pytest.importorskip("jax").numpy.asarray(x)


def pair(library, name, dtype="float64", seed=0, shape=None):
    """Return a matrix of the library, and the same of SciPy."""
    offsets, own = SHAPES[name]
    values = padded(offsets, shape or own, dtype, seed)
    return load(library).Diagonals(array_of(library, values), offsets, shape or own), scipys(
        values, offsets, shape or own
    )


def close(given, expected, terms=1):
    """Check a result within the rounding errors of a sum of so many products of numbers of about 1."""
    given = np.asarray(given.todense() if hasattr(given, "todense") else given)
    expected = expected.toarray() if sp.issparse(expected) else expected
    assert given.shape == expected.shape and given.dtype == expected.dtype
    assert np.abs(given - expected).max(initial=0) <= 40 * (terms + 4) * np.finfo(given.dtype).eps


def evaluated(library, function, *arguments):
    """Call a function, compiled in JAX: compiling each of its operations takes longer."""
    return (pytest.importorskip("jax").jit(function) if library == "jax" else function)(*arguments)


def everything(A, x, X, y, Y):
    return A @ x, A @ X, y @ A, Y @ A, A, A.T, A.T.conj(), -A * 2 / 4, 2 * A


@EACH_SHAPE
@pytest.mark.parametrize("dtype", at_night(DTYPES, before=("float32", "complex128")))
def test_products(library, name, dtype):
    A, S = pair(library, name, dtype)
    m, n = S.shape
    arrays = [random(*shape, dtype=dtype, seed=1) for shape in ((n,), (n, 3), (m,), (3, m))]
    found = evaluated(library, everything, A, *(array_of(library, x) for x in arrays))
    for given, expected in zip(found, everything(S, *arrays), strict=True):
        expected = expected.toarray() if sp.issparse(expected) else expected
        close(given, expected.astype(dtype), max(m, n))
    Y, _ = random(3, m, dtype=dtype), close((A @ array_of(library, np.ones((n, 0), dtype))), np.ones((m, 0), dtype))
    close(Y @ A, Y @ S, m)
    close(A.H, S.conj().T)


def test_products_of_mixed_dtypes(library):
    for mine in DTYPES:
        A, S = pair(library, "wide", mine)
        for other in DTYPES:
            x = random(S.shape[1], dtype=other, seed=1)
            expected = (S @ x).astype(np.result_type(S.dtype, x.dtype))
            given = np.asarray(A @ array_of(library, x))
            assert given.dtype == expected.dtype and np.allclose(given, expected, rtol=0, atol=1e-5)


def products_and_sums(A, B, C):
    return A @ B, A + C, A - C, A + A


@EACH_SHAPE
def test_products_and_sums_of_matrices(library, name):
    A, S = pair(library, name)
    m, n = S.shape
    for other in ("tall", "no diagonals"):
        both = []
        for shape in ((n, 11), (m, n)):
            offsets = tuple(k for k in SHAPES[other][0] if -shape[0] < k < shape[1] and 0 not in shape)
            values = padded(offsets, shape, seed=3)
            D = load(library).Diagonals(array_of(library, values), offsets, shape)
            both.append((D, scipys(values, offsets, shape)))
        found = evaluated(library, products_and_sums, A, *(ours for ours, _ in both))
        for given, expected in zip(found, products_and_sums(S, *(theirs for _, theirs in both)), strict=True):
            close(given, expected, n)
        assert list(found[0].offsets) == sorted(found[0].offsets) and found[3].offsets == A.offsets


@EACH_SHAPE
def test_elements_and_conversions(library, name):
    A, S = pair(library, name, "complex128")
    m, n = S.shape
    for k in range(-m - 1, n + 2, max(1, n // 5)):
        assert np.array_equal(np.asarray(A.diagonal(k)), S.diagonal(k))
    B = A.to_array()
    assert isinstance(B, ds.dia_array) and B.offsets.tolist() == list(A.offsets)
    assert np.array_equal(B.toarray(), S.toarray())
    assert A.to_array("csr").format == "csr"
    again = load(library).from_array(B)
    assert again.offsets == A.offsets and again.shape == A.shape
    assert np.isfinite(np.asarray(again.values)).all(), "zeros outside of the matrix"
    close(again, S)
    if len(A.offsets) and B.device == "cpu":
        B.values[...] = 7
        close(again, S)


@pytest.mark.gpu
def test_matrices_on_a_gpu(library):
    S = ds.gallery.banded(9, 2, 1, seed=0)
    for format in ("dia", "hm", "csr"):
        A = load(library).from_array(ds.array(S, format, device="cuda"))
        B = A.to_array()
        assert B.device == "cuda" and np.array_equal(B.toarray(), S.toarray())
        B *= 2
        assert np.array_equal(A.to_array().toarray(), S.toarray()), "a copy"


def test_matrices_of_all_kinds(library):
    from_array = load(library).from_array
    S = ds.gallery.banded(9, 2, 1, seed=0)
    matrices = [ds.array(S, format) for format in ds.formats()]
    matrices += [S, S.tocsr(), S.toarray(), ds.dia_array(S).T.T, ds.hm_array(S).T.T]
    for A in matrices:
        close(from_array(A), S)
    packed = ds.hm_array(ds.gallery.tridiagonal(9), symmetry="symmetric", period=1)
    close(from_array(packed), packed.unpacked().to_scipy())
    A = ds.dia_array(S) * (1 + 2j)
    close(from_array(A.H), A.H.to_scipy())
    close(from_array(ds.dia_array(S, dtype="float16")), S.astype("float16").astype("float32"))


def test_text(library):
    A, _ = pair(library, "band", "float32")
    assert repr(A) == "Diagonals(6 x 6 float32, offsets=(-1, 0, 2))"
    assert A.ndim == 2 and "float32" in str(A.dtype)


def test_errors(library):
    module = load(library)
    A, S = pair(library, "wide")  # 5 x 9
    D = module.Diagonals
    with raises(ValueError, "shape (3,)", "5 x 9", "9 rows"):
        A @ np.ones(3)
    with raises(ValueError, "shape (9,)", "5 x 9", "5 columns"):
        np.ones(9) @ A
    with raises(ValueError, "shape (2, 9)", "5 x 9", "5 columns"):
        np.ones((2, 9)) @ A
    with raises(ValueError, "shape (9, 2, 2)", "3 dimensions", "expected 1 or 2"):
        A._applied(np.ones((9, 2, 2)))
    with raises(ValueError, "A is 5 x 9", "B is 5 x 9"):
        A @ A
    with raises(ValueError, "A is 5 x 9", "B is 9 x 5"):
        A + A.T
    for factor in (np.ones(5), A, S):
        with raises(TypeError, type(factor).__name__, "expected a scalar"):
            A * factor
        with raises(TypeError, "scalar"):
            A / factor
    for matrix in (ds.eye(9), sp.eye_array(9)):
        with raises(TypeError, type(matrix).__name__, f"diagsparse.{library}", "from_array"):
            A @ matrix
    with raises(TypeError):
        A + 1
    ones = np.ones((2, 3))
    with raises(ValueError, "[0, 0]", "repeat 0"):
        D(ones, [0, 0], (3, 3))
    with raises(ValueError, "offset -3", "-2..2", "3 x 3"):
        D(ones, [0, -3], (3, 3))
    with raises(ValueError, "offset 0", "0 x 3", "no diagonals"):
        D(np.ones((1, 0)), [0], (0, 3))
    with raises(ValueError, "(2, 3)", "2 offsets", "4 x 3", "(2, 4)"):
        D(ones, [0, 1], (4, 3))
    with raises(TypeError, "int64", "floats"):
        D(np.ones((2, 3), np.int64), [0, 1], (3, 3))
    with raises(TypeError, "1.5", "integers"):
        D(ones, [0, 1.5], (3, 3))
    with raises(TypeError, "shape 3", "two integers"):
        D(ones, [0, 1], 3)
    with raises(ValueError, "-3", "negative"):
        D(ones, [0, 1], (-3, 3))
    with raises(TypeError, "from_array", "str"):
        module.from_array("a")
