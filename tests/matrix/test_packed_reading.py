"""Elements, rows, diagonals and slices of packed diagonals: read through the spans, and nothing is unpacked."""

import types

import numpy as np
import pytest
import scipy.sparse as sp
from cases import DIAGONAL, VIEWS, raises
from packings import FORMATS, holds, packed_cases, rounded

import diagsparse as ds
from diagsparse._formats.diagonal import DiagonalArray

HUGE = 2**40
SCIPYS = VIEWS | {"H": lambda a: a.conj().T}


@pytest.fixture
def never_unpacked(monkeypatch):
    """Fail where a packed matrix is laid out in full."""

    def refused(self, **options):
        if self._packed:
            raise AssertionError(f"{self!r} was unpacked")
        return self

    monkeypatch.setattr(DiagonalArray, "unpacked", refused)


def windows(m, n):
    """Some windows of an m x n matrix: principal ones, thin ones, ones off the diagonal, and nothing."""
    yield from ((0, m, 0, n), (0, 0, 0, n), (m // 2, m, 0, n), (0, m, n // 3, n))
    yield from ((i, min(m, n, i + 12), i, min(m, n, i + 12)) for i in (0, min(m, n) // 2, max(0, min(m, n) - 12)))
    yield m // 3, min(m, m // 3 + 5), max(0, n - 9), n


@FORMATS
def test_reading_agrees_with_scipy(format, never_unpacked, dtype="complex128"):
    for name, a, layout in packed_cases(dtype):
        if not holds(format, a) or not 0 < max(a.shape) <= 9000:
            continue
        A = getattr(ds, f"{format}_array")(ds.csr_array(a), **layout)
        for view in VIEWS:
            V, v = VIEWS[view](A), sp.csr_array(SCIPYS[view](a))
            m, n = v.shape
            for i in {0, m // 2, m - 1}:
                row, expected = V[i], v[[i]].toarray()[0]
                assert row.shape == (n,) and np.array_equal(row.toarray(), expected), (name, view, i)
                for j in {0, min(i, n - 1), *np.flatnonzero(expected)[:3].tolist(), n - 1}:
                    assert V[i, j] == expected[j] and V[i, j].dtype == dtype, (name, view, i, j)
            for j in {0, n - 1}:
                assert np.array_equal(V[:, j].toarray(), v[:, [j]].toarray()[:, 0]), (name, view, j)
            for k in {0, 1, -1, 3, 1 - m, n - 1}:
                if -m < k < n:
                    result = V.diagonal(k)
                    assert result.flags.writeable and np.array_equal(result, v.diagonal(k)), (name, view, k)


@FORMATS
def test_slices_are_those_of_scipy(format, dtype="complex64"):
    for name, a, layout in packed_cases(dtype):
        if not holds(format, a) or not 0 < max(a.shape) <= 700:
            continue
        A = getattr(ds, f"{format}_array")(ds.csr_array(a), **layout)
        for view in VIEWS:
            V, v = VIEWS[view](A), sp.csr_array(SCIPYS[view](a))
            for r0, r1, c0, c1 in windows(*v.shape):
                part, expected = V[r0:r1, c0:c1], v[r0:r1, c0:c1].toarray()
                assert part.dtype == dtype and np.array_equal(part.toarray(), expected), (name, view, r0, r1, c0, c1)
                assert np.array_equal(V[r0:r1].toarray(), v[r0:r1].toarray()), (name, view, r0, r1)
                assert part.period == V.period, (name, view, part)
                assert part.symmetry == (V.symmetry if (r0, r1) == (c0, c1) else None), (name, view, part)
                part.values[...] = 0  # a copy
            assert np.array_equal(V.toarray(), v.toarray())


@FORMATS
@pytest.mark.parametrize("narrow", ["float16", "bfloat16"])
def test_short_values(format, narrow, never_unpacked):
    for layout in ({}, {"symmetry": "symmetric"}, {"period": 6}, {"symmetry": "symmetric", "period": 6}):
        S = ds.gallery.stencil(5, (5, 6)).tocsr() * 1.1
        expected = rounded(S, narrow)
        A = getattr(ds, f"{format}_array")(S, dtype=narrow, **layout)
        assert A[7, 8] == expected[7, 8] and A[7, 8].dtype == A.dtype and A[0, 29] == 0
        assert np.array_equal(A[7].toarray(), expected[[7]].toarray()[0]) and A[7].dtype == np.float32
        assert np.array_equal(A.diagonal(-6).astype(float), expected.diagonal(-6)) and A.diagonal(1).dtype == A.dtype
        part = A[3:20, 3:20]
        assert part.dtype == A.dtype and (part.symmetry, part.period) == (A.symmetry, A.period)
        assert np.array_equal(part.diagonal(1).astype(float), expected[3:20, 3:20].diagonal(1))


def huge(format, symmetry):
    """Return 3, 2, 3 on three diagonals of a matrix that is far too large to be stored in full."""
    if symmetry is None:
        return ds.diags({-1: 3.0, 0: 2.0, 1: 3.0}, shape=(HUGE, HUGE), format=format, period=1)
    values = {"dia": [[2.0], [3.0]], "hm": [2.0, 3.0], "cdm": [[2.0, 0.0], [3.0, 0.0]]}[format]
    parts = np.array(values), [0, 1]
    return getattr(ds, f"{format}_array")(parts, shape=(HUGE, HUGE), symmetry=symmetry, period=1)


@FORMATS
def test_huge_matrices_are_read_through_their_spans(format):
    for symmetry in (None, "symmetric"):
        E = huge(format, symmetry)
        i = HUGE // 3
        assert E[i, i] == 2 and E[i, i + 1] == E[i + 1, i] == 3 and E[i, 7] == 0 and E[-1, -1] == 2
        row = E[i]
        assert row.shape == (HUGE,) and row.coords[0].tolist() == [i - 1, i, i + 1] and row.data.tolist() == [3, 2, 3]
        assert E[:, HUGE - 1].coords[0].tolist() == [HUGE - 2, HUGE - 1]
        assert np.array_equal(E[i : i + 3, i : i + 3].toarray(), [[2, 3, 0], [3, 2, 3], [0, 3, 2]])
        assert np.array_equal(E[i : i + 2, i - 1 : i + 2].toarray(), [[3, 2, 3], [0, 3, 2]])
        inner = E[1:-1, 1:-1]
        assert inner.shape == (HUGE - 2, HUGE - 2) and inner.nbytes == E.nbytes and inner.symmetry == E.symmetry
        assert inner.period == 1 and inner[i, i - 1] == 3 and inner[:][5, 5] == 2
        below = E[5:]
        assert below.shape == (HUGE - 5, HUGE) and below[0, 4] == below[0, 6] == 3 and below[HUGE - 6, HUGE - 1] == 2
        with raises(MemoryError, "diagonal: offset 0 would need 8.8 TB"):
            E.diagonal()
        assert E.diagonal(1 - HUGE).tolist() == [0] and E.diagonal(HUGE - 1).tolist() == [0]


def test_packed_diagonals_of_a_gpu_are_not_read_one_by_one(monkeypatch):
    full = ds.gallery.stencil(5, (5, 6)).tocsr()
    elsewhere = types.SimpleNamespace(name="cuda")
    for layout in ({"symmetry": "symmetric"}, {"period": 6}):
        A = ds.hm_array(full, **layout)
        monkeypatch.setattr(A, "_backend", elsewhere)
        with raises(
            TypeError, "expected every diagonal stored in full on cuda", f"got {A._format.packing(A)}", "A.unpacked()"
        ):
            next(A._format.diagonals(A))


def test_slices_of_a_period_repeat_after_it():
    """Wherever a slice begins, what it stores begins there."""
    S = ds.gallery.stencil(5, (7, 6)).tocsr()
    for format in DIAGONAL:
        A = getattr(ds, f"{format}_array")(S, period=6)
        for first in range(6):
            part = A[first : first + 20, first : first + 20]
            expected, x = S[first : first + 20, first : first + 20].toarray(), np.arange(20.0)
            assert part.period == 6 and np.array_equal(part.toarray(), expected)
            assert np.allclose(part @ x, expected @ x)
