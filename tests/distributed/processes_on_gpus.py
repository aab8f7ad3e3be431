"""What `test_gpu_distributed.py` runs under mpiexec: products and solutions of processes that have a GPU, or share one.

The argument is the engine. A check that fails prints its error, and ends all processes.
"""

import sys
from pathlib import Path

sys.path += [str(Path(__file__).parents[1]), str(Path(__file__).parent)]

import cupy
import every_process
import numpy as np
from mpi4py import MPI

from diagsparse import distributed, gallery
from diagsparse._distributed.exchange import exchange_by
from diagsparse._distributed.ranges import Ranges


def products(comm, format, dtype, **where):
    """Products with integers, which are exact, for uneven ranges of rows."""
    for shape, kind in zip(every_process.SHAPES, every_process.SPLITS, strict=False):
        whole, A = every_process.matrix(shape, dtype, format)
        ranges = every_process.split(shape[0], comm.size, kind)
        D = distributed.from_global(A, comm=comm, row_ranges=ranges, **where)
        assert D.engine == where["engine"]
        for columns in ((), (3,)):
            x = every_process.integers((shape[1], *columns), dtype, "x")
            v = distributed.vector(D, lambda a, b, x=x: x[a:b])
            y = D @ v
            every_process.equal(y.gather(None), whole @ x)
            every_process.equal(D.matvec(v, out=y, alpha=2, beta=-1).gather(None), whole @ x)
            every_process.equal((D.T @ y).gather(None), whole.T @ (whole @ x))


def solution(comm, **where):
    """A solution, powers, and a product of two matrices."""
    A = gallery.stencil(5, (40, 50))
    D = distributed.from_rows(
        lambda a, b: gallery.stencil(5, (40, 50), rows=(a, b), format="hm"), A.shape, comm=comm, **where
    )
    b = distributed.vector(D, 1.0)
    x, info = distributed.cg(D, b, rtol=1e-10, M="jacobi")
    assert info == 0 and np.allclose(A @ x.gather(None), 1)
    for steps in (1, 2):
        every_process.equal(
            distributed.power_multiply(D, b, 3, steps=steps).gather(None), A @ (A @ (A @ np.ones(2000)))
        )
    assert abs((D @ D).gather(None).to_scipy("csr") - (A @ A).tocsr()).max() == 0


def to_itself(comm, engine):
    """An exchange in which each process receives from the one before and from itself."""
    before, after = (comm.rank - 1) % comm.size, (comm.rank + 1) % comm.size
    parts = {comm.rank: Ranges([0, 7], [2, 9]), before: Ranges([3], [6])}
    sends = {comm.rank: Ranges([1, 4], [3, 6]), after: Ranges([5], [8])}
    if comm.size == 1:
        parts, sends = {0: Ranges([0, 7], [2, 9])}, {0: Ranges([1, 4], [3, 6])}
    x, halo = cupy.arange(10.0) + 100 * comm.rank, cupy.zeros(9)
    messages = exchange_by(engine, comm, list(parts.items()), list(sends.items()))
    for _ in range(3):
        messages.finish(messages.receive(messages.start(x, halo), halo))
    own = 100 * comm.rank + np.array([1, 2, 4, 5])
    from_before = [0, 0, 0] if comm.size == 1 else (100 * before + np.array([5, 6, 7])).tolist()
    every_process.equal(halo.get(), np.array([*own[:2], 0, *from_before, 0, *own[2:]], float))


def main(engine):
    comm = MPI.COMM_WORLD
    index = comm.rank % cupy.cuda.runtime.getDeviceCount()
    where = {"device": f"cuda:{index}", "engine": engine}
    with cupy.cuda.Device(index):
        to_itself(comm, engine)
    for format, dtype in zip(every_process.FORMATS, [*every_process.DTYPES, "float64"], strict=True):
        products(comm, format, dtype, **where)
    solution(comm, **where)


if __name__ == "__main__":
    main(sys.argv[1])
