"""Incomplete factors of matrices on a GPU: the same factors as on the CPU, and solutions with arrays there."""

import numpy as np
import pytest
import scipy.sparse as sp
from cases import NO_CUDA
from libraries import NAMES, make, read
from triangles import OPERATIONS, dominant, values

import diagsparse as ds

pytestmark = [pytest.mark.gpu, pytest.mark.skipif(not ds.cuda_available(), reason=NO_CUDA)]


@pytest.mark.parametrize("dtype", ["float64", "complex64"])
def test_as_on_the_cpu(dtype):
    sparse = dominant(sp.csr_array(ds.gallery.stencil(5, (70, 66))), dtype)
    hermitian = sp.csr_array((sparse + sparse.conj().T) / 2).astype(dtype)
    b = values(np.random.default_rng(0), dtype, 70 * 66, 2)
    tolerance = 1e3 * np.finfo(dtype).eps
    for format in ("hm", "csr"):
        for matrix, factor in ((sparse, ds.ilu0), (hermitian, ds.ic0)):
            for sweeps in (None, 3):
                A = ds.array(matrix, format)
                host, M = factor(A, sweeps=sweeps), factor(A.to("cuda"), sweeps=sweeps)
                assert M.L.device.startswith("cuda") and ", cuda" in repr(M) and M.nbytes > 0
                assert abs(M.L.to("cpu") - host.L).max() == 0 and abs(M.U.to("cpu") - host.U).max() == 0
                for trans in OPERATIONS:
                    x, expected = M.solve(b, trans), host.solve(b, trans)
                    assert abs(x - expected).max() <= tolerance * abs(expected).max(), (format, factor, sweeps, trans)


@pytest.mark.parametrize("name", NAMES)
def test_arrays_of_a_library(name):
    A = ds.hm_array(dominant(sp.csr_array(ds.gallery.stencil(5, (70, 66))), "float64"))
    rng = np.random.default_rng(0)
    for b in (values(rng, "float64", 4620), values(rng, "float64", 4620, 3), values(rng, "complex128", 4620)):
        for sweeps in (None, 2):
            x = read(name, ds.ilu0(A.to("cuda"), sweeps=sweeps) @ make(name, b))
            assert np.allclose(x, ds.ilu0(A, sweeps=sweeps) @ b, rtol=1e-10, atol=1e-10)


def test_cupys_solvers_take_them():
    cupy = pytest.importorskip("cupy")
    linalg = pytest.importorskip("cupyx.scipy.sparse.linalg")
    A = ds.hm_array(ds.gallery.stencil(5, (100, 110))).to("cuda")
    b, counts = cupy.ones(11000), []
    for M in (None, ds.ic0(A), ds.ic0(A, sweeps=3), ds.block_jacobi(A, 110)):
        steps = []
        x, info = linalg.cg(A.to_cupy("csr"), b, M=M, callback=steps.append)
        assert info == 0 and float(cupy.linalg.norm(A @ x - b)) <= 2e-5 * float(cupy.linalg.norm(b))
        counts.append(len(steps))
    assert counts[1] < 0.5 * counts[0] and counts[2] < 0.8 * counts[0] and counts[3] < 0.9 * counts[0]
