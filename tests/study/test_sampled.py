"""Products of benchmarks are checked in some rows: which errors are seen."""

import numpy as np
import pytest
import scipy.sparse as sp

import diagsparse as ds
from diagsparse._study.sampled import SampledMatmul, SampledMatvec

MATRICES = {
    "band": ds.gallery.banded(500, 3, 4, seed=0),
    "random diagonals": ds.gallery.random_diagonals(300, 20, seed=1),
    "complex": ds.gallery.banded(200, 1, 2, dtype=complex, seed=2),
    "one": sp.dia_array(np.array([[2.0]])),
}
every_matrix = pytest.mark.parametrize("A", MATRICES.values(), ids=MATRICES)


@every_matrix
@pytest.mark.parametrize("columns", [(), (8,)])
def test_sampled_vectors(A, columns):
    x = np.random.default_rng(0).uniform(0.5, 1.5, (A.shape[1], *columns))
    check, y = SampledMatvec(A, x), A @ x
    assert check(y) <= 1
    y[-1] *= 1 + 1e-9
    assert check(y) > 1, "the last row is in every sample"


@every_matrix
@pytest.mark.parametrize("format", ["dia", "hm", "cdm", "csr", "scipy"])
def test_sampled_products(A, format):
    check = SampledMatmul(A, A)
    C = sp.csr_array(A) @ sp.csr_array(A) if format == "scipy" else ds.array(A, format) @ ds.array(A, format)
    assert check(C) <= 1
    dense = C.toarray()
    for at in ((0, 0), (-1, -1)):  # rows that are in every sample
        wrong = dense.copy()
        wrong[at] += 1e-6
        assert check(ds.csr_array(wrong)) > 1, f"element {at} is off"
    assert check(ds.csr_array(A.shape)) > 1, "nothing stored"
    assert check(ds.csr_array((A.shape[0] + 1, A.shape[1]))) == np.inf


def test_a_value_outside_of_the_product_is_seen():
    A = MATRICES["band"]
    C = (ds.array(A, "csr") @ ds.array(A, "csr")).toarray()
    C[0, 400] = 1e-300
    assert SampledMatmul(A, A)(ds.csr_array(C)) == np.inf


@pytest.mark.parametrize("triangle", ["lower", "upper"])
@pytest.mark.parametrize("format", ["dia", "hm", "cdm"])
def test_sampled_triangles(format, triangle):
    A = ds.array(MATRICES["random diagonals"], format)
    check, C = SampledMatmul(A.to_scipy("dia"), A.T.to_scipy("dia"), triangle), ds.syrk(A, triangle=triangle)
    assert check(C) <= 1
    assert check(ds.syrk(A)) == np.inf, "values in the other triangle"
    assert check(C * (1 + 1e-9)) > 1
