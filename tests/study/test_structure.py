"""The structure report against counts by brute force."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.sparse.csgraph import reverse_cuthill_mckee

import diagsparse as ds
from diagsparse import gallery
from diagsparse.structure import analyze


def brute_force(dense, pattern):
    """All fields but the symmetry, entry by entry."""
    m, n = pattern.shape
    entries = [(i, j) for i in range(m) for j in range(n) if pattern[i, j]]
    counts, constant, half_full, on_half_full = {}, 0, 0, 0
    for i, j in entries:
        counts[j - i] = counts.get(j - i, 0) + 1
    for k, count in counts.items():
        length = len(np.diagonal(dense, k))
        constant += count == length and len(set(np.diagonal(dense, k).tolist())) == 1
        half_full += 2 * count >= length
        on_half_full += count * (2 * count >= length)
    rows = pattern.sum(axis=1).tolist()
    blocks = len({(i // 8, j // 8) for i, j in entries})
    return {
        "shape": [m, n],
        "nnz": len(entries),
        "offsets": sorted(counts),
        "counts": [counts[k] for k in sorted(counts)],
        "fill": [counts[k] / len(np.diagonal(dense, k)) for k in sorted(counts)],
        "half_full": half_full,
        "half_full_fraction": on_half_full / len(entries) if entries else 0.0,
        "constant_diagonals": constant,
        "row_min": min(rows, default=0),
        "row_max": max(rows, default=0),
        "row_mean": len(entries) / m if m else 0.0,
        "bandwidth": max(map(abs, counts), default=0),
        "blocks": blocks,
        "block_fill": len(entries) / (64 * blocks) if blocks else 0.0,
        "density": len(entries) / (m * n) if m * n else 0.0,
    }


@st.composite
def matrices(draw):
    """A small matrix with few different values, so that constant diagonals and zeros occur, and its stored pattern."""
    m, n = draw(st.integers(0, 20)), draw(st.integers(0, 20))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    pattern = rng.random((m, n)) < draw(st.sampled_from([0, 0.1, 0.6, 1]))
    if draw(st.booleans()):
        pattern &= abs(np.subtract.outer(np.arange(m), np.arange(n))) <= 2
    values = rng.integers(0, draw(st.integers(1, 3)), (m, n)) + draw(st.integers(0, 1))
    return np.where(pattern, values, 0).astype(draw(st.sampled_from(["float64", "int32", "complex64"]))), pattern


@given(matrices())
@settings(max_examples=150, deadline=None)
def test_against_brute_force(matrix):
    dense, pattern = matrix
    rows, columns = np.nonzero(pattern)
    A = sparse.coo_array((dense[rows, columns], (rows, columns)), shape=dense.shape)
    report = analyze(A).to_dict()
    expected = brute_force(dense, pattern)
    assert {name: report[name] for name in expected} == expected
    assert report["dtype"] == str(dense.dtype)


@pytest.mark.parametrize(
    ("dense", "symmetry"),
    [
        ([[1, 2], [2, 3]], "symmetric"),
        ([[1, 2], [3, 3]], "none"),
        ([[0, 2], [-2, 0]], "skew-symmetric"),
        ([[1, 2], [-2, 0]], "none"),
        ([[1, 2 + 1j], [2 - 1j, 3]], "hermitian"),
        ([[1j, 2 + 1j], [2 + 1j, 3]], "symmetric"),
        ([[1j, 2 + 1j], [2 - 1j, 3]], "none"),
        ([[0, 2 + 1j], [-2 - 1j, 0]], "skew-symmetric"),
        ([[1 + 0j, 2], [2, 1]], "symmetric"),
        ([[1, 0, 2], [0, 1, 0]], "none"),
        ([[0, 1, 0], [0, 0, 0], [0, 1, 0]], "none"),
        ([[np.nan]], "none"),
        ([[0.0, 0.0], [0.0, 0.0]], "symmetric"),
    ],
)
def test_symmetry(dense, symmetry):
    assert analyze(sparse.csr_array(np.array(dense))).symmetry == symmetry


@pytest.mark.parametrize("dtype", [bool, np.uint8])
def test_symmetry_of_unsigned_values(dtype):
    assert analyze(sparse.csr_array(np.array([[0, 1], [255, 0]], dtype))).symmetry in ("none", "symmetric")
    assert analyze(sparse.csr_array(np.array([[0, 1], [0, 0]], dtype))).symmetry == "none"


def test_explicit_zeros_count_as_entries_but_not_for_symmetry():
    A = sparse.csr_array((np.array([1.0, 0.0, 2.0]), ([0, 0, 1], [0, 1, 1])), shape=(2, 2))
    report = analyze(A)
    assert report.nnz == 3 and report.offsets.tolist() == [0, 1] and report.symmetry == "symmetric"


def test_duplicates_are_summed_in_a_copy():
    A = sparse.csr_array((np.array([1.0, 2.0, 3.0]), np.array([1, 1, 0]), np.array([0, 2, 3])), shape=(2, 2))
    report = analyze(A)
    assert report.nnz == 2 and report.symmetry == "symmetric" and report.row_max == 1
    assert A.data.tolist() == [1, 2, 3] and A.indices.tolist() == [1, 1, 0]


@pytest.mark.parametrize("container", ["csr", "csc", "coo", "dia", "bsr", "lil", "dok"])
@pytest.mark.parametrize("kind", [sparse.csr_array, sparse.csr_matrix])
def test_every_scipy_container(container, kind):
    A = gallery.banded(30, 2, 1, seed=0)
    report = analyze(kind(A).asformat(container))
    assert report.to_dict() == analyze(A).to_dict()


@pytest.mark.parametrize("format", [*ds.formats(), "hm in halves"])
def test_every_format_of_ours(format):
    A = gallery.banded(30, 2, 1, seed=0)
    A = A + A.T
    ours = ds.hm_array(A, symmetry="symmetric") if format == "hm in halves" else ds.array(A, format=format)
    for one in (ours, ours.T):
        result, expected = analyze(one).to_dict(), analyze(A).to_dict()
        assert result.pop("bytes") == ds.memory_report(one)  # of its own layout in its own format
        del expected["bytes"]
        assert result == expected


@pytest.mark.parametrize("dtype", [np.float16, np.longdouble, np.clongdouble, ">f8", np.int64])
def test_values_of_any_type(dtype):
    report = analyze(gallery.tridiagonal(20).astype(dtype, copy=False))
    assert report.dtype == dtype and report.constant_diagonals == 3 and report.symmetry == "symmetric"


def test_reverse_cuthill_mckee():
    order = np.random.default_rng(0).permutation(400)
    A = gallery.stencil(5, 20).tocsr()[order][:, order]
    assert analyze(A).bandwidth > 300
    assert analyze(A).bandwidth_rcm < 40
    assert analyze(A, rcm=False).bandwidth_rcm is None
    assert analyze(A[:, :300]).bandwidth_rcm is None
    skew = sparse.csr_array(np.triu(A.toarray(), 1) - np.tril(A.toarray(), -1))
    assert analyze(skew).bandwidth_rcm < 40
    p = reverse_cuthill_mckee(A)
    report = analyze(A)
    assert report.blocks_rcm == ds.bmsparse_array(A[p][:, p]).blocks < report.blocks == ds.bmsparse_array(A).blocks
    assert analyze(A, rcm=False).blocks_rcm is None and analyze(A[:, :300]).blocks_rcm is None


@pytest.mark.parametrize("n", [0, 1, 9])
def test_reverse_cuthill_mckee_of_nothing(n):
    report = analyze(sparse.csr_array((n, n)))
    assert (report.bandwidth_rcm, report.blocks_rcm) == (0, 0)


@pytest.mark.parametrize("shape", [(10, 2_000_000_001), (2_000_003, 11)])
def test_few_entries_in_a_huge_shape(shape):
    A = sparse.coo_array(([1.0, 2.0], ([0, 7], [shape[1] - 1, 3])), shape=shape)
    report = analyze(A)
    assert report.offsets.tolist() == sorted([shape[1] - 1, -4])
    assert (report.counts.tolist(), report.blocks) == ([1, 1], 2)


def test_constant_diagonals_and_fill():
    report = analyze(gallery.stencil(5, (30, 40)))
    assert report.constant_diagonals == 3 and report.half_full == 5 and report.half_full_fraction == 1
    assert report.fill[[0, 2, 4]].tolist() == [1, 1, 1] and (report.fill[[1, 3]] < 1).all()
    assert analyze(gallery.tridiagonal(1000)).constant_diagonals == 3


def test_text_and_json():
    report = analyze(gallery.stencil(5, (30, 40)))
    lines = report.describe("grid.mtx").splitlines()
    assert lines[0] == "grid.mtx    1200 x 1200   float64   5860 nonzeros   0.41 % full"
    assert lines[1] == (
        "diagonals   5 occupied, from -40 to 40; 5 at least half full, with 100.0 % of the nonzeros; 3 constant"
    )
    assert lines[2] == ("bands       3 with 5 diagonals, 99.0 % full, with 100.0 % of the nonzeros; spread 13.3 %")
    assert lines[3].index("bandwidth") == lines[4].index("680 occupied")
    assert f"bandwidth 40, after reverse Cuthill-McKee {report.bandwidth_rcm}" in lines[3]
    assert f"680 occupied, after reverse Cuthill-McKee {report.blocks_rcm}" in lines[4]
    assert lines[5] == "bitmaps     1420 of 4 x 4 (69.2 KB), 680 of 8 x 8 (61.7 KB), 485 of 16 x 16 (68.8 KB)"
    assert lines[6] == "values      symmetric; every diagonal repeats after 40 rows"
    assert lines[7] == "bytes       hm 47.4 KB, mdia 48.0 KB, cdm 48.0 KB, dia 48.0 KB, csr 79.9 KB (17 formats in all)"
    assert lines[8] == "others      bsr 2 x 2 109 KB, bcsd 32 rows 49.2 KB, msr 70.3 KB, vbr 136 KB (not implemented)"
    assert "after reverse" not in str(analyze(gallery.stencil(5, (30, 40)), rcm=False))
    assert str(report).splitlines()[1:] == lines[1:]
    read = json.loads(json.dumps(report.to_dict()))
    assert read["offsets"] == [-40, -1, 0, 1, 40] and read["blocks_rcm"] == report.blocks_rcm
    assert all(line[20:] for line in report.describe("a name longer than the labels").splitlines())
    assert "0 occupied;" in str(analyze(sparse.csr_array((0, 3))))


def test_bands():
    A = gallery.quasi_band(2000, 0.5, band_percentage=90, band_occupancy=100, band_count=1, layout="row_block", seed=0)
    report = analyze(A)
    plain = report.to_dict()
    assert plain["nnz_percentage"] == pytest.approx(0.5) and plain["band_count"] == report.bands.band_count == 1
    assert plain["band_percentage"] >= 90 and plain["band_occupancy"] > 40 and plain["band_spread"] == 0
    assert plain["diagonal_count"] >= round(0.9 * A.nnz / 2000) and "bands" not in plain
    assert "0 with 0 diagonals, 0 % full, with 0 % of the nonzeros" in str(analyze(sparse.csr_array((0, 3))))


def test_mistakes_are_named():
    with pytest.raises(TypeError, match="A is NoneType, expected a sparse matrix"):
        analyze(None)
    with pytest.raises(ValueError, match="A has 1 dimensions, expected 2"):
        analyze(sparse.coo_array(np.ones(3)))


@given(matrices())
@settings(max_examples=60, deadline=None)
def test_periods_and_rows_against_brute_force(matrix):
    dense, pattern = matrix
    m = len(dense)
    rows, columns = np.nonzero(pattern)
    s = analyze(sparse.coo_array((dense[rows, columns], (rows, columns)), shape=dense.shape))
    lengths = np.sort(pattern.sum(axis=1))
    assert [k for k, count in s.row_lengths.tolist() for _ in range(count)] == lengths.tolist()
    assert s.row_quantile(0.5) == (lengths[max(0, -(-m // 2) - 1)] if m else 0)
    assert s.row_quantile(1) == s.row_max
    held = [dense.diagonal(k) for k in s.offsets.tolist()]
    repeats = [p for p in range(1, max(m, 2)) if all((d[p:] == d[:-p]).all() for d in held)]
    affordable = s.nbytes["hm"] <= 4 * max(1, s.nbytes["csr"])
    if s.period is not None:
        assert affordable and s.period in repeats
    if affordable and repeats and 2 * repeats[0] <= min(map(len, held), default=2 * repeats[0]):  # not for being short
        assert s.period == repeats[0]
    assert s.toeplitz == (affordable and all(len(set(d.tolist())) <= 1 for d in held))


def test_dense_arrays_are_analyzed_as_sparse_ones():
    dense = gallery.arrow(30, seed=0).toarray()
    for array, dtype in ((dense, float), (dense.astype("complex64"), "complex64"), (dense != 0, float)):
        for one in (array, array.tolist()) if dtype is float else (array,):
            assert analyze(one).to_dict() == analyze(sparse.csr_array(array.astype(dtype))).to_dict()


def test_what_an_analysis_shows():
    s = analyze(gallery.tridiagonal(100))
    assert s.toeplitz and "Toeplitz" in str(s) and s.nbytes == ds.memory_report(gallery.tridiagonal(100))
    html = s._repr_html_()
    assert "3 diagonals from -1 to 1" in html and "<svg" in html
    assert all(f"<th scope='row'>{format}</th>" in html for format in ds.formats())
    assert repr(s) == "<structure of a matrix 100 x 100 float64: 298 nonzeros, 3 diagonals from -1 to 1>"
    assert "cells" not in s.to_dict() and s.to_dict()["toeplitz"] is True
