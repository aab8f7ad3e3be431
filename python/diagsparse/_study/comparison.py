"""The result of `compare`: rows, skipped formats and the fastest format, as text, JSON and pictures."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from html import escape
from math import ceil, isfinite
from pathlib import Path
from typing import Any

from .._backends.memory import human
from .._show import columns, display
from ..structure import Structure
from .changes import LIMIT, Changes, changes
from .titles import PEERS, TITLES

_HEAD = ["format", "kernel", "time", "vs SciPy csr", "stored", "of bandwidth", "error / bound"]
_BAR = 12  # characters of the longest bar
_TIE = 1.1  # times closer than this are equal; fewer bytes win
_PERCENT = round(100 * (_TIE - 1))


@dataclass(frozen=True)
class Row:
    """One operation in one format by one kernel."""

    op: str  #: "matvec" or "matmul"
    format: str  #: one of `diagsparse.formats()`, or another library: "scipy", "mkl", "cusparse", "cupy"
    kernel: str  #: of this library; for another library, its format
    work: int  #: useful multiply-adds, those of csr
    seconds: float  #: median of one call
    best: float  #: the fastest call
    ratio: float  #: SciPy csr's seconds over these
    nbytes: int  #: stored: the matrix (matvec), the result (matmul)
    floor_nbytes: int  #: bytes that have to be moved at least
    fraction: float  #: of the measured read bandwidth; above 1 if the data stays in a cache
    error: float  #: largest error over its bound
    conversion: float  #: seconds to convert from csr

    @property
    def ok(self) -> bool:
        """Whether the result agrees with SciPy's up to rounding."""
        return self.error <= 1

    @property
    def ours(self) -> bool:
        """Whether it is one of this library's formats."""
        return self.format not in PEERS


@dataclass(frozen=True)
class Skipped:
    """A format that was left out, and why."""

    op: str  #: "convert", "matvec" or "matmul"
    format: str  #: "all" if the operation was left out
    reason: str


@dataclass(repr=False)
class Comparison:
    """The result of `compare`: `str()` returns a table, `to_dict()` plain values, and `plot()` saves a picture."""

    name: str
    shape: tuple[int, int]
    dtype: str
    nnz: int
    device: str
    threads: int
    bandwidth: float  #: bytes a second that this many threads read from memory
    structure: Structure
    warning: str = ""  #: why the times may mislead
    rows: list[Row] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        """Whether all results agree with SciPy's up to rounding."""
        return all(row.ok for row in self.rows)

    def of(self, op: str) -> list[Row]:
        """Return the rows of one operation, the fastest first."""
        return sorted((row for row in self.rows if row.op == op), key=lambda row: row.seconds)

    def fastest(self, op: str) -> list[Row]:
        """Return the rows of this library within 10 percent of its fastest, the one with the fewest bytes first."""
        ours = [row for row in self.of(op) if row.ours and row.ok]
        return sorted((row for row in ours if row.seconds <= ours[0].seconds * _TIE), key=lambda row: row.nbytes)

    def best(self, op: str) -> Row | None:
        """Return the fastest row of this library; of those within 10 percent the one with the fewest bytes."""
        return next(iter(self.fastest(op)), None)

    @property
    def measured(self) -> dict[str, Any] | None:
        """The fastest format for y = A x, its bytes, when its conversion is worth it, and the fastest for C = A A.

        None if the matrix has no entries, or if no result is correct.
        """
        best, product = self.best("matvec"), self.best("matmul")
        if best and product:  # the same format for both, if it is almost as fast
            same = [r for r in self.of("matmul") if r.format == best.format and r.seconds < 1.25 * product.seconds]
            product = same[0] if same else product
        csr = next((row for row in self.of("matvec") if (row.format, row.kernel) == ("scipy", "csr")), None)
        if csr is None or best is None or not self.nnz:
            return None
        saved = csr.seconds - best.seconds
        return {
            "format": best.format,
            "kernel": best.kernel,
            "ties": list(dict.fromkeys(r.format for r in self.fastest("matvec") if r.format != best.format)),
            "ratio": best.ratio,
            "bytes_per_nonzero": best.nbytes / self.nnz,
            "csr_bytes_per_nonzero": csr.nbytes / self.nnz,
            "products_to_pay": max(1, ceil(best.conversion / saved)) if saved > 0 else None,
            "matmul_format": product.format if product else None,
            "matmul_ratio": product.ratio if product else None,
        }

    def to_dict(self) -> dict[str, Any]:
        """Return all fields as plain values, ready for JSON."""
        return {
            "name": self.name,
            "shape": list(self.shape),
            "dtype": self.dtype,
            "nnz": self.nnz,
            "diagonals": len(self.structure.offsets),
            "device": self.device,
            "threads": self.threads,
            "read_bandwidth": self.bandwidth,
            "warning": self.warning,
            "ok": self.ok,
            "rows": [asdict(row) | {"error": finite(row.error), "ok": row.ok} for op in TITLES for row in self.of(op)],
            "skipped": [asdict(skipped) for skipped in self.skipped],
            "measured": self.measured,
        }

    def to_pandas(self) -> Any:
        """Return the rows as a pandas data frame; pandas has to be installed."""
        import pandas

        return pandas.DataFrame(self.to_dict()["rows"])

    def save(self, path: str | Path) -> Path:
        """Write `to_dict()` as JSON, or only the rows if the path ends in ``.csv``, and return the path."""
        path, values = Path(path), self.to_dict()
        if path.suffix == ".csv":
            with path.open("w", newline="") as file:
                rows = csv.DictWriter(file, [*Row.__dataclass_fields__, "ok"])
                rows.writeheader()
                rows.writerows(values["rows"])
        else:
            path.write_text(json.dumps(values, indent=1) + "\n")
        return path

    def since(self, old: Comparison | Mapping[str, Any] | str | Path, *, limit: float = LIMIT) -> Changes:
        """Return what changed since an older comparison of the same matrix, device and number of threads.

        Parameters
        ----------
        old : Comparison, dict or path
            The older comparison, the result of its `to_dict`, or a JSON file written by `save`.
        limit : float
            A row counts as slower if it takes more than this many times as long as before, relative to SciPy's csr in
            the same run.

        Returns
        -------
        Changes
            ``str()`` returns a table. The attributes ``ok``, ``slower``, ``gone`` and ``new`` hold the differences, and
            ``to_dict()`` returns plain values.

        Raises
        ------
        ValueError
            If `old` compares something else, or if the file does not contain a comparison.
        """
        return changes(self, old, limit)

    def plot(self, path: str | Path, *, kind: str = "bars") -> Path:
        """Save a picture (`.png`, `.svg`, ...), and return the path; needs matplotlib.

        ``"bars"`` shows times and diagonals, ``"roofline"`` the flops per second below the limit of the memory
        bandwidth.
        """
        from ..plot import PLOTS

        if kind not in PLOTS:
            raise ValueError(f'plot: kind="{kind}"; expected one of {", ".join(PLOTS)}')
        return PLOTS[kind]([self], path)

    # ---- text -----------------------------------------------------------------------------------------------------
    def __repr__(self) -> str:
        m, n = self.shape
        return f"<comparison of {self.name}, {m} x {n} {self.dtype}: {len(self.rows)} rows, {self._where()}>"

    def _where(self) -> str:
        if self.device != "cpu":
            return f"{self.device}, copies {_rate(self.bandwidth)}"
        return f"{self.device}, {self.threads} thread{'s' * (self.threads > 1)}, reads {_rate(self.bandwidth)}"

    def __str__(self) -> str:
        lines: list[str] = []
        for title, rows, skipped in self._operations():
            lines += [title, *columns.columns([_HEAD, *map(_cells, rows, _bars(rows))], "<<><>>>")] if rows else []
            lines += [*skipped, ""] if rows or skipped else []
        return "\n".join([*lines, *self._notes()])

    def _repr_html_(self) -> str:
        blocks = []
        for title, rows, skipped in self._operations():
            if rows:
                longest = max(row.ratio for row in rows)
                bars = [display.bar(row.ratio / longest, not row.ours) for row in rows]
                cells = [_cells(row, "") for row in rows]
                cells = [[*some[:4], bar, *some[4:]] for some, bar in zip(cells, bars, strict=True)]
                table = display.table([*_HEAD[:4], "", *_HEAD[4:]], cells)
                blocks.append(f"<div class='wide'><code>{escape(title)}</code>{table}</div>")
            blocks += [display.lines(skipped)] if skipped else []
        return display.page(repr(self), [], *blocks, display.lines(self._notes()))

    def _operations(self) -> Iterator[tuple[str, list[Row], list[str]]]:
        """Yield for each operation its title, its rows and the lines on formats that were left out."""
        for op, title in TITLES.items():
            rows = self.of(op)
            skipped = [s for s in self.skipped if s.op == op or (s.op == "convert" and op == "matvec")]
            yield (
                f"{title}   {self.name}  {self.dtype}   {self._where()}",
                rows,
                _skipped(skipped, title if not rows else ""),
            )

    def _notes(self) -> list[str]:
        notes = ["Note: " + self.warning] if self.warning else []
        if any(row.fraction > 1 for row in self.rows):
            notes.append("* more than the memory bandwidth: the data stays in a cache between calls")
        if self.threads > 1 or self.device != "cpu":
            notes.append("SciPy runs on one thread" + " of the cpu" * (self.device != "cpu"))
        failed = [f"{row.format} {row.kernel} ({TITLES[row.op]})" for row in self.rows if not row.ok]
        if failed:
            notes.append(f"CHECK FAILED: {', '.join(failed)}: the error exceeds its bound")
        if (measured := self.measured) is None:
            return notes
        return [*notes, *self._fastest_here(measured)]

    def _fastest_here(self, a: dict[str, Any]) -> list[str]:
        ties = [f"Equally fast, within {_PERCENT} %: {', '.join(a['ties'])}"] if a["ties"] else []
        ours = a["format"] + f" (the smallest within {_PERCENT} %)" * bool(ties)
        product = f"{a['matmul_format']}, {columns.digits(a['matmul_ratio'])}x" if (a["matmul_ratio"] or 0) > 1 else ""
        square = [f"For C = A A: {product}."] if product else []
        if a["products_to_pay"] is None:
            text = f"Fastest here: SciPy's csr; of diagsparse's formats {ours}, {columns.digits(a['ratio'])}x."
            return [text, *ties, *square]
        per = f"{a['bytes_per_nonzero']:.1f} bytes per nonzero (SciPy's csr: {a['csr_bytes_per_nonzero']:.1f})"
        products = f"{a['products_to_pay']} product{'s' * (a['products_to_pay'] > 1)}"
        text = f"Fastest here: {ours}, with {per}; worth it after {products}."
        return [text, *ties, *(square if a["matmul_format"] != a["format"] else [])]


def finite(value: float) -> float | None:
    """Return a number for JSON: None instead of infinity, which JSON does not have."""
    return value if isfinite(value) else None


def _rate(bandwidth: float) -> str:
    return f"{columns.digits(bandwidth / 1e9)} GB/s"


def _cells(row: Row, bar: str) -> list[str]:
    """Return the cells of a row, with the columns of `_HEAD`."""
    return [
        row.format,
        row.kernel,
        columns.seconds(row.seconds),
        f"{columns.digits(row.ratio):>4}x" + (f"  {bar}" if bar else ""),
        human(row.nbytes),
        columns.digits(row.fraction) + ("*" if row.fraction > 1 else " "),
        columns.error(row.error) + ("" if row.ok else "  FAILED"),
    ]


def _bars(rows: Sequence[Row]) -> list[str]:
    longest = max(row.ratio for row in rows)
    return ["#" * max(1, round(_BAR * row.ratio / longest)) for row in rows]


def _skipped(skipped: Sequence[Skipped], title: str) -> list[str]:
    formats: dict[str, list[str]] = {}
    for s in skipped:
        formats.setdefault(s.reason, []).append(title or TITLES["matmul"] if s.format == "all" else s.format)
    return [
        f"{'skipped' if i == 0 else '':7}   {', '.join(names)}: {reason}"
        for i, (reason, names) in enumerate(formats.items())
    ]
