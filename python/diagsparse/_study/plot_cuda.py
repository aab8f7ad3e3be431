"""The picture of the GPU benchmark."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ..plot import set_up_cases
from .figures import BLUE, GREEN, GREY, ORANGE, PURPLE, SKY, YELLOW, logarithmic, new_figure, save
from .titles import is_cusparse, library

_MARKS = {  # label: colour, marker
    "dia": (SKY, "s"), "hm": (BLUE, "o"), "cdm": (GREEN, "^"), "csr": (PURPLE, "D"), "cuSPARSE": (YELLOW, "D"),
    "paper's kernels": (ORANGE, "x"), "CuPy csr": (GREY, "D"), "CuPy dia": (GREY, "s"),
    "nvmath dia": ("black", "s"),
}  # fmt: skip
_PAPERS = ("tiled", "atomic", "atomic_split", "entry")


def _label(row: dict[str, Any]) -> str:
    if row["library"] != "diagsparse":
        return library(row)
    if is_cusparse(row["kernel"]):
        return "cuSPARSE"
    return "paper's kernels" if row["kernel"] in _PAPERS else row["format"]


_PEAKS = {"H200": (34.0, 67.0)}  # TFLOP/s of the vector and the matrix units in double precision, from the data sheet


def plot_bench(report: dict[str, Any], path: str | Path) -> Path:
    """Plot the speed of each contender relative to a copy, and a roofline of the fastest kernels."""
    names = list(dict.fromkeys(row["case"] for row in report["rows"]))
    figure = new_figure(11.5, 1.8 + 0.3 * max(8, len(names)))
    speeds, roofline = figure.subplots(1, 2)
    _plot_speeds(speeds, report, names)
    _plot_roofline(roofline, report, names)
    handles, labels = speeds.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper left", ncols=5, fontsize=8, frameon=False)
    return save(figure, path)


def _plot_speeds(axes: Any, report: dict[str, Any], names: list[str]) -> None:
    """Draw the least bytes of a case divided by the time."""
    rows = [row for row in report["rows"] if row["ok"] and row["floor_nbytes"]]
    for label, (color, marker) in _MARKS.items():
        mine = [row for row in rows if _label(row) == label]
        if mine:
            values = [row["floor_nbytes"] / row["seconds"] / 1e9 for row in mine]
            positions = [-names.index(row["case"]) for row in mine]
            axes.plot(values, positions, marker, color=color, label=label, ms=6, alpha=0.85)
    speed = report["copy_bandwidth"] / 1e9
    axes.axvline(speed, color="black", lw=1, ls="--", label="device-to-device copy")
    set_up_cases(axes, names, "fewest bytes that the case moves / time (GB/s)")


def _plot_roofline(axes: Any, report: dict[str, Any], names: list[str]) -> None:
    """Draw flops per second over arithmetic intensity, with the limits by memory and arithmetic units."""
    speed = report["copy_bandwidth"]
    peaks = next((p for name, p in _PEAKS.items() if name in report["hardware"]["gpu"]), ())
    intensities: list[float] = []
    labels: dict[str, tuple[float, float]] = {}  # positions of the labels
    for name in names:
        mine = [row for row in report["rows"] if row["case"] == name and row["ok"] and row["floor_nbytes"]]
        if mine and mine[0]["group"] == "small":  # limited by the call overhead
            continue
        for best, color, marker in (
            (min((r for r in mine if r["library"] == "diagsparse" and r["format"] in ("dia", "hm", "cdm")),
                 key=lambda r: r["seconds"], default=None), BLUE, "o"),
            (min((r for r in mine if is_cusparse(r["kernel"])), key=lambda r: r["seconds"], default=None), YELLOW, "D"),
        ):  # fmt: skip
            if best is None:
                continue
            intensity, rate = 2 * best["work"] / best["floor_nbytes"], 2 * best["work"] / best["seconds"] / 1e12
            axes.plot(intensity, rate, marker, color=color, ms=5)
            if color == BLUE:
                intensities.append(intensity)
                label = "y = A x" if best["op"] == "matvec" else name
                if label not in labels:
                    close = [r for i, r in labels.values() if 0.4 < intensity / i < 2.5 and 0.9 < rate / r < 1.1]
                    shift = (5 if rate > close[0] else -5) if close else 0  # points, away from a label nearby
                    axes.annotate(
                        label, (intensity, rate), fontsize=6, xytext=(4, shift - 3), textcoords="offset points"
                    )
                    labels[label] = intensity, rate
    low, high = min(intensities, default=0.1) / 2, max(intensities, default=10) * 6
    axes.plot([low, high], [low * speed / 1e12, high * speed / 1e12], color="black", lw=1, ls="--")
    for peak, what in zip(peaks, ("vector units", "matrix units"), strict=False):
        axes.axhline(peak, color=GREY, lw=1, ls=":")
        axes.annotate(f"{what}, {peak:g}", (low, peak), fontsize=7, va="bottom")
    logarithmic(axes, "x")
    logarithmic(axes, "y")
    axes.set_xlim(low, high)
    axes.set_xlabel("flops / fewest bytes that the case moves", fontsize=8)
    axes.set_ylabel("TFLOP/s (circles: fastest diagonal format; diamonds: cuSPARSE)", fontsize=8)
    axes.tick_params(labelsize=8)
    axes.spines[["top", "right"]].set_visible(False)
