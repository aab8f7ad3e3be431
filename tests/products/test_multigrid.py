"""Multigrid: solutions, by itself and as a preconditioner."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from cases import at_night, case, raises
from scipy.sparse.linalg import cg, gmres, lobpcg

import diagsparse as ds
from diagsparse import gallery


def blocks(shape, size, contrast, seed=0):
    small = 10.0 ** np.random.default_rng(seed).choice([0, contrast], [-(-n // size) for n in shape])
    return np.kron(small, np.ones((size,) * len(shape)))[tuple(slice(n) for n in shape)]


PROBLEMS = {
    "5 points": lambda: gallery.stencil(5, (60, 71)),
    "9 points": lambda: gallery.stencil(9, (61, 64)),
    "7 points": lambda: gallery.stencil(7, (17, 18, 20)),
    "27 points": lambda: gallery.stencil(27, (12, 17, 16)),
    "a line": lambda: gallery.tridiagonal(3000),
    "smooth": lambda: gallery.diffusion((80, 75), lambda y, x: np.exp(np.sin(6 * x) * np.cos(9 * y))),
    "jumps": lambda: gallery.diffusion((70, 90), blocks((70, 90), 7, 3)),
    "jumps of 10^6": lambda: gallery.diffusion((70, 90), blocks((70, 90), 7, 6)),
    "jumps in 3-D": lambda: gallery.diffusion((20, 21, 22), blocks((20, 21, 22), 5, 3)),
    "anisotropic, 0.1": lambda: gallery.diffusion((70, 90), (0.1, 1.0)),
    "anisotropic, 0.001": lambda: gallery.diffusion((70, 90), (1.0, 0.001)),
    "anisotropic in 3-D": lambda: gallery.diffusion((20, 30, 25), (1.0, 0.01, 0.1)),
    "neumann": lambda: gallery.diffusion((60, 71), blocks((60, 71), 9, 2), boundary="neumann"),
    "periodic": lambda: gallery.diffusion((64, 48), blocks((64, 48), 8, 2), boundary="periodic"),
    "periodic, odd": lambda: gallery.diffusion((65, 49), boundary=("periodic", "dirichlet")),
    "periodic in 3-D": lambda: gallery.diffusion((15, 16, 17), boundary="periodic"),
    "shifted": lambda: gallery.stencil(5, (50, 60)) + 0.1 * sp.eye_array(3000),
    "small": lambda: gallery.stencil(5, (3, 4)),
    "one point": lambda: sp.eye_array(1) * 2,
    "narrow": lambda: gallery.stencil(5, (2, 700)),
}


@pytest.mark.parametrize("name", PROBLEMS)
def test_solutions(name, device):
    A = ds.array(sp.csr_array(PROBLEMS[name]()), "hm", device=device)
    b = np.random.default_rng(0).standard_normal(A.shape[0])
    for options in ({}, {"dtype": "float32"}, {"cycle": "W"}, {"smoother": "jacobi"}, {"smoother": "line"}):
        M = ds.multigrid(A, **options)
        b -= b.mean() if M.singular else 0
        with case(f"{name} {options} {M}"):
            x = M.solve(b, tol=1e-9)
            assert np.linalg.norm(b - A @ x) <= 1e-9 * np.linalg.norm(b) or name == "jumps of 10^6"
            assert not M.singular or abs(x.mean()) < 1e-10 * np.abs(x).max()
            assert M.singular == (name in ("neumann", "periodic", "periodic in 3-D"))


@pytest.mark.parametrize("seed", at_night(range(60), before=range(12)))
def test_random_problems(seed, device):
    """Any number of axes, sizes, boundaries, contrasts up to 10^7 and anisotropies up to 10^6."""
    rng = np.random.default_rng(seed)
    axes = int(rng.integers(1, 4))
    shape = tuple(int(n) for n in rng.integers(3, {1: 400, 2: 60, 3: 18}[axes], axes))
    spread = int(rng.integers(0, 7))
    k = tuple(
        10.0 ** rng.uniform(-spread / 2, spread / 2, shape) if rng.random() < 0.5 else 10.0 ** rng.uniform(-3, 3)
        for _ in shape
    )
    boundaries = tuple(rng.choice(["dirichlet", "neumann", "periodic"]) for _ in shape)
    A = ds.array(sp.csr_array(gallery.diffusion(shape, k, boundary=boundaries)), "hm", device=device)
    M = ds.multigrid(A, shape, dtype=rng.choice(["float32", "float64"]), cycle=rng.choice(["V", "W"]))
    assert M.singular == ("dirichlet" not in boundaries)
    b = rng.standard_normal(A.shape[0])
    b -= b.mean() if M.singular else 0
    x = M.solve(b, tol=1e-8)
    residual, size = np.abs(b - A @ x).max(), abs(A.to("cpu")).sum(axis=1).max() * np.abs(x).max() + np.abs(b).max()
    assert np.linalg.norm(b - A @ x) <= 1e-8 * np.linalg.norm(b) or residual <= 1e-14 * size


def test_few_iterations():
    """The number of iterations hardly depends on the size, here or for coefficients that jump."""
    for k in (1.0, lambda y, x: np.where((y > 0.3) & (x > 0.4), 1000.0, 1.0)):
        for size in (40, 80, 160):
            A = ds.hm_array(gallery.diffusion((size, size), k))
            counted = []
            _, info = cg(A, np.ones(size * size), M=ds.multigrid(A), rtol=1e-8, callback=counted.append)
            assert info == 0 and len(counted) <= 12


def test_a_cycle_is_symmetric_and_positive():
    for cycle in "VW":
        A = ds.hm_array(gallery.diffusion((26, 27), blocks((26, 27), 5, 2)))
        M = ds.multigrid(A, cycle=cycle)
        assert len(M.levels) >= 2
        U = np.random.default_rng(0).standard_normal((702, 20))
        projected = U.T @ (M @ U)
        assert np.allclose(projected, projected.T, rtol=1e-10, atol=1e-10)
        assert np.linalg.eigvalsh((projected + projected.T) / 2).min() > 0
        assert M.convergence_factor() < 0.5
        assert np.allclose(M.T @ np.ones(702), M @ np.ones(702))


def test_other_solvers():
    A = ds.hm_array(gallery.stencil(5, (50, 50)))
    M, b = ds.multigrid(A), np.ones(2500)
    assert cg(A, b, M=M, rtol=1e-9)[1] == 0 and gmres(A, b, M=M, rtol=1e-9)[1] == 0
    values, _ = lobpcg(A, np.random.default_rng(0).standard_normal((2500, 3)), M=M, largest=False, tol=1e-6, maxiter=60)
    k = 2 - 2 * np.cos(np.pi * np.arange(1, 3) / 51)
    assert np.allclose(np.sort(values), np.sort([2 * k[0], k.sum(), k.sum()]), rtol=1e-6)


def test_right_hand_sides():
    A = ds.hm_array(gallery.diffusion((30, 31)))
    M, n = ds.multigrid(A), 930
    rng = np.random.default_rng(0)
    B = rng.standard_normal((n, 3)) + 1j * rng.standard_normal((n, 3))
    X = M.solve(B)
    assert X.dtype == complex and np.allclose(A @ X, B)
    assert np.array_equal(X[:, 1], M.solve(B[:, 1])) and np.allclose(M @ B, M @ B.real + 1j * (M @ B.imag))
    for scale in (1e-300, 1e300):
        assert np.allclose(A @ M.solve(B.real * scale), B.real * scale, rtol=1e-6, atol=0)
    assert not M.solve(np.zeros(n)).any() and M.solve(np.zeros((n, 0))).shape == (n, 0)
    x = M.solve(np.ones(n, int))
    assert np.allclose(M.solve(np.ones(n), x0=x), x) and np.allclose(M.solve(np.ones(n), x0=1e6 * rng.random(n)), x)
    narrow = ds.multigrid(A.astype("float32"))
    assert narrow.cycle_dtype == np.float32
    y = narrow.solve(np.ones(n, "float32"), tol=1e-5)
    assert y.dtype == np.float32 and np.allclose(y, x, rtol=1e-4)
    assert np.linalg.norm(1 - A @ narrow.solve(np.ones(n))) <= 1e-9 * np.sqrt(n)  # residuals in float64


def test_formats_and_shapes():
    S = gallery.stencil(5, (20, 31))
    expected = ds.multigrid(S).solve(np.ones(620))
    for A in (S, S.tocsr(), ds.array(S, "mdia"), ds.array(S, "csr"), ds.hm_array(S, symmetry="symmetric")):
        M = ds.multigrid(A, (20, 31))
        assert M.grid == (20, 31) and np.allclose(M.solve(np.ones(620)), expected)
    assert "20 x 31" in repr(M) and M.nbytes == sum(level.nbytes for level in M.levels)
    assert "level" in M.report() and "reduces errors to" in M.report()
    assert ds.multigrid(gallery.tridiagonal(10), 10).grid == (10,)
    nothing = ds.multigrid(sp.csr_array((0, 0)))
    assert nothing.solve(np.zeros(0)).shape == (0,) and nothing.convergence_factor() == 0


@pytest.mark.parametrize("scale", [1e-31, 1e-20, 1e20, 1e31])
def test_matrices_with_large_and_small_values(scale, device):
    S = gallery.diffusion((40, 45), blocks((40, 45), 9, 2))
    b = np.random.default_rng(0).standard_normal(1800)
    expected = ds.multigrid(S) @ b
    for dtype in ("float32", "float64"):
        A = ds.hm_array((S * scale).astype(dtype)).to(device)
        M = ds.multigrid(A, dtype="float32")
        assert np.allclose(scale * (M @ b), expected, rtol=1e-3, atol=1e-3 * abs(expected).max())
        assert np.allclose(A @ M.solve(b, tol=1e-9), b, rtol=1e-5, atol=1e-6)


def test_right_hand_sides_at_the_ends_of_the_range(device):
    A, exact = ds.hm_array(gallery.diffusion((23, 29))).to(device), np.ones(667)
    M, small = ds.multigrid(A), ds.multigrid(A.astype("float32"))
    usual = M.solve(exact)
    for size in (1e-308, 1e-315, 1e300):
        x = M.solve(size * exact, x0=size * exact)
        assert np.allclose(
            x * 2.0**52 if size < 1 else x, size * usual * (2.0**52 if size < 1 else 1), rtol=1e-7, atol=0
        )
    assert not M.solve(0 * exact).any() and np.allclose(
        small.solve(np.full(667, 1e-40, "float32")) / 1e-40, usual, rtol=1e-3
    )
    for one, b, kind in ((M, 1e308 * exact, "float64"), (small, np.full(667, 1e38, "float32"), "float32")):
        with pytest.raises(np.linalg.LinAlgError, match=f"the solution overflows {kind}"), np.errstate(all="ignore"):
            one.solve(b)


def test_singular_systems_with_large_jumps():
    """Constants do not accumulate in the directions."""
    k = np.where(np.add.outer(np.arange(130) * 9 // 130, np.arange(130) * 9 // 130) % 2, 1.0, 1e6)
    A = ds.hm_array(gallery.diffusion((130, 130), k, boundary="neumann"))
    b = np.random.default_rng(1).standard_normal(16900)
    b -= b.mean()
    for maxiter in (20, 100):
        x = ds.multigrid(A).solve(b, tol=1e-6, maxiter=maxiter)
        assert np.linalg.norm(b - A @ x) <= 1e-6 * np.linalg.norm(b)
    narrow = gallery.diffusion((40, 41), lambda y, x: 1 + y * x, boundary="neumann").astype("float32")
    M, right = ds.multigrid(narrow), b[:1640] - b[:1640].mean()
    x = M.solve(right, tol=1e-6)
    assert M.singular and abs(x.mean()) < 1e-10 * abs(x).max()
    assert np.linalg.norm(right - narrow @ x) <= 1e-6 * np.linalg.norm(right)
    with raises(np.linalg.LinAlgError, "the relative residual is", "up to rounding errors", "a larger tol"):
        M.solve(right)  # the rows add up to zero in float32 only
    with raises(np.linalg.LinAlgError, "there is no solution"):
        M.solve(np.ones(1640))


def test_extreme_right_hand_sides():
    A = ds.hm_array(gallery.diffusion((30, 31)))
    M = ds.multigrid(A)
    assert not (M @ np.full(930, 1e-310)).any()
    with pytest.raises(np.linalg.LinAlgError), np.errstate(all="ignore"):
        M.solve(np.ones(930), x0=1e308 * (-1.0) ** np.arange(930))
    with raises(ValueError, "no axis of the grid"):
        ds.multigrid(ds.diags({0: 2.0}, shape=(6000, 6000)))
    with raises(ValueError, "cycles=0"):
        M.convergence_factor(0)
    assert np.allclose(M.solve([1.0] * 930, x0=np.zeros(930, complex)), M.solve(np.ones(930)))


def test_pictures_and_reports(tmp_path):
    pytest.importorskip("matplotlib")
    M = ds.multigrid(gallery.diffusion((60, 70), (0.01, 1.0)))
    path = M.plot(tmp_path / "levels.png")
    assert path == tmp_path / "levels.png" and path.stat().st_size > 5000
    lines = M.report().splitlines()
    assert len(lines) == len(M.levels) + 2 and all("us" in line or "ms" in line for line in lines[1:-1])


def test_the_same_bits_for_any_number_of_threads():
    A = ds.hm_array(gallery.diffusion((70, 300), blocks((70, 300), 9, 2)))
    found = set()
    for threads in (1, 2, 3):
        ds.set_num_threads(threads)
        M = ds.multigrid(A)
        found.add((M @ np.arange(21000.0)).tobytes() + M.solve(np.ones(21000)).tobytes())
    assert len(found) == 1


@pytest.mark.parametrize(
    ("call", "kind", "words"),
    [
        (lambda: ds.multigrid(np.eye(3)), TypeError, "expected a sparse matrix"),
        (lambda: ds.multigrid(sp.eye_array(3, 4)), ValueError, "expected a square matrix"),
        (lambda: ds.multigrid(gallery.stencil(5, 5) * 1j), TypeError, "expected float32 or float64"),
        (lambda: ds.multigrid(-gallery.stencil(5, 5)), ValueError, "not positive"),
        (lambda: ds.multigrid(sp.csr_array([[1.0, np.nan], [np.nan, 1.0]])), ValueError, "not finite"),
        (lambda: ds.multigrid(gallery.stencil(5, 6), (4, 9)), ValueError, "not neighbours"),
        (lambda: ds.multigrid(gallery.stencil(5, 6), (6, 7)), ValueError, "36 points"),
        (lambda: ds.multigrid(gallery.stencil(5, 6), (3, 2, 2, 3)), ValueError, "1 to 3 axes"),
        (lambda: ds.multigrid(gallery.stencil(5, 6), cycle="F"), ValueError, "cycle='F', expected one of V, W"),
        (lambda: ds.multigrid(gallery.stencil(5, 6), smoother="ilu"), ValueError, "smoother='ilu'"),
        (lambda: ds.multigrid(gallery.stencil(5, 6), dtype="float16"), ValueError, "dtype='float16'"),
        (lambda: ds.multigrid(gallery.stencil(5, 6)).solve(np.ones(35)), ValueError, "expected 36 rows"),
        (lambda: ds.multigrid(gallery.stencil(5, 6), dtype="nothing"), ValueError, "dtype='nothing'"),
        (lambda: ds.multigrid(gallery.stencil(5, 6), coarse=3), TypeError, "coarse=3, expected a function"),
        (lambda: ds.multigrid(gallery.stencil(5, 6)).solve("a"), TypeError, "expected numbers"),
        (lambda: ds.multigrid(gallery.stencil(5, 6)).solve(sp.eye_array(36)), TypeError, "b.toarray()"),
        (lambda: ds.multigrid(gallery.stencil(5, 6)).solve(np.ones(36), tol="a"), TypeError, "tol='a'"),
        (lambda: pickle.dumps(ds.multigrid(gallery.stencil(5, 6))), TypeError, "cannot be pickled"),
        (lambda: ds.multigrid(gallery.stencil(5, 6)).solve(np.full(36, np.nan)), ValueError, "not finite"),
        (lambda: ds.multigrid(gallery.stencil(5, 6)).solve(np.ones(36), x0=np.ones(3)), ValueError, "x0 has shape"),
        (lambda: ds.multigrid(gallery.stencil(5, 6)).solve(np.ones(36), tol=np.nan), ValueError, "tol=nan"),
        (lambda: ds.multigrid(gallery.stencil(5, 6)).solve(np.ones(36), maxiter=-1), ValueError, "maxiter=-1"),
        (lambda: ds.multigrid(gallery.stencil(5, 60)).solve(np.ones(3600), maxiter=2), np.linalg.LinAlgError,
         "after 2 iterations"),
        (lambda: ds.multigrid(gallery.diffusion((8, 9), boundary="neumann")).solve(np.ones(72)), np.linalg.LinAlgError,
         "the mean 1, expected 0"),
    ],
)  # fmt: skip
def test_bad_calls(call, kind, words):
    with raises(kind, "multigrid", words):
        call()
