"""Multigrid for matrices that are not symmetric: convection and diffusion with upwind differences."""

import re

import numpy as np
import pages
import pytest
import scipy.sparse as sp
from cases import at_night, case, raises
from scipy.sparse.linalg import bicgstab, gmres, spsolve

import diagsparse as ds
from diagsparse import gallery
from diagsparse._backends import memory
from diagsparse._multigrid import iteration


def convection(shape, flow, peclet):
    """Return diffusion, with conductivity 1, and convection; `flow` returns a component for each axis, of size 1."""
    points = np.meshgrid(*((np.arange(n) + 1) / (n + 1) for n in shape), indexing="ij")
    A, n = sp.csr_array((np.prod(shape),) * 2), int(np.prod(shape))
    for axis, u in enumerate(flow(*points)):
        u = peclet * np.broadcast_to(u, shape)
        back, ahead = -1 - np.maximum(u, 0), -1 + np.minimum(u, 0)
        diagonal = -(back + ahead)
        first, last = (tuple(e if d == axis else slice(None) for d in range(len(shape))) for e in (0, -1))
        back, ahead = back.copy(), ahead.copy()
        back[first], ahead[last] = 0, 0
        k = int(np.prod(shape[axis + 1 :]))
        A = A + sp.diags_array(
            [diagonal.ravel(), ahead.ravel()[: n - k], back.ravel()[k:]], offsets=[0, k, -k], shape=(n, n)
        )
    return sp.csr_array(A)


FLOWS = {
    "along an axis": lambda *p: (1.0, *(0.0 for _ in p[1:])),
    "oblique": lambda *p: tuple(1.0 - 0.3 * d for d in range(len(p))),
    "circle": lambda y, x, *z: (
        4 * y * (y - 1) * (2 * x - 1), -4 * x * (x - 1) * (2 * y - 1), *(0.3 + 0 * x for _ in z)
    ),
}  # fmt: skip


@pytest.mark.parametrize("flow", FLOWS)
@pytest.mark.parametrize("shape", [(33, 40), (64, 64), (12, 13, 14)])
def test_solutions(flow, shape, device):
    """Against a direct solver."""
    n = int(np.prod(shape))
    b = np.random.default_rng(0).standard_normal((n, 2)) @ np.array([[1, 0, 1], [0, 1, 1j]])
    for peclet in (0.0, 0.1, 3.0, 1000.0):
        S = convection(shape, FLOWS[flow], peclet)
        A, expected = ds.hm_array(S).to(device), spsolve(S.tocsc(), b[:, 0].real)
        for options in ({}, {"dtype": "float32"}, {"smoother": "line", "cycle": "W"}):
            M = ds.multigrid(A, shape, **options)
            with case(f"{peclet} {options} {M}"):
                assert M.symmetric == (peclet == 0)
                x = M.solve(b[:, 0].real, maxiter=300)
                assert np.linalg.norm(b[:, 0].real - S @ x) <= 1e-10 * np.linalg.norm(b[:, 0].real)
                assert np.allclose(x, expected, rtol=1e-6, atol=1e-8 * abs(expected).max())
    X = M.solve(b, maxiter=300)
    assert X.dtype == complex and np.allclose(S @ X, b, atol=1e-8)


def test_as_a_preconditioner():
    S = convection((50, 60), FLOWS["oblique"], 5.0)
    A, b = ds.hm_array(S), np.ones(3000)
    M = ds.multigrid(A)
    for solver, options in ((gmres, {"restart": 30, "callback_type": "pr_norm"}), (bicgstab, {})):
        steps = []
        x, info = solver(A, b, M=M, rtol=1e-9, callback=steps.append, **options)
        assert info == 0 and len(steps) <= 40 and np.linalg.norm(b - S @ x) <= 1e-8 * np.linalg.norm(b)
    assert M.smoother == "jacobi" and ds.multigrid(gallery.stencil(5, (5, 6))).smoother == "chebyshev"
    with raises(NotImplementedError, "ds.multigrid(A.T)"):
        M.T @ b
    with raises(NotImplementedError, "ds.multigrid(A.T)"):
        M.rmatvec(b)
    assert np.allclose(S.T @ ds.multigrid(A.T).solve(b), b)


@pytest.mark.parametrize("scale", [1e-300, 1e-200, 1e200, 1e300])
def test_matrices_and_right_hand_sides_of_any_size(scale, device):
    S, exact = convection((24, 25), FLOWS["oblique"], 5.0), np.random.default_rng(0).standard_normal(600)
    A = ds.hm_array(sp.csr_array(S * scale)).to(device)
    assert np.allclose(ds.multigrid(A).solve(A @ exact), exact, atol=1e-8)
    with np.errstate(all="ignore"):
        assert np.allclose(ds.multigrid(A).solve(S @ exact) * scale, exact, atol=1e-8)


def test_lines_and_w_cycles_help_where_convection_dominates():
    b = np.random.default_rng(0).standard_normal(64 * 64)
    S = convection((64, 64), FLOWS["circle"], 1000.0)
    counts = {}
    for name, options in (("points", {}), ("lines", {"smoother": "line", "cycle": "W"})):
        steps = []
        M = ds.multigrid(S, (64, 64), **options)
        assert gmres(S, b, M=M, rtol=1e-9, restart=200, callback=steps.append, callback_type="pr_norm")[1] == 0
        counts[name] = len(steps)
    assert counts["lines"] <= 30 < 50 <= counts["points"]


@pytest.mark.parametrize("flow", FLOWS)
def test_solve_chooses_it(flow):
    """With lines, and W cycles for flows in a circle."""
    for peclet, scale in ((0.5, 1.0), (1000.0, 1.0), (10.0, 10.0 ** np.random.default_rng(1).uniform(-6, 6, 13248))):
        S = sp.csr_array(sp.diags_array(np.broadcast_to(scale, 13248)) @ convection((23, 24, 24), FLOWS[flow], peclet))
        b = S @ np.random.default_rng(0).standard_normal(13248)
        x, report = ds.solve(S, b, report=True)
        assert report.method == ds.recommend(S, "solve").method == "multigrid" and not report.failed
        assert "dominant main diagonal" in report.reason and report.reason == ds.recommend(S, "solve").reason
        assert (abs(b - S @ x) / (abs(S) @ abs(x) + abs(b))).max() <= 1e-10
        if flow == "oblique" and peclet == 0.5:
            assert np.allclose(ds.solve(-S, -b), x) and ds.recommend(-S, "solve").method == "multigrid"
    flat = convection((180, 170), FLOWS[flow], 100.0)
    assert np.allclose(flat @ ds.solve(flat, np.ones(30600), method="multigrid"), 1)


def test_a_singular_matrix_that_conserves(device):
    """Convection around a periodic grid: rows and columns add up to zero."""
    shape, n = (24, 30), 720
    S = sp.lil_array((n, n))
    for i, (y, x) in enumerate(np.ndindex(*shape)):
        for (dy, dx), a in (((0, 1), -1.0), ((0, -1), -3.0), ((1, 0), -1.0), ((-1, 0), -2.0)):
            S[i, np.ravel_multi_index(((y + dy) % 24, (x + dx) % 30), shape)] = a
        S[i, i] = 7.0
    A = ds.array(sp.csr_array(S), "hm", device=device)
    M = ds.multigrid(A, shape)
    assert M.singular and not M.symmetric
    b = np.random.default_rng(0).standard_normal(n)
    b -= b.mean()
    x = M.solve(b)
    assert np.linalg.norm(b - A @ x) <= 1e-10 * np.linalg.norm(b) and abs(x.mean()) < 1e-12
    with raises(np.linalg.LinAlgError, "there is no solution"):
        M.solve(np.ones(n))


def around(shape, conserving, seed=0):
    """Return a periodic matrix whose rows add up to zero, and its columns as well if it is conserving."""
    rng, n = np.random.default_rng(seed), int(np.prod(shape))
    points, A = np.arange(n).reshape(shape), sp.csr_array((n, n))
    stream = rng.uniform(-0.4, 0.4, shape)  # its differences are the flow through the sides of each point
    for axis in (0, 1):
        k, to = 1 + rng.random(shape), np.roll(points, -1, axis)
        flow = (stream - np.roll(stream, 1, 1 - axis)) * (1 if axis else -1) if conserving else rng.random(shape)
        ends = (points.ravel(), to.ravel()), (to.ravel(), points.ravel())
        for values, where in ((k + flow, ends[0]), (k - flow, ends[1])):
            A = A - sp.coo_array((values.ravel(), where), (n, n))
    return sp.csr_array(A - sp.diags_array(A.sum(axis=1)))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_random_matrices_that_are_singular(dtype, device):
    """Columns are compared as rows are; without solutions, LinAlgError is raised."""
    rng = np.random.default_rng(0)
    tol = 1e-6 if dtype == "float32" else 1e-10
    for seed in range(3):
        S = around((30, 34), True, seed).astype(dtype)
        M = ds.multigrid(ds.array(S, "hm", device=device), (30, 34))
        assert M.singular and not M.symmetric
        b = rng.standard_normal(1020)
        x = M.solve(b := b - b.mean(), tol=tol, x0=b + 100)
        assert abs(x.mean()) < 1e-12 and np.linalg.norm(b - S @ x) <= tol * np.linalg.norm(b)
        with raises(np.linalg.LinAlgError, "there is no solution"):
            M.solve(np.ones(1020, dtype))
        S = around((30, 34), False, seed).astype(dtype)
        M = ds.multigrid(ds.array(S, "hm", device=device), (30, 34))
        assert not M.singular
        with raises(np.linalg.LinAlgError, "multigrid.solve: "):
            M.solve(np.ones(1020, dtype))


@pytest.mark.parametrize("shape", [(700,), (40, 50), (12, 13, 14)])
def test_convection_without_diffusion(shape, device):
    """Points are coupled to those before them only: lines have one side, along each axis."""
    S = convection(shape, FLOWS["oblique"], 1e9) / 1e9
    S.data[np.abs(S.data) < 1e-6] = 0
    S.eliminate_zeros()
    b = np.random.default_rng(0).standard_normal(S.shape[0])
    assert (S.diagonal() > 0).all() and len(ds.hm_array(S).offsets) == len(shape) + 1
    for A in (S, sp.csr_array(S.T)):
        for cycle in "VW":
            M = ds.multigrid(ds.hm_array(A).to(device), shape, smoother="line", cycle=cycle)
            assert M.convergence_factor() < 0.5
            assert np.linalg.norm(b - A @ M.solve(b, maxiter=40)) <= 1e-10 * np.linalg.norm(b)


def test_memory_of_a_solution(device, monkeypatch):
    """The vectors of GMRES are forecast."""
    M = ds.multigrid(ds.hm_array(convection((50, 60), FLOWS["oblique"], 5.0)).to(device))
    monkeypatch.setattr(memory, "available_bytes", lambda backend=None: 8 * 3000 * 25)
    monkeypatch.setattr(memory, "SMALL", 0)
    with raises(MemoryError, "multigrid.solve: the vectors of GMRES would need"):
        M.solve(np.ones(3000))
    assert M.solve(np.ones(3000), tol=0.5, maxiter=10).any()


def test_a_system_that_does_not_converge(device):
    """Unphysical velocities, which are sources: it converges or raises."""
    rng = np.random.default_rng(0)
    S = convection((64, 64), lambda y, x: (rng.standard_normal(y.shape), rng.standard_normal(x.shape)), 100.0)
    M = ds.multigrid(ds.hm_array(S).to(device), (64, 64))
    with raises(np.linalg.LinAlgError, "multigrid.solve: after", "the relative residual is"):
        M.solve(np.ones(4096), maxiter=60)
    for options, hints in (
        ({"dtype": "float32"}, """; try a larger maxiter or dtype="float64" or cycle="W" or smoother="line\""""),
        ({"smoother": "line"}, """; try a larger maxiter or cycle="W\""""),
        ({"cycle": "W"}, """; try a larger maxiter or smoother="line\""""),
        ({"smoother": "line", "cycle": "W"}, "with upwind differences; try a larger maxiter"),
    ):
        M = ds.multigrid(ds.hm_array(S).to(device), (64, 64), **options)
        with pytest.raises(np.linalg.LinAlgError) as caught:
            M.solve(np.ones(4096), maxiter=1)
        assert str(caught.value).endswith(hints)
        with raises(np.linalg.LinAlgError, "after 0 iterations the relative residual is 1, expected 1e-10; "):
            M.solve(np.ones(4096), maxiter=0)


@pytest.mark.parametrize("seed", at_night(range(200), before=range(25)))
def test_random_matrices(seed, device):
    """Any steps, sizes, boundaries and right-hand sides: a solution is right, or LinAlgError is raised.

    Points are smoothed reliably where the diagonal dominates.
    """
    rng = np.random.default_rng(seed)
    axes = int(rng.integers(1, 4))
    sizes = {1: (1, 2, 3, 31, 97, 1009), 2: (1, 2, 3, 7, 31, 37), 3: (1, 2, 3, 5, 11, 13)}[axes]
    shape = tuple(int(n) for n in rng.choice(sizes, axes))
    n, full, symmetric = int(np.prod(shape)), rng.random() < 0.5, rng.random() < 0.3
    A = sp.lil_array((n, n)) if n < 4 else sp.csr_array((n, n))
    points, grid = np.indices(shape).reshape(axes, n), np.array(shape)[:, None]
    around = np.array([rng.random() < 0.3 and m > 2 for m in shape])[:, None]
    for step in np.ndindex(*(3,) * axes):
        s = np.array(step)[:, None] - 1
        if not s.any() or (abs(s).sum() > 1 and not full):
            continue
        to = np.where(around, (points + s) % grid, points + s)
        fits = ((to >= 0) & (to < grid) & ((s == 0) | (grid > 1))).all(axis=0)
        values = -(10.0 ** rng.uniform(-1, 1, n))
        A = A + sp.coo_array((values[fits], (np.flatnonzero(fits), np.ravel_multi_index(to[:, fits], shape))), (n, n))
    A = sp.csr_array((A + A.T) / 2 if symmetric else A)
    factor, added = rng.choice([0.0, 1e-6, 0.1]), rng.choice([0.0, 1.0])
    dominant = np.maximum(-A.sum(axis=0), -A.sum(axis=1)) * (1 + factor) + added
    A = sp.csr_array(A + sp.diags_array(np.where(dominant > 0, dominant, 1.0)))
    b = {
        "random": rng.standard_normal(n), "zero": np.zeros(n), "constant": np.ones(n), "huge": np.full(n, 1e300),
        "tiny": 1e-300 * (1 + rng.random(n)), "point": np.eye(n)[n // 2], "complex": rng.standard_normal(n) + 1j,
    }[kind := str(rng.choice(["random", "zero", "constant", "huge", "tiny", "point", "complex"]))]  # fmt: skip
    options = {"dtype": str(rng.choice(["float32", "float64"])), "cycle": str(rng.choice(["V", "W"]))}
    if rng.random() < 0.7:
        options["smoother"] = str(rng.choice(["jacobi", "chebyshev", "line"]))
    M = ds.multigrid(ds.array(A, "hm", device=device), shape, **options)
    with case(f"{shape} {kind} {options} {M}"):
        try:
            x = M.solve(b)
        except np.linalg.LinAlgError as error:
            assert "multigrid.solve: " in str(error)
            assert M.smoother == "line" or (factor < 0.1 and not added)
            return
        size = np.abs(b).max() or 1.0
        b, x = b / size, x / size
        residual = np.abs(b - A @ x).max()
        assert np.linalg.norm(b - A @ x) <= 2e-10 * np.linalg.norm(b) or residual <= 1e-14 * (
            abs(A).sum(axis=1).max() * np.abs(x).max() + 1
        )


@pytest.mark.nightly
def test_the_iterations_of_the_docs(monkeypatch):
    """Up to a few, because they depend on rounding errors."""
    native, counts = iteration.gmres, []

    def counted(*arguments):
        counts.append(native(*arguments))
        return counts[-1]

    monkeypatch.setattr(iteration, "gmres", counted)
    row = re.compile(r"^\| (oblique|circle): .* \| `(jacobi|line)`, (V|W) \| (.*) \|$", re.M)
    rows = row.findall((pages.ROOT / "docs" / "solving.md").read_text())
    assert len(rows) == 4
    for flow, smoother, cycle, numbers in rows:
        for peclet, count in zip((0.1, 1.0, 10.0, 100.0, 1000.0), map(int, numbers.split(" | ")), strict=True):
            counts.clear()
            M = ds.multigrid(convection((128, 128), FLOWS[flow], peclet), smoother=smoother, cycle=cycle)
            M.solve(np.ones(128 * 128), maxiter=300)
            assert abs(sum(counts) - count) <= 2 + count // 10
