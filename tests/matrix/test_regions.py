"""The regions of an ellcsr matrix, against counts by NumPy."""

import json

import numpy as np
import pytest
import scipy.sparse as sp

import diagsparse as ds
from diagsparse import gallery

CI = gallery.ci_matrix(300, seed=0)
RANDOM = sp.random_array((40, 70), density=0.1, rng=np.random.default_rng(0), format="csr")


def check(region, pattern, first, end):
    lengths = pattern[:, first:end].sum(axis=1)
    assert (region.first, region.end, region.nonzeros) == (first, end, lengths.sum())
    assert region.row_lengths.tolist() == lengths.tolist() and region.longest == lengths.max(initial=0)
    assert region.longest_row == (int(lengths.argmax()) if len(lengths) else None)
    positions = pattern[:, first:end].size
    assert region.sparsity == pytest.approx(1 - lengths.sum() / positions if positions else 1)


def check_all(found, pattern, column):
    check(found.reference, pattern, 0, column)
    check(found.expansion, pattern, column, pattern.shape[1])
    check(found.whole, pattern, 0, pattern.shape[1])


@pytest.mark.parametrize("options", [
    {}, {"boundary": 6}, {"boundary": 40}, {"boundary_column": 30}, {"boundary": 0}, {"column_bits": 8},
    {"boundary_column": 30, "column_bits": 16},
])  # fmt: skip
@pytest.mark.parametrize("S", [CI, RANDOM], ids=["ci", "random"])
def test_against_brute_force(S, options, device):
    """The reference region ends behind the last column of an entry that leads."""
    A, pattern = ds.ellcsr_array(S, device=device, **options), S.toarray() != 0
    leading = np.full(A.ell_indices.shape, -1)
    for i, row in enumerate(pattern):
        columns = np.flatnonzero(row)
        rest = np.diff(np.asarray(A.to("cpu").csr_indptr))[i]
        leading[i, : len(columns) - rest] = columns[: len(columns) - rest]
    check_all(A.report(), pattern, int(leading.max(initial=-1)) + 1)
    assert A.report().nbytes == A.nbytes
    for column in (0, 1, 25, np.int64(S.shape[1])):
        check_all(A.report(column), pattern, int(column))
    check_all(A.conj().report(25), pattern, 25)
    check_all(A.T.report(25), pattern.T, 25)


def test_of_one_triangle(device):
    S = gallery.ci_matrix(300, symmetric=True, seed=0)
    A = ds.ellcsr_array(S, symmetry="symmetric", boundary_column=30, device=device)
    check_all(A.report(), S.toarray() != 0, 30)


def test_explicit_zeros_count_and_empty_matrices_have_regions():
    A = ds.ellcsr_array(sp.csr_array((np.zeros(3), ([0, 0, 1], [0, 2, 1])), shape=(2, 3)), boundary=1)
    assert (A.report().reference.nonzeros, A.report().expansion.nonzeros) == (2, 1)
    for shape in ((0, 3), (3, 0), (0, 0)):
        check_all(ds.ellcsr_array(sp.csr_array(shape)).report(), np.zeros(shape, bool), 0)


def test_error_messages():
    found = ds.ellcsr_array(CI, boundary=6).report()
    assert found.reference.end == 30 and (found.reference.row_lengths == 6).all()
    lines = str(found).splitlines()
    assert lines[0].split()[:3] == ["region", "columns", "nonzeros"] and len(lines) == 5
    assert lines[1].split()[:5] == ["reference", "0", "to", "29", str(6 * 300)]
    plain = json.loads(json.dumps(found.to_dict()))
    assert plain["expansion"]["nonzeros"] == CI.nnz - 1800 and plain["nbytes"] == found.nbytes


def test_columns_that_are_none():
    A = ds.ellcsr_array(RANDOM)
    with pytest.raises(ValueError, match="report: column=71: expected 0 to 70"):
        A.report(71)
    with pytest.raises(ValueError, match="report: column=-1: expected 0 to 70"):
        A.report(-1)
    with pytest.raises(TypeError, match=r"report: column=2\.5: expected an integer"):
        A.report(2.5)
