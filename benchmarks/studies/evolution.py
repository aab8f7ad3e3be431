"""Evolution of states in time, compared with SciPy and QuTiP: chains of spins, and a substance that is transported.

Heisenberg chains of 14 to 18 spins (to 20 on a GPU) that start as a Neel state, in complex128: `ds.evolve` for the
times 1 and 10 with an error of at most 1e-10, with and without a given interval of the spectrum; 5 products of a
Chebyshev series; and on the CPU SciPy's `expm_multiply` and QuTiP's `sesolve` with the same tolerance, on its own
matrices and on those of diagsparse. A generator that is not Hermitian follows, of advection and diffusion on square
grids in float64: `ds.evolve` with the method that it chooses and by Krylov spaces, and on the CPU `expm_multiply`.
Results of chains are compared with an evolution in csr with an error of at most 1e-13, those of grids with SciPy's.

It takes about ten minutes on two cores, most of it in the peers. With --quick, only 8 spins and a small
grid.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from functools import partial
from importlib.metadata import version
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import expm_multiply

from diagsparse import array, evolve, gallery, measure
from diagsparse._backends.backend import CPU, Backend
from diagsparse._products.chains import chebyshev_multiply
from diagsparse._study.exactness import on_host

from .. import prepare
from ..experiment import Clock, Contender, Experiment, NamedRow, Report, fill
from ..pictures import BLUE, GREEN, GREY, ORANGE, PURPLE, SKY, YELLOW, curves, label, legend, milliseconds, new_figure
from ..prepare import Prepared
from ..tables import Columns, Row, Tables, faster, machine, seconds, table, timed, times
from ..timed_columns import Columns as TimedColumns

SITES, GPU_SITES, QUICK_SITES = (14, 16, 18), (14, 16, 18, 20), (8,)
SIDES, QUICK_SIDES = (100, 300, 1000), (12,)  # of the grids
SPEED = 0.5  # of the substance: central differences of the advection, relative to those of the diffusion
TIMES = (1.0, 10.0)
TOL = 1e-10
_LOOSE = 1e-4  #: error of a peer whose tolerance bounds each of its steps, not all of them together
EVOLVED, TRANSPORTED, PRODUCTS = ", exp(-i H t) psi", ", exp(A t) u", ", 5 products"
OURS = ("mdia", "mdia, known spectrum")
OURS_ON_GRIDS = ("hm", "hm, Krylov spaces")
PEERS = ("SciPy expm_multiply", "QuTiP sesolve", "QuTiP sesolve on mdia")


def _rows(where: Backend, quick: bool) -> Iterator[NamedRow]:
    """Yield rows with the ``sites`` of a chain or the ``side`` of a grid, the ``time``, and the ``products``."""
    for sites in QUICK_SITES if quick else SITES if where is CPU else GPU_SITES:
        for time in TIMES:
            yield f"Heisenberg chain, {sites} sites, t = {time:g}", partial(_chain, sites, time, quick)
    for side in QUICK_SIDES if quick else SIDES:
        for time in TIMES:
            yield f"advection and diffusion, {side} x {side}, t = {time:g}", partial(_grid, side, time, quick)


# ---- chains ---------------------------------------------------------------------------------------------------------
def _chain(sites: int, time: float, quick: bool, where: Backend) -> dict[str, Any]:
    H, csr = (gallery.heisenberg(sites, format=name).to(where.name) for name in ("mdia", "csr"))
    psi = np.zeros(H.shape[0], complex)
    psi[int("01" * (sites // 2), 2)] = 1.0
    x = prepare.on_device(psi, where)
    plain, clock = evolve(H, x, time), _clock(where, quick)
    row = {"sites": sites} | _about(H, time, plain)
    exact = on_host(evolve(csr, x, time, tol=1e-13, method="chebyshev").final)
    fill(row, _ours(H, x, time, plain.spectrum, clock), partial(_error, exact, TOL))
    if where is CPU:
        fill(row, _theirs(H, psi, time, clock), partial(_error, exact, _LOOSE))
    fill(row, _products(H, x, clock), lambda result: 0.0 if np.isfinite(on_host(result)).all() else np.inf)
    return row


def _clock(where: Backend, quick: bool) -> Clock:
    return Clock(where, budget=0.05 if quick else 0.5, samples=5)


def _about(H: Any, time: float, result: Any) -> dict[str, Any]:
    return {"time": time, "products": result.products, "nbytes": H.nbytes, "reason": result.reason}


def _error(exact: np.ndarray, tol: float, result: Any) -> float:
    """Return the distance of a state from the exact one, relative to `tol`."""
    return float(np.linalg.norm(np.asarray(on_host(result)).ravel() - exact)) / tol


def _ours(H: Any, x: Any, time: float, spectrum: Any, clock: Clock) -> Iterator[Contender]:
    yield OURS[0] + EVOLVED, partial(prepare.called, _final, H, x, time), clock
    if spectrum is None:
        spectrum = evolve(H, x, time, method="chebyshev").spectrum
    yield OURS[1] + EVOLVED, partial(prepare.called, _final, H, x, time, spectrum=spectrum), clock


def _final(H: Any, x: Any, time: float, **options: Any) -> Any:
    return evolve(H, x, time, tol=TOL, **options).final


def _theirs(H: Any, psi: np.ndarray, time: float, clock: Clock) -> Iterator[Contender]:
    csr = measure.csr32(H.to_scipy("csr"))
    yield PEERS[0] + EVOLVED, partial(prepare.called, expm_multiply, -1j * time * csr, psi), clock
    if qutip := _qutip():
        operator, state = qutip.Qobj(csr), qutip.Qobj(psi)
        for name, layer in zip(PEERS[1:], ("CSR", "diagsparse"), strict=True):
            yield name + EVOLVED, partial(_by_qutip, qutip, operator.to(layer), state, time), clock


def _by_qutip(qutip: Any, H: Any, psi: Any, time: float) -> Prepared:
    options = {"atol": TOL, "rtol": TOL, "nsteps": 10**6, "progress_bar": "", "store_final_state": True}
    call, result = prepare.called(qutip.sesolve, H, psi, [0.0, time], options=options)
    return call, result.final_state.full()


def _qutip() -> Any | None:
    """Return QuTiP with the data layer of diagsparse, or None if it is not installed."""
    try:
        importlib.import_module("diagsparse.qutip")
        return importlib.import_module("qutip")
    except ImportError:
        return None


def _products(H: Any, x: Any, clock: Clock) -> Iterator[Contender]:
    bound = float(abs(H).sum(axis=1).max())
    chain = partial(chebyshev_multiply, H, x, np.ones(6) * (1 + 1j), domain=(-bound, bound / 2))
    yield OURS[0] + PRODUCTS, partial(prepare.called, chain), clock


def _add(report: Report) -> None:
    report["versions"]["qutip"] = version("qutip") if _qutip() else None


# ---- grids ----------------------------------------------------------------------------------------------------------
def _grid(side: int, time: float, quick: bool, where: Backend) -> dict[str, Any]:
    line = sparse.diags_array([1 + SPEED, -2, 1 - SPEED], offsets=[-1, 0, 1], shape=(side, side))
    S = sparse.csr_array(sparse.kronsum(line, line))
    hm = array(S, "hm").to(where.name)
    far = np.subtract(np.arange(side), side / 3) ** 2 / side
    u = np.exp(-np.add.outer(far, far)).ravel()
    x = prepare.on_device(u, where)
    plain, clock = evolve(hm, x, time, generator=True), _clock(where, quick)
    row = {"side": side, "method": plain.method} | _about(hm, time, plain)
    exact = expm_multiply(time * S, u)  # accurate to the precision of float64
    ours = zip(OURS_ON_GRIDS, (None, "krylov"), strict=True)
    contenders = [(f"{name}{TRANSPORTED}", _of_grid(hm, x, time, method), clock) for name, method in ours]
    size = float(np.linalg.norm(u))
    fill(row, contenders, partial(_error, exact, TOL * size))
    if where is CPU:
        peer = partial(prepare.called, expm_multiply, time * measure.csr32(S), u)
        fill(row, [(PEERS[0] + TRANSPORTED, peer, clock)], partial(_error, exact, _LOOSE * size))
    return row


def _of_grid(A: Any, x: Any, time: float, method: str | None) -> Callable[[], Prepared]:
    return partial(prepare.called, _final, A, x, time, generator=True, method=method)


# ---- tables and the picture -----------------------------------------------------------------------------------------
class Group(NamedTuple):
    """The rows of one kind of matrix."""

    about: str
    size: str  #: the field of a row with the size of its matrix
    ours: tuple[str, ...]
    ending: str  #: of the columns with the times of an evolution
    first: Columns
    last: Columns

    def rows(self, report: Row) -> list[Row]:
        """Return those of a report."""
        return [row for row in report["rows"] if self.size in row]


_OF_TIME = {"t": "{time:g}", "products": "{products}"}
_FIVE = {"5 products": partial(seconds, name=OURS[0] + PRODUCTS)}
CHAINS = Group("Heisenberg chains", "sites", OURS, EVOLVED, {"sites": "{sites}"} | _OF_TIME, _FIVE)
_GRID = {"grid": "{side} x {side}", "method": "{method}"}
GRIDS = Group("Advection and diffusion", "side", OURS_ON_GRIDS, TRANSPORTED, _GRID | _OF_TIME, {})
GROUPS = (CHAINS, GRIDS)


def _tables(report: Row) -> Tables:
    for group in GROUPS:
        if rows := group.rows(report):
            names, ours = timed(rows, (*group.ours, *PEERS), group.ending), group.ours[0] + group.ending
            ratios = {
                f"vs {name}": partial(faster, ours=ours, theirs=name + group.ending) for name in names if name in PEERS
            }
            columns = {**group.first, **times(names, group.ending), **ratios, **group.last}
            yield f"{group.about}: {group.ending[2:]}", table(rows, columns)


def _head(report: Row) -> str:
    qutip = report["versions"]["qutip"]
    return machine(report, "complex128 and float64") + (f"; QuTiP {qutip}" if qutip else "")


def _draw(report: Row) -> Any:
    """Draw times over the sizes, with a line of panels for each kind of matrix, and a panel for each time."""
    groups = [(group, rows) for group in GROUPS if (rows := group.rows(report))]
    figure = new_figure(8.6, 2.9 * len(groups))
    colors = dict(zip((*OURS, *PEERS), (BLUE, SKY, ORANGE, GREY, PURPLE), strict=True))
    colors |= dict(zip(OURS_ON_GRIDS, (GREEN, YELLOW), strict=True))
    axes = figure.subplots(len(groups), len(TIMES), squeeze=False, sharey="row")
    for line, (group, rows) in zip(axes, groups, strict=True):
        series = {
            name: (milliseconds(name + group.ending), ".-" if name in group.ours else ".--", colors[name])
            for name in (*group.ours, *PEERS)
        }
        for ax, time in zip(line, TIMES, strict=True):
            now = [row for row in rows if row["time"] == time]
            curves(ax, now, itemgetter(group.size), series, lw=1.2)
            title = f"{group.about}, t = {time:g}"
            label(ax, group.size, "ms" if time == TIMES[0] else "", title=title, log="y")
            ax.set_xticks([row[group.size] for row in now])
    legend(figure, "outside right center")
    return figure


EVOLUTION = Experiment(
    "evolution", __doc__, _rows, _tables, _draw, _head,
    TimedColumns(
        "", (*OURS, *OURS_ON_GRIDS), {ending: ending[2:] for ending in (EVOLVED, TRANSPORTED, PRODUCTS)}
    ), add=_add,
)  # fmt: skip
