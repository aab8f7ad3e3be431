"""The report of `analyze`: its lines, and its HTML for notebooks."""

from __future__ import annotations

import re
from typing import Any

from .._backends.memory import human
from . import columns, display


def lines(s: Any, name: str) -> list[tuple[str, str]]:
    """Return the label and the text of each line; the label of the first one is `name`."""
    d = len(s.offsets)
    size = f"{s.shape[0]} x {s.shape[1]}   {s.dtype}   {s.nnz} nonzeros"
    span = f", from {s.offsets[0]} to {s.offsets[-1]}" if d else ""
    half_full = f"{s.half_full} at least half full, with {columns.percent(s.half_full_fraction, 1)} of the nonzeros"
    rows = f"{s.row_min} to {s.row_max} nonzeros, mean {s.row_mean:.2f}, median {s.row_quantile(0.5)}"
    bandwidth = f"bandwidth {s.bandwidth}{_after(s.bandwidth_rcm)}"
    blocks = f"8 x 8, {columns.percent(s.block_fill, 1)} full"
    occupied = f"{s.blocks} occupied{_after(s.blocks_rcm)}"
    width = max(len(rows), len(blocks)) + 4
    return [
        (name, f"{size}   {columns.percent(s.density, 1)} full"),
        ("diagonals", f"{d} occupied{span}; {half_full}; {s.constant_diagonals} constant"),
        ("bands", _bands(s)),
        ("rows", f"{rows:{width}}{bandwidth}"),
        ("blocks", f"{blocks:{width}}{occupied}"),
        ("bitmaps", _bitmaps(s)),
        ("values", f"{'no symmetry' if s.symmetry == 'none' else s.symmetry}; {_repeats(s)}"),
        ("bytes", _bytes(s)),
        ("others", _others(s)),
    ]


def _repeats(s: Any) -> str:
    if s.period is None:
        return "no period found"
    after = f"every diagonal repeats after {s.period} rows"
    return "Toeplitz: every diagonal is constant" if s.toeplitz else after


def _supported(s: Any) -> list[tuple[int, str]]:
    """Return the bytes and the name of each format that supports the matrix, ascending."""
    return sorted((n, name) for name, n in s.nbytes.items() if n is not None)


def _bytes(s: Any) -> str:
    """Return the formats with the fewest bytes, and csr."""
    supported = _supported(s)
    named = [f"{name} {human(n)}" for n, name in supported[:4] + [one for one in supported[4:] if one[1] == "csr"]]
    return ", ".join(named) + f" ({len(supported)} formats in all)" * (len(supported) > len(named))


def _bitmaps(s: Any) -> str:
    """Return the blocks of each size, and their bytes with bitmaps."""
    sizes = s.bitmap_blocks.items()
    return ", ".join(f"{one.blocks} of {size} x {size} ({human(one.nbytes)})" for size, one in sizes)


def _others(s: Any) -> str:
    """Return the bytes of formats that are not implemented, with the size of their blocks."""
    supported = [(name, one) for name, one in s.other_formats.items() if one is not None]
    layouts = {name: f" {one.layout}" if name in ("bsr", "bcsd") else "" for name, one in supported}
    return ", ".join(f"{name}{layouts[name]} {human(one.nbytes)}" for name, one in supported) + " (not implemented)"


def html(s: Any) -> str:
    """Return the report as HTML for a notebook."""
    report = [f"{label}: {re.sub('  +', '; ', line)}" for label, line in lines(s, "matrix")]
    what = "the diagonals with nonzeros, each drawn in full"
    drawn = [display.drawing.diagonals_of(s.shape, s.offsets, what)] if len(s.offsets) else []
    csr = s.nbytes["csr"] or 1
    rows = [
        (name, human(n), columns.digits(n / csr), display.bar(min(1, n / csr), name == "csr"))
        for n, name in _supported(s)
    ]
    return display.page(repr(s), drawn, display.table(("format", "bytes", "of csr", ""), rows), display.lines(report))


def _bands(s: Any) -> str:
    b = s.bands
    diagonals = display.counted(b.diagonal_count, "diagonal")
    bands = f"{b.band_count} with {diagonals}, {columns.percent(b.band_occupancy / 100, 1)} full"
    nonzeros, spread = columns.percent(b.band_percentage / 100, 1), columns.percent(b.band_spread / 100, 1)
    return f"{bands}, with {nonzeros} of the nonzeros; spread {spread}"


def _after(number: int | None) -> str:
    return "" if number is None else f", after reverse Cuthill-McKee {number}"
