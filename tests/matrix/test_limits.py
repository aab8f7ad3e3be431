"""Limits of indices and of memory, and the numbers that errors and reports name."""

import numpy as np
import pytest
import scipy.sparse as sp
from cases import DIAGONAL, NOT_DIAGONAL, raises

import diagsparse as ds
from diagsparse._backends import memory

FORMATS = pytest.mark.parametrize("format", ds.formats())


def test_indices_are_32_bits_wide():
    for cls in (ds.csr_array, ds.csc_array, ds.coo_array):
        with pytest.raises((ValueError, MemoryError), match=r"2\^31|2147483648"):
            cls(sp.coo_array((np.ones(1), ([0], [2**31 - 1])), shape=(1, 2**31)))


@FORMATS
def test_the_limit_names_the_numbers(format):
    """The bytes of a format are forecast exactly, and where they are too many it is refused with the numbers."""
    a = sp.coo_array((np.ones(400000), (np.arange(400000), (np.arange(400000) * 7919) % 400000)), shape=(400000,) * 2)
    cls, nbytes, small = getattr(ds, f"{format}_array"), ds.memory_report(a)[format], 10**9
    diagonal = format in (*DIAGONAL, "mdia")
    assert (nbytes > small) == diagonal
    of = r"\d+ diagonals.*400000 x 400000.*[TG]B" if diagonal else r"400000 x 400000.* would need .*\d MB"
    with pytest.raises(MemoryError, match=rf"{format}_array: .*{of}"):
        cls(a, max_bytes=min(nbytes - 1, small))
    if not diagonal:
        assert cls(a).nbytes == nbytes


@pytest.mark.parametrize("format", NOT_DIAGONAL)
def test_pointers_of_an_empty_matrix_count(format, monkeypatch):
    A = ds.hm_array((2**31 - 2,) * 2)
    monkeypatch.setattr(memory, "available_bytes", lambda backend=None: 1 << 30)
    with raises(MemoryError, "would need", "1.1 GB"):
        A.asformat(format)


def test_room_to_spare_is_in_the_report():
    """Given arrays and options may make a matrix larger than the default layout."""
    result = ds.ell_array(ds.gallery.tridiagonal(50))
    parts = result.parts()
    spare = np.concatenate([parts["indices"], np.full((2, 50), -1, np.int32)])
    A = ds.ell_array((np.ones(spare.shape), spare), shape=(50, 50))
    assert A.nbytes > result.nbytes
    half = ds.ellcsr_array(result, symmetry="symmetric"), ds.hm_array(result, symmetry="symmetric", period=1)
    wide = ds.ell_array(result, row_lengths=True), ds.hyb_array(result, width=1), ds.ellcsr_array(result, boundary=3)
    for B in (A, *half, *wide):
        assert ds.memory_report(B)[B.format] == ds.forecast("convert", B, format=B.format).result_nbytes == B.nbytes


def test_the_report_on_a_transpose_counts_the_options_of_its_copies():
    for a in (ds.gallery.tridiagonal(50), sp.csr_array((7, 7))):
        for A in (ds.ell_array(a, row_lengths=True), ds.sell_array(a, row_lengths=True), ds.csb_array(a, block=2)):
            for V in (A.T, A.conj(), A.H):
                result = V.asformat(A.format, copy=True)
                expected = ds.forecast("convert", V, format=A.format).result_nbytes
                assert ds.memory_report(V)[A.format] == expected == result.nbytes == A.nbytes


@FORMATS
def test_only_functions_with_a_limit_advise_to_change_it(format, monkeypatch):
    """Operators and methods without max_bytes= do not mention it."""
    A = ds.array(ds.gallery.tridiagonal(20), format)
    S = A.to_scipy()
    calls = [
        lambda: A + A, lambda: A - A.T, lambda: A * A, lambda: A + S, lambda: A < A.T, lambda: A.maximum(A.T),
        lambda: A[3, 4], lambda: A[3:9], lambda: A[:, 3], lambda: A[[1, 2]], lambda: A.T.copy(), lambda: A.diagonal(1),
        lambda: A.trace(), lambda: A.sum(), lambda: A.max(axis=0), lambda: A.argmax(), lambda: A.nonzero(),
        lambda: A.to_scipy("csr"), lambda: A.count_nonzero(axis=0), lambda: A.copy().eliminate_zeros(),
    ]  # fmt: skip
    monkeypatch.setattr(memory, "SMALL", 0)
    monkeypatch.setattr(memory, "available_bytes", lambda backend=None: 10)
    messages = []
    for call in calls:
        try:
            call()
        except MemoryError as error:
            messages.append(str(error))
    assert messages and not any("max_bytes" in message for message in messages), messages
    for product in (lambda: A @ A, lambda: A @ S):
        with raises(MemoryError, "10 B are free", "use A.matmul(B, max_bytes=)"):
            product()
    with raises(MemoryError, "pass max_bytes= to change the limit"):
        A.asformat("csr", copy=True)


def test_the_memory_of_validation_is_forecast(monkeypatch):
    A = ds.hyb_array(ds.gallery.arrow(1000))
    parts = tuple(A.parts()[name] for name in ("values", "ell_indices", "coo_row", "coo_col"))
    monkeypatch.setattr(memory, "SMALL", 0)
    monkeypatch.setattr(memory, "available_bytes", lambda backend=None: A.nbytes)
    with raises(MemoryError, "hyb_array: validating its arrays", "are free"):
        ds.hyb_array(parts, shape=A.shape)
