"""The validation on a GPU: the same errors are reported there, and index arrays cannot be written to."""

import numpy as np
import pytest
from cases import ours, raises
from libraries import load

import diagsparse as ds

pytestmark = [pytest.mark.gpu, pytest.mark.skipif(not ds.cuda_available(), reason="no CUDA device answers")]


def native(format, shape, values, first, second, device="cuda"):
    """Return what the C++ core makes of these arrays, without anybody in between."""
    core = ds.array(np.eye(1), device=device)._core
    names = ("row", "col") if format == "coo" else ("indices", "indptr")
    parts = [(name, core.from_host(np.asarray(part))) for name, part in zip(names, (first, second), strict=True)]
    return core.indexed_matrix(format, *shape, core.from_host(np.asarray(values)), parts)


def ints(*values):
    return np.array(values, np.int32)


@pytest.mark.parametrize("format", ["csr", "csc"])
def test_lines(format):
    shape = (3, 4) if format == "csr" else (4, 3)
    values, starts = np.ones(4), np.array([0, 2, 2, 4])
    assert native(format, shape, values, ints(0, 3, 1, 2), starts).stored == 4
    for indices, words in (
        (ints(0, 4, 1, 2), ["indices[1]", "0 to 3"]), (ints(0, 3, -1, 2), ["indices[2]"]),
        (ints(0, 3, 2, 2), ["rise"]), (ints(0, 3, 2, 1), ["rise"]), (ints(3, 0, 1, 2), ["rise"]),
        (ints(0, 3, 1), ["indices", "3 values", "expected 4"]), (np.array([0, 3, 1, 2]), ["int64", "int32"]),
    ):  # fmt: skip
        with raises(ValueError, f"{format}_array", *words):
            native(format, shape, values, indices, starts)
    for indptr in ([0, 2, 1, 4], [1, 2, 2, 4], [0, 2, 2, 5], [0, 2, 2, 3], [0, 10**12, 2, 4], [-1, 2, 2, 4], [0, 2, 4]):
        with raises(ValueError, f"{format}_array", "indptr"):
            native(format, shape, values, ints(0, 3, 1, 2), np.array(indptr))
    for bad in (np.ones(4, np.int64), np.ones((4, 1)), np.ones(4, np.float16)):
        with raises(ValueError, f"{format}_array"):
            native(format, shape, bad, ints(0, 3, 1, 2), starts)
    with raises(ValueError, "expected extents"):
        native(format, (-1, 4), np.ones(0), ints(), np.array([0]))


def test_many_lines_of_every_length():
    rng = np.random.default_rng(0)
    lengths = rng.integers(0, 40, 5000) * rng.integers(0, 2, 5000)
    starts = np.concatenate([[0], np.cumsum(lengths)])
    indices = np.concatenate([np.sort(rng.choice(100000, n, replace=False)) for n in lengths]).astype(np.int32)
    count = len(indices)
    assert native("csr", (5000, 100000), np.ones(count), indices, starts).stored == count
    for at in rng.integers(0, count, 20):
        wrong = indices.copy()
        wrong[at] = 100000
        with raises(ValueError, f"indices[{at}]"):
            native("csr", (5000, 100000), np.ones(count), wrong, starts)


def test_pairs():
    values = np.ones(3)
    assert native("coo", (3, 4), values, ints(0, 0, 2), ints(1, 3, 0)).stored == 3
    for row, col, words in (
        (ints(0, 0, 3), ints(1, 3, 0), ["entry 2"]), (ints(0, -1, 2), ints(1, 3, 0), ["entry 1"]),
        (ints(0, 0, 2), ints(1, 4, 0), ["entry 1"]), (ints(0, 0, 2), ints(1, 1, 0), ["entry 1", "after"]),
        (ints(2, 0, 0), ints(0, 1, 3), ["entry 1", "after"]), (ints(0, 0), ints(1, 3, 0), ["row"]),
    ):  # fmt: skip
        with raises(ValueError, "coo_array", *words):
            native("coo", (3, 4), values, row, col)


@pytest.mark.parametrize("format", ["csr", "csc", "coo"])
def test_index_arrays_on_a_gpu_are_read_only(format):
    A = ours("banded 65", format, device="cuda")
    x = np.ones(65)
    expected = A @ x
    for B in (A, A.copy(), A @ A, A.T.copy(), ours("banded 65", format).to("cuda")):
        for name, part in B.parts().items():
            if name == "values":
                continue
            for write in (
                lambda p=part: p.fill(10**9), lambda p=part: p.set(p.get()), lambda p=part: p.assign(p),
                lambda p=part: p[1:3].fill(10**9), lambda p=part: p.ravel().fill(1),
            ):  # fmt: skip
                with raises(ValueError, "read-only"):
                    write()
            assert not hasattr(part, "__cuda_array_interface__")
            copied = part.copy()
            copied.set(part.get() + 7)
            assert np.array_equal(copied.get(), part.get() + 7)
            cupy = load("cupy")
            theirs = cupy.from_dlpack(part)
            assert np.array_equal(theirs.get(), part.get())
            theirs[...] = 10**9
    assert np.array_equal(A @ x, expected)
    theirs = A.to_cupy()
    for name in ("indices", "indptr", "row", "col"):
        if hasattr(theirs, name):
            getattr(theirs, name)[...] = 10**9
    assert np.array_equal(A @ x, expected)


def test_values_stay_shared():
    cupy = load("cupy")
    A = ours("banded 65", "csr", device="cuda").copy()
    cupy.from_dlpack(A.values)[...] = 2
    cupy.asarray(A.values)[3] = 5
    assert sorted(set(A.values.get().tolist())) == [2, 5]


@pytest.mark.parametrize("format", ["dia", "hm", "bmsparse", "csr"])
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "complex128"])
def test_values_are_set_from_scalars_and_arrays(format, dtype):
    if dtype == "bfloat16":
        pytest.importorskip("ml_dtypes")
    if format == "csr" and dtype.endswith("16"):
        pytest.skip("csr does not store values in 16 bits")
    A = ds.array(ds.gallery.tridiagonal(9), format, device="cuda").astype(dtype)
    filled = A.toarray() != 0
    A.values = 0.5
    assert np.array_equal(A.toarray(), 0.5 * filled)
    A.values = np.full(A.values.shape, 3.0)
    assert np.array_equal(A.toarray(), 3.0 * filled)
    if dtype != "complex128":
        for new in (1j, np.full(A.values.shape, 1j), load("cupy").full(A.values.shape, 1j)):
            with raises(TypeError, "imaginary"):
                A.values = new


@pytest.mark.parametrize("dtype", ["uint8", "uint16", "uint64", "int32", "int64"])
def test_arrays_of_index_types(dtype):
    core, cupy = ds.array(np.eye(1), device="cuda")._core, load("cupy")
    wanted = np.iinfo(dtype).max - np.arange(6, dtype=dtype)
    there = core.from_host(wanted)
    theirs = cupy.asarray(there)
    for got in (there.get(), there.copy().get(), theirs.get(), core.asarray(theirs).get(), there.reshape([2, 3]).get()):
        assert got.dtype == wanted.dtype
        np.testing.assert_array_equal(got.ravel(), wanted)
    with raises(ValueError, "coo_array", *(["row", dtype, "int32"] if dtype != "int32" else ["entry 0", "9 x 9"])):
        core.indexed_matrix("coo", 9, 9, core.from_host(np.ones(6)), [("row", there), ("col", there)])
