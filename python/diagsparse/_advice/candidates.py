"""The layouts that come into question for a matrix: formats and their options, with bytes and the time of a product."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from .. import measure
from .._backends.backend import CPU, Backend
from .._backends.memory import human
from .._matrix.base import is_from_scipy
from .._matrix.convert import in_rows
from .._matrix.operands import as_matrix, require_type
from .._matrix.registry import COMMON, FORMATS
from .._matrix.sparse_array import SparseArray
from .candidate import Candidate
from .machine import Machine
from .models import MODELS
from .squares import Squares
from .survey import Survey

_HOPELESS = 0.95  # of the best time: a format that could not reach it even without padding is left out
_MOST = 8  # times the bytes of csr: layouts with more are not asked for
_SCIPY = 5e-6  # seconds of a call of SciPy's, beside those of one of ours
_SCIPYS = {"csr": 1.0, "dia": 1.0, "bsr": 1.0, "csc": 1.5, "coo": 2.0}  # times as long as csr on one thread
_BY_COLUMNS = 2.0  # times as long products with a transposed view take, of formats that go by rows
_OTHERS, _SCIPYS_PLACE = 20.0, 0.7e-9  # the same of formats that become csr in each product; seconds a place of dia
_GATE, _TO_ROWS = 0.6e-9, 3e-9  # seconds an entry to look at SciPy's csr, and to make csr of another format, on a CPU
_TO_ROWS_ON_GPU = 0.3e-9  # the same on a GPU
_UPLOAD = 1e10  # bytes a second to a GPU, and back
_DIAGONAL = 5e-7  # seconds for each diagonal that is laid out


class Candidates:
    """Finds the layouts of one matrix on one device."""

    def __init__(
        self, csr: SparseArray, machine: Machine, op: str = "matvec", dtype: str | None = None,
        survey: Survey | None = None, before: float = 0.0,
    ) -> None:  # fmt: skip
        self.survey, self.machine, self.op = survey or Survey(csr), machine, op
        self.csr, own = csr, csr.dtype.name
        self.dtype = dtype or own
        self._narrow = self.dtype != own
        self.before = before  # seconds until the matrix is in csr
        self.squares = Squares(self.survey, machine)
        self._summary = self.survey.summary.in_items(np.dtype(self.dtype).itemsize)

    @cached_property
    def base(self) -> Candidate:
        """The matrix in csr."""
        return self.of(COMMON)

    def as_it_is(self, A: Any, given: SparseArray) -> Candidate:
        """Return the layout that a user's matrix has: one of SciPy's, on a CPU, or of ours; else csr."""
        if given is not A:
            return self._scipys(A) if is_from_scipy(A) and self.machine.on_cpu else self.base
        if given._backend is not self.machine.backend:
            return self.base
        kept = {name: value for name in ("symmetry", "period") if (value := getattr(given, name, None))}
        model = MODELS.get(given.format)
        found = self.of(given.format, **kept) if model and (kept or given.format != COMMON) else self.base
        by_columns = model is None or given._op & 1  # sums are added to y entry by entry
        slower = _BY_COLUMNS if by_columns and not (model and model.both_ways) and self.op == "matvec" else 1.0
        return replace(
            found,
            format=given.format,
            seconds=slower * found.seconds,
            conversion=0.0,
            nbytes=given.nbytes,
            dtype=given.dtype.name,
            moved_nbytes=found.moved_nbytes + given.nbytes - found.nbytes,
            matrix=given,
        )

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
        for format, model in MODELS.items():
            if format not in formats or self.why_not(format) or not (asked or self._may_pay(format, best)):
                continue
            beside = self.base.seconds if asked else best
            for found in model.layouts(self, beside) if self.op == "matvec" else [self.of(format)]:  # squares unpack
                if found.nbytes <= self._most:
                    best = min(best, found.seconds)
                    yield found

    @property
    def _most(self) -> int:
        """Bytes of the largest layout that is worth a look."""
        return _MOST * self.base.nbytes + (1 << 16)

    def why_not(self, format: str) -> str:
        """Return why a format does not come into question, "" where it does."""
        if format not in MODELS:  # they add to y once an entry, out of order
            return "is never faster than csr"
        try:
            FORMATS[format].check_shape(self.csr.shape, self.csr._core)
        except ValueError as error:
            return str(error).partition(": ")[2] or str(error)  # without the name of the class
        model = MODELS[format]
        if self.op == "matmul" and model.square(self.squares) is None:
            return "has no product of its own and multiplies in csr"
        return model.why_not(self.survey)

    def too_large(self, format: str) -> str:
        """Return how many bytes a format takes where they are far too many, else ""; it may take a pass to find out."""
        nbytes = MODELS[format].walk(self.survey, self._summary, {}).nbytes
        return f"would need {human(nbytes)}" if nbytes > self._most else ""

    def _may_pay(self, format: str, best: float) -> bool:
        """Return whether a format may be as fast as the best one so far, whose products take `best` seconds."""
        model, survey = MODELS[format], self.survey
        if self.op == "matmul" or model.at_once:
            return True
        at_best = self.machine.seconds(model.cost(self.machine.backend, {}), survey.counts, survey.at_best)
        return at_best < _HOPELESS * best

    def of(self, format: str, **options: Any) -> Candidate:
        """Return a layout with what a product takes in it."""
        model, survey = MODELS[format], self.survey
        cost, walk = model.cost(self.machine.backend, options), model.walk(survey, self._summary, options)
        positions = (self.csr.nnz + walk.positions) / 2
        convert = self.before + 1e-9 * cost.convert * positions + _DIAGONAL * walk.laid_out
        if self.op == "matvec":
            moved, seconds = walk.nbytes + survey.counts.vectors, self.machine.seconds(cost, survey.counts, walk)
        else:
            seconds, made = model.square(self.squares) or self.squares.as_csr()
            moved = 2 * walk.nbytes + made
        return Candidate(
            format, options, walk.nbytes, moved, seconds, convert, self.dtype, narrow=self._narrow, survey=survey
        )


def given_matrix(A: Any, who: str) -> SparseArray:
    """Return a user's matrix as ours, or raise TypeError or ValueError."""
    if is_from_scipy(A):
        require_type(A.dtype, who, "A")
    return as_matrix(A, who)


def as_rows(given: SparseArray, where: Backend, who: str) -> SparseArray:
    """Return a matrix in csr, which is no view, where products are to run."""
    csr = in_rows(given, who)
    csr = csr.copy() if csr._op else csr
    return csr if csr._backend is where else csr.to(where.name)


def seconds_to_rows(given: SparseArray, csr: SparseArray, scipys: bool) -> float:
    """Return how long it takes, by the model, until a user's matrix is in csr where products are to run."""
    if csr is given and not scipys:
        return 0.0
    each = _GATE if scipys else (_TO_ROWS if given._backend is CPU else _TO_ROWS_ON_GPU) * (given.format != COMMON)
    return each * csr.nnz + (csr.nbytes / _UPLOAD if given._backend is not csr._backend else 0.0)
