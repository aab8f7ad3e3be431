"""`compare`: the table, what it leaves out and why, JSON, pictures."""

import json
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from cases import at_night, raises

import diagsparse as ds
from diagsparse import measure
from diagsparse._study import exactness
from diagsparse.compare import compare
from diagsparse.plot import plot_comparisons

FAST = {"budget": 0.01}


@pytest.fixture(autouse=True)
def quick_bandwidth(monkeypatch):
    monkeypatch.setattr(measure, "read_bandwidth", lambda threads=None: 10e9)


@pytest.fixture(scope="module")
def stencil():
    return compare(ds.gallery.stencil(5, 30), name="stencil", budget=0.01, kernels="all")


def test_every_format_and_kernel_is_run_and_checked(stencil):
    """Kernels that fall back to another one in a product of this matrix have no row of their own."""
    assert stencil.ok
    S = ds.gallery.stencil(5, 30)
    for op in ("matvec", "matmul"):
        ran = {(row.format, row.kernel) for row in stencil.of(op)}
        for format in ds.formats():
            A = ds.array(S, format)
            kernels = {ds.plan_matmul(A, A, kernel=k).kernel if op == "matmul" else k for k in A.kernels(op)}
            assert {(format, kernel) for kernel in kernels} <= ran
        assert {("scipy", "csr"), ("scipy", "dia")} <= ran
        seconds = [row.seconds for row in stencil.of(op)]
        assert seconds == sorted(seconds)


def test_rows_hold_bytes_ratio_and_fraction(stencil):
    A = ds.hm_array(ds.gallery.stencil(5, 30))
    row = next(row for row in stencil.of("matvec") if row.format == "hm")
    csr = next(row for row in stencil.of("matvec") if (row.format, row.kernel) == ("scipy", "csr"))
    assert row.nbytes == A.nbytes
    assert row.floor_nbytes == A.nbytes + 2 * 900 * 8
    assert row.ratio == pytest.approx(csr.seconds / row.seconds)
    assert row.fraction == pytest.approx(row.floor_nbytes / row.seconds / stencil.bandwidth)
    product = next(row for row in stencil.of("matmul") if row.format == "hm")
    assert product.nbytes == (A @ A).nbytes
    assert product.floor_nbytes == A.nbytes + (A @ A).nbytes


def test_the_table_says_it_all(stencil):
    text = str(stencil)
    titles = "y = A x   stencil", "C = A A   stencil", "vs SciPy csr", "of bandwidth", "error / bound"
    for part in (*titles, "Fastest here: "):
        assert part in text
    assert all(len(line) < 125 for line in text.splitlines() if not line.startswith("Note"))


def test_ties_are_reported_and_the_fewest_bytes_win(stencil):
    rows = [replace(row, seconds=s) for row, s in zip(stencil.of("matvec")[:3], (1.0, 1.08, 2.0))]
    rows = [replace(row, format=f, nbytes=n) for row, f, n in zip(rows, ("dia", "hm", "csr"), (9, 8, 1))]
    scipy = next(row for row in stencil.of("matvec") if (row.format, row.kernel) == ("scipy", "csr"))
    result = replace(stencil, rows=[*rows, replace(scipy, seconds=4.0)])
    assert (result.measured["format"], result.measured["ties"]) == ("hm", ["dia"])
    for line in ("Fastest here: hm (the smallest within 10 %), ", "Equally fast, within 10 %: dia"):
        assert line in str(result)


def test_json_and_text_carry_the_same_rows(stencil, tmp_path):
    read = json.loads(stencil.save(tmp_path / "a.json").read_text())
    assert read == json.loads(json.dumps(stencil.to_dict()))
    assert read["ok"] is True and read["shape"] == [900, 900] and len(read["rows"]) == len(stencil.rows)
    assert {"format", "kernel", "seconds", "ratio", "nbytes", "fraction", "error", "ok"} <= set(read["rows"][0])


@pytest.mark.parametrize("suffix", at_night(["png", "svg"], before=["png"]))
def test_pictures_are_drawn(stencil, tmp_path, suffix):
    pytest.importorskip("matplotlib")
    one = stencil.plot(tmp_path / f"a.{suffix}")
    two = plot_comparisons([stencil, compare(sp.csr_array((3, 5)), **FAST)], tmp_path / f"b.{suffix}")
    assert one.stat().st_size > 10_000 and two.stat().st_size > one.stat().st_size


# ---- what suits ---------------------------------------------------------------------------------------------------
def test_a_rectangular_matrix_has_no_cdm_and_no_square():
    result = compare(ds.gallery.banded(40, 1, 1, seed=0).tocsr()[:, :30], **FAST)
    assert result.ok and not result.of("matmul")
    reasons = {skipped.format: skipped.reason for skipped in result.skipped}
    assert reasons["cdm"] == "CDM holds square matrices only, got 40 x 30"
    assert reasons["all"] == "needs a square matrix, got 40 x 30"


@pytest.mark.nightly
def test_a_format_that_wastes_memory_is_left_out_with_the_numbers():
    rng = np.random.default_rng(0)
    A = sp.random_array((20_000, 20_000), density=2e-5, rng=rng)
    result = compare(A, **FAST)
    reasons = {skipped.format: skipped.reason for skipped in result.skipped if skipped.op == "convert"}
    assert set(reasons) == {"dia", "hm", "cdm", "scipy bsr"}
    assert "x the nonzeros (limit 20.0 MB; --max-bytes)" in reasons["hm"]
    timed = {row.format for row in result.rows if row.op == "matvec"}
    assert result.ok and timed == {*ds.formats(), "scipy"} - {"dia", "hm", "cdm"}


def test_max_bytes_replaces_the_limit():
    A = ds.gallery.tridiagonal(1000)
    result = compare(A, max_bytes=25_000, formats=["hm", "csr"], against=[], **FAST)
    assert [(s.op, s.format) for s in result.skipped] == [("convert", "csr"), ("matmul", "hm")]
    assert "the result would store" in result.skipped[1].reason


def test_a_product_that_would_take_too_long_is_left_out():
    A = ds.gallery.random_diagonals(3000, 100, seed=0)
    result = compare(A, ops=["matmul"], against=[], budget=1e-6)
    assert not result.rows
    assert "G multiply-adds would exceed the time budget of 1e-06 s" in result.skipped[0].reason


def test_a_product_of_mostly_empty_diagonals_is_left_out():
    A = sp.csr_array(ds.gallery.arrow(300, seed=0))
    A = sp.block_diag([A, sp.eye_array(2000)], format="csr")
    result = compare(A, ops=["matmul"], formats=["hm", "csr"], against=[], budget=1e-3)
    assert [s.format for s in result.skipped] == ["hm"] and "x the useful ones" in result.skipped[0].reason
    assert result.ok and result.of("matmul")


# ---- what goes in -------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("dtype", ["float32", "complex64", "complex128", "int32", "bool"])
def test_every_dtype_goes_through(dtype):
    given = ds.gallery.tridiagonal(50)
    A = (given * (1 + 1j) if dtype.startswith("complex") else given).astype(dtype)
    result = compare(A, **FAST)
    assert result.ok and result.dtype == (dtype if dtype[0] in "fc" else "float64")


@pytest.mark.parametrize("shape", [(0, 0), (0, 4), (4, 0), (1, 1), (5, 5)])
def test_empty_matrices_go_through(shape):
    result = compare(sp.csr_array(shape), **FAST)
    assert result.ok and result.of("matvec")
    assert result.measured is None and "Fastest" not in str(result)


def test_files_our_matrices_and_scipys_are_accepted(tmp_path):
    A = ds.hm_array(ds.gallery.tridiagonal(30))
    ds.write(tmp_path / "tri.mtx.gz", A)
    for given in (A, A.T, A.to_scipy(), tmp_path / "tri.mtx.gz", str(tmp_path / "tri.mtx.gz")):
        assert compare(given, formats="hm", ops=["matvec"], **FAST).ok
    assert compare(tmp_path / "tri.mtx.gz", formats="hm", **FAST).name == "tri"


def test_duplicates_are_summed():
    A = sp.coo_array((np.ones(4), ([0, 0, 1, 1], [1, 1, 0, 0])), shape=(2, 2))
    csr = sp.csr_array((np.ones(4), np.array([1, 1, 0, 0]), np.array([0, 2, 4])), shape=(2, 2))
    assert compare(A, **FAST).ok and compare(csr, **FAST).nnz == 2
    assert csr.nnz == 4  # the user's own is left alone


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"formats": ["nope"]}, 'there is no format "nope"; expected one of dia, hm'),
        ({"ops": ["inverse"]}, 'there is no operation "inverse"; expected one of matvec, matmul'),
        ({"device": "tpu"}, "device 'tpu'"),
        ({"kernels": ["nope"]}, 'no kernel "nope"'),
    ],
)
def test_unknown_names_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        compare(ds.gallery.tridiagonal(5), **options, **FAST)


def test_values_that_cannot_be_checked_are_refused():
    with pytest.raises(ValueError, match="thing contains NaN or infinite values"):
        compare(sp.csr_array(np.diag([1.0, np.nan])), name="thing", **FAST)
    with pytest.raises(TypeError):
        compare(sp.csr_array(np.eye(2)).astype(np.longdouble), **FAST)


def test_objects_that_are_not_matrices_are_refused():
    for wrong in (None, {}, 3, [[1.0, 2.0], [3.0]], [["a"]]):
        with raises(TypeError, f"compare: A is {type(wrong).__name__}, expected a sparse matrix"):
            compare(wrong, **FAST)
    with raises(ValueError, "compare: A has shape (2, 2, 2)"):
        compare(np.ones((2, 2, 2)), **FAST)


def test_a_failed_check_is_shown(monkeypatch):
    class Wrong(exactness.MatvecCheck):
        def __call__(self, y):
            return 2.0 if y.sum() else float("inf")

    monkeypatch.setattr(exactness, "MatvecCheck", Wrong)
    result = compare(ds.gallery.tridiagonal(20), ops=["matvec"], formats=["hm"], **FAST)
    assert not result.ok and "CHECK FAILED: hm" in str(result) and "FAILED" in str(result)
    assert result.measured is None and json.loads(json.dumps(result.to_dict()))["ok"] is False


def test_progress_ends_at_one():
    reports = []
    compare(ds.gallery.tridiagonal(20), progress=lambda share, what: reports.append((share, what)), **FAST)
    assert reports[-1] == (1.0, "done") and all(-1e-9 <= share <= 1 + 1e-9 for share, _ in reports)
    assert any(what == "C = A A: time scipy csr" for _, what in reports)


def test_a_layout_of_ours_takes_part_as_it_is(tmp_path):
    S = ds.gallery.stencil(5, 12)
    layouts = (
        ds.sell_array(S, slice_height=4, sigma=100, row_lengths=True), ds.ellcsr_array(S, symmetry="symmetric"),
        ds.hm_array(S, symmetry="symmetric"), ds.dia_array(S, dtype="float16"), ds.hyb_array(S, width=1),
        ds.bmsparse_array(S, dtype="float16"),
    )  # fmt: skip
    for A in layouts:
        ds.write(tmp_path / "a.npz", A)
        default = ds.array(S, A.format)
        assert A.nbytes != default.nbytes
        for given in (A, tmp_path / "a.npz"):
            result = compare(given, formats=[A.format, "csr"], ops=["matvec"], budget=0.01)
            assert result.ok and [r.nbytes for r in result.rows if r.format == A.format] == [A.nbytes], A
        result = compare(A.T, formats=[A.format], ops=["matvec"], budget=0.01)
        assert result.ok
    assert compare(layouts[1], formats=["ellcsr", "csr"], budget=0.01).ok


def test_the_peers_of_a_comparison(device):
    """Checked like ours, and none of ours: no advice is theirs. Who is missing is named with the reason."""
    A = ds.gallery.stencil(5, 30)
    result = compare(A, formats=["hm", "csr"], against=["scipy", "mkl", "cusparse", "cupy"], device=device, **FAST)
    skipped = {s.format: s.reason for s in result.skipped}
    there = {"scipy", "mkl", "cusparse", "cupy"} - set(skipped)
    assert result.ok and {"scipy"} <= there and ("cusparse" in there) == (device == "cuda")
    for op in ("matvec", "matmul"):
        assert {row.format for row in result.of(op) if not row.ours} == there
        assert {row.format for row in result.fastest(op)} <= {"hm", "csr"}
        assert all(row.seconds > 0 and row.nbytes > 0 for row in result.of(op))
    assert result.measured["format"] in ("hm", "csr")
    if device == "cpu":
        assert skipped["cupy"] == "available on a GPU only"
        assert "cusparse, cupy: available on a GPU only" in str(result)
    else:
        assert "cuda, copies" in str(result) and "SciPy runs on one thread of the cpu" in str(result)
    alone = compare(A, formats=["hm"], against=[], device=device, ops=["matvec"], **FAST)
    assert [row.kernel for row in alone.rows if not row.ours] == ["csr"]  # which all are checked against
    with pytest.raises(ValueError, match='no library "numpy"'):
        compare(A, against=["numpy"])


def test_a_cpu_next_to_a_gpu_is_drawn_on_a_logarithmic_axis(stencil):
    """Or all bars but one were lines."""
    pytest.importorskip("matplotlib")
    from diagsparse._study.figures import new_figure
    from diagsparse.plot import _draw_times

    rows = [replace(row, seconds=row.seconds / 300 if row.ours else row.seconds) for row in stencil.rows]
    for comparison, scale in ((replace(stencil, rows=rows), "log"), (replace(stencil, rows=rows[:3]), "linear")):
        axes = new_figure(4, 4).subplots()
        _draw_times(axes, comparison, "matvec")
        low, high = axes.get_xlim()
        assert axes.get_xscale() == scale and (low > 0) == (scale == "log")
        assert all(low < bar.get_width() < high for bar in axes.patches)


def test_scipys_dia_stores_too_much_of_wide_matrices():
    wide = sp.csr_array(np.ones((2, 120_000)))
    result = ds.compare(wide, formats=["csr", "dia"], budget=0.01)
    assert result.ok and ("scipy", "dia") not in {(row.format, row.kernel) for row in result.rows}
    assert any("a value for each column" in one.reason for one in result.skipped if one.format == "scipy")


def test_scipys_bsr_takes_part_where_blocks_are_full(device):
    """SciPy estimates their size; blocks of 1 x 1 would be csr, and are left out with that reason."""
    blocks = sp.kron(ds.gallery.stencil(5, 9), np.arange(1.0, 10).reshape(3, 3)).tocsr()
    result = compare(blocks, formats=["csr"], device=device, **FAST)
    bsr = [row for row in result.rows if (row.format, row.kernel) == ("scipy", "bsr")]
    assert result.ok and [row.op for row in bsr] == ["matvec", "matmul"] and not any(row.ours for row in bsr)
    assert bsr[0].nbytes == sum(part.nbytes for part in (blocks.tobsr().data, blocks.tobsr().indices)) + 4 * 82
    assert "bsr" not in {s.format for s in result.skipped} and result.measured["format"] == "csr"
    for A, against in ((ds.gallery.stencil(5, 9), ["scipy"]), (blocks, ["mkl"])):
        result = compare(A, formats=["csr"], against=against, ops=["matvec"], **FAST)
        assert "bsr" not in {row.kernel for row in result.rows}
        reasons = [s.reason for s in result.skipped if s.format == "scipy bsr"]
        assert reasons == ["SciPy estimates a block size of 1 x 1, which would be the same as csr"] * (
            "scipy" in against
        )
        assert ("scipy bsr: SciPy estimates" in str(result)) == bool(reasons)
