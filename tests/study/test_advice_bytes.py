"""Bytes that are stated before a matrix is built are those that it then has: zeros may be stored among its entries."""

import numpy as np
import pytest
import scipy.sparse as sp

import diagsparse as ds
from diagsparse import gallery
from diagsparse._advice.candidates import Candidates
from diagsparse._advice.machine import machine
from diagsparse._advice.models import MODELS
from diagsparse._matrix.registry import FORMATS


def with_zeros(S, share, seed=0):
    """Return SciPy's csr with that share of the stored values set to zero."""
    A = sp.csr_array(S, dtype=float, copy=True)
    A.data[np.random.default_rng(seed).random(A.nnz) < share] = 0
    return A


def with_stored_zero(S, row, column):
    """Return SciPy's csr with one more entry, a zero, so that its mirror image is not stored."""
    A = S.tocoo()
    row, column = np.append(A.row, row), np.append(A.col, column)
    return sp.csr_array((np.append(A.data, 0.0), (row, column)), shape=A.shape)


def full_diagonals(S):
    """Return SciPy's csr that stores every element of the occupied diagonals, the zeros among them."""
    i, j = S.tocoo().coords
    m, n = S.shape
    positions = [(max(0, -k) + np.arange(min(m, n - k) - max(0, -k)), k) for k in np.unique(j - i).tolist()]
    rows = np.concatenate([row for row, _ in positions])
    columns = np.concatenate([row + k for row, k in positions])
    return sp.csr_array((sp.csr_array(S)[rows, columns], (rows, columns)), shape=S.shape)


GRID = gallery.stencil(5, (60, 70))
SCATTERED = sp.random_array((3000, 2500), density=2e-3, rng=np.random.default_rng(0))
MATRICES = {
    "grid": GRID,
    "grid, some zeros": with_zeros(GRID, 0.3),
    "grid, nothing but zeros": with_zeros(GRID, 1),
    "grid, full diagonals": full_diagonals(GRID),
    "27-point stencil, most of it zeros": with_zeros(gallery.stencil(27, (12, 11, 10)), 0.9),
    "quasi-band": gallery.quasi_band(2000, 0.5, 90, 80, seed=0),
    "quasi-band, half of it zeros": with_zeros(gallery.quasi_band(2000, 0.5, 90, 80, seed=0), 0.5),
    "spins": gallery.heisenberg(10),
    "one zero more": with_stored_zero(sp.csr_array(gallery.heisenberg(10)), 0, 900),
    "scattered, half of it zeros": with_zeros(SCATTERED, 0.5),
}
EACH = pytest.mark.parametrize("name", MATRICES)


@EACH
@pytest.mark.parametrize("op", ["matvec", "matmul"])
def test_bytes_of_all_layouts_that_advice_names(name, op, device):
    A = ds.csr_array(MATRICES[name], device=device)
    if op == "matmul" and A.shape[0] != A.shape[1]:
        pytest.skip("C = A A is of square matrices")
    advice = ds.recommend(A, op, formats=ds.formats())
    for one in advice.candidates:
        made = one.build(advice._csr)
        assert one.nbytes == made.nbytes >= made.nnz * made.dtype.itemsize * ("period" not in one.layout) / 2, one.name
        assert one.moved_nbytes >= one.nbytes, one.name


def given_in(S, device):
    """Yield a matrix in SciPy's formats and in ours; in those of diagonals where they are few."""
    yield from (sp.csr_array(S), sp.coo_array(S))
    few = len(ds.analyze(S, rcm=False).offsets) <= 100
    if few:
        yield sp.dia_array(S)
    for format, nbytes in ds.memory_report(S).items():
        if nbytes is not None and (few or format not in ("dia", "hm", "cdm")):
            yield ds.array(S, format, device=device)


@EACH
def test_bytes_of_all_formats(name, device):
    """`analyze`, `memory_report` and `forecast` say the same, also of SciPy's dia, which stores zeros on diagonals."""
    for given in given_in(MATRICES[name], device):
        report = ds.memory_report(given)
        assert ds.analyze(given, rcm=False).nbytes == report
        for format, nbytes in report.items():
            if nbytes is not None and nbytes <= 20 * report["csr"]:
                made = ds.array(given, format).nbytes
                assert nbytes == made == ds.forecast("convert", given, format=format).result_nbytes, format


@pytest.mark.parametrize("dtype", [bool, np.int8, np.int64, np.uint16, np.float32, np.complex64, np.longdouble])
def test_bytes_of_other_types(dtype):
    """Integers and bools are stored as float64."""
    S = GRID.tocsr().astype(dtype)
    stored = np.float64 if np.dtype(dtype).kind in "iub" or dtype is np.longdouble else dtype
    assert ds.analyze(S, rcm=False).nbytes["csr"] == ds.csr_array(S.astype(stored)).nbytes


@pytest.mark.parametrize("format", ["dia", "hm", "cdm", "mdia"])
def test_bytes_of_halves(format, device):
    """Whatever the model thinks of their speed; no half is offered where a stored zero lacks its mirror image."""
    for name in ("grid", "grid, nothing but zeros", "grid, full diagonals", "spins", "one zero more"):
        A = ds.csr_array(MATRICES[name], device=device)
        half = MODELS[format].triangle(Candidates(A, machine(A._backend)), np.inf)
        if name == "one zero more" and format == "mdia":
            assert half is None
        else:
            assert half.layout == {"symmetry": "symmetric"} and half.nbytes == half.build(A).nbytes, name


@pytest.mark.parametrize("n", [1, 2, 7, 30])
@pytest.mark.parametrize("format", ["dia", "hm", "cdm"])
def test_forecasts_of_packed_layouts(format, n):
    """Some diagonals that repeat, of which opposite ones are equal."""
    rng = np.random.default_rng(n)
    for _ in range(8):
        period, offsets = int(rng.integers(1, n + 2)), rng.integers(1 - n, n, 4).tolist()
        stored = {k: np.resize(rng.integers(1, 9, period), n - abs(k)).astype(float) for k in map(abs, offsets)}
        A = ds.csr_array(sum(np.diag(v, s * k) for k, v in stored.items() for s in ((1, -1) if k else (1,))))
        for options in ({"symmetry": "symmetric"}, {"period": period}, {"symmetry": "symmetric", "period": period}):
            made = FORMATS[format].array(A, **options)
            assert FORMATS[format].nbytes(A._summary(), **options) == made.nbytes, (offsets, options)


def test_the_matrices_are_larger_than_what_advice_reads():
    """Else all counts would be exact anyway."""
    assert sum(sp.csr_array(S).nnz > 4096 for S in MATRICES.values()) >= 8


PACKED = {
    "ellcsr": {"symmetry": "symmetric"}, "mdia": {"symmetry": "symmetric"}, "dia": {"period": "auto"},
    "hm": {"period": "auto", "symmetry": "symmetric"}, "cdm": {"period": "auto"}, "sell": {"slice_height": 4},
}  # fmt: skip


@pytest.mark.parametrize("format", PACKED)
def test_bytes_of_transposed_views_are_those_of_their_copies(format, device):
    A = getattr(ds, f"{format}_array")(gallery.stencil(5, (9, 8)), device=device, **PACKED[format])
    for view in (A, A.T, A.conj().T):
        assert ds.memory_report(view)[format] == view.copy().nbytes, view
