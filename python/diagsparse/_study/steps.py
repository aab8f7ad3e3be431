"""The steps of a benchmark, one after the other; Ctrl-C ends them and keeps the rows that are done."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from .. import measure
from ..measure import Progress, portion

Step = tuple[str, Callable[[Progress], Iterable[dict[str, Any]]]]
"""What a step says while it runs, and what makes its rows."""


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
