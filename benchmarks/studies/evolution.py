"""Evolution of states in time, compared with SciPy and QuTiP.

Heisenberg chains of 14 to 18 spins (to 20 on a GPU) that start as a Neel state, in complex128: `ds.evolve` for the
times 1 and 10 with an error of at most 1e-10, with and without a given interval of the spectrum; 5 products of a
Chebyshev series; and on the CPU SciPy's `expm_multiply` and QuTiP's `sesolve` with the same tolerance, on its own
matrices and on those of diagsparse. Every result is compared with an evolution in csr with an error of at most 1e-13.

It takes about ten minutes on two cores, most of it in the peers. With --quick, only 8 spins.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from functools import partial
from importlib.metadata import version
from typing import Any

import numpy as np
from scipy.sparse.linalg import expm_multiply

from diagsparse import evolve, gallery, measure
from diagsparse._backends.backend import CPU, Backend
from diagsparse._products.chains import chebyshev_multiply
from diagsparse._study.exactness import on_host

from .. import prepare
from ..experiment import Clock, Contender, Experiment, NamedRow, Report, fill
from ..pictures import BLUE, GREY, ORANGE, PURPLE, SKY, curves, label, legend, milliseconds, new_figure
from ..prepare import Prepared
from ..tables import Row, Tables, distinct, faster, machine, seconds, select, table, timed, times
from ..timed_columns import Columns

SITES, GPU_SITES, QUICK_SITES = (14, 16, 18), (14, 16, 18, 20), (8,)
TIMES = (1.0, 10.0)
TOL = 1e-10
_LOOSE = 1e-4  #: error of a peer whose tolerance bounds each of its steps, not all of them together
EVOLVED, PRODUCTS = ", evolve", ", 5 products"
OURS = ("mdia", "mdia, known spectrum")
PEERS = ("SciPy expm_multiply", "QuTiP sesolve", "QuTiP sesolve on mdia")


def _rows(where: Backend, quick: bool) -> Iterator[NamedRow]:
    """Yield each number of sites for each time, with ``sites``, ``time`` and the ``products`` of `ds.evolve`."""
    for sites in QUICK_SITES if quick else SITES if where is CPU else GPU_SITES:
        for time in TIMES:
            yield f"Heisenberg chain, {sites} sites, t = {time:g}", partial(_run, sites, time, quick)


def _run(sites: int, time: float, quick: bool, where: Backend) -> dict[str, Any]:
    H, csr = (gallery.heisenberg(sites, format=name).to(where.name) for name in ("mdia", "csr"))
    psi = np.zeros(H.shape[0], complex)
    psi[int("01" * (sites // 2), 2)] = 1.0
    x = prepare.on_device(psi, where)
    plain = evolve(H, x, time)
    row = {"sites": sites, "time": time, "products": plain.products, "nbytes": H.nbytes, "reason": plain.reason}
    clock = Clock(where, budget=0.05 if quick else 0.5, samples=5)
    exact = on_host(evolve(csr, x, time, tol=1e-13, method="chebyshev").final)
    fill(row, _ours(H, x, time, plain.spectrum, clock), partial(_error, exact, TOL))
    if where is CPU:
        fill(row, _theirs(H, psi, time, clock), partial(_error, exact, _LOOSE))
    fill(row, _products(H, x, clock), lambda result: 0.0 if np.isfinite(on_host(result)).all() else np.inf)
    return row


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


# ---- tables and the picture ---------------------------------------------------------------------------------------
def _tables(report: Row) -> Tables:
    first = {"sites": "{sites}", "t": "{time:g}", "products": "{products}"}
    names = timed(report["rows"], (*OURS, *PEERS), EVOLVED)
    ratios = {
        f"vs {name}": partial(faster, ours=OURS[0] + EVOLVED, theirs=name + EVOLVED) for name in names if name in PEERS
    }
    chain = {"5 products": partial(seconds, name=OURS[0] + PRODUCTS)}
    yield "exp(-i H t) psi", table(report["rows"], {**first, **times(names, EVOLVED), **ratios, **chain})


def _head(report: Row) -> str:
    qutip = report["versions"]["qutip"]
    return machine(report, "complex128") + (f"; QuTiP {qutip}" if qutip else "")


def _draw(report: Row) -> Any:
    """Draw times over the number of sites, with a panel for each time."""
    figure = new_figure(8.6, 3.2)
    series: dict[str, tuple[Callable[[Row], float | None], str, str]] = {
        name: (milliseconds(name + EVOLVED), ".-" if name in OURS else ".--", color)
        for name, color in zip((*OURS, *PEERS), (BLUE, SKY, ORANGE, GREY, PURPLE), strict=True)
    }
    panels = distinct(report["rows"], "time")
    for ax, (time,) in zip(figure.subplots(1, len(panels), squeeze=False, sharey=True)[0], panels, strict=True):
        curves(ax, select(report, time=time), lambda row: row["sites"], series, lw=1.2)
        label(ax, "sites", "ms" if time == panels[0][0] else "", title=f"t = {time:g}", log="y")
        ax.set_xticks([sites for (sites,) in distinct(report["rows"], "sites")])
    legend(figure, "outside right center")
    return figure


EVOLUTION = Experiment(
    "evolution", __doc__, _rows, _tables, _draw, _head,
    Columns("", OURS, {EVOLVED: "exp(-i H t) psi", PRODUCTS: "5 products"}), add=_add,
)  # fmt: skip
