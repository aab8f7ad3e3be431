"""Distributed matrices and vectors on a GPU: several processes, which are threads here, have parts of them there.

Messages pass through pinned memory, or directly, as those of an MPI that reads the memory of GPUs do. NCCL needs
processes of its own.
"""

import os
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from cases import random
from processes import mpiexec
from ranks import run

import diagsparse as ds
from diagsparse import distributed
from diagsparse._distributed import collective, exchange

pytestmark = pytest.mark.gpu
FORMATS = ("dia", "hm", "mdia", "csr", "qband")
DTYPES = ("float32", "float64", "complex64", "complex128")
PROGRAM = Path(__file__).parents[1] / "distributed" / "processes_on_gpus.py"
cupy = pytest.importorskip("cupy")


@pytest.fixture(autouse=True)
def without_mpi(monkeypatch):
    monkeypatch.setattr(collective, "_maximum", lambda: "maximum")
    monkeypatch.setattr(collective, "_keys", {})
    monkeypatch.setattr("sys.excepthook", lambda *error: None)
    monkeypatch.setattr(collective._abort, "after", None)
    monkeypatch.setattr(exchange, "_is_cuda_aware", lambda comm: True)


def matrix(n, dtype, offsets=(-700, -65, -3, -1, 0, 1, 2, 64, 699)):
    diagonals = [random(n - abs(k), dtype, "diagonal", k) for k in offsets]
    return sp.diags_array(diagonals, offsets=offsets, shape=(n, n)).tocsr()


def products(comm, A, x, X, engine):
    D = distributed.from_global(A if comm.rank == 0 else None, comm=comm, device="cuda", engine=engine)
    assert (D.device, D.engine, D.local.device) == ("cuda", engine, "cuda")
    v, V = (distributed.vector(D, lambda a, b, z=z: z[a:b]) for z in (x, X))
    assert isinstance(v.local, cupy.ndarray)
    y = D @ v
    out = D.matvec(v, out=y.copy(), alpha=2, beta=-1)
    return [one.gather(None) for one in (y, D @ V, out, D.T @ v)]


@pytest.mark.parametrize("engine", ["pinned", "cuda_mpi"])
@pytest.mark.parametrize("format", FORMATS)
def test_products(format, engine):
    dtype = DTYPES[FORMATS.index(format) % 4]
    S = matrix(1501, dtype)
    x, X = random(1501, dtype, "x"), random((1501, 3), dtype, "X")
    A = ds.array(S, format)
    found = {size: run(size, products, A, x, X, engine)[0] for size in (1, 3)}
    tolerance = 1e-4 if dtype in ("float32", "complex64") else 1e-12
    wanted = S @ x, S @ X, 2 * (S @ x) - S @ x, S.T @ x
    for size, results in found.items():
        for result, reference in zip(results, wanted, strict=True):
            assert np.allclose(result, reference, rtol=tolerance, atol=tolerance), size


@pytest.mark.parametrize("dtype", DTYPES)
def test_sums_have_the_same_bits(dtype):
    n = 3 * 8192 + 700
    x = random((n, 2), dtype, "x") * np.geomspace(1e-3, 1e3, n)[:, None].astype("float32")

    def sums(comm):
        X = distributed.vector(n, lambda a, b: x[a:b], comm=comm, device="cuda")
        u = distributed.Vector(X.local[:, 0].copy(), X._rows, comm, "cuda")
        return [np.asarray(one) for one in (distributed.sum(X), distributed.dot(X, X), distributed.sum(u),
                                            distributed.dot(u, u), distributed.norm(u))]  # fmt: skip

    first = run(1, sums)[0]
    assert np.allclose(first[1], (x.conj() * x).sum(axis=0), rtol=1e-4)
    for size in (2, 5):
        for result in run(size, sums):
            assert all(a.tobytes() == b.tobytes() for a, b in zip(first, result, strict=True))


def test_solution_and_powers():
    A = ds.gallery.stencil(5, (40, 50))

    def solved(comm):
        D = distributed.from_rows(
            lambda a, b: ds.gallery.stencil(5, (40, 50), rows=(a, b), format="hm"), A.shape, comm=comm, device="cuda",
            engine="pinned",
        )  # fmt: skip
        b = distributed.vector(D, 1.0)
        x, info = distributed.cg(D, b, rtol=1e-10, M="jacobi")
        powers = [distributed.power_multiply(D, b, 4, steps=steps).gather(None) for steps in (1, 2)]
        return info, x.gather(None), powers, (D @ D).gather(None)

    info, x, powers, square = run(3, solved)[0]
    assert info == 0 and np.allclose(A @ x, 1)
    assert np.allclose(powers[0], A @ (A @ (A @ (A @ np.ones(2000))))) and np.allclose(*powers)
    assert abs(square.to_scipy("csr") - (A @ A).tocsr()).max() < 1e-12


def test_operands_elsewhere_are_refused():
    def refused(comm):
        A = ds.array(matrix(1000, "float64"), "hm") if comm.rank == 0 else None
        D = distributed.from_global(A, comm=comm, device="cuda", engine="pinned")
        with pytest.raises(TypeError, match="x is on cpu, expected cuda"):
            D @ distributed.vector(1000, 1.0, comm=comm)
        with pytest.raises(ValueError, match="on GPUs"):
            distributed.from_global(A, comm=comm, engine="pinned")
        return D @ distributed.vector(D, 1.0)

    run(2, refused)


@pytest.mark.parametrize("processes", [1, 2, 3])
@pytest.mark.parametrize("engine", ["nccl", "pinned"])
def test_processes(engine, processes):
    if engine == "nccl":
        pytest.importorskip("nccl.core")
        alone = cupy.cuda.runtime.getDeviceCount() < processes
        if alone and os.environ.get("NCCL_MULTI_RANK_GPU_ENABLE") != "1":
            pytest.skip("needs a GPU for each process, or NCCL_MULTI_RANK_GPU_ENABLE=1 with NCCL 2.30.3")
    status, printed = mpiexec(processes, PROGRAM, engine)
    assert status == 0, printed
