"""What all processes do together: communicators, and checks that fail on all of them if they fail on one."""

from __future__ import annotations

import sys
import time
import zlib
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from .._backends.arguments import integer
from .ranges import Ranges

R = TypeVar("R")

#: Errors of one process are raised by all others as the nearest of these, with the message of that process.
_RAISED = (ValueError, TypeError, MemoryError, NotImplementedError, OSError)


def communicator(comm: Any = None) -> Any:
    """Return a duplicate of a communicator of mpi4py, by default of that of all processes.

    Messages on the duplicate do not meet those of the program. Every communicator has one, which is created when it is
    used first, by all of its processes, and freed with it. Processes alone exchange nothing and need none.

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
    if not hasattr(comm, "Get_attr"):
        raise TypeError(f"comm is {comm!r}, expected a communicator of mpi4py")
    if comm.size == 1:
        return comm
    if _abort.after is None:  # once: a later hook may call this one
        _abort.after, sys.excepthook = sys.excepthook, _abort
    if attribute(comm, "is a duplicate", lambda: False):
        return comm
    return attribute(comm, "duplicate", lambda: _duplicate(comm), lambda comm, key, duplicate: duplicate.Free())


def _duplicate(comm: Any) -> Any:
    duplicate = comm.Dup()
    attribute(duplicate, "is a duplicate", lambda: True)
    return duplicate


_keys: dict[str, int] = {}


def attribute(comm: Any, name: str, create: Callable[[], Any], free: Callable[..., Any] | None = None) -> Any:
    """Return an object that belongs to a communicator, and does not pass to one that has its handle later.

    ``free(comm, key, object)`` is called when the communicator is freed.
    """
    if name not in _keys:
        _keys[name] = type(comm).Create_keyval(delete_fn=free)
    found = comm.Get_attr(_keys[name])
    if found is None:
        comm.Set_attr(_keys[name], found := create())
    return found


class _Abort:
    """The hook for exceptions that nobody handles: prints the exception, and ends all processes."""

    after: Any = None

    def __call__(self, kind: Any, value: Any, traceback: Any) -> None:
        from mpi4py import MPI

        self.after(kind, value, traceback)
        if MPI.Is_finalized():
            return
        world, name = MPI.COMM_WORLD, f"{kind.__name__}: {value}"
        print(f"diagsparse.distributed: process {world.rank} ends all processes: {name}", file=sys.stderr)
        sys.stdout.flush()
        sys.stderr.flush()
        time.sleep(1)  # mpiexec forwards what was printed, but drops what it has not yet read at an abort
        world.Abort(1)


_abort = _Abort()


def together(comm: Any, function: Callable[[], R]) -> R:
    """Call a function on all processes; if it raises on some of them, raise on all.

    Those without an error of their own raise the first one of the others, with its message. Every process has to call
    this, and the function must not communicate.
    """
    result = None
    error: BaseException | None = None
    try:
        result = function()
    except (Exception, SystemExit) as raised:
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


def requested(comm: Any, asked: dict[int, Ranges]) -> dict[int, Ranges]:
    """Tell other processes which of their rows or elements are needed, and return what they need of this one."""
    requests: list[Any] = [None] * comm.size
    for peer, part in asked.items():
        requests[peer] = (part.starts, part.stops)
    return {peer: Ranges(*answer) for peer, answer in enumerate(comm.alltoall(requests)) if answer}


def checked_root(comm: Any, root: int | None, who: str) -> int | None:
    """Return the rank of a process, or None for all of them; raise ValueError or TypeError for anything else."""
    if root is not None and not 0 <= (root := integer(root, f"{who}: root")) < comm.size:
        raise ValueError(f"{who}: root={root}, expected 0 to {comm.size - 1}, or None")
    return root


def agree(comm: Any, error: Exception | None, value: tuple[str, Any] | None) -> None:
    """Raise on all processes if there is an error on one of them, or if the value (what it is, value) differs.

    One reduction of three numbers, if all is well.
    """
    if comm.size == 1:
        if error is not None:
            raise error
        return
    code = zlib.crc32(repr(value).encode())
    mine, most = np.array([error is not None, code, -code], np.int64), np.empty(3, np.int64)
    comm.Allreduce(mine, most, op=_maximum())
    if most[0]:
        together(comm, lambda: raise_it(error))
    if most[1] != -most[2]:
        assert value is not None
        same(comm, value[1], value[0])


def raise_it(error: Exception | None) -> None:
    """Raise an error, if there is one."""
    if error is not None:
        raise error


def _maximum() -> Any:
    from mpi4py import MPI

    return MPI.MAX
