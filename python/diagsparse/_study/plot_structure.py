"""Pictures of a matrix: the positions of its entries, how full each diagonal is, and the row lengths."""

from __future__ import annotations

from textwrap import fill
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .figures import BLUE, GREY

_MARKS = 5000  # largest number of diagonals that are drawn
_FAR = 5.0  # limit for the binary logarithm of gaps between diagonals, relative to the smallest gap
_SLIM = 8.0  # largest aspect ratio of matrices that are drawn in proportion
_FEW = 24  # half-full diagonals are labelled before all others if there are at most this many
_BARS, _FEW_BARS = 40, 12  # largest number of bars of row lengths, and of bars that all have a label
_LETTER, _LINE = 4.6, 9.5  # width of a letter and height of a line of tick labels, in points


# ---- the entries --------------------------------------------------------------------------------------------------
def draw_entries(axes: Any, s: Any) -> None:
    """Draw the number of entries in the cells of a coarse grid, in the proportions of the matrix unless it is slim."""
    from matplotlib.colors import LogNorm

    cells = s.cells
    (m, n), (rows, columns) = s.shape, cells.shape
    axes.set_title(f"{m} x {n}", fontsize=10, loc="left")
    if 0 in (m, n):
        draw_nothing(axes, "no rows" if m == 0 else "no columns")
        return
    most = max(2, int(cells.max(initial=1)))
    shown = np.ma.masked_equal(cells, 0)
    axes.imshow(shown, cmap=_from_pale(), norm=LogNorm(0.3, most), extent=(0, n, m, 0), interpolation="nearest")
    slim = max(m, n) > _SLIM * min(m, n)
    axes.set_aspect("auto" if slim else "equal")
    if slim:
        axes.set_box_aspect(1 / _SLIM if n > m else _SLIM)
    axes.set_xticks([0, n], ["0", str(n)])
    axes.set_yticks([0, m], ["0", str(m)])
    axes.tick_params(labelsize=7, length=2)
    axes.set_ylabel("row", fontsize=8, labelpad=-len(str(m)) if m * _SLIM > n else 4)
    axes.set_anchor("N")
    one = rows == m and columns == n
    caption = "a mark an entry" if one else f"darkest: {most} entries\nin {-(-m // rows)} x {-(-n // columns)} elements"
    caption = "nothing is stored" if not s.nnz else caption
    axes.set_xlabel(f"column\n{caption}" + "\nnot in proportion" * slim, fontsize=8)


def _from_pale() -> Any:
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list("pale to dark", ["#cfe3f2", BLUE, "#00263d"])


# ---- the diagonals ------------------------------------------------------------------------------------------------
def draw_occupancy(axes: Any, s: Any, inches: float) -> None:
    """Draw a mark for each diagonal: its offset, how full it is, and its number of nonzeros.

    `inches` is the approximate width of the axes.
    """
    axes.set_title(f"{len(s.offsets)} occupied diagonal{'s' * (len(s.offsets) != 1)}", fontsize=10, loc="left")
    axes.spines[["top", "right"]].set_visible(False)
    if not len(s.offsets):
        draw_nothing(axes, "nothing is stored")
        return
    positions = places_of(s.offsets)
    chosen = np.sort(np.argsort(-s.counts, kind="stable")[:_MARKS])
    size = 8 + 60 * s.counts[chosen] / max(1, s.counts.max(initial=1))
    few = len(chosen) < 200
    axes.vlines(positions[chosen], 0, 100 * s.fill[chosen], color=BLUE, lw=0.8 if few else 0.4, alpha=0.35)
    axes.scatter(
        positions[chosen], 100 * s.fill[chosen], size, color=BLUE, alpha=0.8 if few else 0.4, edgecolor="none",
        clip_on=False, zorder=3,
    )  # fmt: skip
    span = max(1.0, positions[-1] - positions[0])
    axes.set(xlim=(positions[0] - 0.04 * span, positions[-1] + 0.04 * span), ylim=(0, 106), yticks=range(0, 101, 20))
    labelled, upright = labels_of(s.offsets, positions, 72 * inches, s.fill >= 0.5)
    axes.set_xticks(positions[labelled], [str(k) for k in s.offsets[labelled]], rotation=90 if upright else 0)
    main = int(np.searchsorted(s.offsets, 0))
    if 0 in s.offsets:
        axes.axvline(float(positions[main]), color=GREY, lw=0.8, alpha=0.6, zorder=0)
        if main not in labelled:  # too close to another label
            axes.text(positions[main], 106, "0", fontsize=8, ha="center", va="bottom")
            axes.set_title(axes.get_title(loc="left"), fontsize=10, loc="left", pad=14)
    even = len(set(np.diff(s.offsets).tolist())) < 2
    axes.set_xlabel("offset (column - row)" + ("" if even else "; wide gaps are shortened"), fontsize=8)
    axes.set_ylabel("filled (%); area: nonzeros", fontsize=8)
    axes.tick_params(labelsize=8)


def places_of(offsets: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the positions of diagonals on their axis: in ascending order, with compressed gaps."""
    gaps = np.diff(offsets).astype(float)
    if len(set(gaps.tolist())) < 2:  # an even axis
        return np.arange(len(offsets), dtype=float)
    steps = 1 + 0.6 * np.minimum(np.log2(np.maximum(gaps / gaps.min(), 1)), _FAR)
    return np.concatenate(([0.0], np.cumsum(steps)))


def labels_of(
    offsets: NDArray[np.int64], positions: NDArray[np.float64], points: float, full: NDArray[np.bool_]
) -> tuple[list[int], bool]:
    """Return which diagonals are labelled on an axis with a width of `points`, and whether labels are vertical.

    The first, the last and the main diagonal have priority, then the `full` ones if they are few, those at the widest
    gaps, and those in between. If the offsets are equidistant, round numbers are labelled instead.
    """
    order, even = _by_interest(offsets, full), len(set(np.diff(offsets).tolist())) < 2
    span = max(1.0, float(positions[-1] - positions[0])) * 1.08
    at = positions * points / span
    across = [_LETTER * len(str(k)) + 4 for k in offsets.tolist()]
    if len(level := _fitting(order, at, across)) == len(offsets):
        return level, False
    if even:
        order = _round_numbers(offsets, order[:3], float(at[1] - at[0]), max(across))
        return _fitting(order, at, across), False
    upright = _fitting(order, at, [_LINE] * len(offsets))
    return (upright, True) if len(upright) > len(level) else (level, False)


def _by_interest(offsets: NDArray[np.int64], full: NDArray[np.bool_]) -> list[int]:
    last = len(offsets) - 1
    first = [0, *np.flatnonzero(offsets == 0).tolist(), last]
    first += np.flatnonzero(full).tolist() if full.sum() <= _FEW else []
    gaps = np.diff(offsets)
    at_gaps = [int(i) + side for i in np.argsort(-gaps, kind="stable")[:40] if gaps[i] > 1 for side in (0, 1)]
    halves = [round(last * k / 2**level) for level in range(1, 7) for k in range(1, 2**level, 2)]
    return list(dict.fromkeys([*first, *at_gaps, *halves, *(range(last + 1) if last < 200 else ())]))


def _round_numbers(offsets: NDArray[np.int64], first: list[int], apart: float, room: float) -> list[int]:
    """Return the diagonals whose offsets are multiples of 1, 2, 5, 10, ...: the smallest for which labels fit."""
    gap = int(offsets[1] - offsets[0])
    steps = (digit * 10**power for power in range(19) for digit in (1, 2, 5))
    step = next(step for step in steps if np.lcm(step, gap) / gap * apart >= room)
    return [*first, *np.flatnonzero(offsets % step == 0).tolist()]


def _fitting(order: list[int], at: NDArray[np.float64], room: list[float]) -> list[int]:
    """Return the labels, in ascending order, that do not overlap with others before them in `order`."""
    labelled: list[int] = []
    for i in order:
        if all(abs(at[i] - at[j]) >= (room[i] + room[j]) / 2 for j in labelled):
            labelled.append(i)
    return sorted(set(labelled))


# ---- the rows -----------------------------------------------------------------------------------------------------
def draw_row_lengths(axes: Any, s: Any) -> None:
    """Draw a histogram of the row lengths, with one bar for each length or range of lengths."""
    axes.set_title("entries of a row", fontsize=10, loc="left")
    axes.spines[["top", "right"]].set_visible(False)
    if not s.shape[0]:
        draw_nothing(axes, "no rows")
        return
    lengths, rows = s.row_lengths.T
    width = -(-(s.row_max - s.row_min + 1) // _BARS)  # of a bar, in lengths
    counts = np.bincount((lengths - s.row_min) // width, rows)
    starts = s.row_min + width * np.arange(len(counts))
    axes.bar(starts + (width - 1) / 2, counts, 0.8 * width, color=BLUE)
    shown = starts if len(starts) <= _FEW_BARS else starts[np.linspace(0, len(starts) - 1, _FEW_BARS // 2).astype(int)]
    axes.set_xticks(shown + (width - 1) / 2, [f"{k}" if width == 1 else f"{k}-{k + width - 1}" for k in shown.tolist()])
    axes.axvline(s.row_mean, color=GREY, lw=1)
    axes.text(s.row_mean, 1.0, f" mean {s.row_mean:.4g}", fontsize=7, color=GREY, transform=axes.get_xaxis_transform())
    if counts.max() > 50 * counts[counts > 0].min():
        axes.set_yscale("log")
    axes.set_xlabel("entries", fontsize=8)
    axes.set_ylabel("rows", fontsize=8)
    axes.tick_params(labelsize=8)


def draw_nothing(axes: Any, reason: str) -> None:
    """Write in an empty panel why it is empty."""
    axes.text(0.02, 0.9, fill(reason, 40), va="top", fontsize=8, color="#444444", transform=axes.transAxes)
    axes.set(xticks=[], yticks=[])
    axes.spines[:].set_visible(False)
