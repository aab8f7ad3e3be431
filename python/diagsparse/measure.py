"""Timing of calls and of the memory bandwidth, as used by `compare` and `bench`."""

from __future__ import annotations

import gc
import operator
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import repeat
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import scipy.sparse as sp

from ._backends.backend import _core, get_num_threads, set_num_threads
from ._backends.memory import available_bytes
from ._matrix.sparse_array import SparseArray

#: A function that is called with the fraction that is done, and a description of the current step.
Progress = Callable[[float, str], None]
_STREAM = 1 << 29  # bytes that are read to measure the memory bandwidth: much more than fits in the caches
_bandwidths: dict[int, float] = {}


# ---- time ---------------------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class Timing:
    """The time of one call in seconds."""

    median: float
    best: float
    samples: int


def time_call(call: Callable[[], Any], *, budget: float = 0.2, sample: float = 1e-3) -> Timing:
    """Time one call; see `time_calls`."""
    return time_calls({"": call}, budget=budget, sample=sample)[""]


def time_calls(
    calls: Mapping[str, Callable[[], Any]],
    *,
    budget: float = 1.0,
    sample: float = 1e-3,
    pause: float = 0.0,
    before: Callable[[], Any] | None = None,
    progress: Progress | None = None,
) -> dict[str, Timing]:
    """Time calls alternately, so that other work on the machine affects all of them equally.

    Parameters
    ----------
    calls : dict of name -> callable without arguments
        A `functools.partial` of the function itself has the least overhead.
    budget : float
        Seconds for all calls together. There are at least three rounds, unless these take more than
        four times the budget.
    sample : float
        The minimum duration of a sample in seconds. Shorter calls are repeated, after one call that is
        not timed, because it finds other data in the caches.
    pause : float
        Seconds to wait before each sample, until the threads of another library have gone to sleep.
    before : callable, optional
        Is called before each sample, which then is a single call. A `reader` empties the caches.
    progress : callable, optional
        Is called with the fraction that is done, and ``time <name>``.

    Returns
    -------
    dict of name -> Timing
        The median and the minimum over the rounds.
    """
    report = progress or no_progress
    collecting = gc.isenabled()
    gc.disable()
    try:
        repeats = {}
        for name, call in calls.items():
            report(0.0, f"time {name}")
            time.sleep(pause)
            repeats[name] = 1 if before else _repeats(call, sample)
        seconds: dict[str, list[float]] = {name: [] for name in calls}
        start, spent, rounds = time.perf_counter(), 0.0, 0
        while calls and (rounds == 0 or spent < budget or (rounds < 3 and spent < 4 * budget)):
            for name, call in calls.items():
                report(min(1.0, spent / max(budget, 1e-9)), f"time {name}")
                time.sleep(pause)
                if before:
                    before()
                seconds[name].append(_sample(call, repeats[name]))
            spent, rounds = time.perf_counter() - start, rounds + 1
    finally:
        if collecting:
            gc.enable()
    return {name: Timing(median(times), min(times), len(times)) for name, times in seconds.items()}


def _repeats(call: Callable[[], Any], sample: float) -> int:
    count = 1
    while _sample(call, count) * count < sample:
        count *= 2
    return count


def _sample(call: Callable[[], Any], count: int) -> float:
    """Return the mean seconds of `count` calls in a row."""
    if count > 1:
        call()
    start = time.perf_counter()
    for _ in repeat(None, count):
        call()
    return (time.perf_counter() - start) / count


def no_progress(fraction: float, what: str) -> None:
    """Report no progress."""


def portion(report: Progress, start: float, width: float) -> Progress:
    """Return a function that reports the progress of a part, which covers `width` of the whole from `start` on."""
    return lambda fraction, what: report(start + width * fraction, what)


# ---- contenders ---------------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class Contender:
    """One way to compute a product."""

    library: str  #: "diagsparse", "scipy", "mkl", "cusparse" or "cupy"
    format: str
    kernel: str  #: of this library; "" in others
    call: Callable[[], Any]
    operands: tuple[Any, Any]

    @property
    def name(self) -> str:
        """``hm row_tiles`` for a format of diagsparse, ``scipy csr`` for other libraries."""
        return f"{self.format} {self.kernel}" if self.library == "diagsparse" else f"{self.library} {self.format}"


@dataclass(frozen=True)
class Outcome:
    """The result of one call of a contender."""

    result_nbytes: int
    floor_nbytes: int  #: bytes that the call has to move at least
    error: float  #: the largest error divided by its bound


def by_operator(library: str, A: Any, right: Any) -> Contender:
    """Return ``A @ right`` as a contender, for any library that has this operator."""
    kernel = A.kernels("matvec" if isinstance(right, np.ndarray) else "matmul")[0] if library == "diagsparse" else ""
    return Contender(library, A.format, kernel, partial(operator.matmul, A, right), (A, right))


def by_kernel(A: SparseArray, right: Any, kernel: str) -> Contender:
    """Return the same product as a contender, computed by a given kernel of diagsparse."""
    multiply = A.matmul if isinstance(right, SparseArray) else A.matvec
    return Contender("diagsparse", A.format, kernel, partial(multiply, right, kernel=kernel), (A, right))


def run_once(
    contenders: Sequence[Contender], check: Callable[[Any], float], report: Progress = no_progress
) -> dict[str, Outcome]:
    """Run each contender once and check its result."""
    outcomes = {}
    for i, c in enumerate(contenders):
        report(i / len(contenders), f"check {c.name}")
        result = c.call()
        outcomes[c.name] = Outcome(nbytes(result), floor_nbytes(*c.operands, result), check(result))
        del result
    return outcomes


# ---- memory -------------------------------------------------------------------------------------------------------
@contextmanager
def using_threads(count: int) -> Iterator[None]:
    """Use `count` threads within a ``with`` block."""
    before = get_num_threads()
    set_num_threads(count)
    try:
        yield
    finally:
        set_num_threads(before)


def reader(nbytes: int = _STREAM) -> partial[float]:
    """Return a call that sums an array of about `nbytes` bytes with all threads; ``.args[0]`` is the array."""
    return partial(_core.read, np.ones(max(1, min(nbytes, available_bytes() // 8) // 2**19) * 2**16))


def read_bandwidth(threads: int | None = None) -> float:
    """Return the bytes per second that `threads` threads (by default the current number) read from main memory.

    This is measured once per process and number of threads, as the median time to sum an array of
    512 MB, or of an eighth of the free memory if that is less.
    """
    threads = threads or get_num_threads()
    if threads not in _bandwidths:
        read = reader()
        with using_threads(threads):
            _bandwidths[threads] = read.args[0].nbytes / time_call(read, budget=0.25).median
    return _bandwidths[threads]


def nbytes(A: Any) -> int:
    """Return the bytes of a sparse matrix (of diagsparse, SciPy or CuPy) or of a dense array."""
    if hasattr(A, "nbytes"):
        return int(A.nbytes)
    parts = [getattr(A, name, None) for name in ("data", "indices", "indptr", "offsets")]
    return sum(part.nbytes for part in (*parts, *getattr(A, "coords", ())) if hasattr(part, "dtype"))


def csr32(A: Any) -> Any:
    """Return a SciPy csr array with 32-bit indices, the fastest ones (64 bits from 2^31 values on)."""
    csr = sp.csr_array(A)
    if csr.indptr.dtype == csr.indices.dtype == np.int32 or csr.nnz >= 1 << 31:
        return csr
    return sp.csr_array((csr.data, csr.indices.astype(np.int32), csr.indptr.astype(np.int32)), shape=csr.shape)


def floor_nbytes(*operands: Any) -> int:
    """Return the bytes that an operation moves at least: each operand and the result once, even if it occurs twice.

    For y = A x these are A, x and y; for C = A B: A, B and C; for C = A A: A and C.
    """
    return sum(nbytes(one) for one in {id(one): one for one in operands}.values())


class LoadMonitor:
    """Detects other work on the processors, by the time that the threads of this process wait (on Linux only)."""

    def __init__(self) -> None:
        self._start, self._waited = time.perf_counter(), _waited()

    def warning(self) -> str:
        """Return a warning if the times measured since the start are unreliable, otherwise an empty string."""
        elapsed, waited = time.perf_counter() - self._start, _waited() - self._waited
        if waited < 0.1 * elapsed:
            return ""
        busy = f"other processes kept the processors busy (waited {waited:.1f} s in {elapsed:.1f} s)"
        return f"{busy}: {'times with several threads' if get_num_threads() > 1 else 'the times'} are unreliable"


def _waited() -> float:
    try:
        tasks = Path("/proc/self/task").glob("*/schedstat")
        return sum(int(task.read_text().split()[1]) for task in tasks) / 1e9
    except (OSError, IndexError, ValueError):
        return 0.0
