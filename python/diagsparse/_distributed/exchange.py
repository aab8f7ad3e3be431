"""The exchange of the elements of x that a product needs from other processes, and what carries the messages.

An engine carries messages between the memory of processes: MPI between hosts; between GPUs NCCL, an MPI that reads and
writes their memory itself ("CUDA-aware"), or copies to pinned memory of the host and MPI.
"""

from __future__ import annotations

import socket
from collections.abc import Sequence
from typing import Any

import numpy as np

from .arrays import array_module, module_of
from .collective import attribute, same, together
from .ranges import Ranges

ENGINES = ("mpi", "nccl", "cuda_mpi", "pinned")
_TAG = 7101
_SLICES = 16  # ranges up to which elements are copied range by range

Message = tuple[Any, Any, Any]
"""The request of a message or None, the selection that it is for or None if it is sent, and its elements."""


class Selection:
    """Positions in a vector, in ascending order, which one message fills or consists of."""

    def __init__(self, positions: Ranges) -> None:
        self.size, few = positions.size, 0 < len(positions) <= _SLICES
        self.slices = [slice(a, b) for a, b in positions] if few else []
        self._indices: Any = None if few else positions.elements()

    def _at(self, x: Any) -> Any:
        """Return what indexes all elements of a vector at once: a slice, or indices on its device; None otherwise."""
        if self._indices is None:
            return self.slices[0] if len(self.slices) == 1 else None
        if type(self._indices) is not type(x):
            self._indices = array_module(x).asarray(self._indices)
        return self._indices

    def take(self, x: Any) -> Any:
        """Return these elements of a vector, or rows of a block, in C order: a view if they are contiguous."""
        xp, at = array_module(x), self._at(x)
        return xp.ascontiguousarray(x[at] if at is not None else xp.concatenate([x[one] for one in self.slices]))

    def target(self, x: Any) -> Any:
        """Return an array that receives a message: a view of `x` if that is possible, otherwise a new one."""
        if len(self.slices) == 1 and (view := x[self.slices[0]]).flags.c_contiguous:
            return view
        return array_module(x).empty((self.size, *x.shape[1:]), x.dtype)

    def put(self, message: Any, x: Any) -> None:
        """Store the elements of a message, unless they are a view of `x` already."""
        if len(self.slices) == 1 and x.flags.c_contiguous and message.dtype == x.dtype and _inside(message, x):
            return
        if (at := self._at(x)) is not None:
            x[at] = message
            return
        begin = 0
        for one in self.slices:
            x[one] = message[begin : (begin := begin + one.stop - one.start)]


def _inside(message: Any, x: Any) -> bool:
    """Whether an array is a view of another one on the same device."""
    return type(message) is type(x) and message.base is not None and (message.base is x or message.base is x.base)


class MpiExchange:
    """The messages of a product, which are the same for every x, carried by MPI between hosts.

    Attributes
    ----------
    receives, sends : list of (int, Selection)
        The other process, and which elements of the halo it sends, or which elements of x it gets.
    """

    engine = "mpi"

    def __init__(self, comm: Any, receives: Sequence[tuple[int, Ranges]], sends: Sequence[tuple[int, Ranges]]) -> None:
        self.comm = comm
        self.receives = [(peer, Selection(positions)) for peer, positions in receives]
        self.sends = [(peer, Selection(positions)) for peer, positions in sends]

    def start(self, x: Any, halo: Any) -> list[Message]:
        """Start the exchange of the rows `x` of this process; what is received is for `halo`.

        Return what `receive` needs. On a GPU, work that follows on the current stream runs at the same time.
        """
        pending: list[Message] = []
        for peer, selection in self.receives:
            message = selection.target(halo)
            pending.append((self.comm.Irecv(message.reshape(-1), peer, _TAG), selection, message))
        for peer, selection in self.sends:
            message = selection.take(x)
            pending.append((self.comm.Isend(message.reshape(-1), peer, _TAG), None, message))
        return pending

    def receive(self, pending: list[Message], halo: Any) -> list[Any]:
        """Wait until all messages have arrived, and store them in `halo`; return the requests of the sent ones."""
        for request, selection, message in pending:
            if selection is not None:
                request.Wait()
                selection.put(message, halo)
        return [request for request, selection, _ in pending if selection is None]

    def finish(self, sends: list[Any]) -> None:
        """Wait until the messages that are sent have been read, so that x may change."""
        for request in sends:
            request.Wait()


class PinnedExchange(MpiExchange):
    """Between GPUs, through pinned memory of the hosts and MPI."""

    engine = "pinned"

    def start(self, x: Any, halo: Any) -> list[Message]:
        cupy = array_module(x)
        pending: list[Message] = []
        for peer, selection in self.receives:
            message = _pinned(cupy, (selection.size, *halo.shape[1:]), halo.dtype)
            pending.append((self.comm.Irecv(message.reshape(-1), peer, _TAG), selection, message))
        for peer, selection in self.sends:
            elements = selection.take(x)
            message = _pinned(cupy, elements.shape, elements.dtype)
            elements.get(out=message, blocking=False)
            pending.append((peer, None, message))
        self._copied = cupy.cuda.get_current_stream().record()
        return pending

    def receive(self, pending: list[Message], halo: Any) -> list[Any]:
        self._copied.synchronize()
        sends = [
            self.comm.Isend(message.reshape(-1), peer, _TAG)
            for peer, selection, message in pending
            if selection is None
        ]
        cupy = array_module(halo)
        for request, selection, message in pending:
            if selection is not None:
                request.Wait()
                selection.put(cupy.asarray(message), halo)
        cupy.cuda.get_current_stream().synchronize()  # the pinned memory is used again
        return sends


class CudaMpiExchange(MpiExchange):
    """Between GPUs, by an MPI that reads and writes their memory itself."""

    engine = "cuda_mpi"

    def start(self, x: Any, halo: Any) -> list[Message]:
        pending: list[Message] = [(None, selection, selection.target(halo)) for _, selection in self.receives]
        pending += [(None, None, selection.take(x)) for _, selection in self.sends]
        self._ready = array_module(x).cuda.get_current_stream().record()
        return pending

    def receive(self, pending: list[Message], halo: Any) -> list[Any]:
        self._ready.synchronize()  # MPI knows no streams
        receives, sends = pending[: len(self.receives)], pending[len(self.receives) :]
        posted = [
            (self.comm.Irecv(message.reshape(-1), peer, _TAG), selection, message)
            for (peer, _), (_, selection, message) in zip(self.receives, receives, strict=True)
        ]
        posted += [
            (self.comm.Isend(message.reshape(-1), peer, _TAG), None, message)
            for (peer, _), (_, _, message) in zip(self.sends, sends, strict=True)
        ]
        return super().receive(posted, halo)


class NcclExchange(MpiExchange):
    """Between GPUs, by NCCL, on a stream of its own that waits for the current one, and for which that one waits."""

    engine = "nccl"

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._nccl: Any = nccl_communicator(self.comm)
        self._stream: Any = None

    def start(self, x: Any, halo: Any) -> list[Message]:
        from nccl.core import group

        cuda = array_module(x).cuda
        pending: list[Message] = [(None, selection, selection.target(halo)) for _, selection in self.receives]
        pending += [(None, None, selection.take(x)) for _, selection in self.sends]
        self._stream = self._stream or cuda.Stream(non_blocking=True)
        self._stream.wait_event(cuda.get_current_stream().record())
        with group():
            for (peer, _), (_, _, message) in zip(self.receives, pending, strict=False):
                self._nccl.recv(_bytes(message), peer, stream=self._stream.ptr)
            for (peer, _), (_, _, message) in zip(self.sends, pending[len(self.receives) :], strict=True):
                self._nccl.send(_bytes(message), peer, stream=self._stream.ptr)
        return pending

    def receive(self, pending: list[Message], halo: Any) -> list[Any]:
        cuda = array_module(halo).cuda
        cuda.get_current_stream().wait_event(self._stream.record())
        for _, selection, message in pending[: len(self.receives)]:
            selection.put(message, halo)
        return []


_KINDS = {kind.engine: kind for kind in (MpiExchange, NcclExchange, CudaMpiExchange, PinnedExchange)}


def exchange_by(engine: str, *args: Any) -> MpiExchange:
    """Return the exchange by an engine; the other arguments are those of `MpiExchange`."""
    return _KINDS[engine](*args)


def chosen_engine(comm: Any, device: str, wanted: str | None) -> str:
    """Return the engine for matrices on this device: the one that is asked for, or the fastest one that there is.

    Every process has to call this. Raise ValueError or ImportError on all of them if the engine cannot be used.
    """
    same(comm, wanted, "engine")
    if wanted is not None and wanted not in ENGINES:
        raise ValueError(f"engine={wanted!r}, expected one of {', '.join(ENGINES)}")
    if device == "cpu":
        if wanted not in (None, "mpi"):
            raise ValueError(f'engine="{wanted}" is for matrices on GPUs, expected "mpi"')
        return "mpi"
    if wanted == "mpi":
        raise ValueError(f'engine="mpi" is for matrices on the cpu, expected one of {", ".join(ENGINES[1:])}')
    if wanted == "pinned":
        return wanted
    gpus = comm.allgather(together(comm, lambda: _gpu(device)))
    found = comm.allgather((_has_nccl(), _is_cuda_aware(comm)))
    nccl, cuda_aware = map(all, zip(*found, strict=True))
    if wanted is None:
        return "nccl" if nccl and len(set(gpus)) == comm.size else "cuda_mpi" if cuda_aware else "pinned"
    if wanted == "nccl" and not nccl:
        raise ValueError('engine="nccl": nccl4py is not installed for all processes')
    if wanted == "cuda_mpi" and not cuda_aware:
        raise ValueError('engine="cuda_mpi": this MPI does not say that it is CUDA-aware (mpi_memory_alloc_kinds)')
    return wanted


def _has_nccl() -> bool:
    try:
        import nccl.core  # noqa: F401
    except (ImportError, OSError, RuntimeError):
        return False
    return True


def _gpu(device: str) -> tuple[str, Any]:
    """Return what identifies a GPU."""
    properties = module_of(device).cuda.runtime.getDeviceProperties(int(device.partition(":")[2] or 0))
    return socket.gethostname(), properties["uuid"]


def _is_cuda_aware(comm: Any) -> bool:
    """Whether the MPI says so, as version 4.1 of the standard prescribes."""
    kinds = comm.Get_info().get("mpi_memory_alloc_kinds") or ""
    return any(kind.startswith("cuda") for kind in kinds.split(","))


def nccl_communicator(comm: Any) -> Any:
    """Return NCCL's communicator of the same processes, on the current GPU of each; created once."""
    import cupy
    from nccl.core import Communicator, get_unique_id

    known: dict[int, Any] = attribute(comm, "nccl", dict)
    if (device := cupy.cuda.Device().id) not in known:
        identifier = comm.bcast(get_unique_id() if comm.rank == 0 else None)
        known[device] = Communicator.init(comm.size, comm.rank, identifier)
    return known[device]


def _pinned(cupy: Any, shape: tuple[int, ...], dtype: Any) -> Any:
    """Return an uninitialized array in pinned memory."""
    count = int(np.prod(shape))
    memory = cupy.cuda.alloc_pinned_memory(max(1, count * np.dtype(dtype).itemsize))
    return np.frombuffer(memory, dtype, count).reshape(shape)


def _bytes(message: Any) -> Any:
    return message.reshape(-1).view(np.uint8)
