"""Hamiltonians of quantum physics in time.

Chains of spins (Heisenberg, open and closed, and transverse Ising) and of bosons, of 2^8 to 2^20 states (2^16 on a
CPU), in float64: products with vectors ``H x``, squares ``H H``, the upper half of them alone, and a step of time
evolution, ``exp(-i t H) x`` as a Chebyshev series. With 2^24 states (2^20 on a CPU), only products with vectors are
timed, if they fit in memory. The formats are compared with SciPy, with QuTiP's Dia if it is installed, and on a GPU
with cuSPARSE. The number of diagonals and how full they are is shown for H, H^2 and H^4.

``mdia`` has no palette, and ``mdia palette`` one wherever it needs fewer bytes; products of two matrices do not use it.
Products are planned, with a preallocated result, except for those of SciPy, QuTiP and CuPy. With --quick, only 8 to 10
sites.
"""

from __future__ import annotations

import importlib
import operator
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.special import jv

from diagsparse import gallery, measure
from diagsparse._backends.backend import CPU, Backend
from diagsparse._backends.memory import available_bytes
from diagsparse._matrix.construct import array
from diagsparse._matrix.sparse_array import SparseArray
from diagsparse._products.chains import chebyshev_multiply
from diagsparse._products.forecasts import forecast
from diagsparse._study.exactness import MatvecCheck, error_over_bound, on_host, rounding, vector
from diagsparse._study.sampled import SampledMatmul

from .. import prepare
from ..experiment import Clock, Contender, Experiment, NamedRow, Report, fill, gpu_squares
from ..prepare import Prepared
from ..timed_columns import Columns
from .hamiltonians_tables import EVOLVED, FORMATS, HALF, OPERATIONS, SQUARE, VECTOR, draw, head, tables

SITES, CPU_SITES, QUICK_SITES = (8, 10, 12, 14, 16, 18, 20), (8, 10, 12, 14, 16), (8, 10)
VECTOR_SITES, CPU_VECTOR_SITES, QUICK_VECTOR_SITES = 24, 20, 12  #: with products with vectors only
_FORMATS_HELD = 7  #: memory of all formats and their sources, relative to dia
_SQUARED_BY_SCIPY = 14  #: largest number of sites for which the squares of SciPy and QuTiP are timed
_FOURTH = 12  #: largest number of sites for which the diagonals of H^4 are counted
_TIME = 4.0  #: of a step, times half the width of the spectrum


@dataclass(frozen=True)
class Family:
    """A named Hamiltonian.

    ``make(sites)`` returns it as a SciPy `dia_array` of order 2^sites, and with ``format=`` in this format.
    """

    what: str
    make: Callable[..., Any]


FAMILIES = (
    Family("Heisenberg chain", gallery.heisenberg),
    Family("Heisenberg ring", partial(gallery.heisenberg, periodic=True)),
    Family("transverse Ising", gallery.transverse_ising),
    Family(
        "bosons, 4 levels",
        lambda sites, **format: gallery.bose_hubbard(sites // 2, levels=4, potential=0.5, **format),
    ),
)


def _rows(where: Backend, quick: bool) -> Iterator[NamedRow]:
    """Yield each Hamiltonian for each number of sites, the largest ones last.

    A row contains ``sites``, ``powers`` (power: numbers of diagonals, of elements on them, and of nonzeros), ``nbytes``
    (format: bytes), ``palette`` (format: whether it has one) and ``steps`` (number of products in the series).
    """
    all_sites = QUICK_SITES if quick else CPU_SITES if where is CPU else SITES
    vectors = QUICK_VECTOR_SITES if quick else CPU_VECTOR_SITES if where is CPU else VECTOR_SITES
    sizes = [(family, sites) for family in FAMILIES for sites in all_sites]
    for family, sites in (*sizes, *((family, vectors) for family in FAMILIES if _held(family, vectors, where))):
        yield f"{family.what}, {sites} sites", partial(_run, family, sites, quick, sites == vectors)


def _add(report: Report) -> None:
    report["versions"]["qutip"] = version("qutip") if _qutip() else None


def _held(family: Family, sites: int, where: Backend) -> bool:
    """Return whether a Hamiltonian fits in memory in all formats, on the device and on the host.

    The number of its diagonals grows linearly with the number of sites.
    """
    least, more = (len(family.make(n).offsets) for n in (4, 6))
    nbytes = (least + (sites - 4) * (more - least) // 2) * 2**sites * 8
    return _FORMATS_HELD * nbytes < min(available_bytes(where), available_bytes(CPU))


def _run(family: Family, sites: int, quick: bool, vectors: bool, where: Backend) -> dict[str, Any]:
    formats = _formats(family, sites, where)
    csr = formats["csr"].to("cpu").to_scipy()
    host = None if vectors and where is not CPU else family.make(sites)  # takes long if it is large
    row: dict[str, Any] = {
        "what": family.what, "sites": sites, "powers": _powers(formats["csr"], sites),
        "nbytes": {name: A.nbytes for name, A in formats.items()},
        "palette": {name: A.palette for name, A in formats.items() if A.format == "mdia"},
    }  # fmt: skip
    clock = Clock(where, budget=0.01 if quick else 0.2, samples=5 if quick else 15)
    x = vector(csr.shape[0], np.float64)
    fill(row, _vectors(host, csr, formats, x, where, clock), MatvecCheck(csr, x))
    if vectors:
        return row
    series = _Series(csr)
    row["steps"] = len(series.coefficients) - 1
    fill(row, _squares(host, csr, formats, sites, where, clock), SampledMatmul(csr, csr))
    half = SampledMatmul(host, host, triangle="upper")
    fill(row, _halves(formats, where, clock), half)
    fill(row, _evolved(csr, formats, series, where, clock), series.check(csr))
    return row


def _formats(family: Family, sites: int, where: Backend) -> dict[str, SparseArray]:
    """Return a Hamiltonian in all `FORMATS`."""
    built = family.make(sites, format="mdia").to(where.name)
    built.eliminate_zeros()
    csr = built.tocsr()
    stored = {name: csr.asformat(name) for name in ("dia", "hm", "csr")}
    stored |= {"mdia": csr.asformat("mdia", palette=False), "mdia palette": csr.asformat("mdia", palette=True)}
    stored["hm symmetric"] = stored["hm"].asformat("hm", symmetry="symmetric")
    stored["mdia symmetric"] = csr.asformat("mdia", symmetry="symmetric", palette=False)
    return {name: stored[name] for name in FORMATS}


# ---- contenders ---------------------------------------------------------------------------------------------------
def _vectors(
    host: Any, csr: Any, formats: dict[str, SparseArray], x: np.ndarray, where: Backend, clock: Clock
) -> Iterator[Contender]:
    z = prepare.on_device(x, where)
    for name, A in formats.items():
        yield name + VECTOR, partial(prepare.planned_matvec, A, z), clock
    if where is not CPU:
        yield f"cuSPARSE csr{VECTOR}", partial(prepare.planned_matvec, formats["csr"], z, "cusparse"), clock
        return
    for A in (host, measure.csr32(csr)):
        yield f"SciPy {A.format}{VECTOR}", partial(prepare.called, operator.matmul, A, x), clock
    if qutip := _qutip():
        dense = qutip.Dense(x.astype(complex))
        yield f"QuTiP Dia{VECTOR}", partial(_by_qutip, host, lambda A: qutip.matmul(A, dense)), clock


def _squares(
    host: Any, csr: Any, formats: dict[str, SparseArray], sites: int, where: Backend, clock: Clock
) -> Iterator[Contender]:
    for name, A in formats.items():
        if name not in ("hm symmetric", "mdia palette") and _fits(A, where):
            yield name + SQUARE, partial(prepare.planned_square, A), clock
    if where is not CPU:
        for name, build, _ in gpu_squares(formats["csr"], clock):
            yield name + SQUARE, build, clock
        return
    if sites > _SQUARED_BY_SCIPY:
        return
    for A in (host, measure.csr32(csr)):
        yield f"SciPy {A.format}{SQUARE}", partial(prepare.square, A), clock
    if qutip := _qutip():
        yield f"QuTiP Dia{SQUARE}", partial(_by_qutip, host, lambda A: qutip.matmul(A, A)), clock


def _halves(formats: dict[str, SparseArray], where: Backend, clock: Clock) -> Iterator[Contender]:
    for name in ("dia", "hm"):
        if _fits(formats[name], where):
            yield name + HALF, partial(prepare.planned_square, formats[name], triangle="upper"), clock


def _evolved(
    csr: Any, formats: dict[str, SparseArray], series: _Series, where: Backend, clock: Clock
) -> Iterator[Contender]:
    z = prepare.on_device(series.x, where)
    for name, A in formats.items():
        evolve = partial(chebyshev_multiply, A, z, series.coefficients, domain=series.domain)
        yield name + EVOLVED, partial(prepare.called, evolve), clock
    if where is CPU:
        yield f"SciPy csr{EVOLVED}", partial(prepare.called, series.by_scipy, measure.csr32(csr)), clock


def _fits(A: SparseArray, where: Backend) -> bool:
    """Return whether the square needs less than a third of the free memory, as it always does without stored zeros."""
    return A.format in ("csr", "mdia") or forecast("matmul", A, A).total_nbytes < available_bytes(where) / 3


# ---- QuTiP --------------------------------------------------------------------------------------------------------
def _qutip() -> Any | None:
    """Return QuTiP's data layer, or None if it is not installed."""
    try:
        return importlib.import_module("qutip.core.data")
    except ImportError:
        return None


def _by_qutip(host: Any, product: Callable[[Any], Any]) -> Prepared:
    """Return a product of QuTiP's Dia, and its (complex) result as a NumPy or SciPy array."""
    qutip = _qutip()
    assert qutip is not None
    call, result = prepare.called(product, qutip.Dia(sp.dia_matrix(host)))
    return call, sp.csr_array(result.as_scipy()) if hasattr(result, "as_scipy") else result.to_array().ravel()


# ---- time evolution -----------------------------------------------------------------------------------------------
class _Series:
    """``exp(-i t H)`` as a Chebyshev series over an interval that contains the eigenvalues, by Gershgorin's circles."""

    def __init__(self, csr: Any) -> None:
        diagonal = csr.diagonal()
        around = abs(csr).sum(axis=1) - abs(diagonal)
        low, high = float((diagonal - around).min()), float((diagonal + around).max())
        self.domain = (low, high) if low < high else (low - 1, low + 1)
        j = np.arange(int(_TIME + 20))
        self.coefficients = np.where(j == 0, 1, 2) * (-1j) ** j * jv(j, _TIME)
        self.x = vector(csr.shape[0], np.float64) + 1j * vector(csr.shape[0], np.float64)[::-1]
        self.x /= np.linalg.norm(self.x)

    def by_scipy(self, csr: Any) -> np.ndarray:
        """Return the sum of the series by the three-term recurrence."""
        low, high = self.domain
        scale, shift = 2 / (high - low), -(high + low) / (high - low)
        before, now = self.x, scale * (csr @ self.x) + shift * self.x
        total = self.coefficients[0] * before + self.coefficients[1] * now
        for c in self.coefficients[2:]:
            before, now = now, 2 * (scale * (csr @ now) + shift * now) - before
            total += c * now
        return total

    def check(self, csr: Any) -> Callable[[Any], float]:
        """Return the check of a result: its error divided by a bound that grows quadratically with the steps."""
        expected = self.by_scipy(csr)
        terms = int(np.diff(csr.indptr).max(initial=0)) + 3
        bound = np.full(len(expected), len(self.coefficients) ** 2 * rounding(terms, np.float64))
        return lambda y: error_over_bound(on_host(y), expected, bound)


# ---- powers -------------------------------------------------------------------------------------------------------
def _powers(A: SparseArray, sites: int) -> dict[str, dict[str, int]]:
    """Count diagonals, their elements, and nonzeros of H (in csr, without stored zeros), H^2 and H^4."""
    powers = {"1": _counts(A)}
    if sites <= CPU_SITES[-1]:
        csr = A.to("cpu").to_scipy()
        pattern = sp.csr_array((np.ones(csr.nnz), csr.indices, csr.indptr), shape=csr.shape)
        pattern = pattern @ pattern
        powers["2"] = _counts(array(pattern, "csr"))
    if sites <= _FOURTH:
        pattern.data[:] = 1
        powers["4"] = _counts(array(pattern @ pattern, "csr"))
    return powers


def _counts(A: SparseArray) -> dict[str, int]:
    offsets = A._summary().offsets
    return {"diagonals": len(offsets), "elements": int((A.shape[0] - abs(offsets)).sum()), "nnz": int(A.nnz)}


HAMILTONIANS = Experiment(
    "hamiltonians", __doc__, _rows, tables, draw, head, Columns("", FORMATS, OPERATIONS), add=_add
)
