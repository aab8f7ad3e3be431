"""The gallery's quasi-band matrices: the requested properties, counted by the library that reports them."""

import numpy as np
import pytest
from scipy import sparse

from diagsparse import gallery
from diagsparse._formats import bands
from diagsparse._gallery import quasi

LAYOUTS = ("random", "row_block", "column_block")
ASKED = (
    {},
    {"band_percentage": 60, "band_occupancy": 55, "band_count": 4},
    {"nnz_percentage": 1.5, "band_percentage": 99, "band_occupancy": 97, "band_count": 1},
    {"band_percentage": 80, "band_occupancy": 100, "band_count": 7},
    {"nnz_percentage": 0.3, "band_count": 2, "reach": 0.9},
)


def diagonals(A):
    """Return the offsets that hold entries, and how many."""
    coo = A.tocoo()
    return np.unique(coo.col.astype(np.int64) - coo.row, return_counts=True)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("asked", ASKED, ids=str)
def test_properties_that_were_asked_for(asked, layout, monkeypatch):
    n, kept = 8000, {}
    drawn = quasi.drawn_bands
    monkeypatch.setattr(quasi, "drawn_bands", lambda *args: kept.setdefault("offsets", drawn(*args)))
    A = gallery.quasi_band(n, **asked, layout=layout, seed=5)
    asked = {"nnz_percentage": 0.5, "band_percentage": 95, "band_occupancy": 80} | asked
    found = bands.properties(A.shape, *diagonals(A), kept["offsets"])
    for name in ("nnz_percentage", "band_percentage", "band_occupancy"):
        assert getattr(found, name) == pytest.approx(asked[name], rel=0.02), name
    assert found.band_count == asked.get("band_count", found.band_count) and 1 <= found.band_count <= 8
    assert abs(kept["offsets"]).max() <= asked.get("reach", 0.25) * n
    assert A.has_canonical_format and A.data.all() and A.nnz == round(n * n * asked["nnz_percentage"] / 100)


def test_partitions_find_the_bands():
    """Bytes choose the bands themselves; the paper's rule goes on, as long as bands are full to 40 % as a whole."""
    A = gallery.quasi_band(6000, 1.0, band_count=3, seed=2)
    found = diagonals(A)
    by_bytes, paper = bands.by_bytes(6000, 8, *found), bands.by_occupancy(6000, *found)
    assert len(bands.bands_of(by_bytes)) == len(bands.bands_of(paper)) == 3
    made = bands.properties(A.shape, *found, by_bytes)
    assert made.band_percentage == pytest.approx(95, rel=0.001) and made.band_occupancy == pytest.approx(80, rel=0.02)
    assert set(by_bytes) < set(paper) and bands.properties(A.shape, *found, paper).band_percentage > 95


@pytest.mark.parametrize(("layout", "axis"), [("row_block", 1), ("column_block", 0)])
def test_blocks_are_full_lines(layout, axis):
    n = 500
    A = gallery.quasi_band(n, 5, 70, 90, 2, layout, seed=1)
    chosen = bands.by_bytes(n, 8, *diagonals(A))
    full = A.toarray() != 0
    full[np.isin(np.arange(n) - np.arange(n)[:, None], chosen)] = True
    lines = np.flatnonzero(full.sum(axis=axis) == n)
    rest = round(0.3 * A.nnz)
    assert len(lines) == pytest.approx(rest / (n - len(chosen)), abs=1)
    assert (np.diff(lines) == 1).all()


def test_random_positions_are_spread_evenly():
    n = 4000
    A = gallery.quasi_band(n, 1, 30, 80, 1, seed=0)
    chosen = bands.by_bytes(n, 8, *diagonals(A))
    coo = A.tocoo()
    rest = ~np.isin(coo.col - coo.row, chosen)
    for lines in (coo.row[rest], coo.col[rest]):
        counts = np.bincount(lines // 400, minlength=10)
        assert counts == pytest.approx(counts.mean(), rel=0.05)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_full_matrix_and_an_empty_one(layout):
    assert gallery.quasi_band(30, 100, 100, 100, 1, layout, reach=1, seed=0).nnz == 900
    nearly = gallery.quasi_band(30, 80, 50, 100, 1, layout, reach=1, seed=0)
    assert nearly.nnz == 720 and nearly.has_canonical_format
    assert gallery.quasi_band(30, 0, layout=layout).nnz == 0
    assert gallery.quasi_band(30, 10, 0, layout=layout, seed=0).nnz == 90
    assert isinstance(gallery.quasi_band(0, layout=layout), sparse.csr_array)


def test_large_orders():
    A = gallery.quasi_band(10**6, 2e-4, layout="column_block", dtype=np.float32, seed=0)
    assert A.nnz == 2_000_000 and A.indices.dtype == np.int32


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"nnz_percentage": 101}, "nnz_percentage is 101, expected 0 to 100"),
        ({"band_percentage": -1}, "band_percentage is -1"),
        ({"band_occupancy": 0}, "band_occupancy is 0, but the bands contain 48 nonzeros"),
        ({"band_count": 0}, "band_count is 0, but the bands contain 48 nonzeros"),
        ({"layout": "rows"}, 'layout is .rows., expected one of "random", "row_block", "column_block"'),
        ({"reach": 2}, "reach is 2"),
        ({"nnz_percentage": 90}, "do not fit on the 51 diagonals from -25 to 25"),
        (
            {"nnz_percentage": 90, "band_percentage": 1, "band_occupancy": 10, "band_count": 1, "reach": 0.01},
            "do not fit|outside of the bands",
        ),
    ],
)
def test_mistakes_are_named(options, message):
    with pytest.raises(ValueError, match=message):
        gallery.quasi_band(100, **options)
    with pytest.raises(TypeError, match="band_count is 1"):
        gallery.quasi_band(100, band_count=1.5)
