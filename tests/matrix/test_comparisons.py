"""Comparisons, and the larger or smaller of two elements: against SciPy and dense NumPy arrays."""

import operator

import numpy as np
import pytest
import scipy.sparse as sp
from cases import EACH_DTYPE, VIEWS, holding, matrix, ours, partner, raises
from oracle import seen

import diagsparse as ds

FORMATS = pytest.mark.parametrize("format", ds.formats())
WIDE = ("wide 20 x 70", "0x5", "5x0", "1x7", "empty rows")
COMPARISONS = operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge


@pytest.mark.filterwarnings("ignore::scipy.sparse.SparseEfficiencyWarning")
@FORMATS
@EACH_DTYPE
def test_comparisons_and_extremes_of_matrices(format, dtype, device):
    """As SciPy's csr, also with NaN and infinities where the other matrix has no entry; on the device of both."""
    special = sp.csr_array(
        np.array([[np.inf, np.nan, 1, 0], [-np.inf, 2, 0, np.inf], [3, np.nan, 0, 0], [0, 0, -1, 5]])
    )
    pairs = [(matrix(name, dtype), partner(name, dtype)) for name in holding(format, ("0x0", "banded 9", *WIDE))]
    pairs += [(a, a) for a, _ in pairs] + [(special, special.T)]
    for a, b in pairs:
        a, b = sp.csr_array(a), sp.csr_array(b)
        A, B = ds.array(a, format, device=device), ds.array(b, "csr", device=device)
        for compare in COMPARISONS:
            for made, expected in ((compare(A, B), compare(a, b)), (compare(A.T, B.T), compare(a, b).T)):
                assert sp.issparse(made) and not ds.issparse(made) and made.dtype == bool
                assert made.has_canonical_format and made.data.all() and made.indices.flags.writeable
                assert (made != expected).nnz == 0, (compare.__name__, a.shape)
        for name in ("maximum", "minimum"):
            made, expected = getattr(A, name)(B), getattr(a, name)(b)
            assert (made.format, made.dtype, made.device) == (format, expected.dtype, device)
            assert np.array_equal(made.toarray(), expected.toarray(), equal_nan=True), (name, a.shape)
    A = ours("wide 20 x 70", "csr", dtype, device)
    assert (A == A.T) is False and (A != A.T) is True
    for run in (lambda: A < A.T, lambda: A.maximum(A.T)):
        with raises(ValueError, "20 x 70", "70 x 20"):
            run()


@pytest.mark.quick
@FORMATS
@EACH_DTYPE
def test_comparisons_with_numbers_and_arrays(format, dtype):
    for name in holding(format, ("0x0", "banded 9", "wide 20 x 70", "explicit zeros")):
        for op in VIEWS:
            A, a = VIEWS[op](ours(name, format, dtype)), seen(matrix(name, dtype), op).toarray()
            others = [
                0,
                0.25,
                -0.25,
                np.float32(0.5),
                a,
                a[:1],
                *a.ravel()[:1],
                *([] if a.dtype.kind == "c" else [np.nan]),
            ]
            for compare in COMPARISONS:
                for other in others:
                    made = compare(A, other)
                    assert sp.issparse(made) == (np.ndim(other) == 0) and made.dtype == bool
                    made = made.toarray() if sp.issparse(made) else made
                    assert np.array_equal(made, compare(a, other)), (name, op, compare.__name__, other)


@pytest.mark.quick
@pytest.mark.filterwarnings("ignore::scipy.sparse.SparseEfficiencyWarning")
def test_nan_is_within_any_limit_as_in_scipy():
    """``A <= B`` is the complement of ``A > B``."""
    a = sp.csr_array(np.array([[1, np.nan, 0], [np.nan, 2, 0]]))
    A = ds.csr_array(a)
    for compare in (operator.le, operator.ge):
        assert compare(A, A).toarray().all() and compare(a, a).toarray().all()
        assert not compare(A, A.toarray())[np.isnan(A.toarray())].any()
