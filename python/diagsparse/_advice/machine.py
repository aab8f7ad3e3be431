"""The performance model of `recommend`: the time of a product y = A x on a machine.

Arithmetic and memory traffic overlap, and stalls are added::

    seconds = call + (work^2 + moving^2)^(1/2) + stalled

``work`` is the time for rows, positions (multiplied values, including padding) and extra items, each with the
nanoseconds in the model of the format. ``moving`` is the time to move A, x and y at the bandwidth of the memory, or of
the caches in which they fit. ``stalled`` is the time of cache misses on x and, on a CPU, of branch mispredictions. On a
GPU, a product takes at least as long as its longest thread (``step``), and a call at least as long as a kernel launch.

The nanoseconds were fitted to measured products of 70 matrices on two cores of an EPYC with AVX-512 and on an H100, and
then adjusted where the advice was wrong. The bandwidths are those of the same machines. Nothing is timed, so the same
matrix gets the same advice in every process, independent of the load of the machine. `python -m benchmarks advice`
compares the advice with measured times.
"""

from __future__ import annotations

from math import hypot
from typing import NamedTuple

from .._backends.backend import CPU, Backend, get_num_threads
from .costs import Cost, Counts, Traversal

_CALL = 1.6e-6  # seconds of overhead of a call on a CPU
_LAUNCH, _OVERHEAD = 7.8e-6, 3e-6  # minimum seconds of a call on a GPU, and its overhead in addition to the work
_PRIVATE, _SHARED = 1 << 20, 32 << 20  # bytes of the private and of the shared cache, typical of servers
_SHARED_READ = 60e9  # bytes per second that a thread reads from the shared cache
_L2_OF_GPU = 40e6  # bytes that remain in the L2 cache of a GPU between products
_FROM_L2 = 2.4  # bandwidth of this cache relative to a copy in memory
_FITTING, _PARTLY = 0.75, 0.4  # data up to the first fraction of these caches stays there, the next fraction partly
_PREDICTED = 5000  # branches per thread that the processor predicts, since it has seen them in previous products
_READ, _CONTENTION = 28e9, 0.19  # bytes per second that one thread reads, and the slowdown by each additional thread
_COPIED = 3.0e12  # bytes per second that a GPU copies
_SERIAL = 1 << 17  # multiply-adds up to which a single thread is used


class Machine(NamedTuple):
    """A device on which products run."""

    backend: Backend
    threads: int  #: of a CPU; 0 on a GPU

    @property
    def on_cpu(self) -> bool:
        """Whether it is a CPU."""
        return self.backend is CPU

    @property
    def bandwidth(self) -> float:
        """Bytes per second, see `bandwidth`."""
        return bandwidth(self.backend, self.threads)

    def seconds(self, cost: Cost, counts: Counts, traversal: Traversal) -> float:
        """Return the seconds of one product with these costs and counts."""
        width = cost.single if counts.itemsize == 4 else cost.complex if counts.complex else 1.0
        work = 1e-9 * (
            cost.row * counts.rows + width * (cost.position * traversal.positions + cost.extra * traversal.extras)
        )
        gathers = 1e-9 * cost.gather * traversal.lines
        work += 1e-9 * cost.step * traversal.steps
        moved = traversal.nbytes + counts.vectors
        if self.backend is not CPU:
            running = _OVERHEAD + hypot(work, cost.bytes * self._moving(moved, 1)) + gathers
            return 1e-9 * cost.call + (_LAUNCH**4 + running**4) ** 0.25  # a smooth maximum
        serial = max(traversal.positions, counts.entries) + counts.rows < _SERIAL
        threads = 1 if serial else max(1, min(self.threads, counts.rows // cost.rows_each))
        mispredicted = 1e-9 * cost.branch * max(0.0, counts.branches - threads * _PREDICTED)
        uncached = max(0.0, 1 - _PRIVATE / 2 / max(1, counts.vectors))  # fraction of x outside of the private caches
        stalled = hypot(gathers * uncached, mispredicted)
        return _CALL + hypot(work / threads, self._moving(moved, threads)) + stalled / threads

    def _moving(self, moved: float, threads: int) -> float:
        """Return the seconds to move these bytes, considering the caches."""
        cache = _SHARED if self.backend is CPU else _L2_OF_GPU
        far = min(1.0, max(0.0, moved / cache - _FITTING) / _PARTLY)
        if self.backend is not CPU:
            return moved * (far + (1 - far) / _FROM_L2) / self.bandwidth
        near = max(0.0, 1 - threads * _PRIVATE / max(1.0, moved)) - far
        return moved * max(0.0, near) / (_SHARED_READ * threads) + moved * far / bandwidth(self.backend, threads)


def machine(backend: Backend) -> Machine:
    """Return a device, with the current number of threads."""
    return Machine(backend, get_num_threads() if backend is CPU else 0)


def bandwidth(backend: Backend, threads: int) -> float:
    """Return the bytes per second that CPU threads read from memory, or that a GPU copies, on a typical machine."""
    return threads * _READ / (1 + _CONTENTION * (threads - 1)) if backend is CPU else _COPIED
