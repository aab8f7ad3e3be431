"""How long a matrix follows arrays that it gave out, and what threads, Ctrl-C and a lack of memory leave of it."""

import gc
import itertools
import sys
import threading

import numpy as np
import pytest
from written_arrays import INDEXED, USES, N, X, both, mirror

import diagsparse as ds
from diagsparse._formats import exported_indices


@pytest.mark.parametrize("format", [*ds.formats()])
def test_matrices_without_exported_arrays_export_nothing(format):
    A = ds.array(ds.gallery.tridiagonal(N), format)
    for use in (*USES.values(), repr, lambda A: A._repr_html_(), lambda A: A.to_scipy()):
        use(A)
    assert A._matrix.exporter is None


@INDEXED
def test_the_last_reference(format):
    A, s = both(format)

    def index():
        return A.col if format == "coo" else A.indices

    index()
    assert np.allclose(A @ X, s @ X) and A._matrix.exporter is None  # nothing was written
    held = index()[2:5]  # a view of it is a reference, too
    assert index() is index() and held.base is index()
    assert np.allclose(A @ X, s @ X) and A._matrix.exporter is not None
    value, column = s.data[2], held[0]
    line = memoryview(held)
    del held
    gc.collect()
    A @ X
    line[0] = N - 1 if column != N - 1 else 0
    del line
    moved = A.toarray()
    assert (moved != s.toarray()).sum() in (1, 2) and value in moved
    assert np.allclose(A @ X, moved @ X)


@INDEXED
def test_threads_that_read(format):
    """A matrix whose arrays are referenced elsewhere is used by several threads at once."""
    A, s = both(format)
    mirror(A)
    mirror(s)
    held, expected, wrong = A.data, s @ X, []

    def work():
        for _ in range(50):
            if not np.allclose(A @ X, expected) or not np.allclose(A.T @ X, s.T @ X):
                wrong.append(1)
            assert (A.row if format == "coo" else A.indices).size == s.nnz

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong and held.size == s.nnz


def interrupted(action, error, number):
    """Whether `action` was interrupted by this error, raised at a line of code (`number`) that takes over writes."""
    count = 0

    def line(frame, event, argument):
        nonlocal count
        count += event == "line"
        if event == "line" and count == number:
            raise error
        return line

    before = sys.gettrace()
    sys.settrace(lambda frame, *event: line if frame.f_code.co_filename == exported_indices.__file__ else None)
    try:
        action()
    except error:
        return True
    finally:
        sys.settrace(before)
    return False


@INDEXED
@pytest.mark.parametrize(
    "error, released", [(KeyboardInterrupt, True), (KeyboardInterrupt, False), (MemoryError, False)]
)
@pytest.mark.parametrize("use", ["A @ x", "copy", "sum_duplicates"])
def test_interruptions_anywhere(format, error, released, use):
    """Whatever line is interrupted, the matrix is as before or after, and the next use finds what is written later."""
    uses = {**USES, "sum_duplicates": lambda A: A.sum_duplicates()}
    for number in itertools.count(1):
        A, s = both(format)
        held = A.coords if format == "coo" else (A.indices, A.indptr)
        mirror(A), mirror(s)
        was_interrupted = interrupted(lambda A=A: uses[use](A), error, number)
        held = None if released else held
        assert np.array_equal(A.toarray(), s.toarray()) and np.allclose(A @ X, s @ X), number
        A.data[:] = np.arange(1.0, 1 + s.nnz)
        arrays = A.coords if format == "coo" else (A.indices, A.indptr)
        seen = type(s)((A.data, arrays), shape=s.shape) if format == "coo" else type(s)((A.data, *arrays), s.shape)
        assert np.array_equal(A.toarray(), seen.toarray()), number
        del held, arrays
        assert np.array_equal(A.toarray(), seen.toarray()), number
        A.sum_duplicates()
        assert A.has_canonical_format and np.array_equal(A.toarray(), seen.toarray()), number
        if not was_interrupted:
            assert number > 10  # lines were counted
            return


@INDEXED
def test_an_exporter_that_ended_is_replaced(format):
    """Ctrl-C between its last answer and native code that gives it up."""
    A, s = both(format)
    index = A.col if format == "coo" else A.indices
    exporter = A._matrix.exporter
    del index
    assert exporter.native(format) is None and A._matrix.exporter is exporter
    again = A.col if format == "coo" else A.indices  # once this never came back
    assert A._matrix.exporter is not exporter
    mirror(A), mirror(s)
    assert again.size and np.array_equal(A.toarray(), s.toarray())


@INDEXED
def test_attributes_that_no_index_array_changes_are_free(format, monkeypatch):
    A = both(format)[0]
    held = A.col if format == "coo" else A.indices
    uses = []
    monkeypatch.setattr(A._matrix.exporter, "native", lambda format: uses.append(format))
    native = A._matrix
    assert (A.shape, A.dtype, A.format, A.device) == ((N, N), np.float64, format, "cpu")
    assert (native.rows, native.cols, native.dtype, native.format, native.device) == (N, N, np.float64, format, 0)
    assert A.T.shape == (N, N) and A.conj().dtype == np.float64 and held.size and not uses


@INDEXED
def test_arrays_without_other_references_are_compared_once(format, monkeypatch):
    """Entries that are out of order are no reason to compare index arrays for ever."""
    A, s = both(format)
    mirror(A), mirror(s)
    same, compared = exported_indices._same, []
    monkeypatch.setattr(exported_indices, "_same", lambda a, b: compared.append(a.dtype.kind) or same(a, b))
    assert np.allclose(A @ X, s @ X)
    assert "i" in compared and not A.has_canonical_format
    compared.clear()
    A.data[:] = s.data[:] = np.arange(len(s.data))
    assert np.allclose(A @ X, s @ X) and set(compared) == {"f"}, "values are"


@INDEXED
def test_an_invalid_matrix_has_a_repr(format):
    A = both(format)[0]
    index = A.col if format == "coo" else A.indices
    first, index[0] = int(index[0]), N
    for shown in (repr(A), str(A), repr(A.T), A._repr_html_(), repr(ds.plan_matvec(A))):
        assert f"{format}_array" in shown or "csr_array" in shown or "csc_array" in shown
    assert "were modified" in repr(A) and "stored" not in repr(A)
    index[0] = first
    assert f"{A.nnz} stored" in repr(A)
