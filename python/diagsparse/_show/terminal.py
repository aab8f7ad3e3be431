"""What the command line writes: tables, JSON, progress; colour and bars only where a person looks."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn
from rich.text import Text

_STYLES = (  # the first that matches a part of the text wins over none; calm on purpose
    (r"(?m)^(y = A x|C = A A|Advice:)", "bold"),
    (r"(?m)^scipy .*$", "dim"),
    (r"(?m)^(skipped)?   .*: .*$", "dim"),
    (r"(?m)^(Saved|Wrote) .*$", "dim"),
    (r"#+", "blue"),
    (r"FAILED|CHECK FAILED.*", "bold red"),
)


@dataclass
class Terminal:
    """The common options of a command, and how it speaks."""

    as_json: bool
    out: Path
    device: str
    quiet: bool

    def show(self, text: str) -> None:
        """Print text for people: styled on a terminal, plain elsewhere, nothing with ``--json`` or ``--quiet``."""
        if self.as_json or self.quiet:
            return
        if not sys.stdout.isatty():
            click.echo(text)
            return
        styled = Text(text)
        for pattern, style in _STYLES:
            styled.highlight_regex(pattern, style)
        Console(highlight=False).print(styled, soft_wrap=True)

    def emit(self, values: dict[str, Any]) -> None:
        """Print one JSON object with ``--json``, nothing without."""
        if self.as_json:
            click.echo(json.dumps(values, indent=1))

    def write_json(self, name: str, values: dict[str, Any]) -> Path:
        """Write values to a file in the folder of ``--out`` and return its path."""
        path = self.path(name)
        path.write_text(json.dumps(values, indent=1) + "\n")
        return path

    def saved(self, paths: Sequence[Path]) -> None:
        """Say which files were written."""
        self.show("Saved " + ", ".join(map(str, paths)))

    def path(self, name: str) -> Path:
        """Return a path in the folder of ``--out``, which is made where it is missing."""
        self.out.mkdir(parents=True, exist_ok=True)
        return self.out / name

    @contextmanager
    def progress(self) -> Iterator[Callable[[float, str], None]]:
        """Yield ``report(share, what)``: a bar on standard error that draws itself between calls, never during one."""
        bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(30),
            TaskProgressColumn(),
            TimeRemainingColumn(),
            console=Console(stderr=True),
            transient=True,
            auto_refresh=False,
            disable=self.quiet or not sys.stderr.isatty(),
        )
        with bar:
            task = bar.add_task("", total=1.0)
            drawn = 0.0

            def report(share: float, what: str) -> None:
                nonlocal drawn
                if time.monotonic() - drawn > 0.25:
                    bar.update(task, completed=share, description=f"{what:<36}", refresh=True)
                    drawn = time.monotonic()

            yield report
