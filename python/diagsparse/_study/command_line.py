"""What all commands share: their options, and how errors are worded."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any

import click

from .._places import memory
from .._places.backend import CudaUnavailable, get_num_threads, place
from .._show.terminal import Terminal, discard_output
from ..measure import using_threads

INTERRUPTED = 130  #: the exit status after Ctrl-C: 128 and the number of the signal
_USER_ERRORS = (ValueError, TypeError, MemoryError, OSError, ImportError, CudaUnavailable)
_UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}


class Group(click.Group):
    """Commands whose users' errors are one line on standard error. To stop reading what they print is none."""

    def make_context(self, *args: Any, **kwargs: Any) -> click.Context:
        try:
            return super().make_context(*args, **kwargs)
        except BrokenPipeError:  # while it printed help
            discard_output()
            raise click.exceptions.Exit(0) from None

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            click.echo(f"{self.name}: interrupted", err=True)
            ctx.exit(INTERRUPTED)
        except _USER_ERRORS as error:
            if isinstance(error, BrokenPipeError) and error.filename is None:  # standard output
                discard_output()
                return None
            command = self.get_command(ctx, ctx.invoked_subcommand or "")
            click.echo(f"{self.name}: error: {_worded(error, command)}", err=True)
            ctx.exit(2)


def _worded(error: Exception, command: click.Command | None) -> str:
    """Return what an error says, with the options of the command in the place of Python's."""
    if isinstance(error, OSError) and error.filename:
        return f"{error.filename}: {error.strerror}"
    if command is None or not any("--max-bytes" in option.opts for option in command.params):
        return memory.without_limit(str(error))
    return str(error).replace("max_bytes=", "--max-bytes")


class Bytes(click.ParamType):
    """A count of bytes: ``8000000``, ``500MB``, ``8G`` (powers of 1000)."""

    name = "bytes"

    def convert(self, value: Any, param: Any, ctx: Any) -> int:
        match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([KMGT]?)B?", str(value).strip(), re.IGNORECASE)
        if match is None:
            self.fail(f"{value!r}: expected bytes as in 8000000, 500MB or 8G", param, ctx)
        return int(float(match[1]) * _UNITS[match[2].upper()])


def common(command: Callable[..., bool | None]) -> Callable[..., None]:
    """Give a command the options that all have, and exit with 1 where it returns False."""

    @click.option(
        "--json", "as_json", is_flag=True, help="Print one JSON object and nothing else; files only with --out."
    )
    @click.option("--out", type=click.Path(file_okay=False, path_type=Path), help="Folder for files.")
    @click.option("--device", default="cpu", metavar="cpu|cuda", help="Where the kernels run.")
    @click.option("--threads", type=click.IntRange(min=1), help="CPU threads; by default all processors.")
    @click.option("--quiet", is_flag=True, help="Print no progress, and no results that are written to files.")
    @wraps(command)
    def run(as_json: bool, out: Path | None, device: str, threads: int | None, quiet: bool, **options: Any) -> None:
        place(device)  # raises where the device cannot be used
        with using_threads(threads or get_num_threads()):
            held = command(Terminal(as_json, out, device, quiet), **options)
        if held is False:
            click.get_current_context().exit(1)

    return run


max_bytes = click.option("--max-bytes", type=Bytes(), help="Limit for each matrix, as in 500MB or 8G.")
budget = click.option(
    "--budget", type=click.FloatRange(min=0, min_open=True), default=0.7, help="Seconds of timing per operation."
)
