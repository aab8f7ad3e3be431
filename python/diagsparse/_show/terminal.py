"""What the command line writes: tables, JSON, progress; colour and bars only where a person looks."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn
from rich.text import Text

_STYLES = (  # the first that matches a part of the text wins over none; calm on purpose
    (r"(?m)^(y = A x|C = A A|Advice:|Summary:)", "bold"),
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
    out: Path | None
    device: str
    quiet: bool

    def show(self, text: str, asked: bool = False) -> None:
        """Print text for people: styled on a terminal, plain elsewhere, nothing with ``--json``.

        With ``--quiet`` only what was `asked` for is printed: all that a command does.
        """
        if self.as_json or (self.quiet and not asked):
            return
        if not sys.stdout.isatty():
            _print(lambda: click.echo(text))
            return
        styled = Text(text)
        for pattern, style in _STYLES:
            styled.highlight_regex(pattern, style)
        _print(lambda: Console(highlight=False).print(styled, soft_wrap=True))

    def emit(self, values: dict[str, Any]) -> None:
        """Print one JSON object with ``--json``, nothing without."""
        if self.as_json:
            _print(lambda: click.echo(json.dumps(values, indent=1)))

    def save(self, values: dict[str, Any], writers: dict[str, Callable[[Path], object]]) -> None:
        """Write files in the folder of ``--out``, tell which ones, and print `values` and their paths with ``--json``.

        ``--json`` without ``--out`` writes none. A picture is left out, and that is said, where matplotlib is missing.
        """
        paths = []
        for name, write in writers.items() if self.out is not None or not self.as_json else ():
            path = self.path(name)
            try:
                write(path)
            except ImportError as error:
                click.echo(f"diagsparse: no {path}: {error}", err=True)
            else:
                paths.append(path)
        if paths:
            self.show("Saved " + ", ".join(map(str, paths)))
        self.emit(values | {"saved": list(map(str, paths))})

    def path(self, name: str) -> Path:
        """Return a path in the folder of ``--out``, made where it is missing; by default in the current one."""
        folder = self.out or Path()
        folder.mkdir(parents=True, exist_ok=True)
        return folder / name

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


def _print(write: Callable[[], object]) -> None:
    """Write to standard output. Where nobody reads any more, as after ``| head -1``, the rest goes nowhere."""
    try:
        write()
        sys.stdout.flush()
    except BrokenPipeError:
        discard_output()


def discard_output() -> None:
    """Have standard output go nowhere, where what is in its buffer goes at exit, too."""
    with open(os.devnull, "wb") as nowhere:
        os.dup2(nowhere.fileno(), sys.stdout.fileno())


def json_writer(values: dict[str, Any]) -> Callable[[Path], object]:
    """Return what writes values to a file."""
    return lambda path: path.write_text(json.dumps(values, indent=1) + "\n")
