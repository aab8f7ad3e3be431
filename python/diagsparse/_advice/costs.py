"""What a product y = A x takes in each layout: the model that advice follows.

A product works and moves bytes at the same time, and then waits::

    seconds = call + (work^2 + moving^2)^(1/2) + waiting

``work`` counts rows, places (values that are multiplied, padding too) and pieces, each with its nanoseconds in `CPU`
or `GPU`. ``moving`` is the bytes of A, x and y, by the bandwidths of the memory and of the caches that they fit in.
``waiting`` is for what of x no cache holds, and on a CPU for branches that it did not foresee. On a GPU no thread can
be done before its longest way is (``step``), and a call takes no less than its launch.

The nanoseconds were fitted to measured products of 70 matrices on two cores of an EPYC with AVX-512 and on an H100, and
then adjusted where the advice was wrong. How fast the memory is, is measured on the machine itself, quickly and for the
threads that are set; `measure.read_bandwidth` takes longer and is what tables tell. `diagsparse bench advice` compares
the advice with measured times.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from math import hypot
from threading import Lock
from typing import NamedTuple

from .. import measure
from .._places.backend import CPU as CPU_PLACE
from .._places.backend import Place, get_num_threads
from .._study import gpu_clock


class Cost(NamedTuple):
    """Nanoseconds of one thread of a CPU, or of a whole GPU."""

    row: float  #: for each row
    place: float  #: for each value that is multiplied
    piece: float = 0.0  #: for each of what `Counts.pieces` counts
    turn: float = 0.0  #: for each row that fills another number of vectors than the one before, unforeseen
    gather: float = 0.0  #: for each line of x that those before did not bring
    step: float = 0.0  #: for each step of a thread: on a GPU on its longest way, on a CPU for each diagonal of a block
    bytes: float = 1.0  #: times as long as they take when read in order; on a GPU
    single: float = 0.5  #: times of the work where values have 4 bytes
    complex: float = 2.0  #: times of the work where they are complex
    rows_each: int = 1  #: rows that a thread needs to have, where several share the work
    convert: float = 3.0  #: for each entry, to be made of csr


class Counts(NamedTuple):
    """What a product goes through in a layout."""

    rows: int
    entries: int
    places: float
    pieces: float
    steps: float  #: on the longest way that one thread of a GPU goes; diagonals of all blocks of rows on a CPU
    lines: float  #: of x that those before did not bring
    turns: float  #: rows that fill another number of vectors than the one before
    nbytes: int  #: of the matrix
    vectors: int  #: bytes of x and y
    itemsize: int
    complex: bool


_ALONE = 1 << 62  # rows that no matrix has
_DIAGONAL = {
    "dia": Cost(0, 0.135, 0.15, single=0.4, complex=2.6, convert=2.0, step=27.0, rows_each=2048),
    "hm": Cost(0, 0.147, 0.17, single=0.45, complex=2.7, convert=2.0, step=27.0, rows_each=2048),
    "cdm": Cost(0, 0.147, 0.3, single=0.4, complex=2.5, convert=2.0, step=27.0, rows_each=2048),
}
CPU: dict[str, Cost] = {
    **_DIAGONAL,
    **{f"{name} symmetry": cost._replace(complex=3.2, convert=12.0) for name, cost in _DIAGONAL.items()},
    **{f"{name} period": cost._replace(row=0.35, convert=5.5) for name, cost in _DIAGONAL.items()},
    "mdia": Cost(0.34, 0.0, 6.8, step=5.0, single=0.53, complex=4.0, convert=2.6),
    "mdia symmetry": Cost(1.36, 0.0, 7.0, step=5.0, single=0.5, complex=7.0, rows_each=_ALONE, convert=10.0),
    "qband": Cost(
        0, 0.13, 0.58, turn=26.0, step=27.0, gather=1.1, single=0.6, complex=2.4, convert=3.9, rows_each=1024
    ),
    "bmsparse": Cost(4.8, 0.3, 9.0, single=0.8, complex=4.0, convert=5.4),
    "csr": Cost(0.6, 0.43, turn=26.0, gather=1.35, single=0.9, complex=1.3, convert=0.0),
    "coosr": Cost(0.75, 0.41, turn=26.0, gather=1.35, single=0.9, complex=1.3, convert=1.5),
    "coo": Cost(1.05, 0.82, turn=20.0, gather=1.5, single=1.0, complex=1.7, convert=1.0),
    "ell": Cost(0.17, 0.68, gather=2.3, single=0.93, complex=1.9, convert=2.4),
    "ell column_bits": Cost(0.3, 0.92, gather=3.0, single=0.87, complex=1.8, convert=3.7),
    "hyb": Cost(1.6, 0.77, turn=26.0, gather=2.1, single=0.87, complex=2.0, convert=3.9),
    "sell": Cost(0.18, 0.56, turn=8.0, gather=0.75, single=1.06, complex=2.2, convert=1.5),
    "sell sigma": Cost(0.97, 0.44, turn=8.0, gather=0.75, single=1.34, complex=2.4, convert=7.1),
    "sell column_bits": Cost(0.1, 0.62, turn=8.0, gather=0.75, single=0.8, complex=2.4, convert=2.0),
    "sell sigma column_bits": Cost(0.75, 0.5, turn=8.0, gather=0.75, single=0.9, complex=2.7, convert=3.8),
    "jds": Cost(0.5, 0.62, turn=8.0, gather=2.5, single=1.0, complex=3.0, convert=2.5),
    "csb": Cost(0.0, 1.32, gather=1.2, single=1.15, complex=1.5, convert=4.0),
    "ellcsr": Cost(2.4, 0.41, turn=26.0, gather=1.4, single=1.0, complex=2.3, convert=1.6),
    "ellcsr column_bits": Cost(2.3, 0.41, turn=26.0, gather=2.5, single=0.9, complex=2.0, convert=2.5),
    "ellcsr symmetry column_bits": Cost(2.5, 0.47, turn=26.0, gather=2.5, single=0.9, complex=1.8, convert=13.9),
}
_ON_GPU = {
    "dia": Cost(0, 1.3e-3, step=32, bytes=1.15, convert=0.11),
    "hm": Cost(0, 1.35e-3, step=31, bytes=1.18, convert=0.1),
    "cdm": Cost(0, 2.4e-3, step=54, bytes=1.2, convert=0.1),
}
GPU: dict[str, Cost] = {
    **_ON_GPU,
    **{f"{name} symmetry": cost._replace(place=1.17e-3, step=30, bytes=1.33) for name, cost in _ON_GPU.items()},
    **{
        f"{name} period": cost._replace(place=2.8e-3, step=30, bytes=1.4, complex=3.0) for name, cost in _ON_GPU.items()
    },
    "mdia": Cost(0, 1.2e-3, 0.03, step=160, bytes=1.35, convert=0.2),
    "mdia symmetry": Cost(0, 1.2e-3, 0.03, step=180, bytes=1.6, convert=0.3),
    "qband": Cost(0, 1.3e-3, 5e-3, gather=1e-2, step=19, bytes=1.1, convert=0.4),
    "bmsparse": Cost(0, 5e-4, 0.033, gather=2.5e-3, step=14, bytes=1.7, convert=0.6),
    "csr": Cost(1.1e-3, 4.3e-3, 0.0, gather=4.9e-3, bytes=1.2, convert=0.0),
    "coosr": Cost(4e-3, 3.7e-3, 0.0, gather=5e-3, bytes=1.05, convert=0.2),
    "coo": Cost(4e-3, 3.9e-3, 0.0, gather=5e-3, bytes=1.05, convert=0.2),
    "ell": Cost(0.01, 1.75e-3, 0.0, gather=5e-3, step=50, bytes=1.05, convert=0.2),
    "ell column_bits": Cost(0.01, 1.75e-3, 0.0, gather=3e-3, step=26, bytes=1.22, convert=0.3),
    "hyb": Cost(0.012, 4.4e-3, 0.0, gather=4.2e-3, bytes=1.3, convert=0.4),
    "sell": Cost(3.2e-3, 3.6e-3, 0.0, gather=4.2e-3, step=62, bytes=1.18, convert=0.2),
    "sell sigma": Cost(5.2e-3, 3.5e-3, 0.0, gather=4.2e-3, step=60, bytes=1.15, convert=0.5),
    "sell column_bits": Cost(8e-3, 2e-3, 0.0, gather=3e-3, step=27, bytes=1.25, convert=0.3),
    "sell sigma column_bits": Cost(9.5e-3, 1.9e-3, 0.0, gather=3e-3, step=28, bytes=1.25, convert=0.5),
    "jds": Cost(1.5e-3, 4.6e-3, 0.0, gather=4.6e-3, step=4, bytes=1.12, convert=0.4),
    "csb": Cost(3.5e-3, 0.03, 0.0, gather=5.6e-3, step=50, bytes=1.4, convert=0.5),
    "ellcsr": Cost(0.26, 1e-3, 0.0, gather=3e-3, step=10, bytes=1.3, convert=0.2),
    "ellcsr column_bits": Cost(0.24, 3e-3, 0.0, gather=2e-3, step=7, bytes=0.8, convert=0.3),
    "ellcsr symmetry column_bits": Cost(0.22, 2.0e-3, 0.0, gather=1e-3, step=7, bytes=1.0, convert=1.0),
}
NOT_FOR_PRODUCTS = ("csc", "coosc")  #: never faster than csr: they add to y once an entry, out of order

_CALL = 1.6e-6  # seconds of a call on a CPU, whatever it does
_LAUNCH, _BEFORE = 8e-6, 4e-6  # seconds that a call on a GPU takes at least, and beside its work
_OWN, _SHARED = 1 << 20, 32 << 20  # bytes of a thread's own cache, and of the one that threads share: of many servers
_NEAR = 60e9  # bytes a second that a thread reads from the shared cache
_L2_OF_GPU = 40e6  # bytes that a GPU keeps between products
_FROM_L2 = 2.0  # times as fast as it copies
_REMEMBERED = 5000  # turns of a thread that its processor foresees, because it has met them in the products before
_COPIED, _USUAL_GPU = 1 << 27, 1.5e12  # bytes that are copied to measure a GPU, and a second of a usual one
_ALONE_READS = 0.6  # of the bandwidth of all threads
_SERIAL = 1 << 17  # multiply-adds that one thread does alone


class Machine(NamedTuple):
    """Where products run."""

    place: Place
    threads: int

    @property
    def costs(self) -> dict[str, Cost]:
        """What they take there, by the names of layouts."""
        return CPU if self.place is CPU_PLACE else GPU

    @property
    def kept(self) -> float:
        """Bytes that the largest cache keeps from one product to the next."""
        return _SHARED if self.place is CPU_PLACE else _L2_OF_GPU

    def cost(self, format: str, options: Iterable[str] = ()) -> Cost:
        """Return what products take in a format with these options; of those that were not fitted, with fewer."""
        names = [format, *options]
        while " ".join(names) not in self.costs:
            names.pop()
        return self.costs[" ".join(names)]

    def seconds(self, cost: Cost, counts: Counts) -> float:
        """Return what one product takes that has these costs."""
        width = cost.single if counts.itemsize == 4 else cost.complex if counts.complex else 1.0
        on_gpu = self.place is not CPU_PLACE
        work = 1e-9 * (cost.row * counts.rows + width * (cost.place * counts.places + cost.piece * counts.pieces))
        gathers = 1e-9 * cost.gather * counts.lines
        moved = counts.nbytes + counts.vectors
        if on_gpu:
            work = max(work, 1e-9 * cost.step * counts.steps)
            return hypot(_LAUNCH, _BEFORE + hypot(work, cost.bytes * self._moving(moved, 1)) + gathers)
        work += 1e-9 * cost.step * counts.steps
        alone = max(counts.places, counts.entries) + counts.rows < _SERIAL
        threads = 1 if alone else max(1, min(self.threads, counts.rows // cost.rows_each))
        unforeseen = 1e-9 * cost.turn * max(0.0, counts.turns - threads * _REMEMBERED)
        beyond = max(0.0, 1 - _OWN / 2 / max(1, counts.vectors))  # of x that no thread's own holds
        stalled = hypot(gathers * beyond, unforeseen)
        return _CALL + hypot(work / threads, self._moving(moved, threads)) + stalled / threads

    def _moving(self, moved: float, threads: int) -> float:
        """Return the seconds that bytes need, as far as caches do not keep them."""
        far = max(0.0, 1 - self.kept / max(1.0, moved))
        if self.place is not CPU_PLACE:
            speed = bandwidth(self.place)
            return moved * (far + (1 - far) / _FROM_L2) / speed
        near = max(0.0, 1 - threads * _OWN / max(1.0, moved)) - far
        share = _ALONE_READS if threads == 1 and get_num_threads() > 1 else 1.0
        slow = moved * far / (share * bandwidth(self.place)) if far else 0.0
        return moved * max(0.0, near) / (_NEAR * threads) + slow


def machine(place: Place) -> Machine:
    """Return a device, with the threads that are set."""
    return Machine(place, get_num_threads() if place is CPU_PLACE else 0)


def bandwidth(place: Place) -> float:
    """Return the bytes a second that the threads of a CPU read from memory, or that a GPU copies.

    It is measured once for each number of threads, in a twentieth of a second, by one thread at a time.
    """
    with _measuring:
        return _bandwidth(place, get_num_threads() if place is CPU_PLACE else 0)


@cache
def _bandwidth(place: Place, threads: int) -> float:
    if place is not CPU_PLACE:
        try:
            return gpu_clock.copy_bandwidth(place, _COPIED)
        except MemoryError:  # where others fill the GPU, a usual one has to do
            return _USUAL_GPU
    read = measure.reader(4 * _SHARED)
    return read.args[0].nbytes / measure.time_call(read, budget=0.05).best


_measuring = Lock()
