"""The GPU benchmark: its checks and tables on any machine, a small run of it on a GPU."""

import json

import numpy as np
import pytest
import scipy.sparse as sp
from cases import NO_CUDA

import diagsparse as ds
from diagsparse import _bench_cuda_tables, bench_cuda
from diagsparse._sampled import SampledMatmul, SampledMatvec

MATRICES = {
    "band": ds.gallery.banded(500, 3, 4, seed=0),
    "random diagonals": ds.gallery.random_diagonals(300, 20, seed=1),
    "complex": ds.gallery.banded(200, 1, 2, dtype=complex, seed=2),
    "one": sp.dia_array(np.array([[2.0]])),
}
every_matrix = pytest.mark.parametrize("A", MATRICES.values(), ids=MATRICES)


@every_matrix
@pytest.mark.parametrize("columns", [(), (8,)])
def test_sampled_vectors(A, columns):
    x = np.random.default_rng(0).uniform(0.5, 1.5, (A.shape[1], *columns))
    check, y = SampledMatvec(A, x), A @ x
    assert check(y) <= 1
    y[-1] *= 1 + 1e-9
    assert check(y) > 1, "the last row is in every sample"


@every_matrix
@pytest.mark.parametrize("format", ["dia", "hm", "cdm", "csr", "scipy"])
def test_sampled_products(A, format):
    check = SampledMatmul(A, A)
    C = sp.csr_array(A) @ sp.csr_array(A) if format == "scipy" else ds.array(A, format) @ ds.array(A, format)
    assert check(C) <= 1
    dense = C.toarray()
    for at in ((0, 0), (-1, -1)):  # rows that are in every sample
        wrong = dense.copy()
        wrong[at] += 1e-6
        assert check(ds.csr_array(wrong)) > 1, f"element {at} is off"
    assert check(ds.csr_array(A.shape)) > 1, "nothing stored"
    assert check(ds.csr_array((A.shape[0] + 1, A.shape[1]))) == np.inf


def test_a_value_outside_of_the_product_is_seen():
    A = MATRICES["band"]
    C = (ds.array(A, "csr") @ ds.array(A, "csr")).toarray()
    C[0, 400] = 1e-300
    assert SampledMatmul(A, A)(ds.csr_array(C)) == np.inf


def test_cases_by_name():
    assert {case.group for case in bench_cuda.cases("spmv")} == {"spmv"}
    assert [case.name for case in bench_cuda.cases("random-600")] == ["random-600"]
    with pytest.raises(ValueError, match="spgemm"):
        bench_cuda.cases("nope")


@pytest.mark.parametrize("right", ["vector", "same", "other"])
def test_work(right):
    A = ds.gallery.random_diagonals(60, 7, reach=0.9, seed=3)
    B = {"vector": np.ones(60), "same": A, "other": ds.gallery.banded(60, 2, 5, seed=4)}[right]
    pattern = abs(sp.csr_array(A)) > 0
    counts = np.diff(pattern.indptr).sum() if right == "vector" else (
        (pattern.astype(int) @ (abs(sp.csr_array(B)) > 0).astype(int)).sum()
    )  # fmt: skip
    assert bench_cuda._work(A, B) == counts


def report():
    """Return a report as `bench_cuda.run` makes it."""
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
    text, summary = _bench_cuda_tables.text(report()), _bench_cuda_tables.summary(report())
    assert "Some GPU" in text and "5.00x" in text and "insufficient resources" in text
    assert "1.00 ms | 4.00 ms |  | 5.00 ms | fails | 5.00x | 0.50 |" in summary
    assert summary in _bench_cuda_tables.markdown(report())


def test_picture(tmp_path):
    pytest.importorskip("matplotlib")
    from diagsparse._plot_cuda import plot_bench

    assert plot_bench(report(), tmp_path / "bench.png").stat().st_size > 10_000


@pytest.mark.gpu
@pytest.mark.skipif(not ds.cuda_available(), reason=NO_CUDA)
def test_a_small_run(tmp_path):
    made = bench_cuda.run(quick=True, samples=3)
    json.dumps(made)
    failed = [row for row in made["rows"] if not row["ok"] and row["library"] == "diagsparse"]
    assert made["ok"] and not failed, failed
    assert {row["case"] for row in made["rows"]} == {case.name for case in bench_cuda.CASES}
    assert _bench_cuda_tables.text(made)
