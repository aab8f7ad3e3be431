"""Products with vectors and blocks: ``A @ x``, ``x @ A``, adjoints, plans, outputs that are anywhere in memory."""

from typing import Any

import numpy as np
import scipy.sparse as sp
from oracle import long

import diagsparse as ds
from fuzz import arrays, layouts
from fuzz.arrays import arranged, numbers, product_dtype
from fuzz.case import Case
from fuzz.checks import close, refused, times
from fuzz.matrices import Drawn, draw

COLUMNS = (0, 1, 2, 3, 4, 5, 7, 8, 9, 16, 17, 33)


def extent_of(case: Case, n: int, large: bool) -> tuple[int, ...]:
    """Return the shape of an operand with n rows, a vector or a block."""
    if case.chance(0.5):
        return (n,)
    return n, case.pick(COLUMNS[:6] if large else COLUMNS)


def scalar(case: Case, dtype: np.dtype, choices: Any = (1, 1, 0, -1, 0.75, -2.5)) -> Any:
    """Return a factor that the type of the result holds exactly."""
    factor = case.pick(choices)
    if dtype.kind == "c" and case.chance(0.3):
        factor = factor + case.pick([0.5j, -2j])
    if case.chance(0.1):
        return np.array(factor) if np.iscomplexobj(factor) or case.chance(0.5) else np.float32(factor)
    return factor


def matvec(case: Case) -> None:
    """A product without an output: ``A @ x``, `matvec`, `rmatvec`, a plan."""
    drawn = draw(case, large=0.03)
    A, op = drawn.A, case.pick("NNH")
    dtype = case.weighted(arrays.OPERANDS)
    x = arranged(case, numbers(case, extent_of(case, drawn.shape[op != "H"], drawn.large), dtype), arrays.INPUTS)
    result, kernel = product_dtype(drawn.exact.dtype, dtype), case.pick([None, *A.kernels("matvec")])
    alpha = 1 if result is None else scalar(case, result)
    products = {
        "A @ x": lambda: A @ x.array,
        "A @ list": lambda: A @ x.array.tolist(),
        "a plan": lambda: ds.plan_matvec(A, kernel=kernel)(x.array, alpha=alpha),
        "a method": lambda: (A.rmatvec if op == "H" else A.matvec)(x.array, alpha=alpha, kernel=kernel),
    }
    plain = op == "N" and case.chance(0.5)
    way = case.pick(["A @ x", "A @ x", "A @ list", "a plan"]) if plain else "a method"
    if way == "A @ list" and (x.array.dtype != np.float64 or not x.array.size):
        way = "A @ x"  # a list has NumPy's default type
    case.note(way, f"op {op}, kernel {kernel}, alpha {alpha!r}")
    if result is None:
        return refused(TypeError, products[way], f"{drawn.exact.dtype} times {dtype}")
    factor = 1 if way in ("A @ x", "A @ list") else alpha
    y = products[way]()
    ref, size, terms = times(drawn.exact, x.array, op)
    close(y, ref * factor, size * abs(factor), terms, result)
    finish(case, drawn, x, y, products[way])


def finish(case: Case, drawn: Drawn, x: arrays.Arranged, y: np.ndarray, again: Any) -> None:
    """What holds after each product: the operands are as they were, the bits do not depend on the threads."""
    x.require_unchanged("x")
    drawn.require_unchanged()
    if case.device == "cpu" and (drawn.large or case.chance(0.02)):
        bits = y.tobytes()
        ds.set_num_threads(case.between(1, 5))
        assert again().tobytes() == bits, "the bits differ from those for another number of threads"


def left_product(case: Case) -> None:
    """``x @ A``."""
    drawn = draw(case, large=0.02)
    dtype = case.weighted(arrays.OPERANDS)
    shape = extent_of(case, drawn.shape[0], drawn.large)[::-1]
    x = arranged(case, numbers(case, shape, dtype), arrays.INPUTS)
    result = product_dtype(drawn.exact.dtype, dtype)
    if result is None:
        return refused(TypeError, lambda: x.array @ drawn.A, f"{dtype} times {drawn.exact.dtype}")
    y = x.array @ drawn.A
    ref, size, terms = times(drawn.exact, x.array.T, "T")
    close(y, ref.T, size.T, terms, result)
    finish(case, drawn, x, y, lambda: x.array @ drawn.A)


def into_output(case: Case) -> None:
    """``out=``: anywhere in memory, x itself, or a part of it; with beta 0 it is not read."""
    drawn = draw(case, large=0.03, square=case.chance(0.5))
    op = case.pick("NH")
    rows, columns = drawn.shape[::-1] if op == "H" else drawn.shape
    dtype = case.pick(arrays.VALUE)
    result = product_dtype(drawn.exact.dtype, dtype)
    shape = extent_of(case, columns, drawn.large)
    values = numbers(case, shape, dtype)
    out_shape = (rows, *shape[1:])
    if dtype == result and out_shape == shape and case.chance(0.4):
        x, out = aliases(case, values)
    else:
        x = arranged(case, values, arrays.INPUTS)
        out = arranged(case, numbers(case, out_shape, result), arrays.OUTPUTS)
    alpha, beta = scalar(case, result), scalar(case, result, (0, 0, 1, -1, 0.5))
    kernel = case.pick([None, *drawn.A.kernels("matvec")])
    case.note(f"alpha {alpha!r}, beta {beta!r}, kernel {kernel}, op {op}")
    if beta == 0 and out is not x and not np.shares_memory(out.array, x.array):
        out.array[...] = np.nan
    ref, size, terms = times(drawn.exact, x.array, op)
    ref, size = ref * alpha, size * abs(alpha)
    if beta != 0:
        ref, size = ref + beta * long(out.array), size + abs(beta) * abs(out.array)
    product = drawn.A.rmatvec if op == "H" else drawn.A.matvec
    given = x.array.copy()
    built = product(x.array, out=out.array, alpha=alpha, beta=beta, kernel=kernel)
    assert built is out.array, "out was not returned"
    close(built, ref, size, terms, result)
    out.require_unchanged("out", around=True)
    if not np.shares_memory(out.array, x.array):
        assert x.array.tobytes() == given.tobytes(), "x was written to"
    drawn.require_unchanged()


def aliases(case: Case, values: np.ndarray) -> tuple[arrays.Arranged, arrays.Arranged]:
    """Return x and an output that lies in the memory of x, as a whole or in part."""
    kind = case.pick(["itself", "reversed", "shifted", "transposed"])
    case.note("out is x", kind)
    n = len(values)
    x = arranged(case, values, arrays.OUTPUTS)
    if kind == "itself":
        return x, x
    if kind == "reversed":
        return x, arrays.Arranged(x.base, lambda b: x._see(b)[::-1], values[::-1])
    if kind == "transposed" and values.ndim == 2 and n == values.shape[1]:
        return x, arrays.Arranged(x.base, lambda b: x._see(b).T, values.T)
    by = case.between(1, 3)
    base = np.concatenate([values, values[:by]])
    x = arrays.Arranged(base, lambda b: b[:n], values)
    return x, arrays.Arranged(base, lambda b: b[len(b) - n :], base[len(base) - n :].copy())


def infinities(case: Case) -> None:
    """Infinities and NaN in x meet what the layout stores, zeros included, and nothing else."""
    drawn = draw(case, dtype=case.pick(arrays.VALUE[:2]), formats=("dia", "hm", "csr"))
    A, exact = drawn.A, drawn.exact
    x = numbers(case, exact.shape[1], exact.dtype)
    for at in case.some(range(len(x)), 3):
        x[at] = case.pick([np.inf, -np.inf, np.nan])
    stored = exact != 0
    if A.format in ("dia", "hm"):
        stored = np.isin(layouts.reach(exact.shape), A.offsets)
    elif A.nnz != np.count_nonzero(stored):
        return  # zeros are stored, and this does not know where
    with np.errstate(all="ignore"):
        ref = np.where(stored, long(exact) * long(x), 0).sum(axis=1)
        size = np.where(stored, abs(long(exact)) * abs(long(x)), 0).sum(axis=1)
    kernel = case.pick([None, *A.kernels("matvec")])
    case.note("kernel", kernel)
    y = A.matvec(x, kernel=kernel)
    known = np.isfinite(size)
    assert np.array_equal(np.isnan(y), np.isnan(ref)), f"NaN in rows {np.nonzero(np.isnan(y) != np.isnan(ref))[0]}"
    assert np.array_equal(y[np.isinf(ref)], ref[np.isinf(ref)].astype(y.dtype)), "infinities differ"
    close(y[known], ref[known], size[known], exact.shape[1])


def wrong_operands(case: Case) -> None:
    """What must be refused, and leaves everything as it was."""
    drawn = draw(case)
    A, (m, n) = drawn.A, drawn.shape
    result = drawn.exact.dtype
    x, out = numbers(case, n, result), numbers(case, m, result)
    before = out.copy()
    frozen = out.copy()
    frozen.flags.writeable = False
    other = np.dtype(np.complex128 if result != np.complex128 else np.complex64)
    calls = {
        "a longer x": (ValueError, lambda: A @ np.ones(n + 1)),
        "a shorter block": (ValueError, lambda: A @ np.ones((n + 2, 3))),
        "three dimensions": (ValueError, lambda: A @ np.ones((n, 1, 1))),
        "no dimension": (ValueError, lambda: A @ np.array(1.0)),
        "an out of another shape": (ValueError, lambda: A.matvec(x, out=np.empty(m + 1, result))),
        "an out of two dimensions": (ValueError, lambda: A.matvec(x, out=np.empty((m, 1), result))),
        "an out of another dtype": (TypeError, lambda: A.matvec(x, out=out.astype(other))),
        "an out of the other byte order": (TypeError, lambda: A.matvec(x, out=out.astype(result.newbyteorder()))),
        "an out that is no array": (TypeError, lambda: A.matvec(x, out=out.tolist())),
        "a read-only out": (ValueError, lambda: A.matvec(x, out=frozen)),
        "beta without out": (ValueError, lambda: A.matvec(x, beta=1)),
        "an unknown kernel": (ValueError, lambda: A.matvec(np.ones(n), kernel="no such kernel")),
        "an out in A's values": (ValueError, lambda: A.matvec(x, out=inside(A, m))),
        "alpha is text": (TypeError, lambda: A.matvec(x, alpha="1")),
    }
    if result.kind != "c":
        calls["a complex alpha"] = (TypeError, lambda: A.matvec(x, alpha=1j))
    if case.device != "cpu":
        del calls["an out that is no array"], calls["an out in A's values"]
    elif A._matrix.values.size < m or A.dtype != result or not m * n:
        del calls["an out in A's values"]  # which are too few, or of another type
    why = case.pick(list(calls))
    if why == "an unknown kernel" and not n:
        return  # nothing is multiplied, so nothing is validated
    kinds, call = calls[why]
    refused(kinds, call, why)
    assert out.tobytes() == before.tobytes(), "out was written to"
    drawn.require_unchanged()


def inside(A: Any, m: int) -> np.ndarray:
    """Return m of the stored values of A, as an array to write to."""
    return A._matrix.values.reshape(-1)[:m]


def sampled(case: Case) -> None:
    """A sampled product, compared at the nonzeros of the matrix."""
    drawn = draw(case, large=0.03)
    A, width = drawn.A, case.pick((None, *COLUMNS[:6]))
    dtypes = case.pick(arrays.VALUE), case.pick(arrays.VALUE)
    shapes = [(n,) if width is None else (n, width) for n in drawn.shape]
    x, y = (arranged(case, numbers(case, s, t), arrays.INPUTS) for s, t in zip(shapes, dtypes, strict=True))

    def product() -> Any:
        return ds.sampled_product(A, x.array, y.array)

    if not A._format.sampled:
        return refused(NotImplementedError, product, f"the format {A.format}")
    C, exact = product(), sp.coo_array(drawn.exact)
    rows, columns = exact.coords
    left, right = (
        v.array.reshape(len(v.array), -1) if v.array.size else np.zeros((v.array.shape[0], 1)) for v in (x, y)
    )
    terms = long(left[rows]) * long(right[columns])
    got = np.asarray(C.to_scipy("csr")[rows, columns]).ravel() if len(rows) else np.zeros(0, C.dtype)
    close(got, terms.sum(axis=1), abs(terms).sum(axis=1), left.shape[1], np.result_type(*dtypes))
    finish(case, drawn, x, C.to_scipy("csr").data, lambda: product().to_scipy("csr").data)
    y.require_unchanged("y")


CHECKS = {matvec: 6, left_product: 2, into_output: 5, sampled: 2, infinities: 0.7, wrong_operands: 0.6}
