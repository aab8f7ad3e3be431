"""The picture of the GPU benchmark."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from .plot import BLUE, GREEN, GREY, ORANGE, PURPLE, SKY, YELLOW, new_figure, save, set_up_cases

_MARKS = {  # label: colour, marker
    "dia": (SKY, "s"), "hm": (BLUE, "o"), "cdm": (GREEN, "^"), "csr": (PURPLE, "D"), "cuSPARSE": (YELLOW, "D"),
    "paper's kernels": (ORANGE, "x"), "CuPy csr": (GREY, "D"), "CuPy dia": (GREY, "s"),
}  # fmt: skip
_PAPERS = ("tiled", "atomic", "atomic_split", "entry")


def _label(row: dict[str, Any]) -> str:
    if row["library"] == "cupy":
        return f"CuPy {row['format']}"
    if row["kernel"] == "cusparse":
        return "cuSPARSE"
    return "paper's kernels" if row["kernel"] in _PAPERS else row["format"]


def plot_bench(report: dict[str, Any], path: str | Path) -> Path:
    """Save how fast each contender is: the bytes that the case moves at least over the time, beside a copy's speed."""
    rows = [row for row in report["rows"] if row["seconds"] and row["floor_nbytes"]]
    names = list(dict.fromkeys(row["case"] for row in report["rows"]))
    figure = new_figure(7.2, 1.4 + 0.34 * len(names))
    axes = figure.subplots()
    for label, (color, marker) in _MARKS.items():
        mine = [row for row in rows if _label(row) == label]
        if mine:
            values = [row["floor_nbytes"] / row["seconds"] / 1e9 for row in mine]
            places = [-names.index(row["case"]) for row in mine]
            axes.plot(values, places, marker, color=color, label=label, ms=6, alpha=0.85)
    speed = report["copy_bandwidth"] / 1e9
    axes.axvline(speed, color="black", lw=1, ls="--", label="device-to-device copy")
    set_up_cases(axes, names, "fewest bytes that the case moves / time (GB/s)")
    figure.legend(loc="outside upper center", ncols=5, fontsize=8, frameon=False)
    return save(figure, path)
