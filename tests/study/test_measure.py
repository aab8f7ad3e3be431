"""The timing harness, the bytes that have to be moved, and the check against SciPy."""

from functools import partial
from itertools import groupby

import numpy as np
import pytest
import scipy.sparse as sp

import diagsparse as ds
from diagsparse import measure
from diagsparse._study import exactness

DTYPES = ["float32", "float64", "complex64", "complex128"]


# ---- time and memory ----------------------------------------------------------------------------------------------
def test_calls_are_timed_alternately():
    order = []
    times = measure.time_calls({name: partial(order.append, name) for name in "ab"}, budget=0.005, sample=1e-5)
    assert set(times) == {"a", "b"}
    assert all(0 < t.best <= t.median < 1e-3 and t.samples >= 3 for t in times.values())
    turns = [name for name, _ in groupby(order)]
    assert len(turns) >= 2 * 3  # rounds of at least three samples, not one after the other, however many calls each has


def test_a_slow_call_is_not_repeated_for_ever():
    import time

    calls = []
    measure.time_call(lambda: (calls.append(1), time.sleep(0.05)), budget=0.01)
    assert len(calls) <= 3


def test_progress_is_reported_before_each_sample():
    reports = []
    measure.time_calls({"f": int}, budget=0.01, progress=lambda share, name: reports.append((share, name)))
    assert {what for _, what in reports} == {"time f"} and all(0 <= share <= 1 for share, _ in reports)


def test_portions_of_a_progress_add_up():
    reports = []
    measure.portion(measure.portion(lambda *a: reports.append(a), 0.5, 0.5), 0.5, 0.5)(1.0, "end")
    assert reports == [(1.0, "end")]


def test_bandwidth_is_plausible_and_measured_once(monkeypatch):
    monkeypatch.setattr(measure, "_STREAM", 1 << 22)
    monkeypatch.setattr(measure, "_bandwidths", {})
    first = measure.read_bandwidth(1)
    assert 1e8 < first < 1e13
    assert measure.read_bandwidth(1) == first


@pytest.fixture(scope="module")
def threads_at_the_end():
    before = ds.get_num_threads()
    yield
    assert ds.get_num_threads() == before


@pytest.mark.parametrize("threads", [1, 3, 5])
def test_no_test_leaves_another_thread_count(threads, threads_at_the_end):
    """Not even one with a parameter of this name, which once replaced the fixture that restores the count."""
    ds.set_num_threads(threads)
    assert ds.get_num_threads() == threads


def test_threads_are_restored_after_an_error():
    before = ds.get_num_threads()
    with pytest.raises(KeyError), measure.using_threads(before + 1):
        assert ds.get_num_threads() == before + 1
        raise KeyError
    assert ds.get_num_threads() == before


@pytest.mark.parametrize("format", ["dia", "csr", "csc", "coo"])
def test_bytes_of_scipy_are_those_of_its_arrays(format):
    A = ds.gallery.banded(10, 1, 1, seed=0).asformat(format)
    index = 4  # bytes
    expected = {"dia": 3 * (80 + index), "csr": 28 * 12 + 11 * 4, "csc": 28 * 12 + 11 * 4, "coo": 28 * 16}
    assert measure.nbytes(A) == expected[format]


def test_floor_counts_each_operand_once():
    A = ds.hm_array(ds.gallery.tridiagonal(10))
    x = np.ones(10)
    assert measure.floor_nbytes(A, x, A @ x) == A.nbytes + 160
    assert measure.floor_nbytes(A, A, A) == A.nbytes


# ---- exactness ----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("dtype", DTYPES)
def test_both_checks_hold_for_any_order_of_summation(dtype):
    A = ds.gallery.banded(300, 7, 5, dtype=dtype, seed=0)
    x = exactness.vector(300, dtype)
    check = exactness.MatvecCheck(A, x)
    backwards = sp.csr_array(sp.csr_array(A)[:, ::-1]) @ x[::-1]
    assert check(A @ x) == 0 or check(A @ x) <= 1
    assert check(backwards) <= 1
    assert exactness.MatmulCheck(A, A)((A @ A).tocsr()) <= 1
    assert exactness.MatmulCheck(A, A)(ds.hm_array(A) @ ds.hm_array(A)) <= 1


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_wrong_element_is_found(dtype):
    A = ds.gallery.banded(100, 3, 3, dtype=dtype, seed=0)
    x = exactness.vector(100, dtype)
    y = A @ x
    y[50] += 1e-3
    assert exactness.MatvecCheck(A, x)(y) > 1
    C = (A @ A).tocsr()
    C.data[7] += np.asarray(1e-3, dtype)
    assert exactness.MatmulCheck(A, A)(C) > 1


def test_a_row_of_zeros_has_to_be_zero():
    A = sp.csr_array(np.array([[0.0, 0.0], [1.0, 2.0]]))
    check = exactness.MatvecCheck(A, np.ones(2))
    assert check(np.array([0.0, 3.0])) == 0
    assert check(np.array([1e-300, 3.0])) == np.inf
    assert exactness.MatmulCheck(A, A)(sp.csr_array(np.array([[0, 1e-300], [2.0, 4.0]]))) == np.inf


def test_a_missing_element_is_found():
    A = sp.csr_array(np.eye(3))
    assert exactness.MatmulCheck(A, A)(sp.csr_array((3, 3))) > 1


def test_nan_is_an_error_unless_scipy_has_it():
    A = sp.csr_array(np.eye(2))
    assert exactness.MatvecCheck(A, np.ones(2))(np.array([1.0, np.nan])) == np.inf
    assert exactness.MatvecCheck(A, np.array([1.0, np.nan]))(np.array([1.0, np.nan])) == 0
    assert exactness.MatvecCheck(A, np.array([1.0, np.inf]))(np.array([1.0, np.inf])) == 0
    assert exactness.MatmulCheck(A, A)(sp.csr_array(np.array([[np.nan, 0], [0, 1]]))) == np.inf


@pytest.mark.parametrize("shape", [(0, 0), (0, 3), (3, 0), (3, 3), (1, 1)])
def test_empty_matrices_are_checked(shape):
    A, B = sp.csr_array(shape), sp.csr_array(shape[::-1])
    assert exactness.MatvecCheck(A, np.ones(shape[1]))(np.zeros(shape[0])) == 0
    assert exactness.MatmulCheck(A, B)(sp.csr_array((shape[0], shape[0]))) == 0


def test_a_wrong_shape_is_found():
    A = sp.csr_array(np.eye(2))
    assert exactness.MatvecCheck(A, np.ones(2))(np.ones(3)) == np.inf
    assert exactness.MatmulCheck(A, A)(sp.csr_array((2, 3))) == np.inf


def test_large_products_are_checked_in_blocks(monkeypatch):
    monkeypatch.setattr(exactness, "_BLOCK", 50)
    A = ds.gallery.banded(97, 2, 2, seed=0)
    check = exactness.MatmulCheck(A, A)
    assert len(check._cuts) > 5
    C = (A @ A).tocsr()
    assert check(C) <= 1
    C.data[-1] += 1e-3
    assert check(C) > 1


def test_the_bound_of_a_million_rows_takes_no_time():
    import time

    A = ds.gallery.banded(10**6, 1, 1, seed=0)
    x = exactness.vector(10**6, "float64")
    y = ds.hm_array(A) @ x
    start = time.perf_counter()
    assert exactness.MatvecCheck(A, x)(y) <= 1
    assert time.perf_counter() - start < 5


def test_waiting_for_processors_is_noticed(monkeypatch):
    waited = iter([1.0, 1.0, 5.0, 5.0, 5.0])
    monkeypatch.setattr(measure, "_waited", lambda: next(waited))
    monitor = measure.LoadMonitor()
    assert monitor.warning() == ""
    assert "waited 4.0 s" in monitor.warning()
    for threads, words in ((1, ": the times are unreliable"), (2, ": times with several threads are unreliable")):
        with measure.using_threads(threads):
            assert monitor.warning().endswith(words)
    monkeypatch.undo()
    assert measure._waited() >= 0


def test_caches_can_be_emptied_before_each_call():
    order = []
    calls = {name: partial(order.append, name) for name in "ab"}
    times = measure.time_calls(calls, budget=0.0, sample=1.0, before=partial(order.append, "other"))
    assert order == ["other", "a", "other", "b"] * (len(order) // 4) and times["a"].samples >= 1
