"""y = A x for dense blocks and in every memory layout: C, F, strided, reversed, overlapping; and what out= may be."""

from itertools import product

import numpy as np
import pytest
import scipy.sparse as sp
from cases import (
    DIAGONAL,
    EACH_DTYPE,
    VIEWS,
    at_night,
    cells,
    holding,
    kernel_of,
    matrix,
    matvec,
    ours,
    random,
    to_device,
    to_host,
)
from oracle import check_matvec

import diagsparse as ds

CELLS = cells("matvec")
WIDTHS = (0, 1, 2, 3, 4, 5, 8, 17, 33)
SHAPES = ("banded 64", "wide 20 x 70", "tall 70 x 20", "empty rows", "7x1", "1x7")
WIDE = ("banded 64", "wide 20 x 70", "empty rows", "7x1")  # and their transposes


def spread(array, *steps):
    """Return a view with these values whose elements lie `steps` apart in a larger array of NaN."""
    extents = [max(1, n) * abs(step) for n, step in zip(array.shape, steps, strict=True)]
    view = np.full(extents, np.nan, array.dtype)[tuple(slice(None, None, step) for step in steps)]
    view = view[tuple(slice(0, n) for n in array.shape)]
    view[...] = array
    return view


def unaligned(array):
    """Return a view whose strides are no multiple of the element's size: a field of records."""
    records = np.zeros(array.shape[:1], [("key", np.int32), ("x", array.dtype, array.shape[1:])])
    records["x"] = array
    return records["x"]


LAYOUTS = {
    "C": np.ascontiguousarray,
    "F": np.asfortranarray,
    "every second row": lambda x: spread(x, 2, *([1] * (x.ndim - 1))),
    "reversed rows": lambda x: spread(x, -1, *([1] * (x.ndim - 1))),
    "columns apart": lambda x: spread(x, 1, 3) if x.ndim == 2 else x[...],
    "F, columns apart": lambda x: spread(x.T, 2, 1).T if x.ndim == 2 else x[...],
    "both apart": lambda x: spread(x, 3, 2) if x.ndim == 2 else spread(x, 3),
    "F, rows apart": lambda x: spread(x.T, 1, 2).T if x.ndim == 2 else spread(x, 2),
    "reversed columns": lambda x: spread(x, 1, -1) if x.ndim == 2 else spread(x, -1),
    "slice of a wider block": lambda x: np.pad(x, [(1, 2), (2, 3)])[1:-2, 2:-3] if x.ndim == 2 else np.pad(x, 2)[2:-2],
    "records": unaligned,
}


@CELLS
@EACH_DTYPE
def test_widths(device, format, kernel, dtype):
    for name in holding(format, (*SHAPES, "0x5", "5x0", "random diagonals 127")):
        for op in VIEWS:
            V = VIEWS[op](ours(name, format, dtype, device))
            for k in WIDTHS:
                for order in "CF":
                    x = np.asarray(random((V.shape[1], k), dtype, name), order=order)
                    y = matvec(V, x, kernel, device)
                    check_matvec(y, name, dtype, op, x, f"{name}: {op}(A) times {x.shape} in {order} order")


@CELLS
@EACH_DTYPE
def test_blocks_across_tasks(device, format, kernel, dtype):
    k = {"float32": 3, "float64": 8, "complex64": 2, "complex128": 5}[dtype]
    for op in "NH":
        V = VIEWS[op](ours("big 20000", format, dtype, device))
        for order in "CF":
            x = np.asarray(random((V.shape[1], k), dtype, "big"), order=order)
            y = matvec(V, x, kernel, device)
            check_matvec(y, "big 20000", dtype, op, x, f"{op}(A) times {x.shape} in {order} order")


@CELLS
@pytest.mark.parametrize("dtype", at_night(["float32", "complex128"], before=["complex128"]))
def test_layouts_of_x(device, format, kernel, dtype):
    for name, op, layout in product(holding(format, WIDE), "NT", LAYOUTS):
        V = VIEWS[op](ours(name, format, dtype, device))
        for k in (None, 1, 2, 5):
            dense = random((V.shape[1],) if k is None else (V.shape[1], k), dtype, "x")
            x = LAYOUTS[layout](dense)
            assert np.array_equal(x, dense) and x.dtype == dtype
            y = matvec(V, x, kernel, device)
            check_matvec(y, name, dtype, op, dense, f"{name}: {op}(A) times k={k}, {layout}")


@CELLS
@pytest.mark.parametrize("dtype", at_night(["float64", "complex64"], before=["float64"]))
def test_layouts_of_out(device, format, kernel, dtype):
    """Every element of out is written, and nothing around it."""
    for name, op, k in product(holding(format, WIDE), "NT", (None, 1, 2, 5)):
        V = VIEWS[op](ours(name, format, dtype, device))
        x = random((V.shape[1],) if k is None else (V.shape[1], k), dtype, "x")
        y0 = random((V.shape[0],) if k is None else (V.shape[0], k), dtype, "y")
        for layout, order, beta in product(LAYOUTS, "CF", (0, -0.5)):
            if layout == "F" and device != "cpu":
                continue
            out = LAYOUTS[layout](y0.copy())
            whole = base_of(out)
            before = whole.copy()
            what = f"{name}: {op}(A) times k={k} in {order} order, out {layout}, beta={beta}"
            y = V.matvec(np.asarray(x, order=order), out=out, beta=beta, kernel=kernel_of(V, kernel))
            assert y is out, what
            check_matvec(out, name, dtype, op, x, what, 1, beta, y0)
            out[...] = y0
            assert whole.tobytes() == before.tobytes(), f"{what}: wrote outside of out"


def base_of(array):
    """Return the allocation to which a view belongs."""
    while array.base is not None:
        array = array.base
    return array


def misaligned(a):
    """Return a copy of an array that starts in the middle of an element."""
    memory = np.zeros(a.nbytes + 1, np.uint8)
    result = memory[1:].view(a.dtype).reshape(a.shape)
    result[...] = a
    assert not result.flags.aligned
    return result


@pytest.mark.parametrize("format", ds.formats())
def test_misaligned_arrays(format):
    """Whatever begins in the middle of an element is copied, or refused where it would be written to in vectors."""
    A = ours("arrow 33", format, "float64")
    for x in (random(33, "float64"), random((33, 3), "float64"), random((33, 3), "complex128")):
        y = A @ x
        assert np.array_equal(A @ misaligned(x), y)
        out = misaligned(np.zeros_like(y))
        assert A.matvec(misaligned(x), out=out) is out and np.array_equal(out, y)
    x = random(33, "float64")
    assert np.array_equal(ds.power_multiply(A, misaligned(x), 3), ds.power_multiply(A, x, 3))
    parts = {name: misaligned(part) if part.itemsize > 1 else part for name, part in A.parts().items()}
    structure = [parts[name] for name in parts if name not in ("values", "starts")]
    given = (parts["values"], tuple(structure)) if format == "coo" else (parts["values"], *structure)
    options = {"align": "row"} if format == "dia" else {}
    B = getattr(ds, f"{format}_array")(given, shape=(33, 33), **options)
    assert np.array_equal(B @ x, A @ x) and B.values.flags.aligned
    if format in DIAGONAL:
        b = ds.batch_array(misaligned(np.stack([A.values, A.values])), A)
        assert np.array_equal(b @ misaligned(x), np.stack([A @ x, A @ x]))


@CELLS
def test_default_order_of_the_result_is_that_of_x(device, format, kernel):
    A = ours("banded 64", format, "float64", device)
    for order in "CF":
        x = to_device(np.asarray(random((64, 5), "float64"), order=order), device)
        y = A.matvec(x, kernel=kernel)
        assert y.flags.c_contiguous == (order == "C") and y.flags.f_contiguous == (order == "F")


@CELLS
def test_blocks_from_the_left(device, format, kernel):
    for name in holding(format, SHAPES):
        for op in VIEWS:
            V = VIEWS[op](ours(name, format, "complex64", device))
            if kernel != V.kernels("matvec")[0]:
                continue  # operators run the default kernel
            transpose = {"N": "T", "T": "N", "C": "H", "H": "C"}[op]
            for k in (0, 1, 5):
                dense = random((k, V.shape[0]), "complex64", "left")
                for layout in LAYOUTS.values():
                    y = to_host(to_device(layout(dense), device) @ V)
                    check_matvec(y.T, name, "complex64", transpose, dense.T, f"{name}: {dense.shape} @ {op}(A)")


@CELLS
@EACH_DTYPE
def test_out_may_be_x(device, format, kernel, dtype):
    for name, op in product(
        holding(format, ("banded 64", "random diagonals 127", "dense 9", "periodic stencil")), VIEWS
    ):
        V = VIEWS[op](ours(name, format, dtype, device))
        n = V.shape[0]
        for size, order, (alpha, beta) in product((n, (n, 3)), "CF", ((1, 0), (2, -1))):
            x = np.asarray(random(size, dtype, "x"), order=order)
            buffer = to_device(x.copy(order="K"), device)
            V.matvec(buffer, out=buffer, alpha=alpha, beta=beta, kernel=kernel_of(V, kernel))
            what = f"{name} {op} {size} {order} {alpha} {beta}"
            check_matvec(to_host(buffer), name, dtype, op, x, what, alpha, beta, x)


@cells("matvec", devices=["cpu"])
def test_out_may_overlap_x(device, format, kernel):
    A, n = ours("random diagonals 127", format, "float64"), 127
    for shift in (1, 5, 64):
        for x_first in (True, False):
            whole = random(n + shift, "float64", shift)
            x, out = (whole[:n], whole[shift:]) if x_first else (whole[shift:], whole[:n])
            original = x.copy()
            A.matvec(x, out=out, kernel=kernel)
            check_matvec(out, "random diagonals 127", "float64", "N", original, f"out overlaps x by {n - shift}")


@cells("matvec", devices=["cpu"])
def test_out_may_be_the_transpose_of_x(device, format, kernel):
    A = ours("banded 9", format, "float64")
    x = random((9, 9), "float64")
    original = x.copy()
    A.matvec(x, out=x.T, kernel=kernel)
    check_matvec(x.T.copy(), "banded 9", "float64", "N", original, "out is x.T")


@cells("matvec", DIAGONAL, ["cpu"])
def test_out_that_overlaps_the_matrix_is_refused_or_right(device, format, kernel):
    """Values that are read and written in one product: an error, or the product of the values as they were."""
    n = 200
    values = random(n, "float64") if format == "hm" else random((1, n), "float64")
    A = getattr(ds, f"{format}_array")((values.copy(), [0]), shape=(n, n))
    x = random(n, "float64", "x")
    expected = A @ x
    try:
        A.matvec(x, out=A.values.reshape(-1)[::-1], kernel=kernel)
    except ValueError as error:
        assert "out" in str(error) and np.array_equal(A.values, values)
    else:
        assert np.array_equal(A.values.reshape(-1)[::-1], expected)


def test_the_matrix_is_not_copied_for_strided_input():
    A = ds.hm_array(matrix("banded 200"))
    address = A.values.__array_interface__["data"]
    A.matvec(random((200, 6), "float64")[:, ::2])
    assert A.values.__array_interface__["data"] == address


@pytest.mark.parametrize("layout", ["", "hermitian", "real A"])
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
def test_columns_have_the_bits_of_vectors(dtype, layout):
    """Whether a vector of the processor has elements of a row, of several rows, or of a column."""
    n, offsets = 1003, (-700, -300, -1, 0, 2, 700)
    of_A = {"complex64": "float32", "complex128": "float64"}.get(dtype, dtype) if layout == "real A" else dtype
    a = sp.diags_array([random(n - abs(k), of_A, "values", k) for k in offsets], offsets=offsets, shape=(n, n))
    A = ds.hm_array(a + a.conj().T, symmetry="hermitian") if layout == "hermitian" else ds.hm_array(a)
    for columns in (1, 2, 3, 4, 5, 6, 7, 8, 13, 16, 17, 31):
        X, Y = (np.ascontiguousarray(random((n, columns), dtype, name)) for name in "xy")
        each = np.stack([A @ np.ascontiguousarray(x) for x in X.T], axis=1)
        assert np.array_equal(A @ X, each) and np.array_equal(A @ np.asfortranarray(X), each), columns
        one = A.matvec(X, out=Y.copy(), alpha=0.5, beta=2)
        assert np.array_equal(one, A.matvec(X, out=np.asfortranarray(Y), alpha=0.5, beta=2)), columns
