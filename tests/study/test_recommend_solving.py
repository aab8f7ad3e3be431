"""`ds.recommend(A, "solve")`: the ranking, the forecasts, and the properties that they follow from."""

import json
import tracemalloc
import xml.etree.ElementTree as ET
from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import diagsparse as ds
from diagsparse._backends import memory
from diagsparse._solving.problem import Problem
from diagsparse._solving.ranking import Ranking
from diagsparse.advice import MethodRecommendation

JUMPS = ds.gallery.diffusion((300, 200), lambda y, x: np.where(x < y, 1.0, 1000.0))


def test_the_recommendation():
    advice = ds.recommend(JUMPS, "solve")
    assert isinstance(advice, MethodRecommendation) and advice.best is advice.candidates[0]
    assert advice.method == "multigrid" and "grid of 300 x 200 points" in advice.reason
    assert {"diagonal", "tridiagonal"} <= set(advice.left_out) and "offsets from -200 to 200" in str(advice)
    assert next(one.name for one in advice.candidates if one.direct) == ds.factorized(JUMPS).method == "superlu"
    for one in advice.candidates:
        assert one.nbytes > 0 and one.operations > 0 and one.moved_nbytes > 0 and one.seconds > 0 and not one.install
        assert one.reason and (one.entries > 0) == (one.name != "multigrid")
    assert repr(advice).startswith("<recommendation for systems of 60000 x 60000 float64: multigrid, of ")
    text = str(advice)
    assert advice.advice in text and "A x = b" in text and all(one.name in text for one in advice.candidates)
    values = json.loads(json.dumps(advice.to_dict()))
    assert values["op"] == "solve" and values["method"] == "multigrid" and values["shape"] == [60000, 60000]
    assert [one["name"] for one in values["candidates"]] == [one.name for one in advice.candidates]
    ET.fromstring(advice._repr_html_())


def test_nothing_is_solved(monkeypatch):
    def refuse(*args, **kwargs):
        raise AssertionError("solved")

    monkeypatch.setattr("diagsparse._solving.methods.factors", refuse)
    monkeypatch.setattr("diagsparse._solving.methods.multigrid", refuse)
    monkeypatch.setattr("diagsparse._solving.incomplete.spilu", refuse)
    for A in (JUMPS, ds.gallery.tridiagonal(50), ds.hm_array((0, 0)), np.eye(5)):
        assert ds.recommend(A, "solve").candidates


@pytest.mark.parametrize("n", [400, 3000])
def test_the_bytes_of_bands_are_those_of_the_factors(n):
    for name, A in (
        ("diagonal", sp.eye_array(n)), ("tridiagonal", ds.gallery.tridiagonal(n)),
        ("banded", ds.gallery.banded(n, 6, 9, seed=0)), ("dense", ds.gallery.banded(n // 20, n, n, seed=0)),
    ):  # fmt: skip
        best = ds.recommend(A, "solve").best
        assert best.name == name
        assert best.nbytes == pytest.approx(ds.factorized(A).nbytes, abs=32)


GRIDS = [(100, 100), (150, 60), (400, 30), (12, 12, 12), (15, 15, 15), (40, 12, 8), (30, 30, 4)]


@pytest.mark.parametrize("shape", GRIDS, ids=str)
def test_the_fill_of_grids_is_estimated(shape):
    dominant = sp.csr_array(ds.gallery.diffusion(shape))
    for S in (dominant, dominant - 0.5 * sp.eye_array(dominant.shape[0])):
        A = ds.csr_array(sp.csr_array(S))
        problem = Problem(A)
        assert problem.grid == shape and problem.symmetric and problem.positive_diagonal
        counted = ds.factorized(A, method="superlu").nbytes / 12
        assert counted / 2 <= problem.factor_entries <= 2 * counted


def test_the_fill_of_other_matrices_is_bounded():
    rng = np.random.default_rng(0)
    n = 800
    order = rng.permutation(n)
    band = sp.csr_array(ds.gallery.banded(n, 4, 4, seed=0))
    for A in (
        sp.csr_array(sp.random_array((n, n), density=3 / n, rng=rng) + 4 * sp.eye_array(n)),
        band[order][:, order], ds.gallery.arrow(n, seed=0).tocsr(),
    ):  # fmt: skip
        problem = Problem(ds.csr_array(A))
        assert problem.grid is None
        assert A.nnz <= problem.factor_entries <= n * n
    scrambled = Problem(ds.csr_array(band[order][:, order]))
    assert scrambled.factor_entries <= 4 * 17 * n, "the order is found again"


def test_grids_are_recognized_by_their_positions():
    for shape, boundary in (
        ((30, 40), "dirichlet"), ((7, 8, 9), "neumann"), ((50,), "dirichlet"), ((20, 30), "periodic"),
        ((20, 30), ("periodic", "neumann")), ((6, 7, 8), ("dirichlet", "periodic", "neumann")),
    ):  # fmt: skip
        A = ds.csr_array(sp.csr_array(ds.gallery.diffusion(shape, boundary=boundary)))
        assert Problem(A).grid == shape
    for stencil in (9, 27):
        shape = (20, 21) if stencil == 9 else (7, 8, 9)
        assert Problem(ds.hm_array(ds.gallery.stencil(stencil, shape))).grid == shape
    for A in (
        ds.diags({0: 5.0, 1: -1.0, -1: -1.0, 7: -1.0, -7: -1.0}, shape=(61, 61)),
        ds.hm_array(ds.gallery.stencil(5, (20, 30))) - 0.5 * ds.diags({77: 1.0, -77: 1.0}, shape=(600, 600)),
        ds.csr_array(sp.csr_array(ds.gallery.arrow(50, seed=0))),
        ds.eye(30),
    ):
        assert Problem(A).grid is None


@settings(max_examples=60, deadline=None)
@given(st.lists(st.sampled_from([1, 2, 4, 5, 6, 9, 10, 11, 29, 30, 31]), max_size=4), st.sampled_from([59, 60, 90]))
def test_grids_are_those_of_multigrid(offsets, n):
    """Also where the diagonals couple points over the ends of rows."""
    A = ds.diags({0: 10.0, **{s * k: -1.0 for k in offsets for s in (1, -1)}}, shape=(n, n))
    try:
        grid = ds.multigrid(A).grid
    except ValueError:
        grid = None
    assert Problem(A).grid == grid or not offsets


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda A: A.astype("complex128"), "complex"),
        (lambda A: A + 0.1 * ds.diags({77: 1.0, -77: 1.0}, shape=A.shape), "grid"),
        (lambda A: A + 0.8 * ds.hm_array(sp.triu(sp.csr_array(A), 1)), "does not dominate"),
        (lambda A: A - 1e6 * ds.diags({0: 1.0 * (np.arange(A.shape[0]) == 70)}), "neither positive nor negative"),
    ],
)
def test_matrices_that_multigrid_is_not_for(change, why):
    A = change(ds.hm_array(JUMPS))
    advice = ds.recommend(A, "solve")
    assert why in advice.left_out["multigrid"] and advice.best.direct


def test_what_does_not_fit_in_memory(monkeypatch):
    A = ds.csr_array(sp.csr_array(ds.gallery.diffusion((16,) * 3) + sp.diags_array(np.full(4093, 0.1), offsets=3)))
    assert ds.recommend(A, "solve").method == "banded"
    monkeypatch.setattr(memory, "available_bytes", lambda backend=None: 5_000_000)
    advice = ds.recommend(A, "solve")
    assert advice.method == "ilu" and "5.0 MB are free" in advice.left_out["dense"]
    assert [one.name for one in advice.candidates] == ["ilu", "superlu"]


def test_the_order_is_that_of_the_times():
    """But for the method of `factorized`, which comes first unless another one should be twice as fast."""
    rng = np.random.default_rng(0)
    for A, first in (
        (sp.random_array((1000, 1000), density=0.01, rng=rng) + sp.eye_array(1000), "dense"),
        (ds.gallery.diffusion((20, 20)), "banded"), (ds.gallery.diffusion((80, 80)), "superlu"),
        (ds.gallery.stencil(3, (1000,), periodic=True) + sp.eye_array(1000), "cyclic"),
        (ds.gallery.tridiagonal(500), "tridiagonal"), (ds.gallery.diffusion((30, 30, 30)), "multigrid"),
        (ds.gallery.banded(400, 30, 30, seed=0), "banded"),
    ):  # fmt: skip
        A = ds.csr_array(sp.csr_array(A))
        candidates, usual = ds.recommend(A, "solve").candidates, ds.factorized(A).method
        assert candidates[0].name == first
        times = [one.seconds * (1 if one.name == usual else 2) for one in candidates if one.name != "qr"]
        assert times == sorted(times)


def test_reasons_are_true():
    def reasons(A):
        return {one.name: one.reason for one in ds.recommend(ds.csr_array(sp.csr_array(A)), "solve").candidates}

    band, grid = reasons(ds.gallery.tridiagonal(500)), reasons(ds.gallery.diffusion((60, 60)))
    assert "wide" not in band["superlu"] and "wide and mostly empty" in grid["superlu"]
    assert "suits LAPACK" in band["banded"] and "4 % full; LAPACK stores all of it" in grid["banded"]
    full = reasons(np.random.default_rng(0).standard_normal((60, 60)))
    assert "no more memory" in full["dense"] and "no more memory" not in grid["dense"]
    assert "A dense matrix has 13 million values" in grid["dense"] and "wide" not in full["superlu"]
    assert "with at most 180000 values help GMRES; complete ones would have about 150000" in grid["ilu"]
    left_out = ds.recommend(sp.csr_array(np.ones((30, 30)) + np.eye(30)), "solve").left_out
    assert left_out["ilu"] == 'the factors of "dense" do not fill up'


def test_direct_methods_are_preferred_where_iterations_are_not_clearly_faster():
    for n in (10, 30, 60):
        order = Ranking(Problem(ds.hm_array(ds.gallery.diffusion((n, 20))))).order
        assert order[0].direct
    for A in (ds.gallery.diffusion((200, 200)), ds.gallery.diffusion((25, 25, 25))):
        advice = ds.recommend(A, "solve")
        direct = next(one for one in advice.candidates if one.direct)
        assert not advice.best.direct and 2 * advice.best.seconds < direct.seconds


def test_the_order_does_not_depend_on_the_format():
    found = {
        format: ds.recommend(ds.csr_array(sp.csr_array(JUMPS)).asformat(format), "solve")
        for format in ("csr", "hm", "mdia")
    }
    packed = ds.hm_array(JUMPS, symmetry="symmetric")
    found["packed"] = ds.recommend(packed, "solve")
    for one, other in pairwise(found.values()):
        assert [c.name for c in one.candidates] == [c.name for c in other.candidates]
        assert [c.entries for c in one.candidates] == [c.entries for c in other.candidates]


def test_the_bytes_of_levels():
    for A in (
        ds.gallery.tridiagonal(300_000), ds.gallery.stencil(3, (300_000,), periodic=True),
        ds.gallery.diffusion((500, 510)), ds.gallery.diffusion((500, 510), boundary="periodic"),
        ds.gallery.diffusion((60, 62, 64)),
    ):  # fmt: skip
        advice = {one.name: one for one in ds.recommend(A, "solve").candidates}
        assert advice["multigrid"].nbytes == pytest.approx(ds.multigrid(A).nbytes, rel=0.1)
        n = A.shape[0]
        A = ds.csr_array(sp.csr_array(sp.diags_array(np.linspace(1, 2, n)) @ A))
        advice = {one.name: one for one in ds.recommend(A, "solve").candidates}
        assert advice["multigrid"].nbytes == pytest.approx(ds.multigrid(A, smoother="line").nbytes, rel=0.1)


@pytest.mark.parametrize("interleaved", [False, True])
def test_batches(interleaved, device):
    """The methods for all members together, of which the first one is that of `factorized`."""
    for half, corners in ((1, False), (2, False), (0, False), (1, True)):
        diagonals = {k: np.full(20 - abs(k), 1.0 + 4 * (k == 0)) for k in range(-half, half + 1)}
        diagonals |= {k: [0.5] for k in (19, -19) if corners}
        like = ds.diags(diagonals, shape=(20, 20), format="dia")
        batch = ds.batch_array(np.multiply.outer(np.linspace(1, 2, 40), like.values), like)
        batch = (ds.interleaved_batch(batch) if interleaved else batch).to(device)
        advice = ds.recommend(batch, "solve")
        assert (advice.members, advice.shape, advice.nnz) == (40, (20, 20), 40 * np.count_nonzero(like.toarray()))
        assert advice.method == ds.factorized(batch).method
        assert "for a single matrix" in advice.left_out["multigrid"] and "40 of 20 x 20" in str(advice)
        assert advice.to_dict()["members"] == 40
    with pytest.raises(TypeError, match=r"op=.solve. for batches"):
        ds.recommend(batch)


@pytest.mark.parametrize("interleaved", [False, True])
def test_batches_are_not_copied(interleaved):
    like = ds.dia_array(ds.gallery.tridiagonal(100))
    values = np.multiply.outer(np.linspace(1, 2, 3000), like.values)
    batch = ds.batch_array(values, like)
    batch = ds.interleaved_batch(batch) if interleaved else batch
    ds.recommend(batch, "solve")  # imports modules
    tracemalloc.start()
    advice = ds.recommend(batch, "solve")
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 0.6 * batch.nbytes and "cholesky" in [one.name for one in advice.candidates]
    values[1234, 0, 7] += 1e-3
    wrong = ds.batch_array(values, like)
    advice = ds.recommend(ds.interleaved_batch(wrong) if interleaved else wrong, "solve")
    assert advice.left_out["cholesky"] == "A is not symmetric"
