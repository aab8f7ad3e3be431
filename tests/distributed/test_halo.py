"""The halo of a matrix of diagonals: sets of ranges, partitions, and `halo`, compared with sets of single elements."""

import json
import time
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest
from cases import case, rng_of

from diagsparse import distributed
from diagsparse._distributed.ranges import Partition, Ranges, checked_partition, covered, runs_of

pytestmark = pytest.mark.quick


def is_normal(ranges):
    """Return whether no range is empty, and no two of them touch."""
    return (ranges.starts < ranges.stops).all() and (ranges.starts[1:] > ranges.stops[:-1]).all()


def elements(ranges):
    return {i for a, b in ranges for i in range(a, b)}


def test_sets_of_ranges():
    for seed in range(200):
        rng = rng_of("ranges", seed)
        starts = rng.integers(0, 40, rng.integers(0, 8))
        stops = starts + rng.integers(-2, 9, len(starts))
        expected = {i for a, b in zip(starts, stops, strict=True) for i in range(a, b)}
        found = Ranges.union(starts, stops)
        with case((seed, found)):
            assert is_normal(found) and elements(found) == expected and found.size == len(expected)
            assert list(covered(starts, stops)) == sorted(expected)
            assert runs_of(sorted(expected)) == found == Ranges.all([found, Ranges([], []), found])
            assert list(found.position(sorted(expected))) == list(range(found.size))
            assert list(found.element(range(found.size))) == sorted(expected)
            assert elements(found.shifted(7)) == {i + 7 for i in expected}
        for first, last in (sorted(rng.integers(0, 50, 2)) for _ in range(8)):
            inside = set(range(first, last))
            with case((seed, found, first, last)):
                assert is_normal(found.within(first, last)) and elements(found.within(first, last)) == expected & inside
                assert is_normal(found.without(first, last))
                assert elements(found.without(first, last)) == expected - inside
                assert is_normal(found.gaps(first, last)) and elements(found.gaps(first, last)) == inside - expected


def test_an_empty_range_contains_nothing():
    whole = Ranges([0], [10])
    assert list(whole.within(5, 5)) == [] and list(whole.without(5, 5)) == [(0, 10)]


def test_what_ranges_print():
    assert repr(Ranges([0, 7], [3, 9])) == "[0, 3) [7, 9)" and repr(Ranges([], [])) == "empty"


def partition(rng, rows, processes):
    """Return random ranges: equal ones, some that are empty, or one row for most of the processes."""
    kind = rng.integers(3)
    if kind == 0:
        return Partition.equal(rows, processes)
    cuts = rng.integers(0, rows + 1, processes - 1) if kind == 1 else np.minimum(np.arange(1, processes), rows)
    return Partition([0, *np.sort(cuts).tolist(), rows])


def pairs(partition):
    return [partition.range(p) for p in range(partition.processes)]


def test_partitions():
    for rows, processes in ((0, 1), (0, 3), (1, 4), (10, 1), (10, 3), (12, 4), (7, 64)):
        counts = [Partition.equal(rows, processes).count(p) for p in range(processes)]
        assert sum(counts) == rows and max(counts) - min(counts) <= 1 and counts == sorted(counts, reverse=True)
    for seed in range(100):
        rng = rng_of("partitions", seed)
        rows, processes = int(rng.integers(1, 40)), int(rng.integers(1, 20))
        divided = partition(rng, rows, processes)
        owners = {r: p for p, (a, b) in enumerate(pairs(divided)) for r in range(a, b)}
        with case((seed, divided.borders)):
            assert [divided.owner(r) for r in range(rows)] == [owners[r] for r in range(rows)]
            some = runs_of(np.flatnonzero(rng.random(rows) < 0.6))
            found = divided.by_owner(some)
            assert [p for p, _ in found] == sorted({owners[r] for r in elements(some)})
            assert all(elements(part) == {r for r in elements(some) if owners[r] == p} for p, part in found)
            assert checked_partition(pairs(divided), rows, processes, "") == divided


def offsets_of(rng, m, n):
    """Return random offsets: any, far and near ones, periodic ones, or powers of two."""
    every = np.arange(-m + 1, n)
    kind = rng.integers(4)
    if kind == 0:
        return rng.choice(every, rng.integers(0, min(9, len(every)) + 1), replace=False)
    if kind == 1:
        chosen = {-m + 1, n - 1, 0, 1}
    elif kind == 2:
        chosen = {0, 1, -1, n - 1, 1 - n, 7 % n}
    else:
        chosen = {sign * 2**k for k in range(7) for sign in (1, -1)}
    return rng.permutation([k for k in chosen if -m < k < n]).astype(int)


def by_single_rows(offsets, shape, rows, cols):
    """Return the interior rows and the needed elements of a process, from all of its rows."""
    (first, last), own = rows, set(range(*cols))
    columns = {r: {r + k for k in offsets if 0 <= r + k < shape[1]} for r in range(first, last)}
    runs = [(first, first)]
    for r in range(first, last):
        if columns[r] <= own:
            runs.append((runs[-1][0], r + 1) if runs[-1][1] == r else (r, r + 1))
    interior = max(runs, key=lambda run: run[1] - run[0])  # the first of the longest ones
    return interior, set().union(*(columns[r] for r in range(first, last) if not interior[0] <= r < interior[1]))


def test_halos_are_those_of_all_rows():
    for seed in range(250):
        rng = rng_of("halos", seed)
        m, processes = int(rng.integers(1, 70)), int(rng.choice([1, 2, 3, 4, 7, 16, 64]))
        n = m if rng.random() < 0.6 else int(rng.integers(1, 70))
        k, rows = offsets_of(rng, m, n), partition(rng, m, processes)
        cols = rows if m == n else Partition.equal(n, processes)
        forecast = distributed.halo(k, (m, n), processes, row_ranges=pairs(rows), itemsize=4)
        expected = [by_single_rows(k, (m, n), rows.range(p), cols.range(p)) for p in range(processes)]
        with case((seed, k, m, n, rows.borders)):
            assert len(forecast) == processes and [h.process for h in forecast] == list(range(processes))
            for p, (one, (interior, needed)) in enumerate(zip(forecast, expected, strict=True)):
                own = set(range(*cols.range(p)))
                received = {q: needed & set(range(*cols.range(q))) for q in range(processes) if q != p}
                sent = {q: expected[q][1] & own for q in range(processes) if q != p}
                assert one.row_range == rows.range(p) and one.column_range == cols.range(p)
                assert one.interior == interior and elements(one.needed) == needed
                assert one.peers == [q for q in range(processes) if q != p and (received[q] or sent[q])]
                for e in one.exchanges:
                    assert is_normal(Ranges.of(e.receive)) and elements(e.receive) == received[e.peer]
                    assert is_normal(Ranges.of(e.send)) and elements(e.send) == sent[e.peer]
                    assert (e.received, e.sent) == (len(received[e.peer]), len(sent[e.peer]))
                assert one.receive_nbytes == 4 * sum(map(len, received.values()))
                assert one.send_nbytes == 4 * sum(map(len, sent.values()))
            assert forecast.nbytes == sum(h.send_nbytes for h in forecast)


def test_what_one_process_receives_another_sends():
    n = 3000
    forecast = distributed.halo([1 - n, -1024, -1, 0, 1, 2, 777, n - 1], (n, n), 37)
    received = {(h.process, e.peer): e.receive for h in forecast for e in h.exchanges if e.receive}
    sent = {(e.peer, h.process): e.send for h in forecast for e in h.exchanges if e.send}
    assert received == sent and len(received) > 100


def test_huge_matrices_cost_as_much_as_small_ones():
    n, before = 10**15, time.process_time()
    forecast = distributed.halo([1 - n, -(10**12), -(10**6), -1, 0, 1, 10**6, 10**12, n - 1], (n, n), 1000)
    assert time.process_time() - before < 10
    middle = forecast[500]
    assert middle.row_range == (500 * 10**12, 501 * 10**12) and middle.peers == [499, 501]
    assert middle.receive_nbytes == 8 * 2 * 10**12 and forecast[0].peers == [1, 999]
    assert forecast[999].exchanges[0].receive == [(0, 1)]


def test_text_dictionary_and_drawing():
    forecast = distributed.halo([-10, -1, 0, 1, 10], (100, 100), 4)
    lines = str(forecast).splitlines()
    assert (
        lines[0] == "halo of a 100 x 100 matrix on 4 processes: 480 B in all, at most 160 B and 2 peers for a process"
    )
    assert len(lines) == 6 and lines[3].split() == ["1", "25", "to", "50", "5", "0", "2", "160", "B", "160", "B"]
    assert repr(forecast) == f"<{lines[0]}>"
    one = forecast[1]
    assert one.summary() == (
        "process 1 of 4: rows 25 to 50, 20 % of them interior; receives 160 B and sends 160 B, 2 peers"
    )
    assert str(one).splitlines()[2].split() == ["0", "15", "to", "25", "80", "B", "25", "to", "35", "80", "B"]
    assert repr(one) == f"<halo of {one.summary()}>"

    numbers = json.loads(json.dumps(forecast.to_dict()))
    assert numbers["shape"] == [100, 100] and numbers["nbytes"] == 480 and len(numbers["halos"]) == 4
    assert numbers["halos"][1] == {
        "process": 1, "processes": 4, "shape": [100, 100], "row_range": [25, 50], "column_range": [25, 50],
        "interior": [35, 40], "needed": [[15, 60]], "itemsize": 8, "receive_nbytes": 160, "send_nbytes": 160,
        "exchanges": [
            {"peer": 0, "receive": [[15, 25]], "send": [[25, 35]], "received": 10, "sent": 10},
            {"peer": 2, "receive": [[50, 60]], "send": [[40, 50]], "received": 10, "sent": 10},
        ],
    }  # fmt: skip

    for shown, bars in ((forecast, 10), (one, 3)):
        html = shown._repr_html_()
        drawing = ElementTree.fromstring(html[html.index("<svg") : html.index("</svg>") + 6])
        assert len([e for e in drawing.iter() if e.tag.endswith("rect")]) == bars
    assert "the first 64 of 100 processes" in distributed.halo([1], (200, 200), 100)._repr_html_()


def test_nothing_to_exchange():
    for forecast in (
        distributed.halo([], (10, 10), 3),
        distributed.halo([0], (10, 10), 3),
        distributed.halo([-3, 3], (10, 10), 1),
        distributed.halo([], (0, 0), 2),
        distributed.halo([], (0, 5), 2),
        distributed.halo([], (5, 0), 2),
    ):
        assert forecast.nbytes == 0 and all(not h.exchanges and h.interior == h.row_range for h in forecast)
        assert str(forecast) and str(forecast[0]) and forecast._repr_html_() and json.dumps(forecast.to_dict())


@pytest.mark.parametrize(
    ("offsets", "shape", "options", "error", "message"),
    [
        ([10], (10, 10), {}, ValueError, "offset 10 is outside of a 10 x 10 matrix"),
        ([0, -10], (10, 12), {}, ValueError, "offset -10 is outside of a 10 x 12 matrix"),
        ([0], (0, 0), {}, ValueError, "offset 0 is outside"),
        ([1, 2, 1], (10, 10), {}, ValueError, "1 is given more than once"),
        ([0.5], (10, 10), {}, TypeError, "expected a list of integers"),
        ([0], (10, 10), {"processes": 0}, ValueError, "processes=0, expected at least 1"),
        ([0], (10, 10), {"processes": 1.5}, TypeError, "processes=1.5: expected an integer"),
        ([0], (10, 10.5), {}, TypeError, "shape=10.5: expected an integer"),
        ([], (-1, 10), {}, ValueError, r"shape is \(-1, 10\), expected two integers >= 0"),
        ([0], 10, {}, TypeError, r"shape is 10, expected two integers \(m, n\)"),
        ([0], (10, 10, 10), {}, TypeError, r"expected two integers \(m, n\)"),
        ([0], (10, 10), {"itemsize": 1.5}, TypeError, "itemsize=1.5: expected an integer"),
        ([0], (10, 10), {"itemsize": -8}, ValueError, "itemsize=-8, expected at least 0"),
        ([0], (10, 10), {"row_ranges": [(0, 10)]}, ValueError, "row_ranges has 1 ranges, expected 2"),
        ([0], (10, 10), {"row_ranges": [(0, 5), (6, 10)]}, ValueError, r"row_ranges\[1\] is \(6, 10\), .*first = 5"),
        ([0], (10, 10), {"row_ranges": [(0, 5), (5, 11)]}, ValueError, "last <= 10"),
        ([0], (10, 10), {"row_ranges": [(0, 5), (5, 4)]}, ValueError, r"row_ranges\[1\] is \(5, 4\)"),
        ([0], (10, 10), {"row_ranges": [(1, 5), (5, 10)]}, ValueError, r"row_ranges\[0\] is \(1, 5\)"),
        ([0], (10, 10), {"row_ranges": [(0, 5), (5, 9)]}, ValueError, "row_ranges end at row 9, expected 10"),
        ([0], (10, 10), {"row_ranges": [(0, 5, 7), (7, 10)]}, ValueError, r"row_ranges\[0\] is \(0, 5, 7\)"),
        ([0], (10, 10), {"row_ranges": [(0, 5), (5, "10")]}, TypeError, "expected an integer"),
        ([0], (10, 10), {"row_ranges": [0, 10]}, TypeError, "row_ranges is .*expected one pair"),
        ([0], (10, 10), {"row_ranges": 5}, TypeError, "row_ranges is 5, expected one pair"),
    ],
)  # fmt: skip
def test_errors(offsets, shape, options, error, message):
    with pytest.raises(error, match=message):
        distributed.halo(offsets, shape, **({"processes": 2} | options))
