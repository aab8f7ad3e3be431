"""The output of the command line: tables, JSON, and progress; colours and progress bars only on a terminal."""

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

_STYLES = (  # deliberately few
    (r"(?m)^(y = A x|C = A A|Advice:|Summary:)", "bold"),
    (r"(?m)^scipy .*$", "dim"),
    (r"(?m)^(skipped)?   .*: .*$", "dim"),
    (r"(?m)^(Saved|Wrote) .*$", "dim"),
    (r"#+", "blue"),
    (r"FAILED|CHECK FAILED.*", "bold red"),
)


@dataclass
class Terminal:
    """The common options of a command, and its output."""

    as_json: bool
    out: Path | None
    device: str
    quiet: bool

    def show(self, text: str, requested: bool = False) -> None:
        """Print text for users: styled on a terminal, plain elsewhere, nothing with ``--json``.

        With ``--quiet``, only text that the user `requested` is printed: the result, if it is not written to a file.
        """
        if self.as_json or (self.quiet and not requested):
            return
        if not sys.stdout.isatty():
            _print(lambda: click.echo(text))
            return
        styled = Text(text)
        for pattern, style in _STYLES:
            styled.highlight_regex(pattern, style)
        _print(lambda: Console(highlight=False).print(styled, soft_wrap=True))

    def emit(self, values: dict[str, Any]) -> None:
        """Print a JSON object with ``--json``, otherwise nothing."""
        if self.as_json:
            _print(lambda: click.echo(json.dumps(values, indent=1)))

    def save(self, values: dict[str, Any], writers: dict[str, Callable[[Path], object]]) -> None:
        """Write files to the folder of ``--out`` and list them; with ``--json``, print `values` and their paths.

        With ``--json`` but without ``--out``, no files are written. Without matplotlib, pictures are left out with a
        message.
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
        """Return a path in the folder of ``--out``, which is created if needed; by default in the current folder."""
        folder = self.out or Path()
        folder.mkdir(parents=True, exist_ok=True)
        return folder / name

    @contextmanager
    def progress(self) -> Iterator[Callable[[float, str], None]]:
        """Yield ``report(fraction, what)``, which redraws a bar on standard error only when it is called."""
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

            def report(fraction: float, what: str) -> None:
                nonlocal drawn
                if time.monotonic() - drawn > 0.25:
                    bar.update(task, completed=fraction, description=f"{what:<36}", refresh=True)
                    drawn = time.monotonic()

            yield report


def _print(write: Callable[[], object]) -> None:
    """Write to standard output. If its reader has closed it, as ``| head -1`` does, discard the rest."""
    try:
        write()
        sys.stdout.flush()
    except BrokenPipeError:
        discard_output()


def discard_output() -> None:
    """Redirect standard output, including the contents of its buffer, to the null device."""
    with open(os.devnull, "wb") as nowhere:
        os.dup2(nowhere.fileno(), sys.stdout.fileno())


def json_writer(values: dict[str, Any]) -> Callable[[Path], object]:
    """Return a function that writes values to a JSON file."""
    return lambda path: path.write_text(json.dumps(values, indent=1) + "\n")
