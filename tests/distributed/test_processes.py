"""Processes of MPI: all calls with 1 to 7 of them, the same bits for any number, and how they end after errors."""

import json
import sys
import time
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
import same_bits
from processes import mpiexec

PROGRAM = Path(__file__).with_name("processes_of_mpi.py")


@cache
def digests(processes):
    """Run all checks with some processes, and return the digests of their results."""
    with TemporaryDirectory() as folder:
        output = Path(folder) / "digests.json"
        status, printed = mpiexec(processes, PROGRAM, folder, output, timeout=120)
        assert status == 0, printed
        found = json.loads(output.read_text())
    if found["processes"] != processes:
        pytest.skip("mpiexec is not that of mpi4py's MPI library")
    return found["digests"]


@pytest.mark.parametrize("processes", [1, 2, 3, 4, 7])
def test_processes(processes):
    assert not same_bits.differing(digests(processes), digests(1))


def ended(tmp_path, code, processes=2):
    """Return the exit status and the output of a program that ends early, which takes it less than ten seconds."""
    program = tmp_path / "program.py"
    program.write_text(BEFORE + code)
    mpiexec(1, program, timeout=60)  # imports
    before = time.monotonic()
    status, printed = mpiexec(processes, program, timeout=60)
    seconds = time.monotonic() - before
    assert seconds < 10, f"{seconds:.3g} s\n{printed}"
    return status, printed


BEFORE = """
import os, signal
import diagsparse as ds
from diagsparse import distributed
D = distributed.from_global(ds.gallery.tridiagonal(50))
x = distributed.vector(D, 1.0)
y = D @ x
rank, size = D.comm.rank, D.comm.size
"""


def test_an_exception_ends_all_processes(tmp_path):
    status, printed = ended(tmp_path, "if rank == size - 1: raise LookupError('no more rows')\nD @ x\n")
    assert status != 0 and "LookupError: no more rows" in printed
    assert "diagsparse.distributed: process 1 ends all processes: LookupError: no more rows" in printed


def test_hooks_for_exceptions_still_run(tmp_path):
    status, printed = ended(tmp_path, """
import sys
before = sys.excepthook
def hook(kind, value, traceback):
    print("the program's own hook")
    before(kind, value, traceback)
sys.excepthook = hook
E = distributed.from_global(ds.gallery.tridiagonal(50))
if rank == size - 1: raise LookupError('no more rows')
E @ x
""")  # fmt: skip
    assert status != 0 and printed.count("the program's own hook") == 1 and "RecursionError" not in printed


def test_exceptions_after_a_communicator_is_freed(tmp_path):
    """They still end all processes; and there may be any number of communicators."""
    status, printed = ended(tmp_path, """
from mpi4py import MPI
for _ in range(2200):  # more than MPICH has
    half = MPI.COMM_WORLD.Split(0)
    E = distributed.vector(50, comm=half)
    half.Free()
print("all freed")
if rank == size - 1: raise LookupError('no more rows')
D @ x
""")  # fmt: skip
    assert status != 0 and printed.count("all freed") == 2
    assert "process 1 ends all processes: LookupError: no more rows" in printed


def test_messages_of_the_program_are_its_own(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(BEFORE + """
import numpy as np
from mpi4py import MPI
world, received = MPI.COMM_WORLD, np.zeros(2)
request = world.Irecv(received, MPI.ANY_SOURCE, MPI.ANY_TAG)
assert distributed.sum(D @ x) == 2
world.Send(np.array([7.0, rank]), 1 - rank)
request.Wait()
assert received.tolist() == [7, 1 - rank] and not D.comm == world
E = distributed.from_global(ds.gallery.tridiagonal(50), comm=D.comm)
assert E.comm == D.comm == distributed.vector(50).comm
""")  # fmt: skip
    status, printed = mpiexec(2, program, timeout=60)
    assert status == 0, printed


@pytest.mark.parametrize("end", ["os._exit(3)", "os.kill(os.getpid(), signal.SIGKILL)"])
def test_the_death_of_a_process_ends_all(tmp_path, end):
    status, _ = ended(tmp_path, f"if rank == size - 1: {end}\nD @ x\n")
    assert status != 0


def test_without_mpi4py_the_error_says_what_to_install(monkeypatch):
    from diagsparse import distributed

    monkeypatch.setitem(sys.modules, "mpi4py", None)
    with pytest.raises(ImportError, match=r'pip install "diagsparse\[mpi\]"'):
        distributed.vector(10)
    assert len(distributed.halo([1], (10, 10), 2)) == 2  # which needs no MPI
