"""Which diagonals go to the bands, and the properties of quasi-band matrices, against loops and the paper's tables."""

import time
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from market_files import matrix_folder

import diagsparse as ds
from diagsparse import gallery
from diagsparse._formats import bands
from diagsparse.io import read_floats

# Table 2 of Vooturi and Kothapalli: bands, diagonals, occupancy, spread.
PRINTED = {"epb1": (3, 11, 58.96, 3.77), "fv1": (3, 9, 99.32, 4.08), "nasa2146": (3, 45, 76.63, 13.79)}


def counted(**fill):
    """Return offsets and counts of what is given as ``m1=3`` (offset -1) or ``p2=4``."""
    positions = {(-1 if name[0] == "m" else 1) * int(name[1:]): count for name, count in fill.items()}
    return np.array(sorted(positions)), np.array([positions[k] for k in sorted(positions)])


def bytes_of(choice, rows, item, offsets, fill):
    rest = sum(count for k, count in zip(offsets, fill, strict=True) if k not in choice)
    return len(choice) * (rows * item + 8) + rest * (item + 8)


def slow_bands(rows, fill, dia_occ, band_occ):
    """The paper's rule, as one would do it by hand; `fill` is offset -> entries."""
    pivots = {k for k, count in fill.items() if count > dia_occ * rows}
    found = set()
    while pivots:
        band = [min(pivots, key=lambda k: (-fill[k], abs(k), k))]
        sides, side = [True, True], 0
        while any(sides):
            neighbour = band[0] - 1 if side == 0 else band[-1] + 1
            wider = [neighbour, *band] if side == 0 else [*band, neighbour]
            occupied = neighbour in fill and neighbour not in found
            sides[side] = occupied and sum(fill[k] for k in wider) > band_occ * (rows * len(wider))
            band = wider if sides[side] else band
            if side == 1 and not any(sides):
                break
            if side == 1:
                sides = [True, True]
            side = 1 - side
        found |= set(band)
        pivots -= set(band)
    return sorted(found)


@st.composite
def fills(draw):
    """Offsets and counts of a matrix of 8 rows, in runs with gaps, so that bands end for each of the reasons."""
    rows = 8
    offsets = draw(st.lists(st.integers(-12, 12), unique=True, min_size=0, max_size=25))
    counts = draw(st.lists(st.integers(1, rows), min_size=len(offsets), max_size=len(offsets)))
    return rows, np.array(sorted(offsets), np.int64), np.array(counts, np.int64)


@given(fills(), st.sampled_from([0.0, 0.25, 0.5, 0.9]), st.sampled_from([0.0, 0.3, 0.4, 0.8]))
def test_the_papers_rule_against_a_slow_loop(fill, dia_occ, band_occ):
    rows, offsets, counts = fill
    found = bands.by_occupancy(rows, offsets, counts, dia_occ, band_occ)
    expected = slow_bands(rows, dict(zip(offsets.tolist(), counts.tolist(), strict=True)), dia_occ, band_occ)
    assert found.tolist() == expected


@pytest.mark.parametrize(
    ("fill", "expected"),
    [
        ({"p0": 10}, [0]),
        ({"p0": 5}, []),  # half full is not above one half
        ({"p0": 6, "p1": 2, "m1": 3}, [-1, 0]),  # 9 of 20 is above 0.4, and 11 of 30 is not
        ({"p0": 10, "p1": 2, "p2": 2, "p3": 2}, [0, 1, 2]),  # 12 of 20, 14 of 30; 16 of 40 is not above 0.4
        ({"p0": 10, "p2": 9, "p4": 1}, [0, 2]),  # a band ends where a diagonal has no entries
        ({"p3": 8, "m3": 8, "p2": 1, "m2": 1}, [-3, -2, 2, 3]),
        ({"p0": 10, "p1": 1, "p2": 1, "p3": 7}, [0, 1, 3]),  # diagonal 2 joins neither: 12 of 30, 8 of 20
    ],
)  # fmt: skip
def test_the_papers_rule_by_hand(fill, expected):
    assert bands.by_occupancy(10, *counted(**fill)).tolist() == expected


def test_bands_do_not_overlap():
    offsets, fill = counted(p0=10, p1=4, p2=4, p3=4, p4=9)  # both bands want those in between
    assert bands.by_occupancy(10, offsets, fill).tolist() == [0, 1, 2, 3, 4]
    assert bands.by_occupancy(10, offsets, fill, band_occ=0.6).tolist() == [0, 1, 3, 4]


@given(fills(), st.sampled_from([4, 8, 16]))
def test_no_choice_takes_fewer_bytes(fill, item):
    rows, offsets, counts = fill
    some = slice(0, 6)
    offsets, counts = offsets[some], counts[some]
    best = min(
        bytes_of(choice, rows, item, offsets, counts)
        for size in range(len(offsets) + 1)
        for choice in combinations(offsets.tolist(), size)
    )
    chosen = bands.by_bytes(rows, item, offsets, counts)
    assert bytes_of(chosen, rows, item, offsets, counts) == best


def test_properties_by_hand():
    """A 6 x 6 matrix: diagonals -1, 0, 1 except for one position, 4 in full, and two entries outside of them."""
    offsets, fill = np.array([-3, -1, 0, 1, 4, 5]), np.array([1, 5, 6, 4, 2, 1])
    found = bands.properties((6, 6), offsets, fill, np.array([-1, 0, 1, 4]))
    assert found.nnz_percentage == pytest.approx(100 * 19 / 36)
    assert found.band_percentage == pytest.approx(100 * 17 / 19)
    assert found.band_occupancy == pytest.approx(100 * 17 / 18)
    assert (found.band_count, found.diagonal_count) == (2, 4)
    assert found.band_spread == pytest.approx(100 * 4 / 6)
    nothing = bands.properties((3, 0), offsets[:0], fill[:0], offsets[:0])
    assert (nothing.band_percentage, nothing.band_count, nothing.band_spread) == (0, 0, 0)


def test_spread_is_the_sum_over_pairs():
    rng = np.random.default_rng(0)
    chosen = np.flatnonzero(rng.random(400) < 0.3) - 200
    found = bands.bands_of(chosen)
    assert sorted(k for first, last in found for k in range(first, last + 1)) == chosen.tolist()
    middles = [(first + last) / 2 for first, last in found]
    spread = sum(abs(a - b) for a, b in combinations(middles, 2)) / 500 * 100
    result = bands.properties((500, 500), chosen, np.ones(len(chosen), int), chosen)
    assert result.band_spread == pytest.approx(spread) and result.band_count == len(found) > 50


def test_lengths():
    offsets = np.arange(-6, 9)
    for shape in ((3, 5), (5, 3), (4, 4), (0, 3), (3, 0)):
        expected = [len(np.diagonal(np.zeros(shape), k)) if -shape[0] < k < shape[1] else 0 for k in offsets]
        assert bands.lengths(shape, offsets).tolist() == expected


def held(A, printed, by_rule):
    """The properties of all its diagonals are those that the paper prints, and its rule chooses as many of them."""
    s = ds.csr_array(A)._summary()
    found = bands.properties(s.shape, s.offsets, s.fill, s.offsets)
    assert (found.band_count, found.diagonal_count, found.band_percentage) == (*printed[:2], 100)
    assert found.band_occupancy == pytest.approx(printed[2], abs=0.011)
    assert found.band_spread == pytest.approx(printed[3], abs=0.01)
    assert len(bands.by_occupancy(s.shape[0], s.offsets, s.fill)) == by_rule


def test_fv1_is_a_stencil():
    held(gallery.stencil(9, (98, 98)).tocsr(), PRINTED["fv1"], 9)


@pytest.mark.parametrize(("name", "by_rule"), [("epb1", 10), ("fv1", 9), ("nasa2146", 45)])
def test_the_papers_matrices(name, by_rule):
    """Of epb1 one diagonal stays out: with it a band of three would be full to 0.39."""
    folder = matrix_folder()
    if folder is None or not (path := folder / f"{name}.mtx.gz").exists():
        pytest.skip("no folder of real matrices; DIAGSPARSE_MATRICES names one")
    held(read_floats(path), PRINTED[name], by_rule)


def test_the_report_of_a_view_speaks_of_its_copy():
    """A transposed view has other rows than what is stored: the bytes are those of a copy."""
    a = np.random.default_rng(0).random((40, 100)) < 0.1
    A = ds.qband_array(np.where(a, 1.0, 0) + np.eye(40, 100) + np.eye(40, 100, k=5))
    assert A.T.copy().nbytes != A.nbytes
    for V in (A, A.conj(), A.T, A.H, A.T.T, A.T.copy()):
        found, transposed = V.report(), V is not A and V.nbytes != V.copy().nbytes
        assert found.rows == V.shape[0] and found.choices["this one"].nbytes == V.copy().nbytes
        assert found.of_a_copy == found.to_dict()["of_a_copy"] == transposed
        assert ("are those of a copy" in str(found)) == transposed


def test_many_diagonals_take_no_time():
    rng = np.random.default_rng(0)
    offsets, fill = np.arange(-50_000, 50_000), rng.integers(1, 60_000, 100_000)
    start = time.perf_counter()
    chosen = bands.by_occupancy(100_000, offsets, fill, 0.5, 0.2)
    assert len(chosen) > 50_000 and time.perf_counter() - start < 5
    assert len(bands.bands_of(chosen)) >= 1
