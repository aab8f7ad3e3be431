"""+ - * / **, dtypes and zeros: element by element, against dense NumPy arrays."""

import operator

import numpy as np
import pytest
import scipy.sparse as sp
from cases import (
    DIAGONAL,
    DTYPES,
    EACH_DTYPE,
    MEDIUM,
    SMALL,
    VIEWS,
    at_night,
    holding,
    matrix,
    ours,
    pairs,
    partner,
    raises,
    random,
    to_device,
)
from oracle import assert_within, long, seen

import diagsparse as ds

FORMATS = pytest.mark.parametrize("format", ds.formats())
SQUARE = ("0x0", "1x1", "banded 9", "corners 65", "stencil 27", "nothing stored", "explicit zeros", "arrow 33")
WIDE = ("wide 20 x 70", "0x5", "5x0", "1x7", "empty rows")


def close(C, ref, what, dtype=None):
    """Assert equality up to one rounding of each element (complex products: of each part)."""
    got = C.toarray() if ds.issparse(C) else C
    assert_within(got, long(np.asarray(ref)), abs(long(np.asarray(ref))), -2, what, dtype)


@FORMATS
@EACH_DTYPE
def test_scalars(format, dtype):
    scalars = [2, -0.5, 0, True, np.float32(3), np.float64(-1.5), np.int64(4), np.array(2.0), 1 + 2j, np.complex64(1j)]
    for name in holding(format, ("0x0", "banded 9", "corners 65", *WIDE)):
        for op in "NH":
            A, a = VIEWS[op](ours(name, format, dtype)), seen(matrix(name, dtype), op).toarray()
            for s in scalars:
                for result, expected in ((A * s, a * s), (s * A, s * a), (A.multiply(s), a * s)):
                    assert result.format == A.format
                    close(result, expected, f"{name} {op} times {s!r}", expected.dtype)
                if s != 0:
                    close(A / s, a / s, f"{name} {op} over {s!r}", (a / s).dtype)
            powers = ((A**1, a), (A**2, a**2), (A**3, a**3))
            for result, expected in ((-A, -a), (A.dot(2), 2 * a), (abs(A), abs(a)), *powers):
                assert result.format == A.format
                close(result, expected, f"{name} {op}", expected.dtype)
            assert np.array_equal(A.toarray(), a), "A was changed"
    A, a = ours("banded 9", format, dtype), matrix("banded 9", dtype).toarray()
    close(abs(A) ** 0.5, abs(a) ** 0.5, "square root")
    for power, error in (("a", TypeError), (None, NotImplementedError), ([2], NotImplementedError)):
        for take in (lambda B, p=power: B.power(p), lambda B, p=power: B**p):
            with raises(error, "a positive number", repr(power)):
                take(A)
            with pytest.raises(error):  # SciPy's
                take(sp.csr_array(a))


@pairs("format", "right")
@pytest.mark.parametrize("dtypes", at_night(["float64 float32", "complex64 float64"], before=["complex64 float64"]))
def test_sparse_with_sparse(format, right, dtypes):
    operators, (dtype_a, dtype_b) = {"+": operator.add, "-": operator.sub, "*": operator.mul}, dtypes.split()
    for name in holding(right, holding(format, (*SQUARE, "wide 20 x 70", "0x5", "empty rows"))):
        a, b = matrix(name, dtype_a), partner(name, dtype_b)
        for op_a, op_b in (("N", "N"), ("H", "T"), ("C", "N")):
            A, B = VIEWS[op_a](ours(name, format, dtype_a)), VIEWS[op_b](ds.array(b, right))
            dense_a, dense_b = seen(a, op_a).toarray(), seen(b, op_b).toarray()
            for sign, function in operators.items():
                C = function(A, B)
                assert C.format == A.format and C.shape == A.shape
                expected = function(dense_a, dense_b)
                close(C, expected, f"{name}: {op_a}({dtype_a}) {sign} {op_b}({dtype_b})", expected.dtype)
            close(A.multiply(B), dense_a * dense_b, f"{name} multiply")
        assert np.array_equal(ours(name, format, dtype_a).toarray(), a.toarray()), "A was changed"


@pytest.mark.quick
@FORMATS
def test_sparse_with_scipy(format):
    for cls in (sp.csr_array, sp.csr_matrix, sp.dia_array, sp.coo_array):
        a, b = matrix("banded 9", "complex64"), partner("banded 9", "complex64")
        A, B = ds.array(a, format), cls(b)
        for result, expected in ((A + B, a + b), (A - B, a - b), (A.multiply(B), a.multiply(b))):
            assert result.format == format
            close(result, expected.toarray(), f"{format} and {cls.__name__}")
        for result, expected in ((B + A, a + b), (B - A, b - a)):
            close(result, expected.toarray(), f"{cls.__name__} and {format}")


@pytest.mark.parametrize("format", ["dia", "hm"])
def test_sums_store_the_union_and_products_the_intersection(format):
    A = ds.array(sp.diags_array([1.0, 2, 3], offsets=[-1, 0, 4], shape=(9, 9)), format)
    B = ds.array(sp.diags_array([1.0, -2, 3], offsets=[-2, 0, 4], shape=(9, 9)), format)
    assert sorted((A + B).offsets) == [-2, -1, 0, 4] and sorted((A * B).offsets) == [0, 4]
    assert sorted((A - A).offsets) == [-1, 0, 4] and (A - A).count_nonzero() == 0  # zeros stay stored
    assert sorted((A + B).offsets) == [-2, -1, 0, 4] and np.array_equal((A + B).diagonal(), np.zeros(9))


@FORMATS
@EACH_DTYPE
def test_dense_operands(format, dtype):
    for name in holding(format, ("0x0", "banded 9", "corners 65", "wide 20 x 70", "0x5", "1x7", "empty rows")):
        for op in "NH":
            A, a = VIEWS[op](ours(name, format, dtype)), seen(matrix(name, dtype), op).toarray()
            m, n = a.shape
            for other in {dtype, "complex64", "int32"}:
                d = (5 * random((m, n), "float64", name)).astype(other)
                for shaped in (d, d[:1, :], d[:, :1], d[0] if m else np.ones(n, other)):
                    for result in (A * shaped, shaped * A):
                        assert ds.issparse(result) and result.format == A.format
                        close(result, a * shaped, f"{name} {op} times {shaped.shape} {other}", (a * shaped).dtype)
                    for result, expected in ((A + shaped, a + shaped), (shaped - A, shaped - a)):
                        close(result, expected, f"{name} {op} and {shaped.shape} {other}", expected.dtype)
                for result, expected in ((A + d, a + d), (d + A, d + a), (A - d, a - d), (d - A, d - a)):
                    assert isinstance(result, np.ndarray)
                    close(result, expected, f"{name} {op} and dense {other}", expected.dtype)


@FORMATS
@EACH_DTYPE
def test_division_by_dense_arrays(format, dtype, device):
    for name in holding(format, ("0x0", "banded 9", "wide 20 x 70", "5x0")):
        A, a = ours(name, format, dtype, device), matrix(name, dtype)
        for other in {dtype, "complex64", "int32"}:
            d = (3 + random(a.shape, "float64", name)).astype(other)
            for shaped in (d, d[:1, :], d[:, :1], d[:1].ravel() if len(d) else np.ones(a.shape[1], other)):
                result, exact = A / to_device(shaped, device), a.toarray() / shaped
                assert (result.format, result.dtype) == (A.format, (a / shaped).dtype)
                assert np.array_equal(result.toarray(), exact.astype(result.dtype)), (
                    f"{name} over {shaped.shape} {other}"
                )
    A = ours("1x7", "csr")
    assert np.array_equal((A / [2.0] * 7).toarray(), (A / 2).toarray() * 7)
    A, dense = ours("banded 9", format), np.ones((9, 9))
    with np.errstate(all="ignore"):
        a, quotient = matrix("banded 9"), A.toarray() / A.toarray()  # 0 / 0 is no number
    for result in (A / A, A / a, a / A):
        assert np.array_equal(result.toarray() if sp.issparse(result) else result, quotient, equal_nan=True)
    for number in (2, dense):
        with raises(TypeError, "/: the divisor is a sparse", "write x / A.toarray()"):
            number / A
    with raises(ValueError, "(3,)", "9 x 9"):
        A / np.ones(3)


@pytest.mark.parametrize(
    ("format", "layout"),
    [("ellcsr", {"boundary": 4}), ("ellcsr", {"boundary": 5, "column_bits": 8}), ("sell", {"slice_height": 5}),
     ("sell", {"sigma": 8}), ("hyb", {"width": 2}), ("csb", {"block": 4})],
    ids=str,
)  # fmt: skip
def test_division_where_the_layout_was_given(format, layout, device):
    a, d = sp.random_array((30, 31), density=0.3, rng=np.random.default_rng(0)).tocsr(), np.arange(1.0, 32)
    A = ds.csr_array(a).to(device).asformat(format, **layout)
    assert np.allclose((A / d).toarray(), a.toarray() / d, rtol=1e-15, atol=0)
    assert np.allclose((A * d).toarray(), a.toarray() * d, rtol=1e-15, atol=0)


@FORMATS
def test_zeros_stay_zeros_whatever_divides_them(format):
    a = np.diag([1.0, 0, 3, 4]) + np.diag([5.0, 0, 7], 1)
    d = np.array([[1e-310, 1, 1, 1], [0, 0, np.nan, np.inf], [1, 1, 0, 1], [-0.0, 2, 2, 2]])
    with np.errstate(all="ignore"):
        expected = np.where(a == 0, 0, a / d)
    for A in (ds.array(a, format), ds.array(a.T, format).T, ds.array(sp.csr_array(a), format).conj()):
        with np.errstate(over="ignore"):  # 1 / 1e-310
            assert np.array_equal((A / d).toarray(), expected)


@pytest.mark.quick
@FORMATS
def test_astype_and_conj(format):
    for name in holding(format, ("banded 9", "wide 20 x 70", "0x5", "explicit zeros")):
        for dtype in DTYPES:
            for op in VIEWS:
                A, a = VIEWS[op](ours(name, format, dtype)), seen(matrix(name, dtype), op).toarray()
                for target in DTYPES:
                    if "complex" in dtype and "float" in target:
                        with pytest.raises(TypeError, match=f"{dtype}.*{target}"):
                            A.astype(target)
                        continue
                    B = A.astype(target)
                    assert (B.dtype, B.format, B.shape) == (target, A.format, A.shape)
                    assert np.array_equal(B.toarray(), a.astype(target)), f"{name} {op} {dtype} to {target}"
                assert A.astype(dtype, copy=False) is A and A.astype(dtype) is not A
                assert np.array_equal(A.conj().toarray(), a.conj())
                assert np.array_equal(A.conj(copy=True).parts()["values"].shape, A.copy().values.shape)
                assert np.array_equal(A.conjugate().toarray(), a.conj())


@FORMATS
def test_count_nonzero_and_eliminate_zeros(format):
    for name in holding(format, SMALL):
        a = matrix(name)
        for view in (lambda A: A, lambda A: A.T):
            A = view(ds.array(a, format).copy())
            dense, same = A.toarray(), A.T
            assert A.count_nonzero() == np.count_nonzero(dense), name
            A.eliminate_zeros()
            assert np.array_equal(A.toarray(), dense) and np.array_equal(same.toarray(), dense.T), name
            assert A.count_nonzero() == np.count_nonzero(dense)
            if format in DIAGONAL:
                empty = [k for k in A.offsets if not A.diagonal(k).any()]
                assert not empty or format == "cdm", f"{name}: diagonals {empty} are zero"
            elif format != "qband":  # whose bands hold zeros too
                assert A.nnz == np.count_nonzero(dense), name
    A = ds.array(sp.csr_array(matrix("banded 9")), format).copy()
    A.values[...] = 0
    A.eliminate_zeros()
    assert A.nnz == 0 and A.shape == (9, 9) and np.array_equal(A @ np.ones(9), np.zeros(9))


@pytest.mark.quick
@FORMATS
def test_nan_and_inf(format):
    """They stay in their element, and an infinite real part does not affect the imaginary part."""
    dense = np.diag([np.inf, 1.0, -np.inf, np.nan]) + np.diag([2.0, 3.0, 4.0], 1)
    for dtype in DTYPES:
        a = dense.astype(dtype)
        A, B = ds.array(a, format), ds.array(sp.csr_array(np.eye(4, k=1, dtype=dtype)), format)
        for result, expected in ((A + B, a + B.toarray()), (A - B, a - B.toarray()), (B - A, B.toarray() - a), (-A, -a),
                               (A.conj(), a.conj()), (abs(A), abs(a)), (A.T.copy(), a.T)):  # fmt: skip
            assert np.array_equal(result.toarray(), expected, equal_nan=True), dtype
        a[3, 3] = 5
        A = ds.array(a, format)
        for axis in (0, 1):
            assert np.array_equal(A.sum(axis=axis), a.sum(axis=axis), equal_nan=True), (dtype, axis)
        assert np.array_equal(A.diagonal(), a.diagonal()) and A.count_nonzero() == 7


@FORMATS
@EACH_DTYPE
def test_dense_arrays_of_any_layout(format, dtype):
    """`toarray` into any memory, and sums with dense arrays of any order, type and sign."""
    for name in holding(format, MEDIUM):
        for view in VIEWS.values():
            A = view(ds.array(matrix(name).astype(dtype), format))
            dense, (m, n) = A.toarray(), A.shape
            packed = np.zeros(m * n, [("odd", "u1"), ("value", dtype)])["value"].reshape(m, n)  # not aligned
            for out in (np.ones((m, n), dtype, "F"), np.ones((m, 3 * n), dtype)[:, ::-3][:, :n], packed):
                assert A.toarray(out=out) is out and np.array_equal(out, dense), name
            for other in (random((m, n), dtype, name), np.ones((n, m), "float64").T, np.ones((m, n), bool)):
                for result, expected in ((A + other, dense + other), (other + A, other + dense),
                                       (A - other, dense - other), (other - A, other - dense)):  # fmt: skip
                    assert result.dtype == expected.dtype and np.array_equal(result, expected), name


@FORMATS
def test_results_do_not_depend_on_the_number_of_threads(format):
    n = 40_000
    a = ds.gallery.banded(n, 3, 2, seed=0)
    a.data[:, ::5] = 0
    result = []
    for threads in (1, 4):
        ds.set_num_threads(threads)
        A = ds.array(a, format)
        result.append([X.to_scipy("csr") for X in (A.tocsr(), A.T.tocsc(), A.T.tocoo(), A - A.T, A.multiply(A.T))])
        assert A.trace() == A.diagonal().sum()
    for one, four in zip(*result, strict=True):
        assert np.array_equal(one.data, four.data) and np.array_equal(one.indices, four.indices)
    assert abs(result[0][0] - sp.csr_array(a)).nnz == 0
