"""Sampled products: elements of X Y^T at the stored positions of a matrix, as in gradients and in attention bands.

Bands of 11, 27 and 101 diagonals, a stencil and a Hamiltonian of spins, with vectors and with blocks of 4 and 16
columns in C order, in float64; bands also in float32 and complex128, with vectors. Results are written to a matrix that
exists already. The times are compared with that of a copy of the same bytes (half of them read, half of them written),
with a loop over the diagonals in NumPy or CuPy, and on a GPU with PyTorch's sampled_addmm. It takes less than a minute.
With --quick, only small orders.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import numpy as np
import scipy.sparse as sp

from diagsparse import gallery
from diagsparse._backends.backend import CPU, Backend
from diagsparse._matrix.construct import array
from diagsparse._products.sampled import sampled_product
from diagsparse._show import columns
from diagsparse._study import peers

from ..experiment import Clock, Contender, Experiment, NamedRow, fill
from ..pictures import BLUE, GREEN, GREY, ORANGE, PURPLE, curves, label, legend, milliseconds, new_figure
from ..prepare import Prepared, on_device
from ..tables import Row, Tables, fastest, machine, select, table, timed, times
from ..timed_columns import Columns

FORMATS = ("dia", "csr", "mdia", "bmsparse")
PEERS = ("NumPy dia", "CuPy dia", "PyTorch csr")
COPY = "copy"
WIDTHS, COLUMNS = (11, 27, 101), (1, 4, 16)
_MOST_BY_LOOP = 50_000_000  # multiply-adds of a loop over diagonals
_CHECKED = 1000  # stored elements that are compared with sums in extended precision


@dataclass(frozen=True)
class Case:
    """A named matrix; `make` returns it as a SciPy array."""

    what: str
    make: Callable[[], Any]
    formats: tuple[str, ...]
    dtypes: tuple[str, ...] = ("float64",)


def _cases(quick: bool) -> Iterator[Case]:
    n, dtypes = 1000 if quick else 10**6, ("float64", "float32", "complex128")
    for width in WIDTHS[:2] if quick else WIDTHS:
        yield Case(f"band of {width}", partial(gallery.banded, n, width // 2, width // 2, seed=0), ("dia",), dtypes)
    side = 30 if quick else 1000
    yield Case("stencil 5", partial(gallery.stencil, 5, (side, side)), FORMATS)
    yield Case("Heisenberg chain", partial(gallery.heisenberg, 8 if quick else 18), FORMATS[1:])


def _rows(where: Backend, quick: bool) -> Iterator[NamedRow]:
    """Yield each matrix, dtype and number of columns.

    A row contains ``what``, ``order``, ``dtype``, ``p`` (the number of columns) and ``nbytes``: of X, Y and the values.
    """
    for case in _cases(quick):
        made = cache(case.make)
        for dtype in case.dtypes:
            for count in COLUMNS if dtype == "float64" else COLUMNS[:1]:
                name = f"{case.what}, {dtype}, p = {count}"
                yield name, partial(_run, case.what, made, case.formats, dtype, count, quick)


def _run(
    what: str, make: Callable[[], Any], formats: tuple[str, ...], dtype: str, count: int, quick: bool, where: Backend
) -> dict[str, Any]:
    host = make()
    csr, n, rng = sp.csr_array(host).astype(dtype), host.shape[0], np.random.default_rng(0)
    x, y = (rng.uniform(0.5, 1, (n, count)).astype(dtype) for _ in range(2))
    clock = Clock(where, budget=0.01 if quick else 0.1, samples=5 if quick else 15)
    row: dict[str, Any] = {
        "what": what, "order": n, "dtype": dtype, "p": count,
        "nbytes": csr.nnz * csr.dtype.itemsize + x.nbytes + y.nbytes,
    }  # fmt: skip
    fill(row, _contenders(host, csr, x, y, formats, where, clock), _checked(csr, x, y))
    return row


def _contenders(
    host: Any, csr: Any, x: Any, y: Any, formats: tuple[str, ...], where: Backend, clock: Clock
) -> Iterator[Contender]:
    x, y = (v[:, 0].copy() if v.shape[1] == 1 else v for v in (x, y))
    on = [on_device(v, where) for v in (x, y)]
    for name in formats:
        yield name, partial(_into, array(csr, name, device=where.name), *on), clock
    moved = csr.nnz * csr.dtype.itemsize + x.nbytes + y.nbytes
    yield COPY, partial(_copied, moved // 2, where), clock
    if "dia" in formats and csr.nnz * (1 if x.ndim == 1 else x.shape[1]) < (_MOST_BY_LOOP if where is CPU else np.inf):
        module, name = (np, "NumPy dia") if where is CPU else (peers.cupy(), "CuPy dia")
        if module is not None:
            yield name, partial(_by_diagonals, module, array(csr, "dia"), x, y), clock
    if "csr" in formats and where is not CPU:
        try:
            torch = importlib.import_module("torch")
        except ImportError:
            return
        yield "PyTorch csr", partial(_by_torch, torch, csr, x, y), clock


def _into(A: Any, x: Any, y: Any) -> Prepared:
    """Return a sampled product that writes to its first result, and this result."""
    C = sampled_product(A, x, y)
    return partial(sampled_product, A, x, y, out=C), C


def _copied(nbytes: int, where: Backend) -> Prepared:
    """Return a copy of so many bytes, which has no result to check."""
    source = on_device(np.zeros(nbytes // 8), where)
    if where is CPU:
        target = np.zeros_like(source)
        return partial(np.copyto, target, source), None
    target = where.core.empty(source.shape, "float64", where.index)
    return partial(target.assign, source), None


def _by_diagonals(module: Any, A: Any, x: Any, y: Any) -> Prepared:
    """Return a loop over the diagonals with the functions of NumPy or CuPy, and its result."""
    m, n = A.shape
    values, left, right = (module.asarray(v) for v in (A.values, x, y))
    offsets = A.offsets.tolist()

    def run() -> None:
        for k, to in zip(offsets, values, strict=True):
            i = slice(max(0, -k), min(m, n - k))
            factors = left[i], right[i.start + k : i.stop + k]
            if x.ndim == 1:
                module.multiply(*factors, out=to[i])
            else:
                to[i] = module.einsum("ip,ip->i", *factors)

    run()
    filled = values if module is np else values.get()
    return run, type(A)((filled, A.offsets), shape=A.shape, align="row")


def _by_torch(torch: Any, csr: Any, x: Any, y: Any) -> Prepared:
    """Return PyTorch's ``sampled_addmm`` with beta = 0, and its result."""
    parts = (
        torch.from_numpy(part).cuda()
        for part in (*(i.astype(np.int64) for i in (csr.indptr, csr.indices)), np.zeros_like(csr.data))
    )
    pattern = torch.sparse_csr_tensor(*parts, size=csr.shape)
    left, right = (torch.from_numpy(v.reshape(len(v), -1)).cuda() for v in (x, y))
    result = torch.sparse.sampled_addmm(pattern, left, right.T, beta=0.0)
    values = result.values().cpu().numpy()
    call = partial(torch.sparse.sampled_addmm, pattern, left, right.T, beta=0.0, out=result)
    return call, sp.csr_array((values, csr.indices, csr.indptr), shape=csr.shape)


def _checked(csr: Any, x: np.ndarray, y: np.ndarray) -> Callable[[Any], float]:
    """Return a function that compares some stored elements, and returns the largest error relative to its bound."""
    at = np.unique(np.linspace(0, csr.nnz - 1, _CHECKED, dtype=np.int64))
    rows = np.searchsorted(csr.indptr, at, "right") - 1
    cols = csr.indices[at]
    wide = np.clongdouble if csr.dtype.kind == "c" else np.longdouble
    terms = x[rows].astype(wide) * y[cols]
    exact, bound = terms.sum(axis=1), abs(terms).sum(axis=1) * (x.shape[1] + 4) * np.finfo(csr.dtype).eps

    def error(result: Any) -> float:
        if result is None:
            return 0.0
        got = result.to("cpu").to_scipy() if hasattr(result, "to_scipy") else result
        found = np.asarray(sp.csr_array(got)[rows, cols]).ravel()
        return float((abs(found - exact) / bound).max())

    return error


# ---- tables and the picture ---------------------------------------------------------------------------------------
def _tables(report: Row) -> Tables:
    names = timed(report["rows"], (*FORMATS, COPY, *PEERS))
    yield "X Y^T at the stored positions", table(report["rows"], {
        "matrix": "{what}", "order": "{order:,}", "precision": "{dtype}", "p": "{p}", **times(names),
        "of a copy": lambda row: columns.digits(f) if (f := _of_copy(row)) else "",
    })  # fmt: skip


def _of_copy(row: Row) -> float | None:
    """Return the time of a copy of the same bytes divided by that of the fastest format."""
    best, copy = fastest(row, FORMATS), row["times"].get(COPY)
    return copy / best if best and copy else None


def _draw(report: Row) -> Any:
    """Draw the times of bands over their diagonals, by the number of columns."""
    figure = new_figure(8.6, 3.4)
    names = ("dia", COPY, *PEERS)
    series = {
        name: (milliseconds(name), ".-" if name == "dia" else ".--", color)
        for name, color in zip(names, (BLUE, GREY, ORANGE, PURPLE, GREEN), strict=True)
    }
    for ax, count in zip(figure.subplots(1, len(COLUMNS)), COLUMNS, strict=True):
        rows = [row for row in select(report, dtype="float64", p=count) if row["what"].startswith("band")]
        curves(ax, rows, lambda row: int(row["what"].rpartition(" ")[2]), series, lw=1.2)
        label(ax, "diagonals", "ms", title=f"p = {count}")
        ax.set_ylim(bottom=0)
    legend(figure, "outside right center")
    return figure


SAMPLED_PRODUCTS = Experiment(
    "sampled-products", __doc__, _rows, _tables, _draw,
    partial(machine, dtypes="float32, float64 and complex128"), Columns("sampled product", FORMATS),
)  # fmt: skip
