"""Chains of products with one vector, and batches of matrices."""

import functools
from typing import Any

import numpy as np
from oracle import long, longest_row

import diagsparse as ds
from fuzz import arrays, layouts
from fuzz.arrays import VALUE, arranged, numbers, product_dtype
from fuzz.case import Case
from fuzz.checks import close, refused
from fuzz.dense_products import extent_of, finish, scalar
from fuzz.matrices import DIAGONAL, aligned, draw, extents, structure

_MEMBERS = arrays.INPUTS[:-1]  # their values are their own


def bounded(a: Any, x: np.ndarray, factors: tuple[Any, Any, Any, Any], dtype: np.dtype) -> tuple[Any, Any]:
    """Return the sum of a recurrence, and how far one that is computed in this dtype may be from it.

    A step has as many roundings as the longest row has entries and six more, and carries on the error before it.
    """
    eps = float(np.finfo(dtype).eps) * (2 * np.sqrt(2) if dtype.kind == "c" else 1)
    alpha, beta, gamma, c = factors
    a = long(a)
    size_of, rounding = abs(a), (longest_row(a) + 6) * eps
    v, before = long(x), 0 * long(x)
    error, error_before = abs(0 * v), abs(0 * v)
    ref, most = c[0] * v, (len(c) + 4) * eps * abs(c[0] * v)
    for j in range(len(alpha)):
        back = gamma[j] if j else 0
        after = alpha[j] * (a @ v) + beta[j] * v + back * before
        size = abs(alpha[j]) * (size_of @ (abs(v) + error)) + abs(beta[j]) * (abs(v) + error)
        size = size + abs(back) * (abs(before) + error_before)
        grown = abs(alpha[j]) * (size_of @ error) + abs(beta[j]) * error + abs(back) * error_before
        before, error_before, v, error = v, error, after, grown + rounding * size
        ref = ref + c[j + 1] * v
        most = most + abs(c[j + 1]) * (error + (len(c) + 4) * eps * (abs(v) + error))
    return ref, most + np.finfo(dtype).tiny


def chains(case: Case) -> None:
    """`power_multiply`, `chebyshev_multiply`, `recurrence_multiply`."""
    drawn = draw(case, large=0.06, square=True)
    A, dtype = drawn.A, case.pick(VALUE)
    x = arranged(case, numbers(case, extent_of(case, drawn.shape[0], drawn.large), dtype, "uniform"), arrays.INPUTS)
    k, name = case.between(0, 6), case.pick(["power", "chebyshev", "recurrence"])
    kind = np.dtype(case.pick(["f8", "f8", "c16"]) if name != "power" else "f8")
    result = product_dtype(drawn.exact.dtype, dtype)
    result = np.result_type(result, np.complex64) if kind.kind == "c" else result
    options: dict[str, Any] = {"kernel": case.pick([None, *A.kernels("chain")])}
    out = arranged(case, np.full(x.array.shape, np.nan, result), arrays.OUTPUTS) if case.chance(0.4) else None
    if out is not None:
        options["out"] = out.array
    case.note(name, f"k = {k}, factors {kind}, kernel {options['kernel']}")
    call, factors = _CHAINS[name](case, A, x.array, k, kind, options)
    y = call()
    assert out is None or y is out.array, "out was not returned"
    assert y.dtype == result and y.shape == x.array.shape, f"{y.dtype} {y.shape}, expected {result}"
    ref, most = bounded(drawn.exact, x.array, factors, result)
    wrong = np.argwhere(~(abs(long(y) - ref) <= most))
    at = tuple(wrong[0]) if len(wrong) else ()
    assert not len(wrong), f"{len(wrong)} of {y.size} off, first at {at}: {y[at]}, expected {ref[at]}"
    if out is not None:
        out.require_unchanged("out", around=True)
    finish(case, drawn, x, y, call)


def _power(case: Case, A: Any, x: Any, k: int, kind: np.dtype, options: dict[str, Any]) -> tuple[Any, Any]:
    """Return a call, and the factors of the recurrence that it computes."""
    return lambda: ds.power_multiply(A, x, k, **options), (np.ones(k), np.zeros(k), np.zeros(k), np.eye(k + 1)[k])


def _recurrence(case: Case, A: Any, x: Any, k: int, kind: np.dtype, options: dict[str, Any]) -> tuple[Any, Any]:
    factors = tuple(numbers(case, k + more, kind) for more in (0, 0, 0, 1))
    return lambda: ds.recurrence_multiply(A, x, *factors, **options), factors


def _chebyshev(case: Case, A: Any, x: Any, k: int, kind: np.dtype, options: dict[str, Any]) -> tuple[Any, Any]:
    c, low, high = numbers(case, k + 1, kind), -2.0, case.pick([1.0, 4.0])
    alpha, beta = np.full(k, 4 / (high - low)), np.full(k, -2 * (high + low) / (high - low))
    alpha[:1], beta[:1] = alpha[:1] / 2, beta[:1] / 2  # T_1(t) = t, T_{j+1}(t) = 2 t T_j(t) - T_{j-1}(t)
    factors = alpha, beta, np.full(k, -1.0), c
    return lambda: ds.chebyshev_multiply(A, x, c, domain=(low, high), **options), factors


_CHAINS = {"power": _power, "recurrence": _recurrence, "chebyshev": _chebyshev}


def batch(case: Case, shape: tuple[int, int], count: int) -> tuple[Any, np.ndarray]:
    """Return a batch of so many members, and their dense equivalents, (count, m, n)."""
    format = case.pick(DIAGONAL if shape[0] == shape[1] else DIAGONAL[:2])
    mask, dtype = structure(case, shape), case.pick(VALUE)
    offsets = layouts.offsets_of(mask)
    mask = np.isin(layouts.reach(shape), offsets) if mask.size else mask
    exact = np.where(mask, numbers(case, (count, *shape), dtype), 0).astype(dtype)
    encode = {"dia": layouts.dia, "hm": layouts.hm, "cdm": layouts.cdm}[format]
    state = case.chance_of.getstate()
    rows = []
    for one in [*exact, np.zeros(shape, dtype)]:
        case.chance_of.setstate(state)  # every member in the same order
        rows.append(encode(case, one, list(offsets)))
    make = functools.partial(getattr(ds, f"{format}_array"), shape=shape, **aligned(format))
    like = make(rows[-1]).to(case.device)
    case.note(f"batch of {count} like {like!r}")
    if case.device == "cpu":
        values = np.array([values for values, _ in rows[:-1]], dtype).reshape(count, *like.values.shape)
        return ds.batch_array(arranged(case, values, _MEMBERS).array, like), exact
    return ds.batch_array([make(row).to(case.device) for row in rows[:-1]]), exact


def rows_times(exact: np.ndarray, x: np.ndarray) -> tuple[np.ndarray, np.ndarray, int]:
    """Return the products of the members with the rows of x."""
    a, x = long(exact), long(np.broadcast_to(x, (len(exact), exact.shape[2])))
    ref, size = ((p * q[:, np.newaxis]).sum(axis=2) for p, q in ((a, x), (abs(a), abs(x))))
    return ref, size, exact.shape[2]


def batches(case: Case) -> None:
    """A batch with vectors."""
    shape = extents(case)
    b, exact = batch(case, shape, case.between(0 if case.device == "cpu" else 1, 6))
    op = case.pick("NNH")
    exact = np.conj(exact.transpose(0, 2, 1)) if op == "H" else exact
    n, dtype = exact.shape[2], case.pick([*VALUE, np.dtype("int32")])
    x = arranged(case, numbers(case, (n,) if case.chance(0.3) else (b.count, n), dtype), arrays.INPUTS[:-1])
    result = product_dtype(exact.dtype, dtype)
    product, options = (b.rmatvec if op == "H" else b.matvec), {}
    ref, size, terms = rows_times(exact, x.array)
    out = None
    if case.chance(0.5):
        alpha, beta = scalar(case, result), scalar(case, result, (0, 0, 1, -0.5))
        case.note("alpha", alpha, "beta", beta)
        out = arranged(case, numbers(case, exact.shape[:2], result), arrays.OUTPUTS)
        ref, size = ref * alpha, size * abs(alpha)
        if beta != 0:
            ref, size = ref + beta * long(out.array), size + abs(beta) * abs(out.array)
        else:
            out.array[...] = np.nan
        options = {"out": out.array, "alpha": alpha, "beta": beta}
    y = product(x.array, **options)
    close(y, ref, size, terms, result)
    if out is not None:
        assert y is out.array
        out.require_unchanged("out", around=True)
    x.require_unchanged("x")


def batch_products(case: Case) -> None:
    """A batch with a batch, or with one matrix for all."""
    shape = extents(case)
    count = case.between(1, 5)
    a, exact = batch(case, shape, count)
    other = (shape[1], shape[1] if case.chance(0.6) else extents(case)[1])
    way = case.pick(["b @ c", "b @ A", "A @ b", "another count"])
    case.note(way)
    if way == "another count":
        c, _ = batch(case, (shape[1], shape[1]), count + 1)
        return refused(ValueError, lambda: a @ c, way)
    if way == "A @ b":
        single = draw(case, shape=(other[1], shape[0]), formats=DIAGONAL)
        left, right, pair, left_format = single.exact[np.newaxis], exact, (single.A, a), single.A.format
    else:
        single = draw(case, shape=other, formats=DIAGONAL) if way == "b @ A" else None
        b, other_exact = batch(case, other, count) if single is None else (single.A, single.exact[np.newaxis])
        left, right, pair, left_format = exact, other_exact, (a, b), a.format
    made_shape = left.shape[1], right.shape[2]
    built = pair[0] @ pair[1]
    if case.chance(0.4) and case.device == "cpu":
        built.values[...] = np.nan
        built = a.matmul(pair[1], out=built) if pair[0] is a else pair[0] @ pair[1]
    result = product_dtype(left.dtype, right.dtype)
    assert built.format == ("hm" if left_format == "cdm" and made_shape[0] != made_shape[1] else left_format)
    assert built.count == count and built.dtype == result and built.shape == made_shape
    for i in range(count):
        p, q = long(left[i % len(left)]), long(right[i % len(right)])
        close(built[i], p @ q, abs(p) @ abs(q), p.shape[1], result)


CHECKS = {chains: 2.5, batches: 1.5, batch_products: 1}
