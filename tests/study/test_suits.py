"""Which formats suit y = A x: one rule, the same answer every time, ties told."""

import numpy as np
import pytest
import scipy.sparse as sp

import diagsparse as ds
from diagsparse._matrix.registry import FORMATS
from diagsparse._products.suits import TIE, suits


def random(n, each):
    rng = np.random.default_rng(0)
    places = (np.repeat(np.arange(n), each), rng.integers(0, n, n * each))
    return sp.coo_array((rng.uniform(1, 2, n * each), places), shape=(n, n)).tocsr()


MATRICES = {
    "stencil": ds.gallery.stencil(5, (30, 40)),
    "band": ds.gallery.banded(500, 20, 20, seed=0),
    "random": random(3000, 16),
    "spins": ds.gallery.heisenberg(9),
    "wide": ds.gallery.banded(300, 2, 2, seed=0).tocsr()[:200],
    "tall": ds.gallery.banded(300, 2, 2, seed=0).tocsr()[:, :200],
}


@pytest.mark.parametrize("name", MATRICES)
def test_the_verdict_follows_from_the_bytes_and_how_they_are_read(name):
    A = ds.csr_array(MATRICES[name])
    vectors = 8 * sum(A.shape)
    told = {one.format: one for one in suits(A)}
    counts = {
        format: FORMATS[format]._reading.weight * one.nbytes + vectors
        for format, one in told.items()
        if FORMATS[format]._reading.weight and one.nbytes is not None
    }
    least = min(counts.values())
    assert {format for format, one in told.items() if one.suits} == {f for f, c in counts.items() if c <= TIE * least}
    assert all(one.why.startswith("yes: " if one.suits else "no: ") for one in told.values())
    for format in ("csc", "coosc"):
        assert told[format].why == "no: adds to y once an entry, out of order"


def test_ties_are_told_and_come_first():
    told = suits(ds.csr_array(MATRICES["stencil"]))
    assert [one.suits for one in told] == sorted((one.suits for one in told), reverse=True)
    assert {one.format for one in told if one.suits} == {"hm", "dia", "cdm"}
    assert "the fewest bytes" in told[0].why and told[1].why == f"yes: as {told[0].format}, within 10 %"
    assert suits(ds.csr_array(MATRICES["spins"]))[0].format == "mdia"
    assert "csr" in {one.format for one in suits(ds.csr_array(MATRICES["random"])) if one.suits}


def test_the_same_matrix_gets_the_same_answer():
    for matrix in MATRICES.values():
        first = suits(ds.csr_array(matrix))
        assert all(suits(ds.csr_array(matrix)) == first for _ in range(9))


def test_what_a_format_cannot_hold_and_what_is_empty():
    told = {one.format: one for one in suits(ds.csr_array(MATRICES["wide"]))}
    assert told["cdm"].why == "no: holds square matrices only" and told["cdm"].moved_nbytes is None
    for shape in ((5, 7), (0, 0)):
        assert not any(one.suits for one in suits(ds.csr_array(shape)))
