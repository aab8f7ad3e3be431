"""What all processes do together: communicators, and checks that fail on all of them if they fail on one."""

from __future__ import annotations

import sys
import zlib
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

R = TypeVar("R")
_TAG, _TAGS = 8192, 8192  # the first tag of exchanges, and how many are used in turn

#: Errors of one process are raised by all others as the nearest of these, with the message of that process.
_RAISED = (ValueError, TypeError, MemoryError, NotImplementedError)


def communicator(comm: Any = None) -> Any:
    """Return a communicator of mpi4py, by default that of all processes.

    An exception that ends one of several processes then ends all of them (``MPI_Abort``), since the others would wait
    for it forever.
    """
    if comm is None:
        try:
            from mpi4py import MPI
        except (ImportError, RuntimeError) as error:  # mpi4py is missing, or finds no MPI library
            raise ImportError(
                f'diagsparse.distributed needs mpi4py and an MPI library: pip install "diagsparse[mpi]" ({error})'
            ) from None
        comm = MPI.COMM_WORLD
    if comm.size > 1 and _abort.after is None:  # once: a later hook may call this one
        _abort.after, sys.excepthook, _abort.comm = sys.excepthook, _abort, comm
    return comm


class _Abort:
    """The hook for exceptions that nobody handles: prints the exception, and ends all processes."""

    after: Any = None
    comm: Any = None

    def __call__(self, kind: Any, value: Any, traceback: Any) -> None:
        self.after(kind, value, traceback)
        if not issubclass(kind, (SystemExit, GeneratorExit)):
            name = f"{kind.__name__}: {value}"
            print(f"diagsparse.distributed: process {self.comm.rank} ends all processes: {name}", file=sys.stderr)
            sys.stdout.flush()
            sys.stderr.flush()
            self.comm.Abort(1)


_abort = _Abort()


def together(comm: Any, function: Callable[[], R]) -> R:
    """Call a function on all processes; if it raises on some of them, raise on all.

    Those without an error of their own raise the first one of the others, with its message. Every process has to call
    this, and the function must not communicate.
    """
    result, error = None, None
    try:
        result = function()
    except Exception as raised:
        error = raised
    if comm.size == 1:
        if error is not None:
            raise error
        return result  # type: ignore[return-value]
    kind = next((i for i, k in enumerate(_RAISED) if isinstance(error, k)), -1)
    found = [e for e in comm.allgather(None if error is None else (comm.rank, kind, str(error))) if e]
    if error is not None:
        raise error
    if found:
        rank, kind, message = found[0]
        raise (_RAISED[kind] if kind >= 0 else RuntimeError)(f"process {rank}: {message}")
    return result  # type: ignore[return-value]


def same(comm: Any, value: R, what: str) -> R:
    """Return a value that is the same on all processes; raise ValueError on all of them if it is not."""
    values = comm.allgather(value)
    for rank, other in enumerate(values):
        if other != values[0]:
            raise ValueError(f"{what} differs: {values[0]} on process 0, {other} on process {rank}")
    return value


class Agreement:
    """A check of all processes that runs while they do something else: errors, and a value that has to be the same.

    Every process creates one, with its error, if there is one, and its value as (what it is, value). Then every process
    calls `wait`.

    Attributes
    ----------
    tag : int
        For the messages of what they do meanwhile.
    """

    def __init__(self, comm: Any, error: Exception | None, value: tuple[str, Any] | None) -> None:
        self._comm, self._error, self._value, self._request = comm, error, value, None
        self.tag = next_tag(comm)
        if comm.size > 1:
            code = zlib.crc32(repr(value).encode())
            self._mine, self._most = np.array([error is not None, code, -code], np.int64), np.empty(3, np.int64)
            self._request = comm.Iallreduce(self._mine, self._most, op=_maximum())

    def holds(self) -> bool:
        """Wait for the others, and return whether there is neither an error nor another value on any of them."""
        if self._request is None:
            return self._error is None
        self._request.Wait()
        return not self._most[0] and self._most[1] == -self._most[2]

    def wait(self) -> None:
        """Wait for the others, and raise on all processes unless it holds."""
        if self.holds():
            return
        together(self._comm, lambda: _raise(self._error))
        assert self._value is not None
        same(self._comm, self._value[1], self._value[0])


_exchanges: dict[Any, int] = {}


def next_tag(comm: Any) -> int:
    """Return a tag for the messages of the next exchange, which differ from those of one that some process gave up."""
    key = comm.py2f() if hasattr(comm, "py2f") else id(comm)
    _exchanges[key] = _exchanges.get(key, 0) + 1
    return _TAG + _exchanges[key] % _TAGS


def _raise(error: Exception | None) -> None:
    if error is not None:
        raise error


def _maximum() -> Any:
    from mpi4py import MPI

    return MPI.MAX
