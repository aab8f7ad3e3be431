"""`ds.array`: a format with its options, or what `ds.recommend` names, for whatever matrix and every time."""

import time

import numpy as np
import pytest
import scipy.sparse as sp
from advised_matrices import SUITING, random
from cases import at_night, raises

import diagsparse as ds
from diagsparse import advice, gallery, measure
from diagsparse._advice import candidates
from diagsparse._advice.costs import Cost, Counts, Traversal
from diagsparse._advice.machine import Machine
from diagsparse._backends import memory
from diagsparse._backends.backend import CPU
from diagsparse._study import gpu_clock


# ---- one rule, that of recommend ------------------------------------------------------------------------------------
@pytest.mark.parametrize("op", at_night(["matvec", "matmul"], before=["matvec"]))
@pytest.mark.parametrize("format", ds.formats())
def test_a_matrix_of_ours_gets_what_recommend_names(format, op):
    for S in (gallery.stencil(5, (60, 60)).tocsr(), random(500, 6), gallery.heisenberg(9).tocsr(), np.diag([1.0, 2])):
        A = ds.array(S, format)
        for view in (A, A.T):
            advice, made = ds.recommend(view, op), ds.array(view, op=op)
            assert (made.format, made.nbytes) == (advice.build().format, advice.build().nbytes), (view, advice.best)
            assert (made is view) == advice.unchanged
            assert np.array_equal(made.toarray(), view.toarray()) and ds.array(made, op=op) is made


@pytest.mark.parametrize("name", SUITING)
def test_a_matrix_of_scipy_gets_what_recommend_names(name):
    S = SUITING[name][0]().tocsr()
    advice, made = ds.recommend(S), ds.array(S)
    assert (made.format, made.nbytes) == (advice.format, advice.build().nbytes)
    assert ds.array(made) is made and ds.array(ds.csr_array(S)).format == ds.recommend(ds.csr_array(S)).format


def test_rows_of_ours_become_diagonals_where_that_pays():
    A = ds.csr_array(gallery.banded(20_000, 3, 3, seed=0))
    made = ds.array(A)
    assert made.format in ("dia", "hm", "cdm") and made.dtype == A.dtype and abs(made - A).sum() == 0
    assert ds.array(A, dtype="float32").dtype == np.float32
    assert ds.array(A, dtype="float16", format="hm").dtype == np.float16


@pytest.mark.parametrize("values", [[[0, 1.0], [1, 0]], [[0, -1j], [1j, 0]], [[1.0, 0], [0, -1]], np.eye(5)])
def test_small_matrices_of_full_diagonals_are_stored_so(values):
    """Every format is as fast there, and products and sums of diagonals are diagonals."""
    assert ds.array(np.array(values)).format in ("dia", "hm")
    assert ds.recommend(sp.csr_array(np.array(values))).format in ("dia", "hm", "cdm")


@pytest.mark.parametrize("op", ["matvec", "matmul"])
@pytest.mark.parametrize("dtype", ["float32", "complex128"])
def test_small_matrices_are_stored_by_a_fixed_rule(monkeypatch, op, dtype):
    monkeypatch.setattr(advice, "Candidates", None)
    least = 1 / (1 + 4 / np.dtype(dtype).itemsize)  # fill above which diagonals need fewer bytes than csr
    for missing, shape in ((0, (60, 60)), (10, (60, 60)), (30, (60, 60)), (0, (40, 60)), (0, (60, 40)), (19, (60, 40))):
        if op == "matmul" and shape[0] != shape[1]:
            continue
        dense = np.zeros(shape, dtype)
        np.fill_diagonal(dense, np.arange(1, 1 + min(shape)))
        np.fill_diagonal(dense[:, 3:], 1)
        filled, positions = np.count_nonzero(dense) - missing, np.count_nonzero(dense)
        dense[np.arange(missing), np.arange(missing)] = 0
        S = sp.csr_array(dense)
        made = ds.array(S, op=op)
        assert made.format == ("dia" if filled > least * positions else "csr") and made.dtype == dtype
        assert np.array_equal(made.toarray(), dense)
    corner = sp.diags_array([[1.0], [2.0], np.ones(60)], offsets=[59, -59, 0], shape=(60, 60))
    assert ds.array(corner.tocsr(), op=op).format == "hm"
    assert ds.array(sp.csr_array((3, 3)), op=op).nnz == 0
    with pytest.raises(TypeError):  # there are many nonzeros
        ds.array(sp.eye_array(10_000, format="csr"))


def test_what_cannot_be_looked_at_by_rows_stays():
    for A in (
        ds.eye(2**40, period=1),
        ds.hm_array((2**40, 2**40)),
        ds.hm_array(gallery.tridiagonal(9)).astype("float16"),
    ):
        assert ds.array(A) is A
    with raises(ValueError, 'array: op="matmul"', "2 x 3"):
        ds.array(ds.csr_array((2, 3)), op="matmul")


def test_errors_on_the_way_to_csr_are_raised(monkeypatch):
    def broken(given, where, who):
        raise ValueError("a defect")

    monkeypatch.setattr(candidates, "as_csr", broken)
    with raises(ValueError, "a defect"):
        ds.array(ds.gallery.stencil(5, (99, 99)))


# ---- nothing is timed -----------------------------------------------------------------------------------------------
def test_the_choice_does_not_depend_on_time(monkeypatch):
    """Independent of measured times and of the speed of the memory."""
    matrices = [
        gallery.stencil(5, (1500, 1500), dtype="float32").tocsr(),
        gallery.banded(400_000, 3, 3, seed=0).tocsr(),
    ]
    matrices += [random(200_000, 16), gallery.transverse_ising(17).tocsr()]
    expected = [repr(ds.array(S)) for S in matrices]
    for seconds in (1e-12, 1e9):
        with monkeypatch.context() as patch:
            patch.setattr(measure, "time_call", lambda *a, s=seconds, **k: measure.Timing(s, s, 1))
            patch.setattr(
                measure, "time_calls", lambda calls, s=seconds, **k: dict.fromkeys(calls, measure.Timing(s, s, 1))
            )
            patch.setattr(gpu_clock, "time_calls", lambda *args, s=seconds, **options: [s])
            patch.setattr(time, "perf_counter", lambda: np.random.default_rng().random())
            assert [repr(ds.array(S)) for S in matrices] == expected
            assert [ds.recommend(S).to_dict() for S in matrices] == [ds.recommend(S).to_dict() for S in matrices]


def test_bandwidths_grow_with_the_threads():
    free, counts = Cost(0.0, 0.0), Counts(10**6, 10**8, 0.0, 1 << 24, 8, False)  # of a product that only reads
    nbytes = 1 << 40
    read = [nbytes / Machine(CPU, threads).seconds(free, counts, Traversal(nbytes, 1e8)) for threads in (1, 2, 4, 16)]
    assert read == sorted(read) and 10e9 < read[0] < read[-1] < 400e9


# ---- options --------------------------------------------------------------------------------------------------------
def test_a_format_takes_its_options():
    S = random(5000, 6)
    for format, options in (
        ("sell", {"sigma": 4096}), ("sell", {"slice_height": 8, "row_lengths": True}), ("csb", {"block": 64}),
        ("ell", {"row_lengths": True}), ("ellcsr", {"boundary_column": 100}), ("hyb", {"width": 3}),
        ("qband", {"partition": "paper"}),
    ):  # fmt: skip
        made = ds.array(S, format, **options)
        assert made.format == format and np.array_equal(made.toarray(), S.toarray())
        assert made.nbytes == getattr(ds, f"{format}_array")(S, **options).nbytes
    grid = gallery.stencil(5, (30, 30))
    for given in (grid, ds.array(grid), ds.csr_array(grid)):
        made = ds.array(given, "hm", symmetry="symmetric", period=30)
        assert (made.symmetry, made.period) == ("symmetric", 30) and np.array_equal(made.toarray(), grid.toarray())
    data = np.array([[1.0, 2, 3], [4, 5, 6]])
    assert ds.array((data, [0, 1]), "dia", shape=(3, 3), align="row")[0, 1] == 4


def test_every_layout_that_recommend_names_can_be_asked_for():
    for S in (random(5000, 6), gallery.stencil(5, (200, 200)).tocsr(), gallery.heisenberg(10).tocsr()):
        for one in ds.recommend(S, formats=ds.formats()).candidates:
            if not one.is_scipy:
                made = ds.array(S, one.format, **one.layout)
                assert made.format == one.format and made.nnz >= S.count_nonzero(), one.name


def test_options_that_do_not_fit():
    S = gallery.banded(50, 1, 2, seed=0)
    for call, error, words in (
        (lambda: ds.array(S, "csr", sigma=4), TypeError, "csr_array: no option sigma; the format has none"),
        (lambda: ds.array(S, "sell", sgima=4), TypeError, "sell_array: no option sgima; expected slice_height, sigma"),
        (lambda: ds.array(S, "sell", sigma=-1), ValueError, "sigma=-1"),
        (lambda: ds.array(S, "hm", period=7), ValueError, "does not allow period 7"),
        (lambda: ds.array(S, "dia", slices=7), TypeError, "no option slices; expected symmetry, period"),
        (lambda: ds.array(S, sigma=4096), TypeError, "array: sigma: options of a format need format="),
    ):
        with raises(error, words):
            call()


# ---- another matrix in the recommended layout -----------------------------------------------------------------------
def test_another_matrix_is_built_likewise():
    grid = gallery.stencil(5, (1000, 1000)).tocsr()
    advice = ds.recommend(grid)
    assert advice.layout == {"period": 1000}
    for other in (2 * grid, gallery.stencil(5, (900, 1000)), ds.hm_array(grid), (3 * grid).todia()):
        made = advice.build(other)
        assert made.format == advice.format and made.period == 1000 and made.shape == other.shape
        assert abs(made.tocsr() - ds.csr_array(other)).sum() == 0
    assert advice.build(grid.astype("float32")).dtype == np.float32
    broken = grid.copy()
    broken.data[12345] = 7
    with raises(ValueError, "build: A cannot be stored as dia, period 1000", "does not allow period 1000"):
        advice.build(broken)
    for what in (3, "A"):
        with raises(TypeError, "build: A is", "expected a sparse matrix"):
            advice.build(what)


def test_another_matrix_in_fewer_bytes_and_in_another_order():
    grid = gallery.stencil(5, (40, 40)).tocsr()
    narrow = ds.recommend(grid, narrow=True, formats=["hm"], products=10**6)
    if narrow.best.narrow:
        assert narrow.build(2 * grid).dtype == narrow.best.dtype
        with raises(ValueError, f"values that {narrow.best.dtype} would round"):
            narrow.build(grid * 0.1)
    p = np.random.default_rng(0).permutation(100_000)
    shuffled = gallery.banded(100_000, 4, 4, seed=0).tocsr()[p][:, p]
    with measure.using_threads(2):  # with more, another layout is ahead
        advice = ds.recommend(shuffled, products=10**6, reorder=True)
    assert advice.best.order is not None
    x = np.linspace(-1, 1, 100_000)
    assert np.allclose(advice.build(2 * shuffled) @ x, 2 * (shuffled @ x))
    with raises(ValueError, "build: A cannot be stored as", "expected 100000 x 100000"):
        advice.build(gallery.banded(100, 4, 4, seed=0))


def test_another_matrix_where_the_first_one_stays(monkeypatch):
    for A in (ds.mdia_array(gallery.heisenberg(12)), ds.hm_array(gallery.stencil(5, (800, 800)), period=800),
              ds.csb_array(random(300, 4), block=16), ds.sell_array(random(300, 4), row_lengths=True)):  # fmt: skip
        advice = ds.recommend(A, products=1)
        assert advice.unchanged
        made = advice.build(A.tocsr() * 3)
        assert made.format == A.format and made.nbytes == A.nbytes and made._format.layout(made) == A._format.layout(A)
        assert abs(made.tocsr() - A.tocsr() * 3).sum() == 0
    monkeypatch.setattr(candidates, "_SCIPY", -1e-6)
    S = random(30, 2)
    advice = ds.recommend(S, products=1)
    assert advice.best.is_scipy and advice.build() is S
    made = advice.build(2 * S)
    assert sp.issparse(made) and not ds.issparse(made) and np.array_equal(made.toarray(), 2 * S.toarray())


def test_where_no_other_layout_fits(monkeypatch):
    monkeypatch.setattr(memory, "available_bytes", lambda *where: 0)
    S = random(30, 2)
    A = ds.array(sp.csr_array(S))
    assert A.format == "csr" and np.array_equal(A.toarray(), S.toarray())
