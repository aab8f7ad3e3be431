"""The performance model of C = A A, which is accurate to a factor of two.

The formats differ by more than that: diagonals multiply ten times as fast as rows. The operations of each format are
counted in `models`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import NamedTuple

from .._formats.bands import Offsets, lengths
from .machine import COPIED, Machine
from .statistics import Statistics

_MANY = 2000  # diagonals of A above which C is assumed to have all diagonals
_FRESH, _RECYCLED = 4.5e9, 5.8e10  # bytes per second that a thread writes to new memory, and to memory freed before
_REUSED = 1 << 25  # bytes of the result that the allocator takes from freed memory


class Price(NamedTuple):
    """Nanoseconds of each operation if C is computed row by row, on one thread of a CPU or on an entire GPU."""

    useful: float  #: for each multiply-add
    result: float  #: for each entry of C
    row: float = 0.0  #: for each row of C
    scattered: float = 0.0  #: in addition, for each entry of C whose neighbours are far away since no diagonal is full
    pair: float = 0.0  #: for each pair of masks or blocks that are combined
    full: float = 0.0  #: in addition, for each pair of full ones


class Prices(NamedTuple):
    """The prices of a format on each device."""

    cpu: Price
    gpu: Price


_ROWS = Prices(Price(1.09, 1.5, row=19.0, scattered=8.8), Price(0.018, 0.036, row=0.2))
_CALL_BY_ROWS = 3e-5, 1.95e-4  # seconds of overhead of a product by rows: on a CPU, on a GPU
_CALL = 2e-6, 1.6e-5  # the same for a product by diagonals
_SLOT = 0.128, 1.2e-3  # nanoseconds of a multiply-add of two diagonals
_DIAGONAL = 290.0, 350.0  # nanoseconds for each diagonal of C


class Squares:
    """The products of one matrix with itself."""

    def __init__(self, statistics: Statistics, where: Machine) -> None:
        self.statistics, self.where = statistics, where
        self.device = 0 if where.on_cpu else 1
        self.threads = max(1, where.threads)

    @cached_property
    def useful(self) -> float:
        """Number of multiply-adds in csr."""
        return self.statistics.square_counts[0]

    @cached_property
    def result(self) -> float:
        """Number of entries of C."""
        return self.statistics.square_counts[1]

    @cached_property
    def nbytes(self) -> int:
        """Bytes of C in csr."""
        return round(self.result * (self.statistics.csr.dtype.itemsize + 4))

    def of_diagonals(
        self, offsets: Offsets, positions: int, rows: Callable[[Offsets], int] | None
    ) -> tuple[float, int]:
        """Return the seconds and the bytes of C if A consists of these diagonals, with `positions` stored values.

        `rows` returns how many padded rows store the diagonals of C; None means that they are not padded.
        """
        m, n = self.statistics.csr.shape
        if len(offsets) > _MANY:
            count, stored = m + n, m * n
        else:
            of_c = self.statistics.sums_of(offsets)
            count, stored = len(of_c), int(lengths((m, n), of_c).sum()) if rows is None else m * rows(of_c)
        nbytes = stored * self.statistics.csr.dtype.itemsize
        # Long diagonals are combined with short ones, so the first product is an upper bound.
        slots = min(positions * len(offsets), self.useful / max(self.statistics.full, 1e-9) ** 2)
        seconds = _CALL[self.device] + self._elapsed(_SLOT[self.device] * slots, nbytes)
        return seconds + 1e-9 * _DIAGONAL[self.device] * count, nbytes

    def by_rows(self, prices: Prices, pairs: float = 0.0, full_pairs: float = 0.0) -> tuple[float, int]:
        """Return the seconds and the bytes of C if it is computed row by row, from pairs of masks or blocks if any."""
        statistics, each = self.statistics, prices[self.device]
        scattered = each.scattered * (1 - statistics.full)
        work = each.row * statistics.csr.shape[0] + each.useful * self.useful + (each.result + scattered) * self.result
        work += each.pair * pairs + each.full * full_pairs
        return _CALL_BY_ROWS[self.device] + self._elapsed(work, self.nbytes), self.nbytes

    def as_csr(self) -> tuple[float, int]:
        """Return the seconds and the bytes of C in csr."""
        return self.by_rows(_ROWS)

    def _elapsed(self, work: float, nbytes: int) -> float:
        if self.where.on_cpu:
            written = min(nbytes, _REUSED) / _RECYCLED + max(0, nbytes - _REUSED) / _FRESH
            return (1e-9 * work + written) / self.threads
        return 1e-9 * work + nbytes / COPIED
