"""The layouts that come into question for a matrix: formats and their options, with bytes and the time of a product."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from .. import measure
from .._matrix.base import SparseArray, is_scipys
from .._matrix.registry import COMMON, FORMATS
from .._matrix.reordering import Reordering
from .._places.backend import CPU
from .._places.memory import human
from .costs import NOT_FOR_PRODUCTS, Machine
from .in_order import Reordered
from .squares import FORMATS_OF_SQUARES, Squares
from .survey import DIAGONALS, Survey

_CLEAR = 1.15  # times as fast that an option has to make a product before a pass finds out whether the matrix allows it
_HOPELESS = 0.95  # of the best time: a format that could not reach it even without padding is left out
_MOST = 8  # times the bytes of csr: layouts with more are not asked for
_SCIPY = 5e-6  # seconds of a call of SciPy's, beside those of one of ours
_SCIPYS = {"csr": 1.0, "dia": 1.0, "bsr": 1.0, "csc": 1.5, "coo": 2.0}  # times as long as csr on one thread
_OTHERS, _SCIPYS_PLACE = 20.0, 0.7e-9  # the same of formats that become csr in each product; seconds a place of dia
_GATE, _TO_ROWS = 0.6e-9, 3e-9  # seconds an entry to look at SciPy's csr, and to make csr of another format, on a CPU
_TO_ROWS_ON_GPU = 0.3e-9  # the same on a GPU
_UPLOAD = 1e10  # bytes a second to a GPU, and back
_DIAGONAL = 5e-7  # seconds for each diagonal that is laid out
_SHORT = 1 << 16  # columns that 16 bits tell apart without bases
_PACKED = 40  # bytes of an offset and what belongs to it, of packed diagonals


def _promise(format: str) -> int:
    """Return when to look at a format: the sooner, the more others may be left out for it."""
    order = ("mdia", *DIAGONALS, "qband", "bmsparse")
    return order.index(format) if format in order else len(order)


@dataclass(frozen=True, eq=False)
class Candidate:
    """A layout, and what a product takes in it."""

    format: str
    layout: dict[str, Any]  #: options of the format
    nbytes: int
    moved_nbytes: int  #: by one product: A, x and y
    seconds: float  #: of one product, by the model
    conversion: float  #: seconds to make it, by the model
    dtype: str  #: in which the values are stored
    measured: float | None = None  #: seconds of one product, where they were measured
    order: Reordering | None = None  #: of the rows and columns, where it is another one
    matrix: Any = None  #: the user's own, where this is how it is
    narrow: bool = False  #: whether the values are stored in fewer bytes than they were
    survey: Survey | None = field(default=None, repr=False)  # of the rows in this order

    @property
    def name(self) -> str:
        """``hm, symmetric, period 40``."""
        scipys = self.matrix is not None and not isinstance(self.matrix, SparseArray)
        words = [f"SciPy's {self.format}" if scipys else self.format]
        for option, value in self.layout.items():
            words.append(str(value) if option == "symmetry" else f"{option} {value}")
        words += [self.dtype] * self.narrow + ["reordered"] * (self.order is not None)
        return ", ".join(words)

    @property
    def taken(self) -> float:
        """Seconds of one product: measured, else by the model."""
        return self.seconds if self.measured is None else self.measured

    def total(self, products: int) -> float:
        """Return the seconds of the conversion and of so many products."""
        return self.conversion + products * self.taken

    @property
    def simple(self) -> int:
        """How many things are not as they are by default: the fewer, the sooner it is recommended."""
        return len(self.layout) + self.narrow + (self.order is not None)

    def made_of(self, csr: SparseArray) -> Any:
        """Return a matrix in csr in this layout; the user's own where this is how it is."""
        if self.matrix is not None:
            return self.matrix
        rows = csr if self.order is None else self.order.apply(csr)
        made = rows.asformat(self.format, **self.layout)
        made = made.astype(self.dtype, copy=False)
        return made if self.order is None else Reordered(made, self.order.permutation)


class Candidates:
    """Finds the layouts of one matrix on one device."""

    def __init__(
        self, csr: SparseArray, machine: Machine, op: str = "matvec", dtype: str | None = None,
        survey: Survey | None = None, before: float = 0.0,
    ) -> None:  # fmt: skip
        self.survey, self.machine, self.op = survey or Survey(csr), machine, op
        self.csr, self.dtype = csr, np.dtype(dtype or csr.dtype)
        self._stored, self._narrow = str(self.dtype), self.dtype != csr.dtype
        self.before = before  # seconds until the matrix is in csr
        self.squares = Squares(self.survey, machine)
        self.base = self.of(COMMON)

    def as_it_is(self, A: Any, given: SparseArray) -> Candidate:
        """Return the layout that a user's matrix has: one of SciPy's, on a CPU, or of ours; else csr."""
        if given is not A:
            return self._scipys(A) if is_scipys(A) and self.machine.place is CPU else self.base
        if given._op or given._place is not self.machine.place or given.format in NOT_FOR_PRODUCTS:
            return self.base
        kept = {name: value for name in ("symmetry", "period") if (value := getattr(given, name, None))}
        return replace(self.of(given.format, **kept), conversion=0.0, nbytes=given.nbytes, matrix=given)

    def _scipys(self, A: Any) -> Candidate:
        """Return what products with one of SciPy's matrices take, on one thread."""
        alone = Candidates(self.csr, self.machine._replace(threads=1), self.op, survey=self.survey).base
        seconds = _SCIPY + alone.seconds * _SCIPYS.get(A.format, _OTHERS)
        nbytes = measure.nbytes(A) if A.format in _SCIPYS else alone.nbytes
        if A.format == "dia" and self.op == "matvec":
            seconds = _SCIPY + _SCIPYS_PLACE * A.data.size
        moved = alone.moved_nbytes + nbytes - alone.nbytes
        return replace(
            alone, format=A.format, seconds=seconds, conversion=0.0, nbytes=nbytes, moved_nbytes=moved, matrix=A
        )

    def layouts(self, formats: list[str], asked: bool = False) -> Iterator[Candidate]:
        """Yield the layouts of these formats; where nobody `asked` for them, of those that may be as fast as others."""
        best = self.base.seconds
        for format in sorted(formats, key=_promise):
            if self.why_not(format) or not (asked or self._may_pay(format, best)):
                continue
            for options in self._options(format, self.base.seconds if asked else best):
                found = self.of(format, **options)
                if found.nbytes <= self._most:
                    best = min(best, found.seconds)
                    yield found

    @property
    def _most(self) -> int:
        """Bytes of the largest layout that is worth a look."""
        return _MOST * self.base.nbytes + (1 << 16)

    def why_not(self, format: str) -> str:
        """Return why a format does not come into question, "" where it does."""
        if format in NOT_FOR_PRODUCTS:
            return "is never faster than csr"
        try:
            FORMATS[format]._check_shape(self.csr.shape, self.csr._core)
        except ValueError:
            return "holds square matrices only"
        if self.op == "matmul" and format not in FORMATS_OF_SQUARES:
            return "has no product of its own, it multiplies as csr"
        if format in (*DIAGONALS, "mdia") and not self.survey.of_diagonals:
            return "the nonzeros lie on far too many diagonals"
        if format == "qband" and self.survey.bands[1] == 0:
            return "no nonzero lies beside its bands, so it is dia"
        return ""

    def too_large(self, format: str) -> str:
        """Return how many bytes a format takes where they are far too many, else ""; it may take a pass to find out."""
        nbytes = self._nbytes(format, {})
        return f"would take {human(nbytes)}" if nbytes > self._most else ""

    def _may_pay(self, format: str, best: float) -> bool:
        """Return whether a format may be as fast as the best one so far."""
        by_places = format in (COMMON, *DIAGONALS, "mdia", "qband", "bmsparse")  # of others it takes a pass to find out
        return (
            self.op == "matmul"
            or by_places
            or self.machine.seconds(self.machine.cost(format), self.survey.at_best()) < _HOPELESS * best
        )

    def _options(self, format: str, best: float) -> Iterator[dict[str, Any]]:
        """Yield the options that the matrix allows, where they make a product clearly faster."""
        yield {}
        if self.op == "matmul":  # which unpacks
            return
        if format in (*DIAGONALS, "mdia"):
            plain = self.of(format).seconds
            half = self.of(format, symmetry="symmetric").seconds if self.csr.shape[0] == self.csr.shape[1] else plain
            repeated = plain if format == "mdia" else self.of(format, period=1).seconds
            if _CLEAR * repeated < min(plain, best) and self.survey.period:
                yield {"period": self.survey.period}
                best = min(best, self.of(format, period=self.survey.period).seconds)
            if _CLEAR * half < min(plain, best) and self.survey.symmetry:
                yield {"symmetry": self.survey.symmetry}
        elif format == "sell":
            yield {"sigma": 4096}
        short = {"column_bits": 16}
        if format in ("ell", "sell") and self.csr._place is not CPU and self.csr.shape[1] <= _SHORT:
            yield short
        if format == "ellcsr" and self._short(short):
            yield short
            if self.csr._place is not CPU and self.survey.symmetry:
                halved = {"symmetry": self.survey.symmetry, **short}
                yield from [halved] * self._short(halved)

    def _short(self, options: dict[str, Any]) -> bool:
        """Return whether columns of ellcsr surely have 16 bits: there are no more, or no entries that do not lead."""
        made: Any = FORMATS["ellcsr"]
        few = self.csr.shape[1] <= _SHORT
        return few or made._shares(self.survey.summary, **made._checked(options))[1] == 0

    def of(self, format: str, **options: Any) -> Candidate:
        """Return a layout with what a product takes in it."""
        counts = self.survey.counts(format, self._nbytes(format, options), **self._native(format, options))
        cost = self.machine.cost(format, options)
        convert = self.before + 1e-9 * cost.convert * (self.csr.nnz + counts.places) / 2 + _DIAGONAL * counts.steps
        moved, seconds = counts.nbytes + counts.vectors, self.machine.seconds(cost, counts)
        if self.op == "matmul":
            seconds, made = self.squares.seconds(format)
            moved = 2 * counts.nbytes + made
        return Candidate(
            format,
            options,
            counts.nbytes,
            moved,
            seconds,
            convert,
            self._stored,
            narrow=self._narrow,
            survey=self.survey,
        )

    def _native(self, format: str, options: dict[str, Any]) -> dict[str, Any]:
        made: Any = FORMATS[format]
        return {} if format in DIAGONALS else made._checked(options)

    def _nbytes(self, format: str, options: dict[str, Any]) -> int:
        made, s = FORMATS[format], self.survey.summary.in_items(self.dtype.itemsize)
        if format not in DIAGONALS:
            return made._forecast(s, **self._native(format, options))
        nbytes = made._forecast(s)
        if "symmetry" in options:
            nbytes = round(nbytes * np.count_nonzero(s.offsets >= 0) / max(1, len(s.offsets)))
        if "period" in options:
            nbytes = len(s.offsets) * (options["period"] * s.itemsize + _PACKED)
        return nbytes


def seconds_to_rows(given: SparseArray, csr: SparseArray, scipys: bool) -> float:
    """Return how long it takes, by the model, until a user's matrix is in csr where products are to run."""
    if csr is given and not scipys:
        return 0.0
    each = _GATE if scipys else (_TO_ROWS if given._place is CPU else _TO_ROWS_ON_GPU) * (given.format != COMMON)
    return each * csr.nnz + (csr.nbytes / _UPLOAD if given._place is not csr._place else 0.0)
