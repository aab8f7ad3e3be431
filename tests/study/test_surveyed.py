"""What formats that are not built would store, against counts by NumPy."""

import pickle
from concurrent.futures import ThreadPoolExecutor
from textwrap import dedent
from threading import Barrier

import numpy as np
import pytest
from cases import at_night, raises
from hypothesis import given, settings
from hypothesis import strategies as st
from processes import python
from scipy import sparse

import diagsparse as ds
from diagsparse import gallery
from diagsparse._backends import memory
from diagsparse._backends.backend import CPU
from diagsparse._formats import unimplemented


def partition(lines):
    """Return for each line of a pattern the number of its group: neighbours that are equal are one."""
    changes = (lines[1:] != lines[:-1]).any(axis=1) if len(lines) else np.zeros(0, bool)
    return np.concatenate(([0], np.cumsum(changes))).astype(int)[: len(lines)]


def brute_force(pattern, item):
    """Return the bytes and values of each format from the positions of the entries, with arrays as they would be."""
    m, n = pattern.shape
    i, j = np.nonzero(pattern)
    nnz, entries = len(i), list(zip(i.tolist(), j.tolist(), strict=True))
    blocks = {size: len(set(zip(i // size, j // size, strict=True))) for size in (2, 3, 4, 5, 6, 8, 16)}
    strips = {rows: len(set(zip(i // rows, j - i, strict=True))) for rows in (4, 8, 16, 32)}
    bitmaps = {k: (blocks[k], nnz * item + blocks[k] * (4 + k * k // 8 + 8) + 8 * (-(-m // k) + 2)) for k in (4, 8, 16)}
    found = {
        "bitmaps": bitmaps,
        "bsr": min(
            (b * k * k * item + 4 * b + 8 * (-(-m // k) + 1), b * k * k) for k, b in blocks.items() if k != 16
        ),
        "bcsd": min((b * k * item + 4 * b + 8 * (-(-m // k) + 1), b * k) for k, b in strips.items()),
    }  # fmt: skip
    if m == n:
        stored = n + 1 + int((i != j).sum())
        found["msr"] = (stored * (item + 4), stored)
    rows, columns = partition(pattern), partition(pattern.T)
    full = {(rows[i], columns[j]) for i, j in entries}
    assert sum((rows == r).sum() * (columns == c).sum() for r, c in full) == nnz  # no block is full in part
    r, c = (len(set(groups.tolist())) for groups in (rows, columns))
    arrays = [item * nnz, 4 * len(full), 8 * (len(full) + 1), 8 * (r + 1), 4 * (r + 1), 4 * (c + 1)]
    found["vbr"] = (sum(arrays), nnz)
    return found


def check(report, pattern, item):
    expected = brute_force(pattern, item)
    bitmaps = {size: (one.blocks, one.nbytes) for size, one in report.bitmap_blocks.items()}
    assert bitmaps == expected.pop("bitmaps")
    sizes = {name: one and (one.nbytes, one.stored) for name, one in report.other_formats.items()}
    assert sizes == {"msr": None} | expected
    for size, one in report.bitmap_blocks.items():
        assert one.fill == pytest.approx(pattern.sum() / max(1, one.blocks * size * size))


@st.composite
def patterns(draw):
    """Random positions, blocks of one size or of several, bands, and lines that repeat."""
    m, n = draw(st.integers(0, 40)), draw(st.integers(0, 40))
    m, n = (max(m, n),) * 2 if draw(st.booleans()) else (m, n)
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    kind = draw(st.sampled_from(["places", "blocks", "band", "lines"]))
    if kind == "blocks":
        size = draw(st.integers(1, 9))
        return np.kron(rng.random((-(-m // size), -(-n // size))) < 0.3, np.ones((size, size), bool))[:m, :n]
    if kind == "lines":
        i, j = (np.sort(rng.integers(0, 6, length)) for length in (m, n))
        return (rng.random((6, 6)) < 0.4)[np.ix_(i, j)]
    pattern = rng.random((m, n)) < draw(st.sampled_from([0, 0.05, 0.5, 1]))
    return pattern & (abs(np.subtract.outer(np.arange(m), np.arange(n))) <= 3) if kind == "band" else pattern


@given(patterns(), st.sampled_from(["float64", "float32", "complex128"]))
@settings(max_examples=150, deadline=None)
def test_against_brute_force(pattern, dtype):
    report = ds.analyze(sparse.csr_array(pattern.astype(dtype)), rcm=False)
    check(report, pattern, np.dtype(dtype).itemsize)


@pytest.mark.parametrize("format", ds.formats())
def test_every_format_and_its_views(format):
    A = gallery.stencil(5, (9, 5)).tocsr()
    A = A + sparse.diags_array(np.ones(39), offsets=6, shape=(45, 45))
    ours = ds.array(A, format)
    for one, pattern in ((ours, A.toarray() != 0), (ours.T, A.T.toarray() != 0), (ours.conj(), A.toarray() != 0)):
        check(ds.analyze(one, rcm=False), pattern, 8)


@pytest.mark.parametrize("threads", [1, 2, 8])
def test_many_rows_on_any_number_of_threads(threads):
    """More rows than one task takes, of which many repeat the row before, and some do not."""
    rng = np.random.default_rng(0)
    A = gallery.stencil(5, (300, 200)).tocsr() + sparse.random_array((60_000, 60_000), density=2e-6, rng=rng)
    csr, (i, j) = ds.csr_array(A), (k.astype(np.int64) for k in sparse.coo_array(A).coords)
    ds.set_num_threads(threads)
    heights = [1, 4, 7, 32]
    expected = [len(np.unique((i // rows) * 10**6 + j - i)) for rows in heights]
    assert CPU.core.block_diagonals(csr._matrix, heights) == expected
    assert CPU.core.variable_blocks(csr._matrix) == (60_000, 60_000, A.nnz)  # no two lines are alike


@pytest.mark.parametrize("shape", [(10, 2_000_000_001), (2_000_003, 11)])
def test_few_entries_in_a_huge_shape(shape):
    A = sparse.coo_array(([1.0, 2.0, 3.0], ([0, 7, 7], [shape[1] - 1, 3, 4])), shape=shape)
    others = ds.analyze(A).other_formats
    assert (others["vbr"].layout, others["vbr"].blocks, others["bcsd"].blocks) == ("4 x 4 blocks", 2, 3)
    assert others["msr"] is None and others["bsr"].blocks in (2, 3)


def test_entries_that_are_listed_are_counted_as_those_in_a_table():
    """More than 8 diagonals to an entry: they are sorted, once for all heights."""
    rng = np.random.default_rng(0)
    i, j = rng.integers(0, 50, 3000), rng.integers(0, 20, 3000) * 10**6 + rng.integers(0, 40, 3000)
    A = sparse.csr_array((np.ones(3000), (i, j)), shape=(50, 20_000_000))
    csr, (i, j) = ds.csr_array(A), (k.astype(np.int64) for k in sparse.coo_array(A).coords)
    heights = [1, 3, 4, 64]
    expected = [len(np.unique((i // rows) * 10**9 + j - i + 100)) for rows in heights]
    assert CPU.core.block_diagonals(csr._matrix, heights) == expected
    sizes = (2, 3, 8, 64)
    assert [csr._summary().blocks(k) for k in sizes] == [len(np.unique((i // k) * 10**9 + j // k)) for k in sizes]


def test_blocks_are_counted_at_the_first_use(monkeypatch):
    A = ds.csr_array(gallery.stencil(5, (30, 40)))
    report, expected = ds.analyze(A), ds.analyze(A)
    plain = expected.to_dict()
    assert expected._unimplemented._csr is None  # nothing is referenced any more
    A.indices[:] = A.indices[::-1].copy()  # which changes no report
    A.data[:] = 0
    monkeypatch.setattr(CPU.core, "variable_blocks", counted := Counted(CPU.core.variable_blocks))
    assert repr(report) and report.blocks == expected.blocks and not counted.calls
    assert report.other_formats == expected.other_formats and report.bitmap_blocks == expected.bitmap_blocks
    assert report.to_dict() == plain and str(report) == str(expected) and counted.calls == 1
    again = pickle.loads(pickle.dumps(ds.analyze(gallery.stencil(5, (30, 40)))))
    assert again.to_dict() == plain


def test_threads_may_ask_for_the_counts_at_once(monkeypatch):
    S = gallery.stencil(5, (30, 40))
    expected = ds.analyze(S)
    monkeypatch.setattr(CPU.core, "variable_blocks", counted := Counted(CPU.core.variable_blocks))
    for _ in range(50):
        report, start = ds.analyze(S), Barrier(6)

        def ask(name, report=report, start=start):
            start.wait()
            return getattr(report, name)

        with ThreadPoolExecutor(6) as pool:
            found = list(pool.map(ask, ["other_formats", "bitmap_blocks"] * 3))
        assert found == [expected.other_formats, expected.bitmap_blocks] * 3
        assert report._unimplemented._csr is None
    assert counted.calls == 51


class Counted:
    def __init__(self, call):
        self.call, self.calls = call, 0

    def __call__(self, *arguments):
        self.calls += 1
        return self.call(*arguments)


def test_counting_needs_memory_that_is_free(monkeypatch):
    report = ds.analyze(gallery.stencil(5, (30, 40)))
    monkeypatch.setattr(memory, "SMALL", 0)
    monkeypatch.setattr(memory, "available_bytes", lambda backend=CPU: 10_000)
    for use in (lambda: report.other_formats, lambda: report.bitmap_blocks, report.to_dict, lambda: str(report)):
        with raises(MemoryError, "analyze: counting the blocks", "would need 23.4 KB, 10.0 KB are free"):
            use()
    assert repr(report) and report.offsets.tolist() == [-40, -1, 0, 1, 40]
    monkeypatch.undo()
    assert "bcsd 32 rows" in str(report)


COUNTING = """
    import numpy as np, scipy.sparse as sp
    import diagsparse as ds
    from diagsparse._formats import unimplemented

    def peak():
        return int(open("/proc/self/status").read().split("VmHWM:")[1].split()[0]) * 1024

    columns = np.sort(np.random.default_rng(0).integers(0, shape[1], (1000, 2000)), axis=1)
    A = sp.csr_array((np.ones(columns.size), columns.ravel(), np.arange(1001) * 2000), shape=shape)
    A.sum_duplicates()
    A = ds.csr_array(A)
    report = ds.analyze(A, rcm=False)
    open("/proc/self/clear_refs", "w").write("5")  # the largest size is now that of this moment
    before = peak()
    report.other_formats, report.bitmap_blocks
    print(peak() - before, unimplemented.counting_nbytes(A._summary()))
"""


SORTED, IN_A_TABLE = (1000, 2 * 10**9), (1000, 10**6)


@pytest.mark.parametrize("shape", at_night([SORTED, IN_A_TABLE], before=[IN_A_TABLE]), ids=["sorted", "in a table"])
def test_counting_takes_no_more_than_its_forecast(shape):
    """In a Python of its own, whose largest size is compared with the size before."""
    code = f"shape = {shape}\n" + dedent(COUNTING)
    taken, forecast = map(int, python(code, MALLOC_MMAP_THRESHOLD_="65536").split())  # freed memory is given back
    assert taken > forecast / 3
    assert taken < 1.1 * forecast + 2e6


def test_8_x_8_blocks_take_what_bmsparse_takes():
    A = gallery.stencil(27, (7, 8, 9))
    assert ds.analyze(A).bitmap_blocks[8].nbytes == ds.bmsparse_array(A).nbytes


def test_each_wins_where_it_should():
    """A matrix for each, in which it takes fewer bytes than the other three."""
    rng = np.random.default_rng(0)
    blocks = sparse.random_array((60, 60), density=0.1, rng=rng)
    nodes = [np.ones((k, k)) for k in rng.integers(3, 12, 40)]
    pieces = [sparse.diags_array(np.ones(32), offsets=int(k), shape=(32, 640)) for k in rng.integers(0, 600, 20)]
    matrices = {
        "bsr": sparse.kron(blocks, np.ones((5, 5))),
        "vbr": sparse.block_diag(nodes),
        "bcsd": sparse.vstack(pieces),
        "msr": sparse.random_array((3000, 3000), density=2e-4, rng=rng) + sparse.eye_array(3000),
    }
    for name, A in matrices.items():
        others = ds.analyze(A.tocsr(), rcm=False).other_formats
        assert min(others, key=lambda one: others[one].nbytes) == name, others
    assert ds.analyze(matrices["bsr"].tocsr()).other_formats["bsr"].layout == "5 x 5"


def test_strips_have_rows():
    with pytest.raises(ValueError, match="strips of 0 rows: expected 1 or more"):
        CPU.core.block_diagonals(ds.csr_array(np.eye(3))._matrix, [4, 0])


def test_what_the_report_says():
    s = ds.analyze(gallery.stencil(5, (30, 40)))
    assert set(s.bitmap_blocks) == set(unimplemented.BITMAP_SIZES)
    assert list(s.other_formats) == ["bsr", "bcsd", "msr", "vbr"]
    plain = s.to_dict()
    assert plain["other_formats"]["bsr"]["layout"] == "2 x 2" and plain["bitmap_blocks"][8]["blocks"] == s.blocks
    assert ds.analyze(gallery.stencil(5, 9).tocsr()[:, :50]).to_dict()["other_formats"]["msr"] is None
    assert "bcsd 32 rows" in s._repr_html_() and "680 of 8 x 8" in str(s)
