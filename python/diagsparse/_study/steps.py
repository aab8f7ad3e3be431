"""The steps of a benchmark, and the common fields of reports. After Ctrl-C, the completed rows are reported."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import date
from typing import Any

from .. import measure
from .._backends.backend import Backend
from ..measure import Progress, portion
from . import hosts

Step = tuple[str, Callable[[Progress], Iterable[dict[str, Any]]]]
"""The name of a step, and a function that yields its rows."""


def frame(where: Backend, quick: bool) -> dict[str, Any]:
    """Return the common fields of reports: the ``device``, its ``hardware``, the ``versions``, and the ``date``."""
    return {
        "device": where.name.partition(":")[0],
        "hardware": hosts.hardware(where),
        "versions": hosts.versions(where),
        "date": date.today().isoformat(),
        "quick": quick,
    }


def report(steps: Sequence[Step], where: Backend, quick: bool, progress: Progress | None) -> dict[str, Any]:
    """Run the steps and return a report: `frame`, a ``warning`` if other work disturbed them, and `run`."""
    monitor = measure.LoadMonitor()
    outcome = run(steps, progress)
    return frame(where, quick) | {"warning": monitor.warning()} | outcome


def run(steps: Sequence[Step], progress: Progress | None = None) -> dict[str, Any]:
    """Return the ``rows`` of all steps, whether Ctrl-C ``interrupted`` them, and how many are ``left``.

    The rows that the interrupted step has yielded count. If there are no rows at all, the interrupt is raised.
    """
    report, rows, done = progress or measure.no_progress, [], 0
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
    """Return a note that a report was interrupted, for the line about the machine; otherwise an empty list."""
    left = report.get("left", 0)
    return [f"interrupted: {left} step{'s' * (left > 1)} left out"] if left else []
