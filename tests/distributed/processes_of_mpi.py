"""What `test_processes.py` runs under mpiexec: checks of everything, and digests that do not depend on the processes.

The arguments are a folder for files, and the file that process 0 writes: the digests, as JSON. A check that fails
prints its error, and ends all processes.
"""

import json
import sys
from pathlib import Path

sys.path += [str(Path(__file__).parents[1]), str(Path(__file__).parent)]

import every_process
import every_vector
import same_bits
import wrong_calls
from every_process import DTYPES, FORMATS, SPLITS
from mpi4py import MPI

import diagsparse as ds
from diagsparse import distributed


def checks(comm, folder):
    """Check each format; its type and the ranges of rows differ from one number of processes to the next."""
    for i, format in enumerate(FORMATS):
        which = i + comm.size
        dtype, kind, shapes = DTYPES[which % 4], SPLITS[which % 4], (every_process.SHAPES[which % 3],)
        every_process.everything(comm, format, dtype, kind, folder, shapes, brief=True)
        every_process.of_two_formats(comm, (format, FORMATS[which % 5]), DTYPES[which % 4], kind)
    kind = SPLITS[comm.size % 4]
    every_process.recurrences(comm, FORMATS[comm.size % 3], "float64", kind)
    every_vector.reductions(comm, kind, (0, 8193, 3 * 8192 + 5))
    every_process.solvers(comm, FORMATS[comm.size % 5], "complex128", kind)
    if comm.size <= 2:
        every_vector.arithmetic(comm)
        wrong_calls.errors(comm, folder)


def files_of_fewer(comm, folder):
    """Save with some of the processes and load with all of them, and the reverse."""
    among = comm.rank < (comm.size + 1) // 2
    some = comm.Split(among)
    for format in ("hm", "qband"):
        whole, A = every_process.matrix((61, 61), "float64", format)
        for name, saving, loading in (("fewer", some, comm), ("more", comm, some)):
            if among or saving is comm:
                distributed.save(folder / f"{name}-{format}", distributed.from_global(A, comm=saving))
            comm.barrier()
            if among or loading is comm:
                every_process.loaded(loading, whole, format, folder / f"{name}-{format}")
    some.Free()


def main(folder, output):
    ds.set_num_threads(1)
    comm = MPI.COMM_WORLD
    checks(comm, folder)
    files_of_fewer(comm, folder)
    found = same_bits.digests(comm, (same_bits.SMALL,))
    assert comm.allgather(found) == [found] * comm.size
    if comm.rank == 0:
        output.write_text(json.dumps({"processes": comm.size, "digests": found}))


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
