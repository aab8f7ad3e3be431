"""Calls that are wrong on one process, or on all of them: every process raises, and works on afterwards."""

import pickle

import numpy as np
from cases import case
from every_process import equal, integers, matrix

import diagsparse as ds
from diagsparse.distributed import (
    cg,
    chebyshev_multiply,
    deep_halo,
    dot,
    from_global,
    from_local,
    from_rows,
    load,
    power_multiply,
    save,
    vector,
)  # fmt: skip


def refused(comm, bad, call, kinds, words):
    """Expect that a call raises on all processes: one of these errors, with the words of the process that is wrong."""
    try:
        call()
    except Exception as error:
        other = bad not in (None, comm.rank)
        if not isinstance(error, (*kinds, RuntimeError) if other else kinds) or words not in str(error):
            raise
        assert not other or f"process {bad}" in str(error), error
    else:
        raise AssertionError(f"nothing raised; expected {words!r}")


def errors(comm, folder):
    """Errors of one process, the last one, are raised by all, which go on working."""
    n, bad = 40, comm.size - 1
    wrong = comm.rank == bad
    whole, A = matrix((n, n), "float64", "hm")
    b = ds.array(whole, "csr")
    D = from_rows(lambda i, j: A[i:j], (n, n), comm=comm)
    first, last = D.row_range
    x = integers(n, "float64", "x")
    mine, v = x[first:last], vector(D, lambda i, j: x[i:j])
    out, ready = mine.copy(), mine.copy()
    ready.flags.writeable = False
    other = [(0, n)] + [(n, n)] * (comm.size - 1)
    elsewhere = vector(n + 1, 1.0, comm=comm)
    wide = from_rows(lambda i, j: ds.array(whole[:, :30], "csr")[i:j], (n, 30), comm=comm)

    def fails(error):
        def function(i, j):
            if wrong:
                raise error
            return A[i:j]

        return lambda: from_rows(function, (n, n), comm=comm)

    def build(function, **options):
        return lambda: from_rows(function, (n, n), comm=comm, **options)

    def fill(function, **options):
        return lambda: vector(n, function, comm=comm, **options)

    def off(i, j):
        if wrong:
            raise ValueError("no elements here")
        return x[i:j]

    class Unreadable:
        def __array__(self, *args, **kwargs):
            raise KeyError("unreadable")

    square = [(p * n // comm.size, (p + 1) * n // comm.size) for p in range(comm.size)]
    cases = [
        (fails(ValueError("no such rows")), ValueError, "no such rows"),
        (fails(TypeError("no such type")), TypeError, "no such type"),
        (fails(MemoryError("no memory")), MemoryError, "no memory"),
        (fails(FileNotFoundError(2, "no file")), OSError, "no file"),
        (fails(ZeroDivisionError("by zero")), ZeroDivisionError, "by zero"),
        (build(lambda i, j: A[i:j] if not wrong else A[i:j][:, 1:]), ValueError, f"x {n - 1} matrix, expected"),
        (build(lambda i, j: A[i:j] if not wrong else None), TypeError, "expected a sparse matrix"),
        (build(lambda i, j: A[i:j], row_ranges=[(0, 99)] * comm.size if wrong else square), ValueError, "row_ranges"),
        (lambda: from_rows(lambda i, j: A[i:j], (n, "n" if wrong else n), comm=comm), TypeError, "shape"),
        (lambda: from_local("rows" if wrong else A[first:last], comm=comm), TypeError, "expected a sparse matrix"),
        (lambda: from_local(A[first:last], (n, n + wrong), comm=comm), ValueError, f"expected {n} x {n + 1}"),
        (lambda: from_global("whole" if wrong else None, comm=comm, root=bad), TypeError, "expected a sparse matrix"),
        (lambda: from_global(A, comm=comm, root=comm.size if wrong else 0), ValueError, f"root={comm.size}"),
        (fill(lambda i, j: np.full(j - i, "text" if wrong else 1)), TypeError, "expected numbers"),
        (fill(off), ValueError, "no elements here"),
        (fill(lambda i, j: x[i : j - wrong]), ValueError, "expected"),
        (fill("text" if wrong else 1), TypeError, "fill is 'text', expected a number"),
        (lambda: vector("n" if wrong else n, comm=comm), TypeError, "like"),
        (lambda: D @ (mine[:-1] if wrong else mine), ValueError, "matvec: x has shape"),
        (lambda: D @ (None if wrong else mine), TypeError, "matvec: x is NoneType"),
        (lambda: D @ (A if wrong else mine), TypeError, "in D @ E, both are distributed"),
        (lambda: cg(D, v, rtol=-1 if wrong else 1e-5), ValueError, "rtol=-1"),
        (lambda: cg(D, v, maxiter=-1 if wrong else 1), ValueError, "maxiter=-1"),
        (lambda: deep_halo(D, -1 if wrong else 2), ValueError, "k=-1"),
        (lambda: D @ (mine.astype("S8") if wrong else mine), TypeError, "cannot multiply"),
        (lambda: D @ (Unreadable() if wrong else mine), KeyError, "unreadable"),
        (lambda: D @ (mine[:, None, None] if wrong else mine), ValueError, "matvec: x has shape"),
        (lambda: D.matvec(mine, out="out" if wrong else out), TypeError, "out is str"),
        (lambda: D.matvec(mine, out=v if wrong else out), TypeError, "out is a Vector and x a ndarray"),
        (lambda: D.matvec(v, out=out if wrong else v.copy()), TypeError, "out is a ndarray and x a Vector"),
        (lambda: D.matvec(mine, out=out.astype("f4") if wrong else out), TypeError, "out is float32"),
        (lambda: D.matvec(mine, out=out[:-1] if wrong else out), ValueError, "out has shape"),
        (lambda: D.matvec(mine, out=ready if wrong else out), ValueError, "read-only"),
        (lambda: D.matvec(mine, beta=2 if wrong else 0), ValueError, "beta=2"),
        (lambda: D.matvec(mine, alpha=2j if wrong else 1), TypeError, "alpha=2j is complex"),
        (lambda: D.matvec(mine, alpha="2" if wrong else 1), TypeError, "alpha='2': expected a number"),
        (lambda: D.rmatvec(mine, out="out" if wrong else out), TypeError, "out is str"),
        (lambda: D.rmatvec(mine[:-1] if wrong else mine), ValueError, "matvec: x has shape"),
        (lambda: power_multiply(D, v, -1 if wrong else 2), ValueError, "k=-1"),
        (lambda: power_multiply(D, mine if wrong else v, 2), ValueError, "expected a vector"),
        (lambda: power_multiply(D, v, 2, steps=0 if wrong else 1), ValueError, "steps=0"),
        (lambda: chebyshev_multiply(D, v, [] if wrong else [1, 2]), ValueError, "coefficients"),
        (lambda: chebyshev_multiply(D, v, [1], domain=(1, 1 + (not wrong))), ValueError, "domain=(1, 1)"),
        (lambda: cg(D, mine if wrong else v), ValueError, "distributed.cg: b is"),
        (lambda: cg(D, v, v if not wrong else 1), ValueError, "distributed.cg: x0 is"),
        (lambda: load(folder / "none" if wrong else folder / "saved", comm=comm), OSError, "none"),
        (lambda: load(folder / "text" if wrong else folder / "saved", comm=comm), ValueError, "distributed.json"),
        (lambda: load(folder / "nested" if wrong else folder / "saved", comm=comm), ValueError, "maximum recursion"),
        (lambda: load(folder / "huge" if wrong else folder / "saved", comm=comm), ValueError, "shape [118059162"),
        (lambda: load(folder / "version" if wrong else folder / "saved", comm=comm), ValueError, "version 7"),
        (lambda: load(folder / "borders" if wrong else folder / "saved", comm=comm), ValueError, "borders [0, 7, 5]"),
        (lambda: load(folder / "shape" if wrong else folder / "saved", comm=comm), ValueError, "shape None"),
        (lambda: load(folder / "format" if wrong else folder / "saved", comm=comm), ValueError, "None_array"),
    ]  # fmt: skip
    everywhere = [
        (lambda: D @ elsewhere, ValueError, "other ranges"),
        (lambda: D.matvec(v, out=elsewhere), ValueError, "other ranges"),
        (lambda: v + elsewhere, ValueError, "different ranges of rows"),
        (lambda: dot(v, elsewhere), ValueError, "different ranges of rows"),
        (lambda: dot(v, mine), TypeError, "distributed.dot: ndarray, expected a distributed vector"),
        (build(lambda i, j: A[i:j], engine="fast"), ValueError, "engine='fast', expected one of"),
        (build(lambda i, j: A[i:j], engine="nccl"), ValueError, 'engine="nccl" is for matrices on GPUs'),
        (lambda: D.matvec(v, alpha=1j), TypeError, "alpha=1j is complex"),
        (lambda: wide.diagonal(), ValueError, "expected a square one"),
        (lambda: deep_halo(wide, 2), ValueError, "expected a square one"),
        (lambda: cg(D, v + np.inf), ValueError, "norm(b) is inf"),
        (lambda: power_multiply(A, v, 2), TypeError, "expected a distributed matrix"),
        (lambda: cg(A, v), TypeError, "expected a distributed matrix"),
        (lambda: save(folder / "A", A), TypeError, "expected a distributed matrix"),
        (lambda: save(folder / "file", D), OSError, "file"),
        (lambda: vector(4, comm=3), TypeError, "expected a communicator"),
        (lambda: vector(v, row_ranges=square), ValueError, "which has ranges of rows already"),
        (lambda: bool(v == v), ValueError, "ambiguous"),
        (lambda: setattr(v, "local", np.zeros(n + 1)), ValueError, "local: an array of shape"),
        (lambda: pickle.dumps(v), TypeError, "cannot be pickled"),
        (lambda: pickle.dumps(D), TypeError, "cannot be pickled"),
        (lambda: np.asarray(D), TypeError, "is no array"),
        (lambda: chebyshev_multiply(D, v, [1], domain=(0, 1, 2)), ValueError, "two different real numbers"),
        (lambda: cg(wide, v), ValueError, "expected a square one"),
        (lambda: power_multiply(wide, v, 2), ValueError, "expected a square one"),
        (lambda: wide @ wide, ValueError, "expected as many rows"),
        (lambda: cg(D, v, M="ilu"), ValueError, "M='ilu'"),
        (lambda: power_multiply(from_global(b, comm=comm), v, 2, steps=2), ValueError, "csr"),
        (lambda: D.gather(comm.size), ValueError, f"root={comm.size}"),
        (lambda: v.gather(-1), ValueError, "root=-1"),
        (lambda: v + mine, TypeError, "expected a scalar or a distributed vector"),
        (lambda: np.add.reduce(v), TypeError, ""),
        (lambda: np.asarray(v), TypeError, "is no array"),
        (lambda: mine @ D, TypeError, ""),
        (lambda: load(folder / "damaged", comm=comm), ValueError, "process 0" if comm.rank else ""),
        (lambda: load(folder / "mixed", comm=comm), ValueError, "csr_array, expected"),
        (lambda: v * vector(D, lambda i, j: np.ones((j - i, 2))), ValueError, "a vector and a block"),
        (lambda: dot(v, vector(D, lambda i, j: np.ones((j - i, 2)))), ValueError, "shapes"),
    ]  # fmt: skip
    if comm.size > 1:
        count = 1 + wrong  # columns
        everywhere += [
            (lambda: from_rows(lambda i, j: A[i:j, : n - wrong], (n, n - wrong), comm=comm), ValueError, "differs"),
            (build(lambda i, j: b[i:j] if wrong else A[i:j]), ValueError, "format of the rows differs: hm on"),
            (build(lambda i, j: A[i:j], row_ranges=other if wrong else square), ValueError, "differs"),
            (build(lambda i, j: A[i:j], engine="mpi" if wrong else None), ValueError, "engine differs"),
            (fill(lambda i, j: np.ones((j - i, count))), ValueError, "blocks of shapes"),
            (lambda: power_multiply(D, v, count), ValueError, "k and steps differs"),
            (lambda: chebyshev_multiply(D, v, [1, count]), ValueError, "coefficients, domain and steps differs"),
            (lambda: cg(D, v, maxiter=count), ValueError, "rtol, atol and maxiter differs"),
            (lambda: deep_halo(D, count), ValueError, "deep_halo: k, latency and bandwidth differs"),
            (lambda: D.matvec(v, alpha=count), ValueError, "alpha or beta differs"),
            (lambda: save(folder / f"to-{count}", D), ValueError, "path differs"),
            (fill(1, row_ranges=other if wrong else square), ValueError, "row_ranges differs"),
            (lambda: D @ np.ones((last - first, count)), ValueError, "the type of x and its columns"),
            (lambda: D @ mine.astype("c16" if wrong else "f8"), ValueError, "the type of x and its columns"),
            (lambda: from_local(A[first:last][:, :count], comm=comm), ValueError, "number of columns differs"),
            (lambda: from_global(A, comm=comm, root=int(wrong)), ValueError, "root differs"),
        ]  # fmt: skip
    save_damaged(comm, D, from_global(b, comm=comm), folder)
    expected = (whole @ x)[first:last]
    for who, calls in ((bad, cases), (None, everywhere)):
        for call, kinds, words in calls:
            with case(words):
                refused(comm, who, call, kinds if isinstance(kinds, tuple) else (kinds,), words)
                equal(D @ mine, expected, "D @ x after an error")
    equal(v.local, mine, "x")


def save_damaged(comm, D, other, folder):
    """Save a matrix in several folders, of which some are damaged then."""
    for name in ("saved", "text", "nested", "huge", "version", "borders", "shape", "format", "damaged", "mixed"):
        save(folder / name, D)
    save(folder / "other", other)
    if comm.rank == 0:
        (folder / "text" / "distributed.json").write_text("{")
        (folder / "nested" / "distributed.json").write_text("[" * 100_000)
        (folder / "huge" / "distributed.json").write_text(
            f'{{"version": 1, "shape": [{2**70}, 5], "borders": [0, {2**70}]}}'
        )
        (folder / "version" / "distributed.json").write_text('{"version": 7}')
        (folder / "borders" / "distributed.json").write_text('{"version": 1, "shape": [5, 5], "borders": [0, 7, 5]}')
        index = folder / "format" / "distributed.json"
        index.write_text(index.read_text().replace("format", "other"))
        (folder / "shape" / "distributed.json").write_text('{"version": 1, "format": "hm"}')
        (folder / "damaged" / "rows-00000.npz").write_bytes(b"no archive")
        (folder / "mixed" / "rows-00000.npz").write_bytes((folder / "other" / "rows-00000.npz").read_bytes())
        (folder / "file").write_text("")
    comm.allgather(None)
