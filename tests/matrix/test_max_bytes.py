"""Every constructor and conversion respects `max_bytes`, and large results are forecast before they are built."""

import numpy as np
import pytest
import scipy.sparse as sp
from cases import raises
from processes import python

import diagsparse as ds

FORMATS = pytest.mark.parametrize("format", ds.formats())
FEW = np.ones(3), ([0, 10**8 - 1, 7], [0, 2, 1])  # in any order


def maker(format):
    return getattr(ds, f"{format}_array")


@FORMATS
def test_every_constructor_respects_the_limit(format):
    dense = np.arange(25.0).reshape(5, 5) + 1
    A = ds.array(dense, format)
    S, make, how = sp.csr_array(dense), maker(format), {"align": "row"} if format == "dia" else {}
    ways = [
        lambda limit: make(dense, max_bytes=limit),
        lambda limit: make(S, max_bytes=limit),
        lambda limit: make(S.tocoo(), max_bytes=limit),
        lambda limit: make(S.tocsc(), max_bytes=limit),
        lambda limit: make(A, copy=True, max_bytes=limit),
        lambda limit: A.asformat(format, copy=True, max_bytes=limit),
        lambda limit: make(_parts(A), shape=(5, 5), max_bytes=limit, **how),
    ]
    for way in ways:
        with raises(MemoryError, "the limit is"):
            way(A.nbytes - 1)
        assert np.array_equal(way(20 * A.nbytes + 10_000).toarray(), dense)


def _parts(A):
    """Return the first argument of the constructor that parts are given as."""
    values, *others = (A.parts()[name] for name in ("values", *A._format.structure))
    return (values, tuple(others)) if A.format == "coo" else (values, *others)


@FORMATS
def test_the_limit_is_a_number(format):
    for wrong in ("1GB", True, 1j):
        with raises(TypeError, "max_bytes", wrong, "expected a number of bytes"):
            maker(format)(np.eye(3), max_bytes=wrong)
        with raises(TypeError, "max_bytes", wrong):
            ds.matmul(ds.array(np.eye(3), format), ds.array(np.eye(3), format), max_bytes=wrong)
    for wrong in (-1, float("nan")):
        with raises(ValueError, "max_bytes", wrong, "expected 0 bytes or more"):
            maker(format)(np.eye(3), max_bytes=wrong)
    assert maker(format)(np.eye(3), max_bytes=float("inf")).nnz


def test_few_entries_of_many_rows():
    """Pointers to 10^8 rows need 800 MB: csr has them, and refuses in advance. Diagonals have none."""
    result = python("""
        import numpy as np, scipy.sparse as sp
        import diagsparse as ds
        few, shape = (np.ones(3), ([0, 10**8 - 1, 7], [0, 2, 1])), (10**8, 3)
        for given in (few, sp.coo_array(few, shape=shape)):
            A = ds.coo_array(given, shape=shape, max_bytes=10_000)
            assert A.row.tolist() == [0, 7, 10**8 - 1] and A.col.tolist() == [0, 1, 2]
            for make in (ds.csr_array, ds.ell_array):
                if make is ds.csr_array or given is not few:
                    try:
                        make(given, shape=shape, max_bytes=10_000)
                    except MemoryError as error:
                        assert "800 MB" in str(error) or "1.6 GB" in str(error), error
                    else:
                        raise AssertionError(make)
        assert ds.hm_array(sp.coo_array(few, shape=shape), max_bytes=10_000).nbytes == 128
        with open("/proc/self/status") as lines:
            print(next(line.split()[1] for line in lines if line.startswith("VmHWM")))
    """)
    assert int(result) < 400_000  # KB


def test_a_sum_of_few_values_takes_no_vector():
    m = 10**15
    one = ds.hm_array((np.array([5.0]), [m - 1]), shape=(m, m))
    assert one.sum() == 5 and one.trace() == 0 and one.trace(m - 1) == 5 and one.T.sum() == 5
    assert (1j * one).conj().sum() == -5j
    assert ds.hm_array((m, m)).trace() == ds.hm_array((m, m)).sum() == 0
    for A in (one, ds.hm_array((m, m)), ds.dia_array((np.ones((1, 1)), [0]), shape=(m, m), period=1, align="row")):
        with raises(MemoryError, "diagonal: offset 0 would need 8000 TB"):
            A.diagonal()


def test_rows_that_a_report_reads_are_forecast(monkeypatch):
    m = 2 * 10**9
    A = ds.coo_array(FEW, shape=(m, m))
    monkeypatch.setattr("diagsparse._backends.memory.available_bytes", lambda backend=None: 1 << 30)
    with raises(MemoryError, "coo_array: its rows", "would need", "GB"):
        ds.memory_report(A)


@FORMATS
def test_the_kind_of_values_is_preserved(format):
    A = ds.array(np.eye(4), format)
    before = A.values.copy()
    for wrong in (1j, np.full(A.values.shape, 1j)):
        with raises(TypeError, "complex128", "float64", "imaginary"):
            A.values = wrong
    assert np.array_equal(A.values, before)


@FORMATS
def test_a_limit_is_validated_where_nothing_is_built(format):
    A = ds.array(np.eye(3), format)
    for call in (lambda wrong: A.asformat(format, max_bytes=wrong), lambda wrong: maker(format)(A, max_bytes=wrong)):
        with raises(TypeError, "max_bytes='1GB'"):
            call("1GB")


@FORMATS
def test_copies_of_diagonals_are_forecast(format, monkeypatch):
    A = ds.array(ds.gallery.tridiagonal(50), format)
    monkeypatch.setattr("diagsparse._backends.memory.SMALL", 0)
    monkeypatch.setattr("diagsparse._backends.memory.available_bytes", lambda backend=None: 8 * 49)
    with raises(MemoryError, "would need", "392 B are free"):
        A.diagonal()


def _scipys():
    """Yield SciPy matrices of every format: sorted, unsorted, with duplicates and zeros."""
    rng = np.random.default_rng(0)
    random = sp.random_array((60, 47), density=0.1, rng=rng, format="csr")
    for a in (ds.gallery.arrow(50, seed=0), random, random.astype("float32"), sp.csr_array((5, 7)), sp.eye_array(40)):
        yield from (a.asformat(name) for name in ("csr", "csc", "coo", "lil", "dok", "dia", "bsr"))
    several = rng.integers(0, 40, (2, 300))
    yield sp.coo_array((rng.standard_normal(300), tuple(several)), shape=(40, 40))
    yield sp.csr_array((np.ones(3), np.array([2, 0, 0]), np.array([0, 2, 3, 3])), shape=(3, 3))  # not sorted
    yield sp.dia_array((np.zeros((2, 9)), [0, 3]), shape=(9, 9))


@FORMATS
def test_the_total_of_a_forecast_is_what_a_matrix_of_scipy_needs(format):
    for S in _scipys():
        if format == "cdm" and S.shape[0] != S.shape[1]:
            continue
        foreseen = ds.forecast("convert", S, format=format)
        result = maker(format)(S, max_bytes=foreseen.total_nbytes)
        assert (result.toarray() == S.toarray()).all()
        assert result.nbytes == foreseen.result_nbytes and foreseen.workspace_nbytes >= 0
        if foreseen.total_nbytes:
            with raises(MemoryError, "the limit is"):
                maker(format)(S, max_bytes=foreseen.total_nbytes - 1)


@FORMATS
def test_the_error_names_the_requested_format(format):
    dense, who = np.arange(25.0).reshape(5, 5) + 1, f"{format}_array: "
    packed = ds.hm_array(dense + dense.T, symmetry="symmetric")
    inputs = dense, sp.csr_array(dense), sp.dia_array(dense), ds.csr_array(dense), packed, ds.array(dense, "ell").T
    for given in inputs:
        for limit in (1, 150, ds.array(dense, format).nbytes - 1):
            try:
                maker(format)(given, max_bytes=limit)
            except MemoryError as error:
                assert str(error).startswith(who), error


def test_every_conversion_to_rows_names_the_requested_format():
    for options in ({}, {"column_bits": 8}, {"row_lengths": True}):
        with raises(MemoryError, "ell_array: built via csr_array: ", "the limit is 150 B"):
            ds.ell_array(np.eye(20), max_bytes=150, **options)
        with pytest.warns(ds.ConversionWarning, match="ell_array: int64"):
            ds.ell_array(np.eye(20, dtype=int), **options)
