"""What C = A A takes: a model that is right within a factor of two.

The formats lie further apart than that: diagonals multiply ten times as fast as rows. What each of them goes through is
in `models`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import NamedTuple

from .._formats.bands import Offsets, lengths
from .machine import Machine
from .survey import Survey

_MANY = 2000  # diagonals: their sums are not all different, and nobody counts them
_FRESH, _KEPT = 4.5e9, 5.8e10  # bytes a second that a thread writes to memory that is new to it, or that it had before
_REUSED = 1 << 25  # bytes that are taken from what was given back before


class Price(NamedTuple):
    """Nanoseconds of one thread of a CPU, or of a whole GPU, where C is made row by row."""

    useful: float  #: a multiply-add
    result: float  #: an entry of C
    row: float = 0.0  #: a row of C
    scattered: float = 0.0  #: an entry of C, beside that, where no diagonals are full and its neighbours lie far off
    piece: float = 0.0  #: two masks or two blocks that meet
    full: float = 0.0  #: beside that, where both are full


class Prices(NamedTuple):
    """Those of a format on each device."""

    cpu: Price
    gpu: Price


_ROWS = Prices(Price(1.09, 1.5, row=19.0, scattered=8.8), Price(0.018, 0.036, row=0.2))
_MORE = 3e-5, 1.95e-4  # seconds of a product by rows, beside what it does: on a CPU, on a GPU
_CALL = 2e-6, 1.6e-5  # the same of one by diagonals
_SLOT = 0.128, 1.2e-3  # nanoseconds of a multiply-add of two diagonals
_MADE = 290.0, 350.0  # nanoseconds of a diagonal of C


class Squares:
    """The products of one matrix with itself."""

    def __init__(self, survey: Survey, where: Machine) -> None:
        self.survey, self.where = survey, where
        self.device = 0 if where.on_cpu else 1
        self.threads = max(1, where.threads)

    @cached_property
    def useful(self) -> float:
        """Multiply-adds that csr does."""
        return self.survey.square_counts[0]

    @cached_property
    def result(self) -> float:
        """Entries of C."""
        return self.survey.square_counts[1]

    @cached_property
    def nbytes(self) -> int:
        """Bytes of C by rows."""
        return round(self.result * (self.survey.csr.dtype.itemsize + 4))

    def of_diagonals(
        self, offsets: Offsets, positions: int, rows: Callable[[Offsets], int] | None
    ) -> tuple[float, int]:
        """Return the seconds and the bytes of C where all of A lies on these diagonals, which have so many places.

        `rows` tells how many padded diagonals store those of C; None: they are not padded.
        """
        m, n = self.survey.csr.shape
        if len(offsets) > _MANY:
            made, stored = m + n, m * n
        else:
            of_c = self.survey.sums_of(offsets)
            made, stored = len(of_c), int(lengths((m, n), of_c).sum()) if rows is None else m * rows(of_c)
        nbytes = stored * self.survey.csr.dtype.itemsize
        slots = min(
            positions * len(offsets), self.useful / max(self.survey.full, 1e-9) ** 2
        )  # long ones meet short ones
        taken = _CALL[self.device] + self._in_all(_SLOT[self.device] * slots, nbytes)
        return taken + 1e-9 * _MADE[self.device] * made, nbytes

    def by_rows(self, prices: Prices, pieces: float = 0.0, full_ones: float = 0.0) -> tuple[float, int]:
        """Return the seconds and the bytes of C that is made row by row; pieces meet in it, some of them full."""
        survey, each = self.survey, prices[self.device]
        scattered = each.scattered * (1 - survey.full)
        work = each.row * survey.csr.shape[0] + each.useful * self.useful + (each.result + scattered) * self.result
        work += each.piece * pieces + each.full * full_ones
        return _MORE[self.device] + self._in_all(work, self.nbytes), self.nbytes

    def as_csr(self) -> tuple[float, int]:
        """Return the seconds and the bytes of C in csr."""
        return self.by_rows(_ROWS)

    def _in_all(self, work: float, nbytes: int) -> float:
        if self.where.on_cpu:
            written = min(nbytes, _REUSED) / _KEPT + max(0, nbytes - _REUSED) / _FRESH
            return (1e-9 * work + written) / self.threads
        return 1e-9 * work + nbytes / self.where.bandwidth
