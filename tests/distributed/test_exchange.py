"""What is exchanged and when: no messages without need, the steps of deep halos, and errors between two messages."""

import sys

import numpy as np
import pytest
import scipy.sparse as sp
from every_process import integers

import diagsparse as ds
from diagsparse import distributed
from diagsparse._distributed import files, rows
from diagsparse._distributed.deep_halo import Window
from diagsparse._distributed.exchange import MpiExchange, Selection
from diagsparse._distributed.plan import Piece
from diagsparse._distributed.ranges import Ranges


@pytest.fixture
def started(monkeypatch):
    """The exchanges of rank 0 that are started."""
    calls, start = [], MpiExchange.start

    def counted(self, x, halo):
        if self.comm.rank == 0:
            calls.append(len(self.receives))
        return start(self, x, halo)

    monkeypatch.setattr(MpiExchange, "start", counted)
    return calls


@pytest.mark.parametrize("count", [0, 1, 5, 40])
@pytest.mark.parametrize("shape", [(200,), (200, 3)])
def test_selections(count, shape):
    positions = Ranges(np.arange(count) * 5, np.arange(count) * 5 + 2)
    at = [i for a, b in positions for i in range(a, b)]
    selection = Selection(positions)
    for order in "CF":
        x = np.asarray(integers(shape, "float64", "x"), order=order)
        taken = selection.take(x)
        assert np.array_equal(taken, x[at]) and taken.flags.c_contiguous
        into = np.zeros(shape, order=order)
        message = selection.target(into)
        assert message.flags.c_contiguous and message.shape == (len(at), *shape[1:])
        message[...] = x[at]
        selection.put(message, into)
        expected = np.zeros(shape)
        expected[at] = x[at]
        assert np.array_equal(into, expected)


def test_masked_diagonals_exchange_only_with_processes_that_have_what_they_need(ranks):
    def needed(comm):
        D = distributed.from_rows(
            lambda a, b: ds.gallery.heisenberg(8, rows=(a, b), format="mdia"), (256, 256), comm=comm
        )
        first, last = D.row_range
        columns = np.unique(ds.gallery.heisenberg(8, rows=(first, last)).indices)
        owners = set((columns // 32).tolist()) - {comm.rank}
        peers = {exchange.peer for exchange in D.halo.exchanges if exchange.received}
        x = integers(256, "float64", "x")
        y = (D @ distributed.vector(D, lambda a, b: x[a:b])).gather(None)
        assert np.array_equal(y, ds.gallery.heisenberg(8) @ x)
        return peers == owners

    assert ranks(8, needed) == [True] * 8


@pytest.mark.parametrize("steps", [2, 3, 7])
def test_deep_halos_save_exchanges(ranks, started, steps):
    """As many as `deep_halo` says, of powers and of series."""
    A, k = ds.gallery.tridiagonal(200), 12

    def run(comm):
        D = distributed.from_global(A, comm=comm)
        x = distributed.vector(D, 1.0)
        distributed.power_multiply(D, x, k, steps=steps)
        comm.allgather(None)
        powers, started[:] = (len(started), []) if comm.rank == 0 else (0, started)
        comm.allgather(None)
        distributed.chebyshev_multiply(D, x, np.ones(k + 1), domain=(0, 4), steps=steps)
        window = Window.of(D, steps)
        return powers, window.last - window.first - (D.row_range[1] - D.row_range[0])

    found = ranks(4, run)
    exchanges = -(-k // steps)
    assert found[0][0] == exchanges and len(started) == 2 * exchanges - 1  # two vectors at a time, except at first
    one = ranks(4, lambda comm: distributed.deep_halo(distributed.from_global(A, comm=comm), k, latency=1.0))[0]
    assert one.steps == k and one.extra_rows == 2 * k * k
    assert max(extra for _, extra in found) == 2 * steps  # rows that each of the steps multiplies in addition


def test_one_step_is_predicted_if_messages_are_cheap(ranks):
    found = ranks(2, lambda comm: distributed.deep_halo(
        distributed.from_global(ds.gallery.stencil(5, 40), comm=comm), 5, latency=1e-9))  # fmt: skip
    assert found[0].steps == 1 and found[0].extra_rows == 0 and "longer" in found[0].reason


def test_messages_end_if_a_product_fails(ranks, monkeypatch):
    """Then the next product is right."""
    multiply, finish = Piece.multiply, MpiExchange.finish
    broken, finished = [], []

    def fails(self, *arguments):
        if any(self is one for one in broken):
            raise KeyError("a piece")
        return multiply(self, *arguments)

    def counted(self, sends):
        finished.append(len(sends))
        finish(self, sends)

    monkeypatch.setattr(Piece, "multiply", fails)
    monkeypatch.setattr(MpiExchange, "finish", counted)

    def run(comm, which):
        D = distributed.from_global(ds.gallery.tridiagonal(100), comm=comm)
        x = distributed.vector(D, 1.0)
        if comm.rank == 1:
            broken[:] = getattr(D._plan, which)
            with pytest.raises(KeyError, match="a piece"):
                D @ x
            broken.clear()
        else:
            D @ x
        return (D @ x).gather(None)

    for which in ("interior", "boundary"):
        finished.clear()
        for y in ranks(3, run, which):
            assert y.sum() == 2
        assert sorted(finished) == [1, 1, 1, 1, 2, 2]


def test_an_error_at_the_process_that_distributes_a_matrix(ranks, monkeypatch):
    from diagsparse._distributed import build

    original = build.rows_of

    def short_of_memory(whole, first, last):
        if first:
            raise MemoryError("no rows")
        return original(whole, first, last)

    monkeypatch.setattr(build, "rows_of", short_of_memory)

    def run(comm):
        with pytest.raises(MemoryError, match="no rows"):
            distributed.from_global(ds.gallery.tridiagonal(100) if comm.rank == 1 else None, comm=comm, root=1)

    ranks(3, run)


def test_memory_for_the_rows_of_others_is_forecast(ranks, monkeypatch):
    """All processes raise if one of them has too little."""
    forecast = []

    def scarce(nbytes, what, temporary):
        forecast.append((nbytes, temporary))
        if nbytes > 1000:
            raise MemoryError(f"{what} would need {nbytes} bytes")

    monkeypatch.setattr(rows, "require_free", scarce)

    def run(comm):
        ranges = [(0, 100), (100, 110), (110, 300)]
        D = distributed.from_global(ds.gallery.tridiagonal(300), comm=comm, row_ranges=ranges)
        assert (D @ D).shape == (300, 300)
        wide = distributed.from_global(ds.gallery.banded(300, 40, 40, seed=0), comm=comm)
        for call in (lambda: wide @ wide, lambda: wide.T):
            with pytest.raises(MemoryError, match="of other processes would need"):
                call()

    ranks(3, run)
    assert len(forecast) == 9 and all(nbytes == 2 * received for nbytes, received in forecast)


def test_exits_inside_of_a_function(ranks):
    """The others do not wait."""

    def run(comm):
        def rows(first, last):
            if comm.rank == 1:
                sys.exit("no file")
            return ds.eye(10, format="csr")[first:last]

        with pytest.raises(SystemExit if comm.rank == 1 else RuntimeError, match="no file"):
            distributed.from_rows(rows, (10, 10), comm=comm)

    ranks(3, run)


def test_a_folder_that_was_not_saved_completely_is_not_loaded(ranks, tmp_path, monkeypatch):
    write = files.write

    def run(comm, failing):
        def full(path, local):
            if failing and comm.rank == 1:
                raise OSError("disk full")
            write(path, local)

        monkeypatch.setattr(files, "write", full)
        comm.allgather(None)
        distributed.save(tmp_path, distributed.from_global(ds.eye(20, format="hm") * (1 + failing), comm=comm))

    ranks(2, run, False)
    assert ranks(3, lambda comm: distributed.load(tmp_path, comm=comm).gather())[0].shape == (20, 20)
    with pytest.raises(OSError, match="disk full"):
        ranks(2, run, True)
    with pytest.raises(OSError, match=r"distributed\.json"):
        ranks(2, lambda comm: distributed.load(tmp_path, comm=comm))


@pytest.mark.parametrize("size", [2, 8])
def test_products_of_two_matrices_have_one_format(ranks, size):
    """Also if a process has no rows, or none with elements, in a format that depends on the elements."""

    def run(comm):
        values = np.where(np.arange(64) < 20, 1.0, 0.0)
        S = sp.diags_array([values[:63], np.zeros(64), values[:63]], offsets=[-1, 0, 1], shape=(64, 64)).tocsr()
        S = S[:6, :6] if comm.size == 8 else S
        n = S.shape[0]
        D = distributed.from_global(ds.array(S, "mdia"), comm=comm)
        C = D @ D
        x = distributed.vector(C, lambda a, b: np.arange(a, b) + 1.0)
        y = distributed.power_multiply(C, x, 2).gather(None)
        assert np.allclose(y, S @ (S @ (S @ (S @ (np.arange(n) + 1.0)))))
        return C.format

    formats = ranks(size, run)
    assert len(set(formats)) == 1


def test_complex_rows_have_the_same_bits_for_any_order_of_x(ranks):
    rng = np.random.default_rng(0)
    n = 300
    A = sp.diags_array(
        [rng.uniform(-1, 1, n - abs(k)) + 1j * rng.uniform(-1, 1, n - abs(k)) for k in (-3, -1, 0, 1, 3)],
        offsets=(-3, -1, 0, 1, 3),
    ).tocsr()
    X = rng.uniform(-1, 1, (n, 2))

    def run(comm, order, format):
        D = distributed.from_global(ds.array(A, format), comm=comm)
        first, last = D.row_range
        out = np.zeros((last - first, 2), complex, order=order)
        y = D.matvec(np.asarray(X[first:last], order=order), out=out)
        assert y is out
        return b"".join(comm.allgather(np.ascontiguousarray(y).tobytes()))

    for format in ("csr", "hm"):
        found = {ranks(size, run, order, format)[0] for size in (1, 2, 3) for order in "CF"}
        assert len(found) == 1
