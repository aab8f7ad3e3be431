"""Series of the exponential function for parts of the time, each summed as a chain of products."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from .._products.chains import Recurrence
from .vectors import Vectors


def states(
    v: Vectors, A: Any, x: Any, times: Sequence[float], counts: Sequence[int],
    series: Callable[[int, float], Recurrence], done: Callable[[float, int], None],
) -> Iterator[Any]:  # fmt: skip
    """Yield the states at times that go away from 0; each is valid until the next one is computed.

    The step to time i has ``counts[i]`` parts of equal length, 0 if its length is 0; ``series(i, length)`` returns what
    a part is computed by. ``done(time, products)`` is called after each part.
    """
    y, spare, t = v.empty(x.shape, x.dtype), v.empty(x.shape, x.dtype), 0.0  # the first state is needed again
    for i, (count, time) in enumerate(zip(counts, times, strict=True)):
        if count:
            length = (time - t) / count
            factors = series(i, length)
            recurrence = A._core.Recurrence(*factors)
            for _ in range(count):
                v.chain(A, recurrence, x, y)
                x, y, spare = y, spare, y
                t += length
                done(t, len(factors.alpha))
        t = time
        yield x
