"""What each process of the study `scaling` runs: a product of a distributed matrix, timed by all processes together.

    mpiexec -n 4 python -m benchmarks.studies.scaling_process '{"points": 5, "grid": [1000, 1000], "threads": 1}'

Process 0 prints a line of JSON.
"""

from __future__ import annotations

import json
import os
import sys
from math import prod
from typing import Any

import numpy as np
from mpi4py import MPI

import diagsparse as ds
from diagsparse import distributed, gallery


def run(problem: dict[str, Any]) -> dict[str, Any]:
    """Time products; all processes have to call this.

    Parameters
    ----------
    problem : dict
        ``threads`` of each process, ``repeats``, and ``points`` and ``grid`` of a stencil, or ``sites`` of a Heisenberg
        chain.

    Returns
    -------
    dict
        ``seconds`` of a product (for each sample the mean of some repetitions, until the last process ends), ``rows``,
        ``nnz``, ``halo_nbytes`` (the most that a process receives), ``processes``, ``norm`` of the result (its exact
        bits, in hexadecimal).
    """
    threads = problem["threads"]
    cores, first = sorted(os.sched_getaffinity(0)), MPI.COMM_WORLD.rank * threads
    os.sched_setaffinity(0, cores[first : first + threads])
    ds.set_num_threads(threads)
    if "sites" in problem:
        n = 2 ** problem["sites"]
        D = distributed.from_rows(lambda a, b: gallery.heisenberg(problem["sites"], rows=(a, b), format="hm"), (n, n))
    else:
        grid = tuple(problem["grid"])
        n = prod(grid)
        D = distributed.from_rows(
            lambda a, b: gallery.stencil(problem["points"], grid, rows=(a, b), format="hm"), (n, n)
        )
    x = distributed.vector(D, lambda a, b: 1 + _ramp(a, b))
    y = distributed.vector(D)
    D.matvec(x, out=y)
    comm, seconds = D.comm, []
    for _ in range(problem.get("samples", 5)):
        comm.Barrier()
        start = MPI.Wtime()
        for _ in range(problem["repeats"]):
            D.matvec(x, out=y)
        seconds.append(comm.allreduce(MPI.Wtime() - start, MPI.MAX) / problem["repeats"])
    halo = comm.allreduce(D.halo.receive_nbytes, MPI.MAX)
    return {
        "seconds": seconds, "rows": n, "nnz": D.nnz, "halo_nbytes": halo, "processes": comm.size,
        "norm": float(distributed.norm(y)).hex(),
    }  # fmt: skip


def _ramp(first: int, last: int) -> Any:
    """Return numbers in [0, 1) that depend on the row alone."""
    return (np.arange(first, last) % 1013) / 1013


if __name__ == "__main__":
    found = run(json.loads(sys.argv[1]))
    if MPI.COMM_WORLD.rank == 0:
        print(json.dumps(found), flush=True)
