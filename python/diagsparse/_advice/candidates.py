"""The possible layouts of a matrix: formats and their options, with their bytes and the time of a product."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from .. import measure
from .._backends.backend import CPU, Backend
from .._backends.memory import human
from .._backends.types import dtype_name, is_narrow
from .._matrix.base import is_from_scipy
from .._matrix.convert import in_rows
from .._matrix.operands import as_matrix, require_type
from .._matrix.registry import COMMON, FORMATS
from .._matrix.sparse_array import SparseArray
from .candidate import Candidate
from .costs import Traversal
from .machine import Machine
from .models import MODELS
from .squares import Squares
from .statistics import Statistics

_MOST = 8  # layouts with more than this many times the bytes of csr are skipped
_SCIPY = 5e-6  # seconds of a SciPy call, in addition to those of a call of this library
_RELATIVE_TO_CSR = {"csr": 1.0, "dia": 1.0, "bsr": 1.0, "csc": 1.5, "coo": 2.0}  # time relative to csr on one thread
_BY_COLUMNS = 2.0  # slowdown of products with a transposed view in formats that traverse rows
_CONVERTED = 20.0  # time relative to csr of SciPy formats that are converted to csr in each product
_SCIPY_DIA = 0.7e-9  # seconds per stored value of SciPy's dia
_VALIDATE, _TO_CSR = 0.6e-9, 3e-9  # seconds per entry to validate a SciPy csr, and to convert to csr, on a CPU
_TO_CSR_ON_GPU = 0.3e-9  # the latter on a GPU
_UPLOAD = 1e10  # bytes per second to a GPU, and back
_DIAGONAL = 5e-7  # seconds for each converted diagonal


class Candidates:
    """Lists the layouts of one matrix on one device."""

    def __init__(
        self, csr: SparseArray, machine: Machine, op: str = "matvec", dtype: str | None = None,
        statistics: Statistics | None = None, seconds_to_csr: float = 0.0,
    ) -> None:  # fmt: skip
        self.statistics, self.machine, self.op = statistics or Statistics(csr), machine, op
        self.csr, own = csr, dtype_name(csr.dtype)
        self.dtype = dtype or own
        self._narrow = self.dtype != own
        self.seconds_to_csr = seconds_to_csr  # to convert the user's matrix
        self.squares = Squares(self.statistics, machine)
        self._summary = self.statistics.summary
        if self._narrow:
            self._summary = self._summary.in_items(np.dtype(self.dtype).itemsize)

    @cached_property
    def base(self) -> Candidate:
        """The matrix in csr."""
        return self.candidate(COMMON)

    def current(self, A: Any, given: SparseArray) -> Candidate:
        """Return the current layout of a user's matrix: one of SciPy (on a CPU) or of this library, otherwise csr."""
        if given is not A:
            return self._scipy_layout(A) if is_from_scipy(A) and self.machine.on_cpu else self.base
        if given._backend is not self.machine.backend:
            return self.base
        options = {name: value for name in ("symmetry", "period") if (value := getattr(given, name, None))}
        model = MODELS.get(given.format)
        layout = self.candidate(given.format, **options) if model and (options or given.format != COMMON) else self.base
        by_columns = model is None or given._op & 1  # each entry is added to y separately
        slower = _BY_COLUMNS if by_columns and not (model and model.transposed_as_fast) and self.op == "matvec" else 1.0
        return replace(
            layout,
            format=given.format,
            seconds=slower * layout.seconds,
            conversion=0.0,
            nbytes=given.nbytes,
            dtype=dtype_name(given.dtype),
            moved_nbytes=layout.moved_nbytes + given.nbytes - layout.nbytes,
            matrix=given,
        )

    def _scipy_layout(self, A: Any) -> Candidate:
        """Return the cost of products with a SciPy matrix, on one thread."""
        alone = Candidates(self.csr, self.machine._replace(threads=1), self.op, statistics=self.statistics).base
        seconds = _SCIPY + alone.seconds * _RELATIVE_TO_CSR.get(A.format, _CONVERTED)
        nbytes = measure.nbytes(A) if A.format in _RELATIVE_TO_CSR else alone.nbytes
        if A.format == "dia" and self.op == "matvec":
            seconds = _SCIPY + _SCIPY_DIA * A.data.size
        moved = alone.moved_nbytes + nbytes - alone.nbytes
        return replace(
            alone, format=A.format, seconds=seconds, conversion=0.0, nbytes=nbytes, moved_nbytes=moved, matrix=A
        )

    def layouts(self, formats: list[str], requested: bool = False) -> Iterator[Candidate]:
        """Yield the layouts of these formats; unless `requested`, only those that may be among the fastest.

        They are considered in the order of the times that they need at least, so that slower ones can be skipped.
        """
        best, plain = self.base.seconds, self.op == "matmul"  # options are for products with vectors
        if COMMON in formats and not self.why_not(COMMON):
            yield self.base
        others = [format for format in MODELS if format in formats and format != COMMON]
        at_best = {} if requested or plain else {format: self._seconds_at_best(format) for format in others}
        for format in sorted(others, key=lambda format: at_best.get(format, 0.0)):
            model = MODELS[format]
            if at_best.get(format, 0.0) >= model.required * best or self.why_not(format):
                continue
            limit = self.base.seconds if requested else best
            for layout in [self.candidate(format)] if plain else model.layouts(self, limit):
                if layout.nbytes <= self._most:
                    best = min(best, layout.seconds)
                    yield layout

    @property
    def _most(self) -> int:
        """Bytes of the largest layout that is considered."""
        return _MOST * self.base.nbytes + (1 << 16)

    def why_not(self, format: str) -> str:
        """Return why a format is unsuitable, or "" if it is suitable."""
        if format not in MODELS:  # they add each entry to y separately, out of order
            return "is never faster than csr"
        try:
            FORMATS[format].check_shape(self.csr.shape, self.csr._core)
        except ValueError as error:
            return str(error).partition(": ")[2] or str(error)  # without the class name
        model = MODELS[format]
        if why := model.why_not(self.statistics):
            return why
        if self.op == "matmul" and model.square(self.squares) is None:
            return "has no product of its own and multiplies in csr"
        return ""

    def too_large(self, format: str) -> str:
        """Return how many bytes a format needs if these are far too many, otherwise ""; this may take one pass."""
        nbytes = MODELS[format].traversal(self.statistics, self._summary, {}).nbytes
        return f"would need {human(nbytes)}" if nbytes > self._most else ""

    def _seconds_at_best(self, format: str) -> float:
        """Return the least seconds of a product in any layout of a format."""
        model, statistics = MODELS[format], self.statistics
        return self.machine.seconds(
            model.least_cost(self.machine.backend), statistics.counts, model.at_best(statistics)
        )

    def traversal(self, format: str, options: dict[str, Any]) -> Traversal:
        """Return the counts of a product in a layout."""
        return MODELS[format].traversal(self.statistics, self._summary, options)

    def seconds(self, format: str, **options: Any) -> float:
        """Return the seconds of a product with a vector in a layout."""
        cost = MODELS[format].cost(self.machine.backend, options)
        return self.machine.seconds(cost, self.statistics.counts, self.traversal(format, options))

    def candidate(self, format: str, **options: Any) -> Candidate:
        """Return a layout, with the cost of a product in it."""
        model, statistics = MODELS[format], self.statistics
        cost, traversal = model.cost(self.machine.backend, options), self.traversal(format, options)
        positions = (self.csr.nnz + traversal.positions) / 2
        convert = self.seconds_to_csr + 1e-9 * cost.convert * positions + _DIAGONAL * traversal.converted
        if self.op == "matvec":
            moved = traversal.nbytes + statistics.counts.vectors
            seconds = self.machine.seconds(cost, statistics.counts, traversal)
        else:
            seconds, result_nbytes = model.square(self.squares) or self.squares.as_csr()
            moved = 2 * traversal.nbytes + result_nbytes
        return Candidate(
            format, options, traversal.nbytes, moved, seconds, convert, self.dtype, traversal.positions,
            narrow=self._narrow, statistics=statistics,
        )  # fmt: skip


def given_matrix(A: Any, who: str) -> SparseArray:
    """Convert a user's matrix to one of this library, or raise TypeError or ValueError."""
    if is_from_scipy(A):
        require_type(A.dtype, who, "A")
    return as_matrix(A, who)


def as_csr(given: SparseArray, where: Backend, who: str) -> SparseArray:
    """Return a matrix in csr, not a view, on the device where products will run."""
    csr = in_rows(given, who)
    csr = csr.copy() if csr._op else csr
    return csr if csr._backend is where else csr.to(where.name)


def csr_if_possible(given: SparseArray, where: Backend, who: str) -> SparseArray | None:
    """Return the same; None for 16-bit values and matrices too large for csr."""
    if is_narrow(given.dtype):  # csr would widen them
        return None
    try:
        FORMATS[COMMON].check_shape(given.shape, given._core)
    except ValueError:
        return None
    try:
        return as_csr(given, where, who)
    except MemoryError:
        return None


def seconds_to_csr(given: SparseArray, csr: SparseArray, from_scipy: bool) -> float:
    """Return the predicted seconds to bring a user's matrix into csr on the device where products will run."""
    if csr is given and not from_scipy:
        return 0.0
    each = (
        _VALIDATE if from_scipy else (_TO_CSR if given._backend is CPU else _TO_CSR_ON_GPU) * (given.format != COMMON)
    )
    return each * csr.nnz + (csr.nbytes / _UPLOAD if given._backend is not csr._backend else 0.0)
