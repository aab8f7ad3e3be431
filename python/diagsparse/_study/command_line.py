"""What all commands have in common: options and error messages."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any

import click

from .._backends import memory
from .._backends.backend import CudaUnavailable, get_backend, get_num_threads
from .._show.terminal import Terminal, discard_output
from ..measure import using_threads

INTERRUPTED = 130  #: the exit status after Ctrl-C: 128 and the number of the signal
_USER_ERRORS = (ValueError, TypeError, MemoryError, OSError, ImportError, CudaUnavailable)
_UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}


class Group(click.Group):
    """Commands that report user errors in one line on standard error. A closed output pipe is not an error."""

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
    """Return the message of an error, with the option of the command instead of the Python argument."""
    if isinstance(error, OSError) and error.filename:
        return f"{error.filename}: {error.strerror}"
    if command is None or not any("--max-bytes" in option.opts for option in command.params):
        return memory.without_limit(str(error))
    return str(error).replace("max_bytes=", "--max-bytes")


class Bytes(click.ParamType):
    """A number of bytes: ``8000000``, ``500MB``, ``8G`` (powers of 1000)."""

    name = "bytes"

    def convert(self, value: Any, param: Any, ctx: Any) -> int:
        match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([KMGT]?)B?", str(value).strip(), re.IGNORECASE)
        if match is None:
            self.fail(f"{value!r}: expected a number of bytes such as 8000000, 500MB or 8G", param, ctx)
        return int(float(match[1]) * _UNITS[match[2].upper()])


def common(command: Callable[..., bool | None]) -> Callable[..., None]:
    """Add the common options to a command, and exit with 1 if it returns False."""

    @click.option("--json", "as_json", is_flag=True, help="Print only a JSON object, and write files only with --out.")
    @click.option(
        "--out", type=click.Path(file_okay=False, path_type=Path), help="Folder for the files that are written."
    )
    @click.option("--device", default="cpu", metavar="cpu|cuda", help="Device on which the kernels run.")
    @click.option("--threads", type=click.IntRange(min=1), help="Number of CPU threads. Default: all processors.")
    @click.option("--quiet", is_flag=True, help="Print no progress, and no results that are also written to files.")
    @wraps(command)
    def run(as_json: bool, out: Path | None, device: str, threads: int | None, quiet: bool, **options: Any) -> None:
        get_backend(device)  # raises if the device cannot be used
        with using_threads(threads or get_num_threads()):
            passed = command(Terminal(as_json, out, device, quiet), **options)
        if passed is False:
            click.get_current_context().exit(1)

    return run


max_bytes = click.option("--max-bytes", type=Bytes(), help="Limit for each matrix, such as 500MB or 8G.")
budget = click.option(
    "--budget",
    type=click.FloatRange(min=0, min_open=True),
    default=0.7,
    help="Seconds of timing per operation. Default: 0.7.",
)
