"""The GPU benchmark: its checks and tables on any machine, a small run of it on a GPU."""

import contextlib
import json
import sys
import time
import types

import numpy as np
import pytest
import scipy.sparse as sp
from cases import NO_CUDA

import diagsparse as ds
from diagsparse._backends.backend import CPU
from diagsparse._study import bench, bench_problem, bench_tables, peers
from diagsparse._study.bench_cases import CASES, Case, cases
from diagsparse._study.bench_problem import Problem


def test_cases_by_name():
    assert {case.group for case in cases("spmv", "cuda")} == {"spmv"}
    assert [case.name for case in cases("random-600", "cuda")] == ["random-600"]
    with pytest.raises(ValueError, match="spgemm"):
        cases("nope", "cuda")


@pytest.mark.parametrize("right", ["vector", "same", "other"])
def test_work(right):
    A = ds.gallery.random_diagonals(60, 7, reach=0.9, seed=3)
    B = {"vector": np.ones(60), "same": A, "other": ds.gallery.banded(60, 2, 5, seed=4)}[right]
    pattern = abs(sp.csr_array(A)) > 0
    counts = np.diff(pattern.indptr).sum() if right == "vector" else (
        (pattern.astype(int) @ (abs(sp.csr_array(B)) > 0).astype(int)).sum()
    )  # fmt: skip
    assert Problem(A, B, None).work() == counts


def test_work_of_a_triangle():
    A = ds.gallery.random_diagonals(60, 7, reach=0.9, seed=3)
    pattern = (abs(sp.csr_array(A)) > 0).astype(int)
    for triangle, keep in (("lower", sp.tril), ("upper", sp.triu)):
        assert Problem(A, None, None, triangle).work() == keep(pattern @ pattern.T).sum()


class Here:
    """The CPU instead of a GPU, with the functions of the GPU module that the benchmark calls."""

    name, index = "cpu", 0
    core = types.SimpleNamespace(
        kernels=CPU.core.kernels,
        from_host=lambda x, device: x,
        empty=lambda shape, dtype, device: np.empty(shape, dtype),
        trim=lambda device: None,
    )

    class Event:
        def __init__(self, device):
            self.at = 0.0

        def record(self):
            self.at = time.perf_counter()

        def since(self, start):
            return self.at - start.at

    core.Event = Event


def run_case(case, scale=1.0):
    return list(bench.rows_on_gpu(np.dtype(float), scale, Here, 3, 1e9, case, lambda share, what: None))


@pytest.mark.parametrize("group", dict.fromkeys(case.group for case in CASES["cuda"]))
def test_every_case_on_the_cpu(group):
    """All but the time: operands, results, counterparts and floors are those of a GPU."""
    for case in cases(group, "cuda")[:2]:
        rows = run_case(case, 1e-4)
        json.dumps(rows)
        ours = [row for row in rows if row["library"] == "diagsparse"]
        assert {row["format"] for row in ours} == set(case.formats)
        for row in ours:
            assert row["ok"] and row["error"] <= 1 and row["failed"] is None, row
            assert row["fraction"] > 0 and row["floor_nbytes"] > 0
            assert bool(row["vs_counterpart"]) == bool(case.counterpart)


def test_a_kernel_that_leaves_the_product_to_another_one_has_no_row():
    far = sp.dia_array((np.ones((2, 200_000)), [199_999, 0]), shape=(200_000, 200_000))  # no room for tiles
    case = Case("far", "random", "matmul", "", lambda scale, seed, dtype: far, formats=("hm",))
    rows = run_case(case)
    ours = {row["kernel"]: row["default"] for row in rows if row["library"] == "diagsparse"}
    assert ours == {"row_tiles": True, "sequential": False}


def test_kernels_run_where_the_default_one_cannot_be_planned(monkeypatch):
    plan = bench_problem.plan_matmul

    def only_named(left, right, **options):
        if not options.get("kernel"):
            raise MemoryError("no room for a second product")
        return plan(left, right, **options)

    monkeypatch.setattr(bench_problem, "plan_matmul", only_named)
    (case,) = (case for case in cases("spgemm", "cuda") if case.name == "band-11-10240-squared")
    rows = run_case(case, 1e-2)
    ours = [row for row in rows if row["library"] == "diagsparse"]
    assert ours and all(row["ok"] and not row["default"] for row in ours), ours


def test_one_triangle_moves_and_takes_less():
    case = cases("syrk", "cuda")[0]
    triangle = bench_problem.of_case(case, np.dtype(float), 1e-3, Here)
    whole = bench_problem.counterpart(case, triangle)
    floors = [problem.floor(problem.call("hm", "")()) for problem in (triangle, whole)]
    assert triangle.error(whole.call("hm", "")()) == np.inf, "the check knows them apart"
    assert triangle.work() < 0.6 * whole.work() and floors[0] < floors[1]


@pytest.mark.parametrize("case", cases("packed", "cuda"), ids=lambda case: case.name)
def test_packed_matrices_are_packed(case):
    """They once were not, and the benchmark timed the unpacked ones."""
    packed = bench_problem.of_case(case, np.dtype(float), 1e-3, Here)
    for format in case.formats or ("dia", "hm"):
        A = packed.operands(format)[0]
        assert A.symmetry or A.period, A
        assert A.nbytes < 0.8 * A.unpacked().nbytes


class OnGpu(np.ndarray):
    device = contextlib.nullcontext()


@pytest.fixture
def nvmath(monkeypatch):
    """Stand-ins for CuPy and nvmath, which record the calls."""
    calls = []

    class Matmul:
        def __init__(self, a, b, /, c=None, *, options):
            assert options == {"codegen": True}
            self.operands = a, b, c

        def plan(self):
            calls.append("plan")

        def execute(self):
            a, b, c = self.operands
            c += a @ b
            calls.append("execute")

    def from_package(tensor):
        calls.append(type(tensor).__name__)
        return tensor

    cupy = types.SimpleNamespace(
        __version__="14.2", from_dlpack=lambda x: np.asarray(x).view(OnGpu),
        zeros=lambda shape, dtype: np.zeros(shape, dtype).view(OnGpu),
    )  # fmt: skip
    ust = types.SimpleNamespace(Tensor=types.SimpleNamespace(from_package=from_package))
    module = types.SimpleNamespace(__version__="1.0.0", sparse=types.SimpleNamespace(Matmul=Matmul, ust=ust))
    for name, stand_in in {"cupy": cupy, "nvmath": module, "nvmath.sparse.ust": ust}.items():
        monkeypatch.setitem(sys.modules, name, stand_in)
    return calls


def others(op="matvec", columns=0):
    """Return the others' contenders by name, and what they have to compute."""
    A = ds.gallery.banded(50, 2, 3, seed=0)
    x = np.random.default_rng(0).uniform(0.5, 1.5, (50, columns) if columns else 50)
    left = types.SimpleNamespace(shape=A.shape, to_cupy=lambda format: sp.dia_matrix(A).asformat(format))
    found = peers.on_gpu(op, columns, lambda format: (left, x))
    return {f"{library} {format}": prepare for library, format, _, prepare in found}, A @ x


def test_the_universal_sparse_tensor_accumulates(nvmath):
    found, expected = others()
    assert list(found) == ["cupy dia", "cupy csr", "nvmath dia"]
    call = found["nvmath dia"]()
    assert nvmath == ["dia_matrix", "OnGpu", "OnGpu", "plan"]
    assert np.allclose(call(), expected) and np.allclose(call(), 2 * expected)
    assert nvmath[4:] == ["execute"] * 2, "no more than the planned product is timed"


def test_peers_that_are_not_there(nvmath, monkeypatch):
    assert list(others("matmul")[0]) == ["cupy csr"] and not others("syrk")[0]
    assert list(others(columns=8)[0]) == ["cupy dia", "cupy csr"]
    monkeypatch.setitem(sys.modules, "nvmath.sparse.ust", None)  # as before 1.0
    assert list(others()[0]) == ["cupy dia", "cupy csr"] and peers.nvmath() is None
    monkeypatch.setitem(sys.modules, "cupy", None)
    assert not others()[0]


def test_what_a_peer_cannot_do_is_a_row(nvmath):
    """Here its operands cannot go to a GPU."""
    rows = run_case(cases("small-vector", "cuda")[0])
    failed = [row for row in rows if row["failed"]]
    assert [row["library"] for row in failed] == ["cupy", "cupy", "nvmath"]
    assert all(not row["ok"] and row["seconds"] is None for row in failed)


def report():
    """Return a report as `bench.run` returns it."""
    row = {"case": "band", "group": "spgemm", "op": "matmul", "what": "bands", "shape": [9, 9], "diagonals": 3,
           "best": 1e-3, "error": 0.1, "ok": True, "failed": None, "floor_nbytes": 1000,
           "work": 500}  # fmt: skip
    times = (("diagsparse", "dia", "row", 1e-3), ("diagsparse", "hm", "atomic", 4e-3),
             ("diagsparse", "csr", "cusparse", 5e-3), ("cupy", "csr", "", None))  # fmt: skip
    rows = [
        {**row, "library": library, "format": format, "kernel": kernel, "seconds": seconds,
         "fraction": seconds and 1e-3 / seconds / 2, "vs_cusparse": seconds and 5e-3 / seconds}
        for library, format, kernel, seconds in times
    ]  # fmt: skip
    rows[-1] |= {"ok": False, "failed": "RuntimeError: insufficient resources", "error": None}
    return {"device": "cuda", "hardware": {"gpu": "Some GPU", "memory_nbytes": 10**11, "system": "Linux"},
            "versions": {"diagsparse": "0", "cuda runtime": "13.0", "cusparse": "12.6.3", "cupy": None},
            "date": "2026-01-01", "dtype": "float64", "quick": False, "copy_bandwidth": 4e12, "ok": True,
            "rows": rows}  # fmt: skip


def test_tables():
    text, summary = bench_tables.text(report()), bench_tables.summary(report())
    assert "Some GPU" in text and "5.00x" in text and "insufficient resources" in text
    assert "1.00 ms | 4.00 ms |  | 5.00 ms | fails | 5.00x | 0.50 |" in summary
    assert summary in bench_tables.markdown(report())


def with_counterparts(counterpart):
    """Return a report with nvmath and with what each kernel is also compared with."""
    made = report()
    for row in made["rows"]:
        row["what"] = "7-point stencil 148 x 58 x 148, 8 columns"
        seconds = 3 * row["seconds"] if row["format"] != "csr" else None
        row |= {"counterpart": counterpart, "counterpart_seconds": seconds, "vs_counterpart": seconds and 3.0}
    made["rows"][-1] |= {"library": "nvmath", "format": "dia", "failed": "NotImplementedError: " + 30 * "mixed "}
    made["versions"]["nvmath"] = "1.0.0"
    return made


@pytest.mark.parametrize("counterpart", ["8 vectors", "wide values", "whole product"])
def test_tables_with_counterparts(counterpart):
    made = with_counterparts(counterpart)
    text, summary = bench_tables.text(made), bench_tables.summary(made)
    assert "3.00 ms, 3.00x" in text and counterpart in text and "nvmath 1.0.0" in text
    assert max(map(len, text.splitlines()[1:])) <= 100
    assert "| nvmath dia |" in summary and "| fails |" in summary and f"| {counterpart}: 3.00 ms, 3.00x |" in summary
    for table in (summary, bench_tables.markdown(made)):
        widths = {block: {line.count("|") for line in block.splitlines()} for block in table.split("\n\n")}
        assert all(len(found) == 1 for found in widths.values()), widths


def test_picture(tmp_path):
    pytest.importorskip("matplotlib")
    from diagsparse._study.plot_cuda import plot_bench

    for made in (report(), with_counterparts("8 vectors")):
        assert plot_bench(made, tmp_path / "bench.png").stat().st_size > 10_000


@pytest.mark.gpu
@pytest.mark.skipif(not ds.cuda_available(), reason=NO_CUDA)
def test_a_small_run(tmp_path):
    made = bench.run(device="cuda", quick=True, samples=3)
    json.dumps(made)
    failed = [row for row in made["rows"] if not row["ok"] and row["library"] == "diagsparse"]
    assert made["ok"] and not failed, failed
    assert {row["case"] for row in made["rows"]} == {case.name for case in CASES["cuda"]}
    assert bench_tables.text(made)
