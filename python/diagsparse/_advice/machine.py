"""The time of a product y = A x on a machine: the model that advice follows.

A product works and moves bytes at the same time, and then waits::

    seconds = call + (work^2 + moving^2)^(1/2) + waiting

``work`` counts rows, places (values that are multiplied, padding too) and pieces, each with the nanoseconds that the
format's model tells. ``moving`` is the bytes of A, x and y, by the bandwidths of the memory and of the caches that they
fit in. ``waiting`` is for what of x no cache holds, and on a CPU for branches that it did not foresee. On a GPU no
thread can be done before its longest way is (``step``), and a call takes no less than its launch.

The nanoseconds were fitted to measured products of 70 matrices on two cores of an EPYC with AVX-512 and on an H100, and
then adjusted where the advice was wrong. The bandwidths are those of the same machines. Nothing is timed, so the same
matrix gets the same advice in every process, whatever else the machine does. `python -m benchmarks advice` compares the
advice with measured times.
"""

from __future__ import annotations

from math import hypot
from typing import NamedTuple

from .._backends.backend import CPU, Backend, get_num_threads
from .costs import Cost, Counts, Walk

_CALL = 1.6e-6  # seconds of a call on a CPU, whatever it does
_LAUNCH, _BEFORE = 7.8e-6, 3e-6  # seconds that a call on a GPU takes at least, and beside its work
_OWN, _SHARED = 1 << 20, 32 << 20  # bytes of a thread's own cache, and of the one that threads share: of many servers
_NEAR = 60e9  # bytes a second that a thread reads from the shared cache
_L2_OF_GPU = 40e6  # bytes that a GPU keeps between products
_FROM_L2 = 2.4  # times as fast as it copies
_SURELY, _PERHAPS = 0.75, 0.4  # of these caches: what fits into that stays there, of so much more only some
_REMEMBERED = 5000  # turns of a thread that its processor foresees, because it has met them in the products before
_READ, _CONTENTION = 28e9, 0.19  # bytes a second that one thread reads, and how much each further one slows all down
_COPIED = 3.0e12  # bytes a second that a GPU copies
_SERIAL = 1 << 17  # multiply-adds that one thread does alone


class Machine(NamedTuple):
    """Where products run."""

    backend: Backend
    threads: int  #: of a CPU; 0 on a GPU

    @property
    def on_cpu(self) -> bool:
        """Whether it is a CPU."""
        return self.backend is CPU

    @property
    def bandwidth(self) -> float:
        """Bytes a second; see the function."""
        return bandwidth(self.backend, self.threads)

    def seconds(self, cost: Cost, counts: Counts, walk: Walk) -> float:
        """Return what one product takes that has these costs."""
        width = cost.single if counts.itemsize == 4 else cost.complex if counts.complex else 1.0
        work = 1e-9 * (cost.row * counts.rows + width * (cost.position * walk.positions + cost.piece * walk.pieces))
        gathers = 1e-9 * cost.gather * walk.lines
        work += 1e-9 * cost.step * walk.steps
        moved = walk.nbytes + counts.vectors
        if self.backend is not CPU:
            taken = _BEFORE + hypot(work, cost.bytes * self._moving(moved, 1)) + gathers
            return 1e-9 * cost.call + (_LAUNCH**4 + taken**4) ** 0.25  # nearly the longer of both
        alone = max(walk.positions, counts.entries) + counts.rows < _SERIAL
        threads = 1 if alone else max(1, min(self.threads, counts.rows // cost.rows_each))
        unforeseen = 1e-9 * cost.turn * max(0.0, counts.turns - threads * _REMEMBERED)
        beyond = max(0.0, 1 - _OWN / 2 / max(1, counts.vectors))  # of x that no thread's own holds
        stalled = hypot(gathers * beyond, unforeseen)
        return _CALL + hypot(work / threads, self._moving(moved, threads)) + stalled / threads

    def _moving(self, moved: float, threads: int) -> float:
        """Return the seconds that bytes need, as far as caches do not keep them."""
        kept = _SHARED if self.backend is CPU else _L2_OF_GPU
        far = min(1.0, max(0.0, moved / kept - _SURELY) / _PERHAPS)
        if self.backend is not CPU:
            return moved * (far + (1 - far) / _FROM_L2) / self.bandwidth
        near = max(0.0, 1 - threads * _OWN / max(1.0, moved)) - far
        return moved * max(0.0, near) / (_NEAR * threads) + moved * far / bandwidth(self.backend, threads)


def machine(backend: Backend) -> Machine:
    """Return a device, with the threads that are set."""
    return Machine(backend, get_num_threads() if backend is CPU else 0)


def bandwidth(backend: Backend, threads: int) -> float:
    """Return the bytes a second that threads of a CPU read from memory, or that a GPU copies: of a usual machine."""
    return threads * _READ / (1 + _CONTENTION * (threads - 1)) if backend is CPU else _COPIED
