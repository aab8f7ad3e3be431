"""The performance model of `recommend`: the time of a product y = A x on a machine.

Arithmetic and memory traffic overlap, and stalls are added::

    seconds = call + ((work^2 + moving^2)^(1/2) + stalled) * share

``work`` is the time for rows, positions (multiplied values, including padding) and extra items, each with the
nanoseconds in the model of the format. ``moving`` is the time to move A, x and y at the bandwidth of the memory, except
for what the caches still contain from the previous product. ``stalled`` is the time of cache misses on x and, on a CPU,
of branch mispredictions. ``share`` is 1 on a GPU; on a CPU it is the share of a thread, somewhat more than 1 / threads.
On a GPU, a product takes at least as long as its longest thread (``step``), and a call at least as long as a kernel
launch.

The nanoseconds were fitted to measured products on two machines with Intel's and AMD's processors and AVX-512, with 1,
2 and 16 threads, and on an H200 (`python -m benchmarks.studies.advice_fit`). Nothing is timed, so the same matrix gets
the same advice in every process, independent of the load of the machine. `python -m benchmarks advice` compares the
advice with measured times, also for families of matrices that the costs were not fitted to.
"""

from __future__ import annotations

from math import hypot
from typing import NamedTuple

from .._backends.backend import CPU, Backend, get_num_threads
from .costs import Cost, Counts, Traversal

_CALL = 1.6e-6  # seconds of overhead of a call on a CPU
_LAUNCH, _OVERHEAD = 7.8e-6, 3e-6  # minimum seconds of a call on a GPU, and its overhead in addition to the work
_PRIVATE = 1 << 20  # bytes of the private cache of a core, typical of servers
_L2_OF_GPU = 40e6  # bytes that remain in the L2 cache of a GPU between products
_FROM_L2 = 2.0  # bandwidth of this cache relative to a copy in memory
_FITTING, _PARTLY = 0.75, 0.4  # data up to the first fraction of this cache stays there, the next fraction partly
_PREDICTED = 7500  # branches per thread that a processor learns from previous products; of twice as many it learns none
_READ = 28e9  # bytes per second that a thread reads
_CONTENTION = (
    0.08  # slowdown of all threads by each additional one, which shares the memory, the caches and often a core
)
COPIED = 3.6e12  # bytes per second that a GPU copies
_SERIAL = 1 << 17  # multiply-adds up to which a single thread is used


class Machine(NamedTuple):
    """A device on which products run."""

    backend: Backend
    threads: int  #: of a CPU; 0 on a GPU
    reuse: bool = True  #: whether products follow each other, so that the caches still contain some of A, x and y

    @property
    def on_cpu(self) -> bool:
        """Whether it is a CPU."""
        return self.backend is CPU

    def seconds(self, cost: Cost, counts: Counts, traversal: Traversal) -> float:
        """Return the seconds of one product with these costs and counts."""
        nbytes, positions, extras, steps, lines, _ = traversal
        rows, entries, branches, vectors, itemsize, is_complex = counts
        width = cost.single if itemsize == 4 else cost.complex if is_complex else 1.0
        work = width * (cost.position * positions + cost.extra * extras)
        work = 1e-9 * (work + cost.row * rows + cost.step * steps)
        gathers, moved = 1e-9 * cost.gather * lines, nbytes + vectors
        if self.backend is not CPU:
            far = min(1.0, max(0.0, moved / _L2_OF_GPU - _FITTING) / _PARTLY) if self.reuse else 1.0
            moving = moved * (far + (1 - far) / _FROM_L2) / COPIED
            running = _OVERHEAD + hypot(work, cost.bytes * moving) + gathers
            return 1e-9 * cost.call + (_LAUNCH**4 + running**4) ** 0.25  # a smooth maximum
        serial = positions + rows < _SERIAL and entries + rows < _SERIAL
        threads = 1.0 if serial else max(1.0, min(self.threads, rows / cost.rows_each))
        stalled = 0.0
        if gathers and vectors > _PRIVATE / 2:  # a fraction of x is not in the private caches
            stalled = gathers * (1 - _PRIVATE / 2 / vectors)
        if cost.branch and branches > threads * _PREDICTED:
            mispredicted = branches * min(1.0, branches / (threads * _PREDICTED) - 1)
            stalled = hypot(stalled, 1e-9 * cost.branch * mispredicted)
        each = (1 + _CONTENTION * (threads - 1)) / threads
        moving = max(0.0, moved - threads * _PRIVATE * self.reuse) / _READ
        return _CALL + each * (hypot(work, moving) + stalled)


def machine(backend: Backend, reuse: bool = True) -> Machine:
    """Return a device, with the current number of threads."""
    return Machine(backend, get_num_threads() if backend is CPU else 0, reuse)
