"""What C = A A takes in the formats that have a product of their own: a model that is right within a factor of two.

The formats lie further apart than that: diagonals multiply ten times as fast as rows.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .._places.backend import CPU
from . import costs
from .costs import Machine
from .survey import DIAGONALS, Survey

FORMATS_OF_SQUARES = ("csr", *DIAGONALS, "mdia", "qband", "bmsparse")  #: the others multiply as csr
_MANY = 2000  # diagonals: their sums are not all different, and nobody counts them
_BESIDE_HM = {"hm": 1.0, "dia": 1.03, "cdm": 1.08}  # times as long
_PAIRED = 0.6  # of its diagonals are rows of cdm, at most, where nearly all share one
_FRESH, _KEPT = 5e9, 3e10  # bytes a second that a thread writes to memory that is new to it, or that it had before
_REUSED = 1 << 25  # bytes that are taken from what was given back before


class _Price(NamedTuple):
    """Nanoseconds of one thread of a CPU, or of a whole GPU."""

    call: float  # of a product of diagonals
    more: float  # of another one, beside that
    useful: float  # a multiply-add that csr does
    result: float  # an entry of C
    slot: float  # a multiply-add of two diagonals
    masked: float  # two masks that meet
    pair: float  # two blocks that meet
    full_pair: float  # beside that, where both are full


_CPU = _Price(2e3, 3e4, 1.5, 5.0, 0.12, 2.0, 68.0, 290.0)
_GPU = _Price(2.5e4, 1.6e5, 0.03, 0.06, 1.2e-3, 0.02, 0.2, 1.0)


class Squares:
    """The products of one matrix with itself."""

    def __init__(self, survey: Survey, machine: Machine) -> None:
        self.survey, self.machine = survey, machine
        self.on_cpu = machine.place is CPU
        self.price = _CPU if self.on_cpu else _GPU
        self.threads = max(1, machine.threads)

    def seconds(self, format: str) -> tuple[float, int]:
        """Return the seconds of the product in a format, and the bytes of the result."""
        useful, result = self.survey.useful
        nbytes = round(result * (self.survey.csr.dtype.itemsize + 4))
        m, price = self.survey.csr.shape[0], self.price
        if format in DIAGONALS:
            offsets = self.survey.summary.offsets
            paired = format == "cdm" and len(np.unique(offsets % max(1, m))) < _PAIRED * len(offsets)
            taken, made = self._of_diagonals(offsets, self.survey.diagonal_places)
            return taken * (_PAIRED if paired else _BESIDE_HM[format]), made
        by_rows = price.useful * useful + price.result * result
        if format == "csr":
            return self._by_rows(by_rows, nbytes)
        if format == "mdia":
            d = len(self.survey.summary.offsets)
            work = 0.4 * price.useful * useful + price.masked * d * d * m / 32 + 0.4 * price.result * result
            return self._by_rows(work, nbytes)
        if format == "bmsparse":
            blocks, full = self.survey.summary.blocks(), self.survey.sample.full
            pairs = blocks * blocks / max(1, m / 8)
            work = pairs * (price.pair + price.full_pair * full) + price.result * result / 2
            return self._by_rows(work, nbytes)
        chosen, rest = self.survey.bands
        bands, more = self._of_diagonals(chosen, len(chosen) * m)
        beside = min(1.0, 0.5 + 4 * rest / max(1, self.survey.csr.nnz)) if rest else 0.0
        return bands + beside * self._by_rows(by_rows, nbytes)[0], round(more + beside * nbytes)

    def _of_diagonals(self, offsets: np.ndarray, places: int) -> tuple[float, int]:
        m, n = self.survey.csr.shape
        many = len(offsets) > _MANY
        made = m + n if many else self.survey.sums_of(offsets)
        nbytes = min(made, m + n) * m * self.survey.csr.dtype.itemsize // (2 if made > m else 1)
        return self._in_all(self.price.slot * places * len(offsets), nbytes), nbytes

    def _by_rows(self, work: float, nbytes: int) -> tuple[float, int]:
        return self._in_all(work, nbytes) + 1e-9 * self.price.more, nbytes

    def _in_all(self, work: float, nbytes: int) -> float:
        if self.on_cpu:
            written = min(nbytes, _REUSED) / _KEPT + max(0, nbytes - _REUSED) / _FRESH
            return (self.price.call + work / self.threads) * 1e-9 + written / self.threads
        return (self.price.call + work) * 1e-9 + nbytes / costs.bandwidth(self.machine.place)
