"""Diagonals times vectors and blocks on a GPU: windows of x, lines of a grid, values of two types."""

import numpy as np
import pytest
import scipy.sparse as sp
from cases import EACH_DIAGONAL, EACH_DTYPE, NO_CUDA
from large_diagonals import CASES, holes

import diagsparse as ds

pytestmark = [pytest.mark.gpu, pytest.mark.skipif(not ds.cuda_available(), reason=NO_CUDA)]


@EACH_DIAGONAL
@EACH_DTYPE
def test_blocks_of_columns(format, dtype):
    """Rows of X in chunks of 16 bytes, with one thread or several per row, and other rows."""
    rng = np.random.default_rng(0)
    for name in ("band", "scattered", "random"):
        a = sp.csr_array(CASES[name](dtype))
        A = ds.array(a, format, device="cuda")
        for columns in (1, 2, 4, 6, 8, 34, 66, 136):
            X = rng.uniform(-1, 1, (a.shape[1], columns)).astype(dtype)
            for view, op in ((A, a), (A.H, a.conj().T)):
                bound = 200 * np.finfo(dtype).eps * (abs(op) @ abs(X))
                assert (abs(view.matvec(X, kernel="row") - op @ X) <= bound).all(), f"{name}, {columns} columns"
                Y = np.asfortranarray(X)
                assert (abs(view.matvec(Y, kernel="row") - op @ Y) <= bound).all(), f"{name}, {columns} columns, F"


@EACH_DIAGONAL
@EACH_DTYPE
def test_lines_of_a_grid(format, dtype):
    """Blocks of several rows of a grid; whole chunks and others, with a shorter last slab; few rows."""
    rng = np.random.default_rng(0)
    for m, n in ((96, 96 * 1400), (250, 250 * 530 - 5), (96, 96 * 70)):
        a = sp.csr_array(holes(n, [line + k for line in (-m, 0, m) for k in (-1, 0, 1)], dtype))
        A = ds.array(a, format, device="cuda")
        for columns in (4, 12):
            X, Y = rng.uniform(-1, 1, (2, n, columns)).astype(dtype)
            for view, op in ((A, a), (A.H, a.conj().T)):
                out = Y.copy()
                view.matvec(X, out=out, alpha=2, beta=-3, kernel="row")
                bound = 200 * np.finfo(dtype).eps * (2 * abs(op) @ abs(X) + 3 * abs(Y))
                assert (abs(out - (2 * (op @ X) - 3 * Y)) <= bound).all(), f"lines of {m}, {columns} columns"


@EACH_DIAGONAL
@EACH_DTYPE
def test_windows_of_x(format, dtype):
    """Bands with holes, some diagonals far away; rows of X and of Y that lie together, and others."""
    rng = np.random.default_rng(0)
    apart, band = [-13, -7, -6, 0, 3, 90, 91, 400], range(-13, 14)
    for n, offsets in ((140_001, apart), (140_001, band), (9001, band)):
        a = sp.csr_array(holes(n, offsets, dtype))
        A = ds.array(a, format, device="cuda")
        for columns in (4, 12):
            X = rng.uniform(-1, 1, (n, 2 * columns)).astype(dtype)
            for view, op in ((A, a), (A.T, a.T)):
                expected, bound = op @ X, 200 * np.finfo(dtype).eps * (abs(op) @ abs(X))
                for part in (slice(None), slice(0, columns), slice(columns, None)):
                    for x in (X[:, part], X[:, part].copy()):
                        error = abs(view.matvec(x, kernel="row") - expected[:, part])
                        assert (error <= bound[:, part]).all(), f"{columns} columns, {part}"


@EACH_DIAGONAL
@pytest.mark.parametrize("symmetry, dtype", [("symmetric", "float64"), ("hermitian", "complex128")])
def test_windows_of_packed_matrices(format, symmetry, dtype):
    """One triangle that is stored serves both; lines of a grid."""
    m, n, rng = 96, 96 * 1400 + 5, np.random.default_rng(0)
    upper = holes(n, [1, m - 1, m, m + 1], dtype)
    if symmetry == "hermitian":
        upper = upper * (1 + 2j)
    a = sp.csr_array(upper + upper.conj().T + holes(n, [0], "float64"))
    A = ds.array(a, format, device="cuda").asformat(format, symmetry=symmetry)
    X = rng.uniform(-1, 1, (n, 8)).astype(dtype)
    for view, op in ((A, a), (A.T, a.T)):
        bound = 200 * np.finfo(dtype).eps * (abs(op) @ abs(X))
        assert (abs(view.matvec(X, kernel="row") - op @ X) <= bound).all()


@EACH_DIAGONAL
@pytest.mark.parametrize(
    "stored, dtype",
    [
        ("float16", "float32"),
        ("float16", "float64"),
        ("float32", "float64"),
        ("float32", "complex64"),
        ("complex64", "complex128"),
    ],
)
def test_vectors_of_wider_values(format, stored, dtype):
    """Narrow values of A, long vectors: lines of a grid, planes of one, a band, diagonals far apart; an odd size."""
    exact = "complex128" if dtype.startswith("complex") else "float64"
    rng = np.random.default_rng(0)
    for n, offsets in (
        (1449 * 1449, [-1449, -1, 0, 1, 1449]),
        (130 * 130 * 125 - 5, [-130 * 130, -130, -1, 0, 1, 130, 130 * 130]),
        (2_100_001, [-1013, -7, -6, -5, 0, 90, 91, 4000]),
        (140_001, range(-10, 11)),
    ):
        a = sp.csr_array(holes(n, offsets, "float32" if stored == "float16" else stored))
        a.data = a.data.astype(stored).astype(a.dtype)  # rounded
        A = ds.array(a, format, device="cuda").astype(stored)
        a = a.astype(exact)
        x, y = rng.uniform(-1, 1, (2, n)).astype(dtype)
        if exact == "complex128":
            x += 1j * rng.uniform(-1, 1, n).astype(dtype)
        for view, op in ((A, a), (A.H, a.conj().T)):
            expected, scale = op @ x.astype(exact), abs(op) @ abs(x)
            result = view.matvec(x, kernel="row")
            assert result.dtype == dtype
            assert (abs(result - expected) <= 200 * np.finfo(dtype).eps * scale).all(), f"{n}, {len(offsets)}"
        out = y.copy()
        A.matvec(x, out=out, alpha=2, beta=-3, kernel="row")
        bound = 200 * np.finfo(dtype).eps * (2 * abs(a) @ abs(x) + 3 * abs(y))
        assert (abs(out - (2 * (a @ x) - 3 * y)) <= bound).all(), f"{n}, {len(offsets)}, alpha, beta"
