"""MPI in the threads of one process: the part of mpi4py's communicators that diagsparse.distributed uses.

It is strict where an MPI library may be lenient: a send ends when it is received, a buffer that is sent is read as late
as possible, and what never arrives is an error after some seconds.
"""

import pickle
import threading
from collections import defaultdict, deque

import numpy as np

PATIENCE = 60  # seconds


def run(size, function, *arguments):
    """Call ``function(comm, *arguments)`` on every rank, and return the results in the order of the ranks.

    If it raises on some ranks, the others end as well, and the error of the first one is raised here.
    """
    world = _World(size)
    results, errors = [None] * size, {}

    def called(rank):
        try:
            results[rank] = function(Communicator(world, rank), *arguments)
        except Exception as error:
            errors[rank] = error
            world.fail()

    threads = [threading.Thread(target=called, args=(rank,), daemon=True) for rank in range(size)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        first = min(errors, key=lambda rank: (isinstance(errors[rank], Lost), rank))
        errors[first].add_note(f"on process {first} of {size}")
        raise errors[first]
    assert not any(world.messages.values()), "messages that nobody has received"
    return results


class Lost(Exception):
    """What other ranks should have sent has not come: they have failed, or wait for something else."""


class _World:
    def __init__(self, size):
        self.size, self.failed, self.slots = size, False, [None] * size
        self.messages, self.changed = defaultdict(deque), [threading.Condition() for _ in range(size)]
        self.barrier = threading.Barrier(size)

    def fail(self):
        self.failed = True
        self.barrier.abort()
        for one in self.changed:
            with one:
                one.notify_all()

    def wait(self, rank, ready, what):
        """Wait until ``ready()``, which is asked again when a message for this rank has come or gone."""
        with self.changed[rank]:
            if not self.changed[rank].wait_for(lambda: self.failed or ready(), PATIENCE) or not ready():
                raise Lost(f"process {rank}: {what}")

    def together(self, rank, value):
        """Return the values of all ranks."""
        try:
            self.slots[rank] = value
            self.barrier.wait(PATIENCE)
            values = list(self.slots)
            self.barrier.wait(PATIENCE)
        except threading.BrokenBarrierError:
            raise Lost(f"process {rank}: a call that all processes make") from None
        return values


class _Request:
    """A message that is sent or received: ``wait()`` and ``Wait()`` end when that is done."""

    def __init__(self, wait):
        self.wait = self.Wait = wait


class Communicator:
    """The processes of a `_World`, as one of them sees them."""

    def __init__(self, world, rank):
        self._world, self.rank, self.size = world, rank, world.size
        self._attributes = {}

    # ---- duplicates, and objects that belong to a communicator ------------------------------------------
    @staticmethod
    def Create_keyval(delete_fn=None):
        return object()

    def Get_attr(self, key):
        return self._attributes.get(key)

    def Set_attr(self, key, value):
        self._attributes[key] = value

    def Dup(self):
        self._world.together(self.rank, None)
        return Communicator(self._world, self.rank)

    # ---- messages ---------------------------------------------------------------------------------
    def Isend(self, buffer, dest, tag):
        world, letter = self._world, [buffer, False]
        with world.changed[dest]:
            world.messages[self.rank, dest, tag].append(letter)
            world.changed[dest].notify_all()
        return _Request(lambda: world.wait(self.rank, lambda: letter[1], f"nobody receives a message for {dest}"))

    def Irecv(self, buffer, source, tag):
        def received():
            data = self._next(source, tag)
            assert len(data) == len(buffer), f"{len(data)} bytes from {source}, expected {len(buffer)}"
            buffer[:] = data

        return _Request(received)

    def isend(self, value, dest, tag):
        return self.Isend(pickle.dumps(value), dest, tag)

    def send(self, value, dest, tag):
        self.isend(value, dest, tag).wait()

    def recv(self, source, tag):
        return pickle.loads(self._next(source, tag))

    def _next(self, source, tag):
        """Return a copy of the next message from another rank."""
        world, letters = self._world, self._world.messages[source, self.rank, tag]
        world.wait(self.rank, lambda: letters, f"no message from {source}")
        letter = letters.popleft()
        data = letter[0] if isinstance(letter[0], bytes) else letter[0].copy()
        with world.changed[source]:
            letter[1] = True
            world.changed[source].notify_all()
        return data

    # ---- what all ranks call ----------------------------------------------------------------------
    def allgather(self, value):
        return [pickle.loads(one) for one in self._world.together(self.rank, pickle.dumps(value))]

    def gather(self, value, root):
        values = self._world.together(self.rank, pickle.dumps(value))
        return [pickle.loads(one) for one in values] if self.rank == root else None

    def bcast(self, value, root):
        return pickle.loads(self._world.together(self.rank, pickle.dumps(value))[root])

    def alltoall(self, values):
        sent = self._world.together(self.rank, [pickle.dumps(value) for value in values])
        return [pickle.loads(one[self.rank]) for one in sent]

    def Allreduce(self, values, result, op):
        assert op == "maximum"
        np.max(self._world.together(self.rank, values.copy()), axis=0, out=result)
