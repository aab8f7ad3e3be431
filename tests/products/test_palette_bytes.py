"""Palettes of mdia: which diagonals get one, and what forecasts know of it."""

import sys

import numpy as np
import pytest
import scipy.sparse as sp
from cases import to_host
from processes import python

import diagsparse as ds


def test_palettes_are_chosen_by_bytes(device):
    n = 70_000
    a = sp.diags_array([np.ones(n - 1), np.arange(n) % 5 + 1.0], offsets=[1, 0]).tocsr()
    A, plain = ds.mdia_array(a, device=device), ds.mdia_array(a, device=device, palette=False).nbytes
    assert ds.mdia_array(a, device=device, palette=True).nbytes < plain / 3
    assert np.diff(to_host(A.table_indptr)).tolist() == [0, 1]  # by default, few values are looked up
    assert ds.memory_report(ds.csr_array(a, device=device))["mdia"] == A.nbytes < 0.6 * plain
    a.data = np.random.default_rng(0).random(a.nnz)
    assert not ds.mdia_array(a, device=device).palette and not ds.mdia_array(a, device=device, palette=True).palette
    assert not ds.mdia_array(a[:1000], device=device).palette  # small matrices have none by default
    with pytest.raises(TypeError, match="palette"):
        ds.mdia_array(a, palette=2)


@pytest.mark.parametrize("symmetry", [None, "symmetric"])
def test_forecasts_at_the_border_of_a_quarter(device, symmetry):
    """The palette makes the matrix a quarter smaller exactly; or, with the byte of `mirrored`, nearly."""
    n, zeros = 40_033, 12_294
    main = np.where(np.arange(n) < zeros, 0.0, 1.0)
    others = [np.random.default_rng(k).random(n - k) + 1 for k in (1, 2)]
    a = sp.csr_array(sp.diags_array([main, *others, *others], offsets=[0, 1, 2, -1, -2]))
    a.eliminate_zeros()
    a = sp.csr_array(sp.triu(a)) if symmetry is None else a
    plain = ds.mdia_array(a, device=device, symmetry=symmetry, palette=False).nbytes
    least = ds.mdia_array(a, device=device, symmetry=symmetry, palette=True).nbytes
    assert plain - least == plain // 4
    A = ds.mdia_array(a, device=device, symmetry=symmetry)
    assert A.palette == (4 * (plain - least) >= plain) == (symmetry is None)
    if symmetry is None:
        assert ds.memory_report(ds.csr_array(a, device=device))["mdia"] == A.nbytes


@pytest.mark.skipif(sys.platform != "linux", reason="peaks are read from /proc")
@pytest.mark.parametrize("palette", [None, True])
def test_memory_to_find_different_values(palette):
    """Many diagonals with few elements each: a few bytes for each element, not a table for each diagonal."""
    peak, nbytes = map(int, python(MANY_DIAGONALS.format(palette=palette)).split())
    assert peak <= nbytes + 200e6, (peak, nbytes)


MANY_DIAGONALS = """
    import numpy as np, scipy.sparse as sp
    import diagsparse as ds
    def resident(what):
        with open("/proc/self/status") as lines:
            return 1024 * int(next(line for line in lines if line.startswith(what)).split()[1])
    n, rng = 20_000, np.random.default_rng(0)
    entries = rng.random(60 * n), (np.repeat(np.arange(n), 60), rng.integers(0, n, 60 * n))
    A = ds.csr_array(sp.csr_array(entries, shape=(n, n)))
    before = resident("VmRSS")
    B = ds.mdia_array(A, palette={palette})
    print(max(0, resident("VmHWM") - before), B.nbytes)
"""


@pytest.mark.parametrize("format", ["csr", "hm", "mdia"])
def test_forecasts_count_the_palette(device, format):
    n = 70_000
    few = sp.diags_array([np.ones(n - 1), np.arange(n) % 5 + 1.0, np.arange(float(n - 9))], offsets=[1, 0, 9])
    for matrix in (ds.gallery.heisenberg(14), few, few.tocsr()[:9]):
        A = ds.array(matrix, format, device=device)
        B = ds.mdia_array(A)
        assert ds.memory_report(A)["mdia"] == B.nbytes
        assert ds.memory_report(A.T)["mdia"] == ds.mdia_array(A.T.copy()).nbytes
        assert ds.recommend(A, formats=["mdia"]).build().nbytes in (B.nbytes, A.nbytes)
        forecast = ds.forecast("convert", A, format="mdia")
        assert forecast.result_nbytes == B.nbytes
        if format != "mdia" and B.palette:  # the matrix is there with and without its palette for a moment
            assert forecast.total_nbytes >= B.nbytes + ds.mdia_array(A, palette=False).nbytes
            with pytest.raises(MemoryError, match="max_bytes="):
                A.asformat("mdia", max_bytes=forecast.total_nbytes - 1)
        assert (A.asformat("mdia", max_bytes=forecast.total_nbytes) != B).nnz == 0
