"""The steps of a benchmark, one after the other, and the frame of its report; Ctrl-C keeps the rows that are done."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import date
from typing import Any

from .. import measure
from .._backends.backend import CPU, Backend
from ..measure import Progress, portion
from . import gpu_peers, peers

Step = tuple[str, Callable[[Progress], Iterable[dict[str, Any]]]]
"""What a step says while it runs, and what makes its rows."""


def frame(where: Backend, quick: bool) -> dict[str, Any]:
    """Return what every report says first: the ``device``, its ``hardware``, the ``versions``, the ``date``."""
    return {
        "device": where.name.partition(":")[0],
        "hardware": peers.hardware() | (gpu_peers.hardware(where) if where is not CPU else {}),
        "versions": peers.versions() | (gpu_peers.versions(where) if where is not CPU else {}),
        "date": date.today().isoformat(),
        "quick": quick,
    }


def report(steps: Sequence[Step], where: Backend, quick: bool, progress: Progress | None) -> dict[str, Any]:
    """Run the steps and return a report: the frame, a ``warning`` if other work disturbed them, what `run` returns."""
    crowd = measure.Crowd()
    made = run(steps, progress)
    return frame(where, quick) | {"warning": crowd.warning()} | made


def run(steps: Sequence[Step], progress: Progress | None = None) -> dict[str, Any]:
    """Return the ``rows`` of all steps, whether Ctrl-C ``interrupted`` them, and how many are ``left``.

    Of the step that was interrupted those rows count that it has yielded. Without any row the interrupt is raised.
    """
    report, rows, done = progress or measure.silent, [], 0
    try:
        for what, make in steps:
            report(done / len(steps), what)
            for row in make(portion(report, done / len(steps), 1 / len(steps))):
                rows.append(row)
            done += 1
    except KeyboardInterrupt:
        if not rows:
            raise
    return {"interrupted": done < len(steps), "left": len(steps) - done, "rows": rows}


def ended(report: dict[str, Any]) -> list[str]:
    """Return in words, for the line about the machine, that a report was interrupted; nothing of one that was not."""
    left = report.get("left", 0)
    return [f"interrupted: {left} step{'s' * (left > 1)} left out"] if left else []
