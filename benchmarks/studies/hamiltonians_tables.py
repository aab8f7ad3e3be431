"""Tables and the picture of the experiment on Hamiltonians."""

from __future__ import annotations

from functools import partial
from typing import Any

from diagsparse._backends.memory import human
from diagsparse._show.columns import digits

from ..pictures import BLUE, GREEN, GREY, ORANGE, PURPLE, SKY, YELLOW, curves, label, legend, milliseconds, new_figure
from ..tables import Columns, Row, Tables, distinct, faster, machine, select, table, timed, times

FORMATS = ("dia", "hm", "hm symmetric", "mdia", "mdia palette", "mdia symmetric", "csr")
PEERS = ("cuSPARSE csr", "CuPy csr", "SciPy dia", "SciPy csr", "QuTiP Dia")
VECTOR, SQUARE, HALF, EVOLVED = ", H x", ", H H", ", half of H H", ", exp(-i t H) x"
OPERATIONS = {VECTOR: "H x", SQUARE: "H H", HALF: "upper half of H H", EVOLVED: "exp(-i t H) x"}
_LARGE = 16  # sites of the smallest Hamiltonians on the page of mdia
_MDIA = ("mdia", "mdia palette", "mdia symmetric", "hm", "csr")
_PEERS_OF_MDIA = ("cuSPARSE csr", "SciPy csr")
_FIRST: Columns = {"Hamiltonian": "{what}", "sites": "{sites}"}
_COLORS = (BLUE, SKY, GREEN, "#aa3377", "#332288", "#ee99aa", ORANGE, GREY, "black", PURPLE, YELLOW, "#7f7f3f")


def tables(report: Row) -> Tables:
    """Yield titles and cells: the powers, then the times of each operation."""
    all_rows = _by_family(report)
    powers = {f"H^{power}".removesuffix("^1"): partial(_filled, power=power) for power in ("1", "2", "4")}
    sizes = {f"{name}, bytes": partial(_size, name=name) for name in FORMATS if name in all_rows[0]["nbytes"]}
    first = {**_FIRST, "nonzeros": lambda row: f"{row['powers']['1']['nnz']:,}"}
    yield "Diagonals, and the fraction of them that is filled", table(all_rows, {**first, **powers, **sizes})
    for operation, title in OPERATIONS.items():
        rows = [row for row in all_rows if timed([row], end=operation)]
        names = timed(rows, (*FORMATS, *PEERS), operation)
        ours, theirs = ([name + operation for name in group if name in names] for group in (FORMATS, PEERS))
        ratio = {"best vs peers": partial(faster, ours=ours, theirs=theirs)} if theirs else {}
        yield title, table(rows, {**_FIRST, **times(names, operation), **ratio})


def of_mdia(report: Row) -> Tables:
    """Yield the times of products in mdia and in other formats, of Hamiltonians that exceed the caches."""
    large = [row for row in _by_family(report) if row["sites"] >= _LARGE]
    for operation in (VECTOR, SQUARE):
        rows = [row for row in large if timed([row], end=operation)]
        names = timed(rows, (*_MDIA, *_PEERS_OF_MDIA), operation)
        yield OPERATIONS[operation], table(rows, {**_FIRST, "fill": _fill_of_h, **times(names, operation)})


def _by_family(report: Row) -> list[Row]:
    """Return the rows of each family together; the largest ones were measured last."""
    return [row for (family,) in distinct(report["rows"], "what") for row in select(report, what=family)]


def _fill_of_h(row: Row) -> str:
    counts = row["powers"]["1"]
    return digits(counts["nnz"] / counts["elements"])


def _filled(row: Row, power: str) -> str:
    counts = row["powers"].get(power)
    return f"{counts['diagonals']}, {digits(counts['nnz'] / counts['elements'])}" if counts else ""


def _size(row: Row, name: str) -> str:
    return human(row["nbytes"][name])


def head(report: Row) -> str:
    """Return the line about the machine."""
    qutip = report["versions"]["qutip"]
    return machine(report) + (f"; QuTiP {qutip}" if qutip else "")


def draw(report: Row) -> Any:
    """Draw times over the number of sites, with a column for each Hamiltonian and a row for each operation."""
    families = distinct(report["rows"], "what")
    figure = new_figure(2.6 * len(families) + 1.4, 7.2)
    axes = figure.subplots(len(OPERATIONS), len(families), squeeze=False, sharex=True, sharey="row")
    for i, (operation, title) in enumerate(OPERATIONS.items()):
        series = {
            name: (milliseconds(name + operation), ".-" if name in FORMATS else ".--", color)
            for name, color in zip((*FORMATS, *PEERS), _COLORS, strict=True)
        }
        for ax, (family,) in zip(axes[i], families, strict=True):
            curves(ax, select(report, what=family), lambda row: row["sites"], series, lw=1.2)
            label(ax, x="sites" * (i == len(OPERATIONS) - 1), title=family * (i == 0), log="y")
            ax.set_xticks([sites for (sites,) in sorted(distinct(report["rows"], "sites"))])
        axes[i][0].set_ylabel(f"{title} (ms)")
    legend(figure, "outside right center")
    return figure
