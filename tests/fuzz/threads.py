"""The bits of sparse products: the same for any number of threads, and in every run on a GPU."""

from typing import Any

import numpy as np
import scipy.sparse as sp

import diagsparse as ds
from fuzz.arrays import VALUE, numbers
from fuzz.case import Case
from fuzz.checks import close
from fuzz.matrices import DIAGONAL, draw
from fuzz.sparse_products import product


def scattered(case: Case, n: int, dtype: np.dtype) -> sp.csr_array:
    """Return a matrix whose rows differ: diagonals near and far, and entries anywhere in some of the rows."""
    offsets = sorted({*case.some(range(-3, 4), 3), *case.some(range(1 - n, n), 5)})
    values = [numbers(case, n - abs(k), dtype, "uniform") for k in offsets]
    count = case.pick([0, n // 3, 2 * n])
    rows, cols = case.rng.integers(0, max(1, n // case.pick([1, 4])), count), case.rng.integers(0, n, count)
    entries = sp.csr_array((numbers(case, count, dtype, "uniform"), (rows, cols)), shape=(n, n))
    if not offsets:
        return entries
    return sp.csr_array(sp.diags_array(values, offsets=offsets, shape=(n, n), dtype=dtype) + entries, dtype=dtype)


def bits(result: Any) -> bytes:
    """Return the bits of what a matrix stores."""
    parts = result.to("cpu").parts()
    return b"".join(parts[name].tobytes() for name in sorted(parts))


def products(case: Case) -> None:
    """A product, planned and anew, with 1 to 16 threads; on a GPU twice."""
    n = case.pick([300, 5000, 17_000, 40_000, 100_003])
    few = [format for format in ds.formats() if format not in (*DIAGONAL, "mdia")]
    pair = [scattered(case, n, case.pick(VALUE)) for _ in range(case.pick([1, 2]))]
    format = case.pick(few if n > 300 else ds.formats())
    A, B = (ds.array(a, format, device=case.device) for a in (pair[0], pair[-1]))
    alpha, beta = case.pick([(1, 0), (1, 1), (-0.7, 0.3)])
    case.note(format, n, pair[0].nnz, pair[0].dtype, pair[-1].dtype, "alpha", alpha, "beta", beta)
    plan, found = ds.plan_matmul(A, B), set()
    for threads in (1, 2, 3, 8, 16) if case.device == "cpu" else (1, 1):
        ds.set_num_threads(threads)
        result, into = A @ B, plan()
        found.add(bits(result) + bits(plan(out=into, alpha=alpha, beta=beta)))
    assert len(found) == 1, f"{len(found)} results"
    close(result, *product(sp.csr_array(pair[0]), sp.csr_array(pair[-1])))


def drawn_products(case: Case) -> None:
    """A product of matrices of two formats, views and packed ones among them."""
    a = draw(case, large=0.2)
    b = draw(case, shape=(a.shape[1], a.shape[1])) if not a.large else a
    right = b.A.T if a.large else b.A
    if a.A.format in DIAGONAL and b.A.format in DIAGONAL and "cdm" in (a.A.format, b.A.format):
        right = right.asformat("csr") if a.shape[0] != a.shape[1] else right
    found = set()
    for threads in (1, 2, 3, 8, 16) if case.device == "cpu" else (1, 1):
        ds.set_num_threads(threads)
        found.add(bits(a.A @ right))
    assert len(found) == 1, f"{len(found)} results"
    a.require_unchanged()
    b.require_unchanged()


CHECKS: dict[Any, float] = {products: 0.1, drawn_products: 1}
