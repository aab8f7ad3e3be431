"""The values of matrices with palettes: nothing that is written to them is lost, or lost silently."""

import operator
import pickle

import numpy as np
import pytest
from palettes import bits, painted, pair, same


def test_assignments(device):
    A, P = pair(painted(), device)
    values = A.values
    for write in (
        lambda: A.__setitem__((0, 0), 3), lambda: setattr(A, "values", A.values.__imul__(2)),
        lambda: operator.itruediv(values, 2), lambda: operator.ipow(values, 2),
        lambda: values[: A.nnz].__setitem__(0, 3) if device == "cpu" else values[: A.nnz].fill(3),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=r'has a palette.*write A = A\.asformat\("mdia", palette=False\)'):
            write()
    with pytest.raises(ValueError, match=r"read-only|has a palette"):
        values.fill(3)
    assert bits(A.values) == bits(values) == bits(P.values)
    with pytest.raises(ValueError, match="shape"):
        A.values = np.ones(3)
    assert A.palette
    for B in (B.copy() for B in (A, A)):
        before, view = B.toarray(), B.T
        B.values = 5
        assert np.array_equal(view.toarray(), before.T)
        assert not B.palette and np.array_equal(B.toarray() != 0, before != 0) and set(np.unique(B.toarray())) == {0, 5}
    if device == "cpu":
        A.setdiag(4)
        P.setdiag(4)
        assert same(A, P)
    A.eliminate_zeros()
    P.eliminate_zeros()
    assert same(A, P) and A.palette
    A = A.asformat("mdia", palette=False)  # what the errors say
    A.values *= 2
    assert same(A, 2 * P)


def test_results_of_read_only_values_are_ordinary():
    values = pair(painted(), "cpu")[0].values
    for result in (2 * values, np.sqrt(abs(values)), values.astype("complex64"), np.sort(values), values.copy()):
        result[0] = 7
        result *= 2
        assert result[0] == 14
    assert type(2 * values) is np.ndarray and type(values.sum()) is np.float64
    assert np.array_equal(pickle.loads(pickle.dumps(values)), values)
