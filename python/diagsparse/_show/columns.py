"""Formatting of numbers with units, of counts, and of aligned columns."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any


def seconds(value: float) -> str:
    """Return a time with three digits: ``9.80 us``, ``12.3 ms``, ``1.20 s``."""
    for unit, scale in (("ns", 1e-9), ("us", 1e-6), ("ms", 1e-3)):
        if value < 999.5 * scale:
            return f"{digits(value / scale)} {unit}"
    return f"{digits(value)} s"


def digits(value: float) -> str:
    """Return a nonnegative number with three digits: ``1.23``, ``12.3``, ``123``."""
    return f"{value:.2f}" if value < 9.995 else f"{value:.1f}" if value < 99.95 else f"{value:.0f}"


def times(ratio: float | None) -> str:
    """Return a speedup: ``1.23x``; "" if it is not known."""
    return "" if ratio is None else f"{digits(ratio)}x"


def percent(fraction: float, decimals: int = 0) -> str:
    """Return a fraction in percent: ``95 %``, with at least two digits if it is small: ``0.12 %``."""
    return f"{100 * fraction:.{decimals}f} %" if fraction >= 0.01 else f"{100 * fraction:.2g} %"


def counted(count: int, noun: str) -> str:
    """Return ``1 diagonal``, ``2 diagonals``."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def diagonals(offsets: Any) -> str:
    """Return ``5 diagonals from -1000 to 1000``."""
    if len(offsets) == 0:
        return "no diagonals"
    if len(offsets) == 1:
        return f"1 diagonal, {offsets[0]}"
    return f"{len(offsets)} diagonals from {min(offsets)} to {max(offsets)}"


def error(value: float | None) -> str:
    """Return an error divided by its bound: ``0.02``, ``< 0.01``; None means infinite."""
    if value is None or value == float("inf"):
        return "inf"
    return "0" if value == 0 else "< 0.01" if value < 0.01 else digits(value)


Columns = Mapping[str, str | Callable[[Any], str]]
"""The values of a table by their headers: format strings for the fields of a row, or functions of a row."""


def table(rows: Iterable[Any], columns: Columns) -> list[list[str]]:
    """Return the header, and the cells of each row.

    >>> table([{"name": "a", "n": 1000}], {"name": "{name}", "size": "{n:,}"})
    [['name', 'size'], ['a', '1,000']]
    """
    values = [value.format_map if isinstance(value, str) else value for value in columns.values()]
    return [list(columns), *([value(row) for value in values] for row in rows)]


def columns(rows: Sequence[Sequence[str]], align: str) -> list[str]:
    """Return the rows as lines; ``align`` has a ``<`` or ``>`` for each column.

    >>> columns([["a", "1.0"], ["bc", "10.0"]], "<>")
    ['a     1.0', 'bc   10.0']
    """
    widths = [max(map(len, column)) for column in zip(*rows)]
    lines = ("   ".join(f"{cell:{a}{w}}" for cell, a, w in zip(row, align, widths, strict=True)) for row in rows)
    return [line.rstrip() for line in lines]


def markdown(rows: Sequence[Sequence[str]], align: str = "") -> str:
    """Return the rows, the header first, as a table in Markdown; by default all columns but the first are numbers.

    >>> print(markdown([["name", "time"], ["a", "1.0"]]))
    | name | time |
    | --- | ---: |
    | a | 1.0 |
    """
    align = align or "<" + ">" * (len(rows[0]) - 1)
    under = [{"<": "---", ">": "---:"}[a] for a in align]
    return "\n".join(f"| {' | '.join(row)} |" for row in (rows[0], under, *rows[1:]))
