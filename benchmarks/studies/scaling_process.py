"""What each process of the study `scaling` runs: a product of a distributed matrix, timed by all processes together.

    mpiexec -n 4 python -m benchmarks.studies.scaling_process '{"sites": 16, "threads": 1, "repeats": 10, "warm_up": 1}'

Process 0 prints a line of JSON.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
from collections.abc import Callable
from functools import partial
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
        ``threads`` of each process, ``repeats``, ``warm_up`` in seconds, and ``points`` and ``grid`` of a stencil, or
        ``sites`` of a Heisenberg chain.

    Returns
    -------
    dict
        ``seconds`` of a product and ``alone``, those of the product of the rows and columns of each process, without
        messages (for each sample the mean of some repetitions, until the last process ends), ``rows``, ``nnz``,
        ``halo_nbytes`` (the most that a process receives), ``processes``, ``digest`` of the whole result.
    """
    threads = problem["threads"]
    cores, first = sorted(os.sched_getaffinity(0)), MPI.COMM_WORLD.rank * threads
    if first + threads <= len(cores):  # otherwise mpiexec has bound the process itself
        os.sched_setaffinity(0, cores[first : first + threads])
    ds.set_num_threads(threads)
    if "sites" in problem:
        n = 2 ** problem["sites"]
        rows = partial(gallery.heisenberg, problem["sites"], format="hm")
    else:
        grid = tuple(problem["grid"])
        n = prod(grid)
        rows = partial(gallery.stencil, problem["points"], grid, format="hm")
    D = distributed.from_rows(lambda a, b: rows(rows=(a, b)), (n, n))
    first, last = D.row_range
    x = distributed.vector(D, lambda a, b: 1 + _ramp(a, b))
    y = distributed.vector(D)
    seconds = _samples(D.comm, lambda: D.matvec(x, out=y), problem)
    whole = y.gather()
    own = ds.plan_matvec(rows(rows=(first, last))[:, first:last])
    alone = _samples(D.comm, lambda: own(x.local, out=y.local), problem)
    halo = D.comm.allreduce(D.halo.receive_nbytes, MPI.MAX)
    return {
        "seconds": seconds, "alone": alone, "rows": n, "nnz": D.nnz, "halo_nbytes": halo, "processes": D.comm.size,
        "digest": whole is not None and hashlib.sha256(whole).hexdigest(),
    }  # fmt: skip


def _samples(comm: Any, product: Callable[[], Any], problem: dict[str, Any]) -> list[float]:
    """Return the seconds of a product, several times, after some seconds of them."""
    repeats, seconds = problem["repeats"], []
    start = MPI.Wtime()
    while comm.allreduce(MPI.Wtime() - start, MPI.MAX) < problem["warm_up"]:
        for _ in range(repeats):
            product()
    for _ in range(5):
        comm.Barrier()
        start = MPI.Wtime()
        for _ in range(repeats):
            product()
        seconds.append(comm.allreduce(MPI.Wtime() - start, MPI.MAX) / repeats)
    return seconds


def _ramp(first: int, last: int) -> Any:
    """Return numbers in [0, 1) that depend on the row alone."""
    return (np.arange(first, last) % 1013) / 1013


if __name__ == "__main__":
    found = run(json.loads(sys.argv[1]))
    if MPI.COMM_WORLD.rank == 0:
        print(json.dumps(found), flush=True)
