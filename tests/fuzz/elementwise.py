"""``+ - * / **`` with scalars, dense and sparse operands; sums, traces, diagonals, zeros."""

import operator
import warnings
from typing import Any

import numpy as np
import scipy.sparse as sp
from cases import fits
from oracle import long

import diagsparse as ds
from fuzz import arrays
from fuzz.arrays import NARROW, VALUE, arranged, numbers, widened
from fuzz.case import Case
from fuzz.checks import close, refused, same
from fuzz.matrices import as_scipy, draw

SCALARS = (
    2,
    -0.5,
    0,
    True,
    3.25,
    np.float32(3),
    np.float64(-1.5),
    np.int64(4),
    np.array(2.0),
    1 + 2j,
    np.complex64(1j),
)
SIGNS = {"+": operator.add, "-": operator.sub, "*": operator.mul}


def scalars(case: Case) -> None:
    """A scalar, on either side."""
    drawn = draw(case, large=0.01)
    s, sign = case.pick(SCALARS), case.pick(["A * s", "s * A", "A / s", "-A", "abs(A)", "A ** s", "A + 0", "A + s"])
    s = (s if s != 0 else 4) if sign == "A / s" else case.pick([1, 2, 3, np.int64(2), 2.0]) if sign == "A ** s" else s
    case.note(sign, repr(s))
    A = drawn.A
    if sign == "A + s":
        return refused(NotImplementedError, lambda: A + 1.5, "a scalar would fill the matrix")
    zero = case.pick([lambda a: a + 0, lambda a: 0 + a, lambda a: a - 0, lambda a: 0.0 + a])
    functions = {
        "A * s": lambda a: a * s,
        "s * A": lambda a: s * a,
        "A / s": lambda a: a / s,
        "-A": operator.neg,
        "abs(A)": abs,
        "A ** s": lambda a: a**s,
        "A + 0": zero,
    }
    result, exact = functions[sign](A), drawn.exact
    if drawn.large:
        exact = sp.csr_array(exact)
        ref = sp.csr_array((functions[sign](exact.data), exact.indices, exact.indptr), shape=exact.shape)
    else:
        ref = functions[sign](exact)
    assert result.format == A.format, f"format {result.format}, expected {A.format}"
    expected = ref.dtype
    if A.dtype in NARROW and ref.dtype.kind != "c":  # scaling preserves 16 bits
        expected, ref = A.dtype, ref.astype(A.dtype).astype(np.float32)
    assert result.dtype == expected, f"dtype {result.dtype}, expected {expected}"
    close(result, ref, abs(ref), 4 if result.dtype not in NARROW else 2**17)
    drawn.require_unchanged()


def sparse_operands(case: Case) -> None:
    """A sum, a difference or an element-wise product of two sparse matrices, ours or SciPy's."""
    a = draw(case, large=0.01)
    b = draw(case, shape=a.shape) if not a.large else a
    sign = case.pick("+-*")
    left, right = a.A, b.A
    if case.device != "cpu":
        pass  # SciPy's matrices do not meet those on a GPU
    elif case.chance(0.2):
        right = as_scipy(right, case.pick(["csr", "csc", "coo", "dia"]))
    elif case.chance(0.1) and sign != "*":
        left = as_scipy(left, case.pick(["csr", "coo"]))
    case.note(sign, f"{type(left).__name__} and {type(right).__name__}")
    result = left.multiply(right) if sign == "*" else SIGNS[sign](left, right)
    ref = a.exact.multiply(b.exact) if sign == "*" and a.large else SIGNS[sign](a.exact, b.exact)
    dtype = np.result_type(a.exact.dtype, b.exact.dtype)
    assert result.dtype == dtype, f"dtype {result.dtype}, expected {dtype}"
    close(result, ref, abs(ref), 2)
    if left is a.A:
        assert result.format == a.A.format, f"format {result.format}, expected {a.A.format}"
    else:
        assert not ds.issparse(result), f"{result!r} where SciPy decides"
    a.require_unchanged()
    b.require_unchanged()


def combinations(case: Case) -> None:
    """A linear combination of matrices, with several sets of coefficients."""
    terms = [draw(case)]
    terms += [draw(case, shape=terms[0].shape) for _ in range(case.between(0, 3))]
    names = [f for f in ("dia", "hm", "cdm", "mdia", "csr", "csc", "coo") if fits(f, terms[0].shape)]
    format = case.pick([None, *names])
    K = ds.linear_combination([t.A for t in terms], format=format)
    for _ in range(case.between(1, 3)):
        c = [case.pick([1.0, -0.5, 2, 0.0, 1 + 2j, np.float32(3)]) for _ in terms]
        case.note(format, [t.A.format for t in terms], c)
        result = K(*c)
        products = [factor * long(t.exact) for factor, t in zip(c, terms, strict=True)]
        close(result, sum(products), sum(map(abs, products)), len(terms))
    for t in terms:
        t.require_unchanged()


def dense_operands(case: Case) -> None:
    """A dense operand on either side; in a product it may broadcast."""
    drawn = draw(case)
    A, (m, n), sign = drawn.A, drawn.shape, case.pick(["A + d", "d + A", "A - d", "d - A", "A * d", "d * A"])
    shape = case.pick([(m, n), (1, n), (m, 1), (n,), (1, 1)]) if "*" in sign else (m, n)
    dtype = case.pick([*VALUE, np.dtype("int32"), np.dtype("bool")])
    d = arranged(case, numbers(case, shape, dtype), arrays.INPUTS)
    case.note(sign)
    function = SIGNS[sign[2]]
    ref = function(drawn.exact, d.array) if sign[0] == "A" else function(d.array, drawn.exact)
    result = function(A, d.array) if sign[0] == "A" else function(d.array, A)
    if "*" in sign:
        assert ds.issparse(result) and result.format == A.format, f"got {type(result)}"
    else:
        assert isinstance(result, np.ndarray), f"got {type(result)}"
    if A.dtype not in NARROW:
        assert result.dtype == ref.dtype, f"dtype {result.dtype}, expected {ref.dtype}"
    close(result, ref, abs(ref), 2)
    d.require_unchanged("the dense operand")
    drawn.require_unchanged()


def reductions(case: Case) -> None:
    """Sums, traces, diagonals and counts."""
    drawn = draw(case, large=0.02)
    A, exact, (m, n) = drawn.A, drawn.exact, drawn.shape
    if not drawn.large or case.chance(0.2):
        axis = case.pick([None, 0, 1, -1, -2])
        case.note("sum over", axis)
        ref, size = long(exact).sum(axis=axis), abs(long(exact)).sum(axis=axis)
        total = np.asarray(A.sum(axis=axis))
        close(total, np.asarray(ref), np.asarray(size), m + n + (m * n if axis is None else 0), exact.dtype)
    k = case.pick([0, 1, -1, -m, n, n - 1, 1 - m, case.between(-m - 2, n + 2), 2**40, -(2**40)])
    case.note("diagonal", k)
    expected = exact.diagonal(k) if -m < k < n else np.zeros(0, exact.dtype)
    got = A.diagonal(k)
    assert got.dtype == A.dtype, f"dtype {got.dtype} of a diagonal, expected {A.dtype}"
    assert np.array_equal(got.astype(widened(got.dtype)), expected), f"diagonal {k} differs"
    if case.device == "cpu" and got.size:
        assert not any(np.shares_memory(got, part) for part in A._matrix.parts().values()), "no copy"
    trace = np.asarray(A.trace(k))
    close(trace.astype(widened(trace.dtype)), np.asarray(long(expected).sum()), abs(long(expected)).sum(), m + n)
    assert A.count_nonzero() == (exact.count_nonzero() if drawn.large else np.count_nonzero(exact)), "count_nonzero"
    drawn.require_unchanged()


def zeros(case: Case) -> None:
    """`eliminate_zeros`, in place: the values stay, and no other matrix changes."""
    drawn = draw(case, dtype=case.pick(VALUE))
    A = drawn.A.copy() if case.chance(0.5) else drawn.A * 1
    A.eliminate_zeros()
    same(A, drawn.exact, drawn.A.format)
    assert A.nnz <= drawn.A.nnz, "more is stored than before"
    if A.format in ("csr", "csc", "coo"):
        assert A.nnz == np.count_nonzero(drawn.exact), "zeros are still stored"
    drawn.require_unchanged()


def comparisons(case: Case) -> None:
    """Comparisons, `maximum` and `minimum` with a matrix of ours or of SciPy's, with an array, with a scalar."""
    drawn = draw(case)
    other = draw(case, shape=drawn.shape)
    choices: list[Any] = [other.A, drawn.A.copy()]
    if case.device == "cpu":  # where numbers and arrays are compared
        choices += [as_scipy(other.A, "csr"), other.exact, 0, 0.25]
    B = case.pick(choices)
    dense = drawn.exact if ds.issparse(B) and B is not other.A else other.exact if np.ndim(B) else B
    for function in (operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", sp.SparseEfficiencyWarning)
            made = function(drawn.A, B)
        made = made.toarray() if sp.issparse(made) else made
        assert made.dtype == bool and np.array_equal(made, function(drawn.exact, dense)), f"{function.__name__} differs"
    if ds.issparse(B):
        assert np.array_equal(drawn.A.maximum(B).toarray(), np.maximum(drawn.exact, dense)), "maximum differs"
        assert np.array_equal(drawn.A.minimum(B).toarray(), np.minimum(drawn.exact, dense)), "minimum differs"
    drawn.require_unchanged()
    other.require_unchanged()


def into_arrays(case: Case) -> None:
    """``y += A`` and ``y -= A``."""
    drawn = draw(case)
    dtype = np.result_type(drawn.exact.dtype, case.pick(VALUE))
    y = arranged(case, numbers(case, drawn.shape, dtype), arrays.OUTPUTS)
    sign, before = case.pick([operator.iadd, operator.isub]), y.array
    ref = (operator.add if sign is operator.iadd else operator.sub)(y.array, drawn.exact)
    assert sign(y.array, drawn.A) is before, "another array came back"
    close(y.array, ref, abs(ref), 2, dtype)
    y.require_unchanged("y", around=True)
    drawn.require_unchanged()


CHECKS: dict[Any, float] = {
    scalars: 2,
    sparse_operands: 3,
    combinations: 1,
    dense_operands: 2,
    reductions: 2,
    zeros: 0.5,
    comparisons: 0.7,
    into_arrays: 0.5,
}
