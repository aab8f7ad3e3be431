"""The gallery's matrices of configuration interaction, against the counts that Mahmoud, Hoffmann and Reza print."""

import numpy as np
import pytest
from scipy import sparse

from diagsparse import gallery


@pytest.mark.nightly
def test_ci_matrix_has_the_counts_of_the_paper():
    """Of table 3 of Mahmoud, Hoffmann and Reza, on average over their ten matrices."""
    a = gallery.ci_matrix(seed=0)
    lengths = np.diff(a.indptr)
    assert a.has_canonical_format and (np.diff(a[:, :3276].indptr) == 655).all()
    assert a[:, :3276].nnz == 21_463_040
    assert a.nnz == pytest.approx(31_133_222, rel=0.005)  # and so the bytes of csr in table 5
    assert lengths.max() == pytest.approx(1070.5, rel=0.03)
    four = lengths.reshape(4, 8192).max(axis=1).sum()  # the widths of four slices
    assert 12 * 8192 * four / 2**20 == pytest.approx(398.12, rel=0.005)  # MB of sliced ell in table 5


def test_ci_matrix():
    for fraction, reference, expansion in ((0, 0.5, 0.9), (1, 0.5, 0.9), (0.25, 0, 1), (0.25, 1, 0)):
        a = gallery.ci_matrix(40, fraction, reference, expansion, seed=1)
        columns = int(40 * fraction)
        assert (np.diff(a[:, :columns].indptr) == round((1 - reference) * columns)).all()
        assert expansion < 1 or a[:, columns:].nnz == 0
    full = gallery.ci_matrix(300, seed=3)
    s = gallery.ci_matrix(300, seed=3, symmetric=True)
    assert (s != s.T).nnz == 0 and np.array_equal(sparse.tril(s).toarray(), np.tril(full.toarray()))
    assert gallery.ci_matrix(0).shape == (0, 0)


def test_some_rows_of_a_ci_matrix():
    part = gallery.ci_matrix(3000, rows=50, seed=4)
    assert part.shape == (50, 3000) and (np.diff(part[:, :300].indptr) == 60).all()
    assert part[:, 300:].nnz == pytest.approx(50 * 27, rel=0.2)
    whole, same = gallery.ci_matrix(300, seed=3), gallery.ci_matrix(300, rows=300, seed=3)
    assert (whole != same).nnz == 0 and gallery.ci_matrix(300, rows=0).shape == (0, 300)
    with pytest.raises(ValueError, match="rows is 50, but a symmetric matrix of order 300 has 300"):
        gallery.ci_matrix(300, rows=50, symmetric=True)
    with pytest.raises((TypeError, ValueError), match="rows is -1, expected a count"):
        gallery.ci_matrix(300, rows=-1)
