"""Short columns: options of layouts, their bytes and parts, what they cannot hold, and their validation."""

import numpy as np
import pytest
import scipy.sparse as sp
from cases import at_night, raises
from formats import decode
from formats import short as exact

import diagsparse as ds

ROWS = 70
COLUMNS = [200, 255, 256, 3000, 65_535, 65_536, 300_000]  # about the limits of the types


def banded(cols, dtype=float, format="ellcsr"):
    """Return a matrix whose entries are close enough for 8 bits; some rows are empty.

    In ell and sell rows share a base, so their columns lie near each other; in other formats they lie anywhere.
    """
    rng = np.random.default_rng(cols)
    lengths = rng.integers(0, 90, ROWS) * (np.arange(ROWS) % 7 > 0)
    first = np.linspace(0 if format == "ellcsr" else max(0, cols - 250), cols - 180, ROWS).astype(int)
    columns = [np.sort(rng.choice(180, length, replace=False)) + f for length, f in zip(lengths, first, strict=True)]
    indptr = np.concatenate(([0], np.cumsum(lengths)))
    values = rng.integers(1, 9, indptr[-1]).astype(dtype)
    return sp.csr_array((values, np.concatenate(columns).astype(np.int32), indptr), shape=(ROWS, cols))


def scattered(cols):
    """Return a matrix with entries at random positions."""
    rng = np.random.default_rng(cols)
    return sp.csr_array(sp.random_array((ROWS, cols), density=min(0.5, 60 / cols), rng=rng).tocsr())


def host(A):
    return {name: part.get() if hasattr(part, "get") else part for name, part in A.parts().items()}


LAYOUTS = [("ellcsr", {}), ("ellcsr", {"boundary": 33}), ("ellcsr", {"boundary": 0})]
LAYOUTS += [("ell", {}), ("ell", {"row_lengths": True})]
LAYOUTS += [("sell", {"slice_height": height}) for height in (32, 8, 7, 100)]
LAYOUTS += [("sell", {"slice_height": 16, "sigma": 32}), ("sell", {"slice_height": 11, "row_lengths": True})]


@pytest.mark.parametrize("cols", at_night(COLUMNS, before=[255, 256, 65_535, 65_536]))
@pytest.mark.parametrize("bits", [8, 16])
@pytest.mark.parametrize(("format", "layout"), LAYOUTS, ids=str)
def test_layout(format, layout, bits, cols, device):
    a = banded(cols, format=format)
    csr = ds.csr_array(a).to(device)
    options = layout | {"column_bits": bits}
    A = csr.asformat(format, **options)
    assert A.column_bits == bits and f"columns of {bits} bits" in repr(A)
    assert A._format.nbytes(csr._summary(), **options) == A.nbytes
    assert A.nbytes == sum(part.nbytes for part in host(A).values())
    assert np.array_equal(decode(format, host(A), A.shape), a.toarray())
    assert np.array_equal(A.toarray(), a.toarray()) and np.array_equal(A.T.copy().toarray(), a.T.toarray())
    x, xt = np.arange(cols) % 11 - 5.0, np.arange(ROWS) % 7 - 3.0
    for kernel in A.kernels("matvec"):
        assert np.array_equal(A.matvec(x, kernel=kernel), a @ x), kernel
        assert np.array_equal(A.matvec(x, alpha=2, beta=-1, out=(a @ x), kernel=kernel), a @ x), kernel
    block = np.outer(x, [1, 2, -3.0])
    assert np.array_equal(A @ block, a @ block) and np.array_equal(A @ np.asfortranarray(block), a @ block)
    assert np.array_equal(A.T @ xt, a.T @ xt)


@pytest.mark.parametrize(("format", "layout"), LAYOUTS, ids=str)
@pytest.mark.parametrize("dtype", ["float32", "complex64", "complex128"])
def test_dtypes(format, layout, dtype, device):
    a = banded(3000, dtype, format)
    a.data *= 1 + 1j if np.dtype(dtype).kind == "c" else 1
    A = ds.csr_array(a).to(device).asformat(format, column_bits=8, **layout)
    x = (np.arange(3000) % 11 - 5).astype(dtype)
    assert np.array_equal(A @ x, a @ x) and np.array_equal(A.conj() @ x, a.conj() @ x)
    assert np.array_equal(A.H @ x[:ROWS], a.conj().T @ x[:ROWS])
    assert np.array_equal((A @ A.T).toarray(), (a @ a.T).toarray())


@pytest.mark.parametrize(("format", "layout"), LAYOUTS, ids=str)
def test_other_constructions_of_the_same_arrays(format, layout, device, tmp_path):
    A = ds.csr_array(banded(70_000, format=format)).to(device).asformat(format, column_bits=8, **layout)
    ds.write(tmp_path / "a.npz", A)
    names = ["values", *A._format.structure, *A._format.optional]
    rebuilt = type(A)(tuple(A.parts().get(name) for name in names), shape=A.shape)
    for B in (A.copy(), A.astype("complex128"), A.to("cpu"), ds.read(tmp_path / "a.npz"), rebuilt):
        assert B.column_bits == 8
        assert all(np.array_equal(host(B)[name], host(A)[name]) for name in A.parts()), B
    assert A.T.copy().column_bits == (A + A).column_bits == 8


def test_leading_entries_end_where_8_bits_do(device):
    columns = np.array([0, 1, 250, 255, 256, 2999])  # from 0 on 254 is reached
    a = sp.csr_array((np.arange(1.0, 7), columns, [0, 6]), shape=(1, 3000))
    A = ds.csr_array(a).to(device).asformat("ellcsr", boundary=6, column_bits=8)
    parts = host(A)
    assert parts["ell_indices"].tolist() == [[0, 1, 250, 255, 255, 255, 255, 255]] and parts["ell_bases"].tolist() == [
        0
    ]
    assert parts["csr_indices"].tolist() == [255, 256, 2999] and "csr_bases" not in parts
    assert np.array_equal(A.toarray(), a.toarray())


def test_what_does_not_fit(device):
    wide = ds.csr_array(scattered(300_000)).to(device)
    for bits in (8, 16):
        with raises(ValueError, "ellcsr_array: the rest, of 16 bits", "columns of 16 bits", "65534", "column_bits=32"):
            wide.asformat("ellcsr", boundary=0, column_bits=bits)
    for format in ("ell", "sell"):
        for bits in (8, 16):
            far, enough = f"{2**bits - 2} apart", "column_bits=16 or 32" if bits == 8 else "column_bits=32"
            with raises(ValueError, f"{format}_array: columns of {bits} bits", "chunk", far, enough):
                wide.asformat(format, column_bits=bits)
    A = ds.csr_array(scattered(60_000)).to(device)
    B = A.asformat("ellcsr", boundary=0, column_bits=16)
    assert B.csr_bases is None and np.array_equal(B.toarray(), A.toarray())
    for bits, kind, words in (
        (12, ValueError, "expected one of 8, 16, 32"),
        ("8", TypeError, "expected an integer"),
    ):
        with raises(kind, "column_bits", words):
            A.asformat("ellcsr", column_bits=bits)


@pytest.mark.parametrize(("format", "bits"), [("ell", 8), ("ell", 16), ("sell", 8), ("sell", 16), ("ellcsr", 16)])
def test_results_from_short_columns_use_more_bits_where_necessary(format, bits, device, tmp_path):
    n = 2000 if bits == 8 else 200_000
    columns = np.repeat([2, 1, 0], n // 3 + 1)[:n]  # of 4: rows of the transpose lie far apart
    tall = sp.csr_array((np.arange(1.0, n + 1), columns, np.arange(n + 1)), shape=(n, 4))
    options = {"boundary": 0} if format == "ellcsr" else {}
    B = ds.csr_array(tall).to(device).asformat(format, column_bits=bits, **options)
    full, row = tall.T.toarray(), np.full(n, 2.0)
    view = B.T
    view.eliminate_zeros()
    ds.write(tmp_path / "x.npz", B.T)
    result = [(A, full) for A in (B.T.copy(), B.H.copy(), view, ds.read(tmp_path / "x.npz"))]
    result += [(B.T + B.T, 2 * full), (B.T * row, 2 * full), (B.T / row, full / 2), (B.T.multiply(B.T), full * full)]
    for A, expected in result:
        assert A.format == format and A.column_bits > bits and np.array_equal(A.toarray(), expected)
    assert B.copy().column_bits == (B + B).column_bits == bits
    with raises(ValueError, f"{format}_array", "column_bits="):
        B.T.asformat(format, column_bits=bits, **options)


def test_validation_of_short_columns(device):
    A = ds.csr_array(banded(3000)).to(device).asformat("ellcsr", boundary=40, column_bits=8)
    good = host(A)
    assert np.array_equal(
        exact.shorten(exact.lengthen(good["ell_indices"], good["ell_bases"]), "uint8", 3000)[1], good["ell_bases"]
    )

    def build(**changes):
        parts = good | changes
        names = ("values", "ell_indices", "csr_indices", "csr_indptr", "ell_bases")
        return ds.ellcsr_array(tuple(parts[name] for name in names if name in parts), shape=A.shape, device=device)

    assert np.array_equal(build().toarray(), A.toarray())
    for base, words in ((-1, "outside"), (2990, "outside"), (2**31 - 1, "outside")):
        bases = good["ell_bases"].copy()
        bases[2] = base
        with raises(ValueError, "ellcsr_array", words):
            build(ell_bases=bases)
    falling = good["ell_indices"].copy()
    row = int(np.flatnonzero((falling != 255).sum(axis=1) > 2)[0])
    falling[row, :2] = falling[row, 1::-1]
    with raises(ValueError, "does not come after"):
        build(ell_indices=falling)
    with raises(ValueError, "ell_bases", "expected"):
        build(ell_bases=good["ell_bases"][1:])
    del good["ell_bases"]
    with raises(ValueError, "ell_bases is missing", "uint8 does not hold the columns 0 to 2999"):
        build()


@pytest.mark.parametrize("format", ["ell", "sell"])
def test_validation_of_short_columns_of_transposed_rows(format, device):
    def parts(cols):
        A = ds.csr_array(banded(cols, format=format)).to(device).asformat(format, column_bits=8)
        names = ["values", *A._format.structure, *A._format.optional]
        return {name: host(A).get(name) for name in names}

    def build(parts, cols, **changes):
        given = tuple((parts | changes).values())
        return getattr(ds, f"{format}_array")(given, shape=(ROWS, cols), device=device)

    few, many = parts(200), parts(3000)
    assert few["bases"] is None and build(few, 200).nnz == build(few, 200).copy().nnz
    for base in (-1, 2990, 2**31 - 1):
        bases = np.full_like(many["bases"], base)
        with raises(ValueError, f"{format}_array", "outside"):
            build(many, 3000, bases=bases)
    falling = few["indices"].copy()
    falling[:2] = falling[1::-1]
    with raises(ValueError, "does not come after"):
        build(few, 200, indices=falling)
    with raises(ValueError, "bases holds", "expected"):
        build(many, 3000, bases=many["bases"][1:])
    with raises(ValueError, "bases is missing", "uint8 does not hold the columns 0 to 2999"):
        build(many, 3000, bases=None)
    with raises(ValueError, "bases is given, but uint8 holds the columns 0 to 199"):
        build(few, 200, bases=many["bases"])
