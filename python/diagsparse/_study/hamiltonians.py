"""Hamiltonians of quantum physics in time: `diagsparse bench hamiltonians`.

Chains of spins (Heisenberg, open and closed, and transverse Ising) and of bosons, of 2^8 to 2^20 states (2^16 on a
CPU), in float64: products with vectors ``H x``, squares ``H H``, the upper half of them alone, and a step of time
evolution, ``exp(-i t H) x`` as a Chebyshev series. Beside the formats stand SciPy, QuTiP's Dia where it is installed,
and on a GPU cuSPARSE. How diagonals multiply, and how hollow they get, is shown for H, H^2 and H^4.

Everything is planned, into a result that is there, but for what SciPy, QuTiP and CuPy cannot plan. With --quick only
8 to 10 sites.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache, partial
from importlib.metadata import version
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.special import jv

from .. import gallery, measure
from .._matrix.base import SparseArray
from .._matrix.construct import array
from .._places.backend import CPU, Place
from .._places.memory import available_bytes, human
from .._products.chains import chebyshev_multiply
from .._products.products import plan_matmul
from .._show import columns
from ..measure import Progress
from . import gpu_peers, paper_runs
from .exactness import MatvecCheck, error_over_bound, rounding, vector
from .paper_runs import Contender, Prepared, planned_matvec, planned_square, square, there
from .paper_tables import Tables, as_section, as_text, machine, seconds
from .sampled import SampledMatmul, SampledSquare

NAME = "hamiltonians"
FORMATS = ("dia", "hm", "hm symmetric", "csr")
CUSPARSE, CUPY, SCIPY_DIA, SCIPY_CSR, QUTIP = "cuSPARSE csr", "CuPy csr", "SciPy dia", "SciPy csr", "QuTiP Dia"
PEERS = (CUSPARSE, CUPY, SCIPY_DIA, SCIPY_CSR, QUTIP)
VECTOR, SQUARE, HALF, EVOLVED = ", H x", ", H H", ", half of H H", ", exp(-i t H) x"
OPERATIONS = {VECTOR: "H x", SQUARE: "H H", HALF: "upper half of H H", EVOLVED: "exp(-i t H) x"}
SITES, CPU_SITES, QUICK_SITES = (8, 10, 12, 14, 16, 18, 20), (8, 10, 12, 14, 16), (8, 10)
_SQUARED_BY_SCIPY = 14  #: sites up to which SciPy's and QuTiP's squares are timed
_FOURTH = 12  #: sites up to which the diagonals of H^4 are counted
_TIME = 4.0  #: of a step, over the half width of the spectrum


@dataclass(frozen=True)
class Family:
    """A Hamiltonian by its name; `make(sites)` returns it as SciPy's `dia_array`, of order 2^sites."""

    what: str
    make: Callable[[int], sp.dia_array]


FAMILIES = (
    Family("Heisenberg chain", gallery.heisenberg),
    Family("Heisenberg ring", partial(gallery.heisenberg, periodic=True)),
    Family("transverse Ising", gallery.transverse_ising),
    Family("bosons, 4 levels", lambda sites: gallery.bose_hubbard(sites // 2, levels=4, potential=0.5)),
)


def run(*, device: str = "cuda", quick: bool = False, progress: Progress | None = None) -> dict[str, Any]:
    """Run the comparison and return a report as plain values.

    Parameters
    ----------
    device : str
        ``"cuda"``, ``"cuda:1"``, ..., or ``"cpu"``.
    quick : bool
        Few sites, to see that it works; the figures mean little.
    progress : callable, optional
        Receives the share that is done, and what is being done.

    Returns
    -------
    dict
        ``experiment``, ``hardware``, ``versions``, ``date``, ``ok`` and ``rows``: a dict for each Hamiltonian with
        ``sites``, ``powers`` (power: how many diagonals, places on them and nonzeros), ``nbytes`` (format: bytes),
        ``steps`` (products of the series), ``times`` (column: seconds, None where it failed) and ``failed`` (column:
        why).
    """
    rows = (
        (f"{family.what}, {sites} sites", partial(_run, family, sites, quick))
        for family in FAMILIES
        for sites in (QUICK_SITES if quick else CPU_SITES if device == "cpu" else SITES)
    )
    report = paper_runs.run(NAME, rows, device=device, quick=quick, progress=progress)
    report["versions"]["qutip"] = version("qutip") if _qutip() else None
    return report


def _run(family: Family, sites: int, quick: bool, where: Place) -> dict[str, Any]:
    host = family.make(sites)
    csr = sp.csr_array(host)
    csr.eliminate_zeros()
    formats = {
        "dia": array(host, "dia", device=where.name),
        "hm": array(host, "hm", device=where.name),
        "hm symmetric": array(host, "hm").asformat("hm", symmetry="symmetric").to(where.name),
        "csr": array(csr, "csr", device=where.name),
    }
    series = _Series(csr)
    row: dict[str, Any] = {
        "what": family.what, "sites": sites, "powers": _powers(csr, sites), "steps": len(series.coefficients) - 1,
        "nbytes": {name: A.nbytes for name, A in formats.items()},
    }  # fmt: skip
    timed = paper_runs.seconds_on(where, budget=0.01 if quick else 0.2, samples=5 if quick else 15)
    x = vector(csr.shape[0], np.float64)
    paper_runs.fill(row, _vectors(host, csr, formats, x, where, timed), _on_host(MatvecCheck(csr, x), where))
    paper_runs.fill(row, _squares(host, csr, formats, sites, where, timed), SampledSquare(csr))
    half = SampledMatmul(host, host, triangle="upper")
    paper_runs.fill(row, _halves(formats, where, timed), half)
    paper_runs.fill(row, _evolved(csr, formats, series, where, timed), _on_host(series.check(csr), where))
    return row


def _on_host(check: Callable[[np.ndarray], float], where: Place) -> Callable[[Any], float]:
    return lambda y: check(where.host(y))


# ---- who takes part -----------------------------------------------------------------------------------------------
def _vectors(
    host: Any, csr: Any, formats: dict[str, SparseArray], x: np.ndarray, where: Place, timed: Callable[[Any], float]
) -> Iterator[Contender]:
    z = there(x, where)
    for name, A in formats.items():
        yield name + VECTOR, partial(planned_matvec, A, z), timed
    if where is not CPU:
        yield CUSPARSE + VECTOR, partial(planned_matvec, formats["csr"], z, "cusparse"), timed
        return
    for name, A in ((SCIPY_DIA, host), (SCIPY_CSR, measure.csr32(csr))):
        yield name + VECTOR, partial(_called, lambda A: A @ x, A), timed
    if qutip := _qutip():
        dense = qutip.Dense(x.astype(complex))
        yield QUTIP + VECTOR, partial(_called, lambda A: qutip.matmul(A, dense), _as_qutip(host), _of_qutip), timed


def _squares(
    host: Any, csr: Any, formats: dict[str, SparseArray], sites: int, where: Place, timed: Callable[[Any], float]
) -> Iterator[Contender]:
    for name, A in formats.items():
        if name != "hm symmetric" and _fits(A, where):
            yield name + SQUARE, partial(planned_square, A), timed
    if where is not CPU:
        yield CUSPARSE + SQUARE, partial(planned_square, formats["csr"], "cusparse"), timed
        if gpu_peers.cupy() is not None:
            yield CUPY + SQUARE, lambda: square(formats["csr"].to_cupy("csr")), timed
        return
    if sites > _SQUARED_BY_SCIPY:
        return
    for name, A in ((SCIPY_DIA, host), (SCIPY_CSR, measure.csr32(csr))):
        yield name + SQUARE, partial(square, A), timed
    if qutip := _qutip():
        yield QUTIP + SQUARE, partial(_called, lambda A: qutip.matmul(A, A), _as_qutip(host), _of_qutip), timed


def _halves(formats: dict[str, SparseArray], where: Place, timed: Callable[[Any], float]) -> Iterator[Contender]:
    for name in ("dia", "hm"):
        if _fits(formats[name], where):
            yield name + HALF, partial(_planned_half, formats[name]), timed


def _evolved(
    csr: Any, formats: dict[str, SparseArray], series: _Series, where: Place, timed: Callable[[Any], float]
) -> Iterator[Contender]:
    z = there(series.x, where)
    for name, A in formats.items():
        yield name + EVOLVED, partial(_called, partial(_chebyshev, z=z, series=series), A), timed
    if where is CPU:
        yield SCIPY_CSR + EVOLVED, partial(_called, series.by_scipy, measure.csr32(csr)), timed


def _called(f: Callable[[Any], Any], A: Any, of: Callable[[Any], Any] = lambda made: made) -> Prepared:
    call = partial(f, A)
    return call, of(call())


def _planned_half(A: SparseArray) -> Prepared:
    plan = plan_matmul(A, A, triangle="upper")
    C = plan()
    return partial(plan, out=C), C


def _chebyshev(A: SparseArray, z: Any, series: _Series) -> Any:
    return chebyshev_multiply(A, z, series.coefficients, domain=series.domain)


def _fits(A: SparseArray, where: Place) -> bool:
    """Whether the square's diagonals take less than a third of what is free."""
    if A._family != "diagonals":
        return True
    offsets = np.unique(np.add.outer(A.offsets, A.offsets))
    return 8 * int(np.count_nonzero(abs(offsets) < A.shape[0])) * A.shape[0] < available_bytes(where) / 3


# ---- QuTiP --------------------------------------------------------------------------------------------------------
@lru_cache(maxsize=1)
def _qutip() -> Any | None:
    """Return QuTiP's data layer, or None where it is not installed."""
    try:
        return importlib.import_module("qutip.core.data")
    except ImportError:
        return None


def _as_qutip(host: Any) -> Any:
    qutip = _qutip()
    assert qutip is not None
    return qutip.Dia(sp.dia_matrix(host))


def _of_qutip(made: Any) -> Any:
    """Return a result of QuTiP, which is complex, as NumPy's or SciPy's."""
    if hasattr(made, "as_scipy"):
        return sp.csr_array(made.as_scipy())
    return made.to_array().ravel()


# ---- time evolution -----------------------------------------------------------------------------------------------
class _Series:
    """``exp(-i t H)`` as a Chebyshev series over an interval that holds the eigenvalues, by Gershgorin's circles."""

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
        """Return the sum, by the three-term recurrence."""
        low, high = self.domain
        scale, shift = 2 / (high - low), -(high + low) / (high - low)
        before, now = self.x, scale * (csr @ self.x) + shift * self.x
        total = self.coefficients[0] * before + self.coefficients[1] * now
        for c in self.coefficients[2:]:
            before, now = now, 2 * (scale * (csr @ now) + shift * now) - before
            total += c * now
        return total

    def check(self, csr: Any) -> Callable[[np.ndarray], float]:
        """Return the check of a result: its error over a bound that grows with the square of the steps."""
        expected = self.by_scipy(csr)
        terms = int(np.diff(csr.indptr).max(initial=0)) + 3
        bound = np.full(len(expected), len(self.coefficients) ** 2 * rounding(terms, np.float64))
        return lambda y: error_over_bound(y, expected, bound)


# ---- powers -------------------------------------------------------------------------------------------------------
def _powers(csr: Any, sites: int) -> dict[str, dict[str, int]]:
    """Return of H, H^2 and H^4 the number of diagonals, of places on them and of nonzeros."""
    pattern = sp.csr_array((np.ones(csr.nnz), csr.indices, csr.indptr), shape=csr.shape)
    found = {"1": _counts(pattern)}
    if sites <= CPU_SITES[-1]:
        pattern = pattern @ pattern
        found["2"] = _counts(pattern)
    if sites <= _FOURTH:
        pattern.data[:] = 1
        found["4"] = _counts(pattern @ pattern)
    return found


def _counts(pattern: Any) -> dict[str, int]:
    n = pattern.shape[0]
    offsets = np.unique(pattern.indices - np.repeat(np.arange(n), np.diff(pattern.indptr)))
    return {
        "diagonals": len(offsets),
        "places": int((n - abs(offsets.astype(np.int64))).sum()),
        "nnz": int(pattern.nnz),
    }


# ---- tables -------------------------------------------------------------------------------------------------------
def _tables(report: dict[str, Any]) -> Tables:
    """Yield titles and cells: the powers, then the times of each operation."""
    yield "Diagonals, and the share of them that is filled", list(_powers_table(report))
    for operation, title in OPERATIONS.items():
        yield title, list(_times(report, operation))


def _powers_table(report: dict[str, Any]) -> Iterator[list[str]]:
    yield ["Hamiltonian", "sites", "nonzeros", "H", "H^2", "H^4", *(f"{name}, bytes" for name in FORMATS)]
    for row in report["rows"]:
        cells = [_filled(row["powers"].get(power)) for power in ("1", "2", "4")]
        sizes = [human(row["nbytes"][name]) for name in FORMATS]
        yield [row["what"], str(row["sites"]), f"{row['powers']['1']['nnz']:,}", *cells, *sizes]


def _filled(power: dict[str, int] | None) -> str:
    return f"{power['diagonals']}, {columns.digits(power['nnz'] / power['places'])}" if power else ""


def _times(report: dict[str, Any], operation: str) -> Iterator[list[str]]:
    names = [n for n in (*FORMATS, *PEERS) if any(n + operation in row["times"] for row in report["rows"])]
    peers = [name for name in names if name in PEERS]
    yield ["Hamiltonian", "sites", *names, *(["best vs peers"] if peers else [])]
    for row in report["rows"]:
        cells = [seconds(row, name + operation) for name in names]
        ours, theirs = (_best(row, group, operation) for group in (FORMATS, peers))
        ratio = [f"{columns.digits(theirs / ours)}x" if ours and theirs else ""] if peers else []
        yield [row["what"], str(row["sites"]), *cells, *ratio]


def _best(row: dict[str, Any], names: Any, operation: str) -> float | None:
    return min((t for name in names if (t := row["times"].get(name + operation))), default=None)


def _head(report: dict[str, Any]) -> str:
    qutip = report["versions"]["qutip"]
    return machine(report) + (f"; QuTiP {qutip}" if qutip else "")


def text(report: dict[str, Any]) -> str:
    """Return the report as tables for a terminal."""
    return as_text(_head(report), _tables(report))


def markdown(report: dict[str, Any]) -> str:
    """Return the report as Markdown for the docs."""
    return as_section(_head(report), _tables(report))


# ---- picture ------------------------------------------------------------------------------------------------------
def plot_bench(report: dict[str, Any], path: Any) -> Any:
    """Save a picture: times over the number of sites, a column for each Hamiltonian and a row for each operation."""
    from ..plot import BLUE, GREEN, GREY, ORANGE, PURPLE, SKY, YELLOW, new_figure, save

    styles = dict(
        zip((*FORMATS, *PEERS), (BLUE, SKY, GREEN, ORANGE, GREY, "black", PURPLE, YELLOW, "#7f7f3f"), strict=True)
    )
    families = list(dict.fromkeys(row["what"] for row in report["rows"]))
    figure = new_figure(2.6 * len(families) + 1.4, 7.2)
    axes = figure.subplots(len(OPERATIONS), len(families), squeeze=False, sharex=True, sharey="row")
    handles: dict[str, Any] = {}
    for i, (operation, title) in enumerate(OPERATIONS.items()):
        for ax, family in zip(axes[i], families, strict=True):
            rows = [row for row in report["rows"] if row["what"] == family]
            for name, color in styles.items():
                points = [(row["sites"], 1e3 * t) for row in rows if (t := row["times"].get(name + operation))]
                if points:
                    style = "-" if name in FORMATS else "--"
                    (handles[name],) = ax.plot(*zip(*points, strict=True), style, color=color, marker=".", lw=1.2)
            ax.set_yscale("log")
            ax.tick_params(which="both", labelsize=7)
            ax.spines[["top", "right"]].set_visible(False)
            ax.set_xticks(sorted({row["sites"] for row in report["rows"]}))
            if i == 0:
                ax.set_title(family, fontsize=9)
        axes[i][0].set_ylabel(f"{title} (ms)", fontsize=8)
    for ax in axes[-1]:
        ax.set_xlabel("sites", fontsize=8)
    figure.legend(handles.values(), handles, fontsize=7, frameon=False, loc="outside right center")
    return save(figure, path)
