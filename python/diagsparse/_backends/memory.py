"""Free memory, and the check that precedes every large allocation."""

from __future__ import annotations

import os
import resource
from collections.abc import Callable
from functools import wraps
from numbers import Real
from pathlib import Path
from typing import ParamSpec, TypeVar

from .backend import CPU, Backend

P = ParamSpec("P")
R = TypeVar("R")

SMALL = 1 << 26  # bytes; smaller allocations are not checked
_ALONE, _LAST = "; pass max_bytes= to change the limit", ", or pass max_bytes="


def human(nbytes: int) -> str:
    """Return a number of bytes in a readable form, ``40.0 MB`` (powers of 1000)."""
    size = float(nbytes)
    for unit in ("B", "KB", "MB", "GB", "TB"):
        if size < 1000 or unit == "TB":
            return f"{size:.0f} B" if unit == "B" else f"{size:.1f} {unit}" if size < 100 else f"{size:.0f} {unit}"
        size /= 1000
    raise AssertionError


def available_bytes(backend: Backend = CPU) -> int:
    """Return the free bytes of a GPU or of the host, within the limits of the container and the process."""
    if backend is not CPU:
        return backend.core.memory(backend.index)[0]
    free = min(_system_bytes(), _bytes_of_process())
    group = Path("/sys/fs/cgroup")
    try:
        limit = (group / "memory.max").read_text().strip()
        if limit != "max":
            free = min(free, max(0, int(limit) - int((group / "memory.current").read_text())))
    except (OSError, ValueError):
        pass
    return free


def _system_bytes() -> int:
    try:
        with open("/proc/meminfo") as lines:
            for line in lines:
                if line.startswith("MemAvailable:"):
                    return int(line.split()[1]) * 1024
    except OSError:
        pass
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def _bytes_of_process() -> int:
    """Return the bytes of address space that the process may still allocate (``ulimit -v``)."""
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    if limit == resource.RLIM_INFINITY:
        return 1 << 62
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[0])
    except (OSError, ValueError):
        return limit
    return max(0, limit - pages * resource.getpagesize())


def require_free(nbytes: int, what: str, backend: Backend = CPU, hint: str = "", temporary: int = 0) -> None:
    """Raise MemoryError if `nbytes` exceed the free memory of a device; `what` names the allocation.

    `temporary` of these bytes are needed only while the result is computed.
    """
    if nbytes < SMALL or nbytes <= (free := available_bytes(backend)):
        return
    where = "" if backend is CPU else f" on {backend.name}"
    raise MemoryError(f"{what} would need {_described(nbytes, temporary)}, {human(free)} are free{where}{hint}")


def checked_limit(max_bytes: float, who: str = "") -> int:
    """Return a user's limit as an integer number of bytes; raise TypeError or ValueError if it is not one."""
    who = who and f"{who}: "
    if not isinstance(max_bytes, Real) or isinstance(max_bytes, bool):
        raise TypeError(f"{who}max_bytes={max_bytes!r}: expected a number of bytes or None")
    if not max_bytes >= 0:
        raise ValueError(f"{who}max_bytes={max_bytes}: expected 0 bytes or more")
    return int(min(max_bytes, 1 << 62))


def fits(
    nbytes: int, max_bytes: int | None, backend: Backend = CPU, free: Callable[[Backend], int] | None = None
) -> bool:
    """Whether `nbytes` are within the user's limit, or without a limit within the free memory of a device.

    `free` returns the free bytes, for callers that cache them; by default it is `available_bytes`.
    """
    if max_bytes is not None:
        return nbytes <= checked_limit(max_bytes)
    return nbytes < SMALL or nbytes <= (free or available_bytes)(backend)


def require(
    nbytes: int, max_bytes: int | None, what: str, otherwise: str = "", backend: Backend = CPU, temporary: int = 0
) -> None:
    """Raise MemoryError if `nbytes` exceed the user's limit, or without a limit the free memory.

    `otherwise` describes an alternative that would fit. `temporary` of these bytes are needed only while the result is
    computed.
    """
    hint = f"; {otherwise}{_LAST}" if otherwise else _ALONE
    if max_bytes is None:
        require_free(nbytes, what, backend, hint, temporary)
    elif nbytes > checked_limit(max_bytes):
        raise MemoryError(f"{what} would need {_described(nbytes, temporary)}, the limit is {human(max_bytes)}{hint}")


def without_limit(message: str) -> str:
    """Return an error message without the advice to pass max_bytes=, for callers without that argument."""
    return message.replace(_ALONE, "").replace(_LAST, "")


def no_limit(function: Callable[P, R]) -> Callable[P, R]:
    """Remove the advice to pass max_bytes= from the errors of a function without that argument."""

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return function(*args, **kwargs)
        except MemoryError as error:
            error.args = (without_limit(str(error)),)
            raise

    return call


def advise(error: MemoryError, call: str) -> None:
    """Let an error advise a call that has the argument max_bytes=, in place of the argument alone."""
    error.args = (str(error).replace("pass max_bytes=", f"use {call}"),)


def _described(nbytes: int, temporary: int) -> str:
    """Return a number of bytes as text, with the part that is temporary."""
    return f"{human(nbytes)} ({human(temporary)} of it temporary)" if temporary else human(nbytes)
