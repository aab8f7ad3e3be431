"""Products of sparse matrices: `matmul` with all of its arguments, plans with new values, `syrk` and `syr2k`."""

from typing import Any

import numpy as np
import scipy.sparse as sp
from oracle import long, seen

import diagsparse as ds
from fuzz.arrays import VALUE, product_dtype
from fuzz.case import Case
from fuzz.checks import close, refused, times
from fuzz.dense_products import scalar
from fuzz.matrices import DIAGONAL, Drawn, draw, extents

TRANS = "NNTH"
RULED = "qband", "bmsparse", "mdia"  # formats with products of their own, which go by csr where that is quicker


def pair(case: Case, trans_a: str = "N", trans_b: str = "N", **options: Any) -> tuple[Drawn, Drawn]:
    """Return two matrices with op(A) op(B) defined."""
    if case.chance(0.02):
        a = draw(case, large=1.0, square=True)
        while True:
            b = draw(case, large=1.0, square=True)
            if b.shape == a.shape:
                return a, b
    a = draw(case, **options)
    inner = seen_shape(a.shape, trans_a)[1]
    shape = inner, inner if case.chance(0.5) else extents(case)[1]
    return a, draw(case, shape=seen_shape(shape, trans_b), **options)


def seen_shape(shape: tuple[int, int], trans: str) -> tuple[int, int]:
    """Return the shape of op(A)."""
    return shape if trans == "N" else (shape[1], shape[0])


def product(a: Any, b: Any, alpha: Any = 1) -> tuple[Any, Any, int]:
    """Return alpha a b in extended precision, the same of absolute values, and the terms of the longest sum."""
    ref, size, terms = times(a, b)
    return ref * alpha, size * abs(alpha), terms


def masked(A: Any, B: Any) -> bool:
    """Whether a product is computed as mdia: of two of it, or of one and diagonals."""
    return "mdia" in (A.format, B.format) and {A.format, B.format} <= {"mdia", *DIAGONAL}


def default_format(A: Any, B: Any) -> str:
    """Return the format of A @ B by the documentation."""
    if masked(A, B):
        return "mdia"
    if (A.format in DIAGONAL and B.format not in DIAGONAL) or (A.format in RULED and A.format != B.format):
        return "csr"
    return "hm" if A.format == "cdm" and A.shape[0] != B.shape[1] else A.format


def work_format(A: Any, B: Any, wanted: str | None) -> str:
    """Return the format whose kernels multiply."""
    if masked(A, B):
        return "mdia"
    if A.format == B.format and A.format in RULED:
        return A.format
    if A.format not in DIAGONAL or B.format not in DIAGONAL:
        return "csr"
    return wanted if wanted in DIAGONAL else default_format(A, B)


def kernel_for(case: Case, format: str, device: str) -> str | None:
    """Return the name of a kernel that makes this format, or None."""
    names = ds.array(sp.eye_array(2), format).to(device).kernels("matmul")
    return case.pick([None, *(name for name in names if name != "tiled")])  # for cdm times cdm alone


def matmul(case: Case) -> None:
    """``ds.matmul`` and ``A @ B``."""
    trans_a, trans_b = case.pick(TRANS), case.pick(TRANS)
    a, b = pair(case, trans_a, trans_b)
    left, right = seen(a.exact, trans_a), seen(b.exact, trans_b)
    shape = left.shape[0], right.shape[1]
    wanted = case.pick([None, None, *ds.formats()])
    A, B = (x.A if trans == "N" else x.A.T for x, trans in ((a, trans_a), (b, trans_b)))
    work = work_format(A, B, wanted)
    kernel = kernel_for(case, work, case.device) if work == "csr" or shape[0] == shape[1] else None
    result = product_dtype(a.exact.dtype, b.exact.dtype)
    c = draw(case, shape=shape) if case.chance(0.35) and not a.large else None
    if c is not None:
        result = np.result_type(result, c.exact.dtype)
    alpha, beta = scalar(case, result), None if c is None or case.chance(0.3) else scalar(case, result)
    case.note(f"trans {trans_a}{trans_b}, format {wanted}, kernel {kernel}, alpha {alpha!r}, beta {beta!r}")
    options = {"trans_a": trans_a, "trans_b": trans_b, "format": wanted, "kernel": kernel, "alpha": alpha, "beta": beta}

    def call() -> Any:
        return ds.matmul(a.A, b.A, None if c is None else c.A, **options)

    format = wanted or default_format(A, B)
    if "cdm" in (format, work) and shape[0] != shape[1]:
        return refused(ValueError, call, "cdm_array is for square matrices")
    C = a.A @ b.A if trans_a == trans_b == "N" and not (wanted or kernel) and c is None and alpha == 1 else call()
    ref, size, terms = product(left, right, alpha)
    if c is not None:
        factor = 1 if beta is None else beta
        ref, size = ref + factor * long(c.exact), size + abs(factor) * abs(c.exact)
    close(C, ref, size, terms + 2, result)
    by_csr = format in RULED and not (wanted or kernel) and C.format == "csr"  # where that is quicker
    assert by_csr or C.format == format, f"format {C.format}, expected {format}"
    for operand in (a, b) if c is None else (a, b, c):
        operand.require_unchanged()


def renewed(case: Case, drawn: Drawn) -> tuple[Any, Any]:
    """Return a matrix of the same structure with other values, and its dense equivalent; a view stays a view."""
    factor = case.pick([2, -0.5, 3])
    return drawn.A * factor, drawn.exact * drawn.exact.dtype.type(factor)


def part_of(triangle: str | None, large: bool) -> Any:
    """Return the function that selects a triangle of an array, or of SciPy's matrix where it is large."""
    functions = {"lower": (np.tril, sp.tril), "upper": (np.triu, sp.triu)}
    return functions[triangle][large] if triangle else lambda c: c


def plans(case: Case) -> None:
    """A plan, run again with new values and into a result of its own."""
    trans_a, trans_b = case.pick(TRANS), case.pick(TRANS)
    a, b = pair(case, trans_a, trans_b)
    left, right = seen(a.exact, trans_a), seen(b.exact, trans_b)
    shape = left.shape[0], right.shape[1]
    both = a.A.format in DIAGONAL and b.A.format in DIAGONAL
    triangle = case.pick([None, None, "lower", "upper"]) if both else None
    wanted = case.pick([None, None, *(f for f in ds.formats() if f != "cdm" or shape[0] == shape[1])])
    if shape[0] != shape[1] and "cdm" in (a.A.format, b.A.format):
        wanted = "hm"
    kernel = kernel_for(case, work_format(a.A, b.A, wanted), case.device)
    case.note(f"plan: trans {trans_a}{trans_b}, triangle {triangle}, format {wanted}, kernel {kernel}")
    plan = ds.plan_matmul(a.A, b.A, trans_a=trans_a, trans_b=trans_b, triangle=triangle, format=wanted, kernel=kernel)
    keep, result = part_of(triangle, a.large), product_dtype(a.exact.dtype, b.exact.dtype)
    C = plan()
    ref, size, terms = product(left, right)
    close(C, keep(ref), keep(size), terms, result)
    assert (C.shape, C.dtype, C.format) == (plan.shape, plan.dtype, plan.format) == (shape, result, C.format)
    # Entry by entry, zeros of diagonals are dropped.
    expected_formats = (
        DIAGONAL if both else (a.A.format,) if a.A.format == b.A.format and a.A.format in RULED else ds.formats()
    )
    expected_formats = ("mdia",) if masked(a.A, b.A) and C.format == "mdia" else expected_formats
    exactly = C.format in expected_formats
    assert not exactly or (C.nnz, C.nbytes) == (plan.nnz, plan.nbytes), "the forecast was wrong"
    a2, b2 = (renewed(case, x) if case.chance(0.7) else (None, x.exact) for x in (a, b))
    ref, size, terms = product(seen(a2[1], trans_a), seen(b2[1], trans_b))
    again(case, plan, (a2[0], b2[0]), C if exactly and case.chance(0.7) else None, (keep(ref), keep(size), terms))
    a.require_unchanged()
    b.require_unchanged()


def again(case: Case, plan: Any, operands: tuple[Any, Any], out: Any, expected: tuple[Any, Any, int]) -> None:
    """Run a plan with other values, into a result of its own or anew."""
    ref, size, terms = expected
    alpha, beta = scalar(case, plan.dtype), scalar(case, plan.dtype, (0, 0, 1, -0.5)) if out is not None else 0
    case.note(f"run again, out {out is not None}, alpha {alpha!r}, beta {beta!r}")
    ref, size = ref * alpha, size * abs(alpha)
    if beta != 0:
        before = out.to_scipy("csr").copy() if sp.issparse(ref) else out.toarray()
        ref, size = ref + beta * long(before), size + abs(beta) * abs(before)
    elif out is not None:
        out.values = np.nan  # which is not read
    result = plan(*operands, out=out, alpha=alpha, beta=beta)
    assert out is None or result is out, "out was not returned"
    close(result, ref, size, terms + 1)


def rank_updates(case: Case) -> None:
    """`syrk` and `syr2k`."""
    a = draw(case, large=0.01)
    b = draw(case, shape=a.shape) if not a.large and case.chance(0.5) else None
    trans, triangle = case.pick("NTH"), case.pick([None, "lower", "upper"])

    def one(x: Any, y: Any) -> tuple[Any, Any, int]:
        return product(x, seen(y, "T")) if trans == "N" else product(seen(x, trans), y)

    n = a.shape[0] if trans == "N" else a.shape[1]
    ref, size, terms = one(a.exact, a.exact if b is None else b.exact)
    result = a.exact.dtype
    if b is not None:
        other, more, _ = one(b.exact, a.exact)
        ref, size, result = ref + other, size + more, np.result_type(result, b.exact.dtype)
    c = draw(case, shape=(n, n)) if not a.large and case.chance(0.4) else None
    if c is not None:
        result = np.result_type(result, c.exact.dtype)
    alpha, beta = scalar(case, result), None if c is None else scalar(case, result)
    case.note(f"{'syrk' if b is None else 'syr2k'}: trans {trans}, triangle {triangle}, alpha {alpha!r}, beta {beta!r}")
    options = {"trans": trans, "triangle": triangle, "alpha": alpha, "beta": beta}
    operands = [a.A] + ([] if b is None else [b.A]) + ([] if c is None else [c.A])
    C = ds.syrk(a.A, *operands[1:], **options) if b is None else ds.syr2k(*operands, **options)
    ref, size = ref * alpha, size * abs(alpha)
    if c is not None:
        ref, size = ref + beta * long(c.exact), size + abs(beta) * abs(c.exact)
    keep = part_of(triangle, sp.issparse(ref))
    close(C, keep(ref), keep(size), (1 if b is None else 2) * terms + 2, result)
    assert C.format == a.A.format, f"format {C.format}, expected {a.A.format}"
    for operand in filter(None, (a, b, c)):
        operand.require_unchanged()


def commutators(case: Case) -> None:
    """`commutator` and `anticommutator`, whole or one triangle."""
    a = draw(case, square=True, large=0.01)
    b = draw(case, shape=a.shape) if not a.large else a
    triangle, sign = case.pick([None, "lower", "upper"]), case.pick([-1, 1])
    x, y = a.exact, b.exact
    result = product_dtype(x.dtype, y.dtype)
    alpha = scalar(case, result)
    kernel = kernel_for(case, a.A.format, case.device) if a.A.format in DIAGONAL and b.A.format in DIAGONAL else None
    case.note("A B", "+-"[sign < 0], "B A", triangle, "alpha", repr(alpha), "kernel", kernel)
    make = ds.commutator if sign < 0 else ds.anticommutator
    C = make(a.A, b.A, alpha=alpha, triangle=triangle, kernel=kernel)
    (ref, size, terms), (other, more, others) = product(x, y), product(y, x)
    keep = part_of(triangle, sp.issparse(ref))
    close(C, keep((ref + sign * other) * alpha), keep((size + more) * abs(alpha)), terms + others + 2, result)
    a.require_unchanged()
    b.require_unchanged()


def wrong_operands(case: Case) -> None:
    """What must be refused."""
    a = draw(case, dtype=case.pick(VALUE))
    A, (m, n) = a.A, a.shape

    def csr(given: Any) -> Any:
        return ds.csr_array(given).to(case.device)

    B = csr((n, 3))
    calls = {
        "shapes that do not fit": (ValueError, lambda: A @ csr((n + 1, 2))),
        "beta without C": (ValueError, lambda: ds.matmul(A, B, beta=1)),
        "C of another shape": (ValueError, lambda: ds.matmul(A, B, csr((m + 1, 3)))),
        "a dense operand": (TypeError, lambda: ds.matmul(A, np.ones((n, 3)))),
        "an unknown format": (ValueError, lambda: ds.matmul(A, B, format="csx")),
        "an unknown trans": (ValueError, lambda: ds.matmul(A, B, trans_a="C")),
        "an unknown triangle": (ValueError, lambda: ds.syrk(A, triangle="left")),
        "a limit": (MemoryError, lambda: ds.matmul(A, csr(np.ones((n, 3))), max_bytes=1)),
        "an unknown kernel": (ValueError, lambda: ds.matmul(A, B, kernel="no such kernel")),
        "operands of other shapes": (ValueError, lambda: ds.syr2k(A, csr((m + 1, n)))),
    }
    why = case.pick(list(calls))
    refused(*calls[why], why)
    a.require_unchanged()


CHECKS = {matmul: 4, plans: 4, rank_updates: 2, commutators: 1.5, wrong_operands: 0.4}
