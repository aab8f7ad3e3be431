"""How long calls take on a GPU, by its own clock, and how fast its memory is."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from statistics import median
from typing import Any

from .. import measure
from .._backends.backend import CPU, Backend

_SAMPLE = 2e-4  # seconds of calls between two events: their own microsecond must not count
_MOST = 0.3  # seconds of one contender's samples together; three there are always


def time_calls(call: Callable[[], Any], where: Backend, samples: int) -> list[float]:
    """Return the seconds of one call, `samples` times; each the mean of as many calls as fill 0.2 ms."""
    start, stop = where.core.Event(where.index), where.core.Event(where.index)

    def once(repeats: int) -> float:
        call()  # while the device works on this one, the next calls line up behind it
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


def copy_bandwidth(where: Backend, nbytes: int) -> float:
    """Return the bytes a second, read plus written, of a device-to-device copy of `nbytes`."""
    one, two = (where.core.empty((nbytes // 8,), "float64", where.index) for _ in range(2))
    one.fill(1.0)
    seconds = median(time_calls(partial(two.assign, one), where, 10))
    return 2 * one.nbytes / seconds


def bandwidth(where: Backend, nbytes: int) -> float:
    """Return the bytes a second that the CPU's threads read from memory, or that a GPU copies, so many at a time."""
    return measure.read_bandwidth() if where is CPU else copy_bandwidth(where, nbytes)
