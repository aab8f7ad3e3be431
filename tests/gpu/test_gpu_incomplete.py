"""Incomplete factors of matrices on a GPU: the same factors as on the CPU, and solutions with arrays there."""

import numpy as np
import pytest
import scipy.sparse as sp
from cases import NO_CUDA
from libraries import NAMES, make, read
from triangles import OPERATIONS, dominant, values

import diagsparse as ds

pytestmark = [pytest.mark.gpu, pytest.mark.skipif(not ds.cuda_available(), reason=NO_CUDA)]


GRIDS = {
    "5 points": ds.gallery.stencil(5, (70, 66)),
    "7 points": ds.gallery.stencil(7, (20, 21, 22)),
    "9 points": ds.gallery.stencil(9, (50, 40)),
}


@pytest.mark.parametrize("name", GRIDS)
@pytest.mark.parametrize("dtype", ["float64", "complex64"])
def test_as_on_the_cpu(name, dtype):
    sparse = dominant(sp.csr_array(GRIDS[name]), dtype)
    hermitian = sp.csr_array((sparse + sparse.conj().T) / 2).astype(dtype)
    b = values(np.random.default_rng(0), dtype, sparse.shape[0], 2)
    tolerance = 1e3 * np.finfo(dtype).eps
    for format in ("hm", "csr"):
        for matrix, factor in ((sparse, ds.ilu0), (hermitian, ds.ic0)):
            for sweeps in (None, 3):
                A = ds.array(matrix, format)
                host, M = factor(A, sweeps=sweeps), factor(A.to("cuda"), sweeps=sweeps)
                assert M.L.device.startswith("cuda") and ", cuda" in repr(M) and M.nbytes > 0
                assert abs(M.L.to("cpu") - host.L).max() <= tolerance and abs(M.U.to("cpu") - host.U).max() <= tolerance
                assert M.L.format == format
                for trans in OPERATIONS:
                    x, expected = M.solve(b, trans), host.solve(b, trans)
                    assert abs(x - expected).max() <= tolerance * abs(expected).max(), (format, factor, sweeps, trans)


def test_views_and_patterns_that_are_not_symmetric():
    sparse = dominant(sp.csr_array(ds.gallery.stencil(5, (30, 40))), "complex64")
    one_sided = sp.csr_array(sp.tril(sparse) + sp.triu(sparse, 2))  # without the near diagonal above
    for matrix in (sparse, one_sided):
        for format in ("hm", "dia", "cdm", "csr"):
            A = ds.array(matrix, format)
            for view in (lambda a: a, lambda a: a.T, lambda a: a.H, lambda a: a.conj()):
                host, M = ds.ilu0(view(A)), ds.ilu0(view(A.to("cuda")))
                assert abs(M.L.to("cpu") - host.L).max() <= 1e-5 and abs(M.U.to("cpu") - host.U).max() <= 1e-5


def test_pivots_that_are_zero():
    S = sp.csr_array(ds.gallery.stencil(5, (30, 40)))
    for format in ("hm", "csr"):
        for row in (0, 7, 1199):
            A = ds.array(S, format).copy()
            A[row, row] = 0.25 if row == 7 else 0
            messages = []
            for device in ("cpu", "cuda"):
                with pytest.raises(np.linalg.LinAlgError) as error:
                    ds.ic0(A.to(device))
                messages.append(str(error.value))
            assert messages[0] == messages[1] and str(row) in messages[0]
        A = ds.array(sp.csr_array(np.array([[1.0, 1, 0], [1, 1, 0], [0, 0, 1]])), format).to("cuda")
        with pytest.raises(np.linalg.LinAlgError, match="ilu0: the pivot of row 1 is zero"):
            ds.ilu0(A)
        shifted = ds.ic0(ds.array(sp.csr_array(np.array([[1.0, 2], [2, 1]])), format).to("cuda"), shift=2)
        assert np.allclose(shifted.L.toarray(), np.linalg.cholesky(np.array([[3.0, 2], [2, 3]])))


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
