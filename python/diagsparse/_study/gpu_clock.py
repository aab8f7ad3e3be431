"""Timing of calls, on a GPU by CUDA events, and the bandwidth of the memory."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from statistics import median
from typing import Any

from .. import measure
from .._backends.backend import CPU, Backend
from ..measure import Progress, Timing

_SAMPLE = 2e-4  # seconds of calls between two events, so that the overhead of the events (1 us) is negligible
_REPEATED = 1e-2  # seconds of calls of a sample on a CPU, the first of which may have to read from memory
_EVICTED = 1 << 28  # bytes that are written on a GPU to empty its caches
_MOST = 0.3  # largest total seconds of the samples of one contender, but at least three samples


def time_calls(call: Callable[[], Any], where: Backend, samples: int) -> list[float]:
    """Return the seconds of one call in each of `samples` samples: the mean over as many calls as take 0.2 ms."""
    start, stop = where.core.Event(where.index), where.core.Event(where.index)

    def once(repeats: int) -> float:
        call()  # while this one runs on the device, the next calls are queued
        start.record()
        for _ in range(repeats):
            call()
        stop.record()
        return stop.since(start) / repeats

    once(1)
    if (one := once(1)) > _MOST:
        return [one]
    repeats = max(1, min(1000, round(_SAMPLE / one)))
    return [once(repeats) for _ in range(max(3, min(samples, round(_MOST / (one * repeats)))))]


def time_all(
    calls: Mapping[str, Callable[[], Any]], where: Backend, *, budget: float, samples: int, pause: float = 0.0,
    reuse: bool | None = None, progress: Progress = measure.no_progress,
) -> dict[str, Timing]:  # fmt: skip
    """Time calls: alternately within a budget of seconds on a CPU, one after another with `samples` each on a GPU.

    With `reuse`, each call is repeated until its operands are in the caches, if they fit. Without it, the caches are
    emptied before each call.
    """
    if where is CPU and reuse is not None:
        before = None if reuse else measure.reader()
        return measure.time_calls(calls, budget=budget, sample=_REPEATED, pause=pause, before=before, progress=progress)
    if where is CPU:
        return measure.time_calls(calls, budget=budget, pause=pause, progress=progress)
    times = {}
    for name, call in calls.items():
        progress(0.5, f"time {name}")
        seconds = time_calls(call, where, samples) if reuse is not False else _one_by_one(call, where, samples)
        times[name] = Timing(median(seconds), min(seconds), len(seconds))
    return times


def _one_by_one(call: Callable[[], Any], where: Backend, samples: int) -> list[float]:
    """Return the seconds of single calls, before each of which other data passes through the caches."""
    start, stop = where.core.Event(where.index), where.core.Event(where.index)
    other = where.core.empty((_EVICTED // 8,), "float64", where.index)
    seconds = []
    for _ in range(samples):
        other.fill(1.0)
        start.record()
        call()
        stop.record()
        seconds.append(stop.since(start))
    return seconds


def copy_bandwidth(where: Backend, nbytes: int) -> float:
    """Return the bytes per second, read plus written, of a device-to-device copy of `nbytes`."""
    one, two = (where.core.empty((nbytes // 8,), "float64", where.index) for _ in range(2))
    one.fill(1.0)
    seconds = median(time_calls(partial(two.assign, one), where, 10))
    return 2 * one.nbytes / seconds


def bandwidth(where: Backend, nbytes: int) -> float:
    """Return the bytes per second that the CPU threads read from memory, or that a GPU copies (`nbytes` at once)."""
    return measure.read_bandwidth() if where is CPU else copy_bandwidth(where, nbytes)
