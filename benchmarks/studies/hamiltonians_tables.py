"""Tables and the picture of the experiment on Hamiltonians."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from diagsparse._backends.memory import human
from diagsparse._show import columns
from diagsparse._study.figures import BLUE, GREEN, GREY, ORANGE, PURPLE, SKY, YELLOW, logarithmic, new_figure

from ..tables import Tables, machine, seconds, speedup

FORMATS = ("dia", "hm", "hm symmetric", "mdia", "mdia symmetric", "csr")
CUSPARSE, CUPY, SCIPY_DIA, SCIPY_CSR, QUTIP = "cuSPARSE csr", "CuPy csr", "SciPy dia", "SciPy csr", "QuTiP Dia"
PEERS = (CUSPARSE, CUPY, SCIPY_DIA, SCIPY_CSR, QUTIP)
VECTOR, SQUARE, HALF, EVOLVED = ", H x", ", H H", ", half of H H", ", exp(-i t H) x"
OPERATIONS = {VECTOR: "H x", SQUARE: "H H", HALF: "upper half of H H", EVOLVED: "exp(-i t H) x"}


def tables(report: dict[str, Any]) -> Tables:
    """Yield titles and cells: the powers, then the times of each operation."""
    yield "Diagonals, and the share of them that is filled", _powers_table(report)
    for operation, title in OPERATIONS.items():
        yield title, _times(report, operation)


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
    for row in (row for row in report["rows"] if any(name + operation in row["times"] for name in names)):
        cells = [seconds(row, name + operation) for name in names]
        ours, theirs = ([name + operation for name in group] for group in (FORMATS, peers))
        ratio = [columns.times(speedup(row, ours, theirs))] if peers else []
        yield [row["what"], str(row["sites"]), *cells, *ratio]


def head(report: dict[str, Any]) -> str:
    """Return the line about the machine."""
    qutip = report["versions"]["qutip"]
    return machine(report) + (f"; QuTiP {qutip}" if qutip else "")


# ---- picture ------------------------------------------------------------------------------------------------------
def draw(report: dict[str, Any]) -> Any:
    """Draw times over the number of sites, with a column for each Hamiltonian and a row for each operation."""
    styles = dict(
        zip(
            (*FORMATS, *PEERS),
            (BLUE, SKY, GREEN, "#aa3377", "#ee99aa", ORANGE, GREY, "black", PURPLE, YELLOW, "#7f7f3f"),
            strict=True,
        )
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
            logarithmic(ax, "y")
            ax.set_xticks(sorted({row["sites"] for row in report["rows"]}))
            if i == 0:
                ax.set_title(family)
        axes[i][0].set_ylabel(f"{title} (ms)")
    for ax in axes[-1]:
        ax.set_xlabel("sites")
    figure.legend(handles.values(), handles, loc="outside right center")
    return figure
