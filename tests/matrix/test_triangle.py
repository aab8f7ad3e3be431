"""ellcsr with one triangle: its parts and bytes, products with it, what preserves it, and its validation."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from cases import raises
from formats import decode

import diagsparse as ds

NAMES = ["values", "ell_indices", "csr_indices", "csr_indptr", "ell_bases", "csr_bases"]
MIRRORS = ["symmetric_columns", "hermitian_columns"]


def mirrored(n, symmetry, dtype="float64", filled=0.3, seed=0):
    """Return a matrix of small integers whose entries lie more densely in the first columns and rows."""
    rng = np.random.default_rng([n, seed])
    below = rng.random((n, n)) < np.where(np.arange(n) < n * filled, 0.5, 0.02)
    a = rng.integers(1, 5, (n, n)).astype(dtype) * np.tril(below, -1)
    if np.dtype(dtype).kind == "c":
        a = a * (1 + 2j)
    a = a + (a.conj().T if symmetry == "hermitian" else a.T)
    return sp.csr_array(a + np.diag(rng.integers(-1, 2, n)).astype(dtype)).astype(dtype)


def host(A):
    return {name: part.get() if hasattr(part, "get") else part for name, part in A.parts().items()}


def ellcsr(a, device, symmetry, **layout):
    return ds.csr_array(a).to(device).asformat("ellcsr", symmetry=symmetry, **layout)


def integers(shape, dtype):
    x = (np.arange(np.prod(shape)) % 11 - 5.0).reshape(shape)
    return (x * (1 - 1j) if np.dtype(dtype).kind == "c" else x).astype(dtype)


def check_products(A, a):
    views = {"A": (A, a), "T": (A.T, a.T), "H": (A.H, a.conj().T), "conj": (A.conj(), a.conj())}
    for name, (V, v) in views.items():
        x, block = integers(a.shape[0], a.dtype), integers((a.shape[0], 3), a.dtype)
        for kernel in A.kernels("matvec"):
            assert np.array_equal(V.matvec(x, kernel=kernel), v @ x), (name, kernel)
        out = V.matvec(x, alpha=2, beta=-1, out=(v @ x))
        assert np.array_equal(out, v @ x), name
        for X in (block, np.asfortranarray(block), np.repeat(block, 2, axis=0)[::2]):
            assert np.array_equal(V @ X, v @ X), name


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
@pytest.mark.parametrize("symmetry", ["symmetric", "hermitian"])
@pytest.mark.parametrize("bits", [16, 32])
def test_layout_and_products(bits, symmetry, dtype, device):
    for n, columns in ((40, [None, 0, 1, 7, 39, 40, 1000]), (333, [None, 100])):
        a = mirrored(n, symmetry, dtype)
        csr = ds.csr_array(a).to(device)
        for column in columns:
            layout = {"column_bits": bits} | ({} if column is None else {"boundary_column": column})
            A = csr.asformat("ellcsr", symmetry=symmetry, **layout)
            parts = host(A)
            assert A.symmetry == symmetry and A.column_bits == bits and A.nnz == a.nnz and symmetry in repr(A)
            assert A.nbytes == sum(part.nbytes for part in parts.values())
            options = A._format.completed(
                csr._summary(), {"column_bits": bits, "symmetry": A._matrix.symmetry} | layout
            )
            assert A._format.nbytes(csr._summary(), **options) == A.nbytes
            assert np.array_equal(decode("ellcsr", parts, A.shape), a.toarray())
            assert np.array_equal(A.toarray(), a.toarray()) and (A.to("cpu").to_scipy("csr") != a).nnz == 0
            check_products(A, a)


@pytest.mark.parametrize("n", [0, 1, 2, 3])
def test_tiny(n, device):
    a = sp.csr_array(np.full((n, n), 2.0))
    for column in range(n + 1):
        A = ellcsr(a, device, "symmetric", boundary_column=column)
        assert np.array_equal(A @ np.ones(n), np.full(n, 2.0 * n)) and np.array_equal(A.toarray(), a.toarray())


def test_many_rows_without_entries(device):
    a = sp.csr_array(([1.0, 2, 2], ([0, 70_000, 3], [0, 3, 70_000])), shape=(70_001, 70_001))
    A, x = ellcsr(a, device, "symmetric", column_bits=16, boundary_column=4), np.arange(70_001.0)
    assert np.array_equal(A @ x, a @ x) and A.ell_bases is None and A.csr_bases is not None
    B = ellcsr(sp.csr_array(a.shape), device, "symmetric", column_bits=16, boundary_column=70_000)
    assert np.array_equal(B @ x, 0 * x) and B.ell_bases is not None


@pytest.mark.parametrize("column", [1000, 20_000, 40_000])
def test_more_columns_than_a_gpu_has_room_for(column, device):
    rng = np.random.default_rng(3)
    low = sp.csr_array((np.ones(90_000), rng.integers(0, 40_000, (2, 90_000))), shape=(40_000, 40_000))
    low.data[:] = rng.integers(1, 4, low.nnz)
    a = sp.csr_array(low + low.T)
    A, x = ellcsr(a, device, "symmetric", boundary_column=column), np.arange(40_000) % 7 - 3.0
    for kernel in A.kernels("matvec"):
        assert np.array_equal(A.matvec(x, kernel=kernel), a @ x), kernel
    assert np.array_equal(A @ np.outer(x, [1, 2]), a @ np.outer(x, [1, 2]))


def test_a_product_has_the_same_bits_every_time(device):
    a = mirrored(2000, "symmetric", filled=0.1)
    a.data = a.data * 0.1
    A, x = ellcsr(a, device, "symmetric"), np.random.default_rng(1).standard_normal(2000)
    y = A @ x
    assert np.allclose(y, a @ x, rtol=0, atol=1e-13 * (abs(a) @ abs(x)).max())
    assert all((A @ x).tobytes() == y.tobytes() for _ in range(5))
    threads = ds.get_num_threads()
    try:
        for count in (1, 3):
            ds.set_num_threads(count)
            assert (A @ x).tobytes() == y.tobytes()
    finally:
        ds.set_num_threads(threads)


def test_neighbours_are_in_different_banks(device):
    a = mirrored(1500, "symmetric", filled=0.4)
    for bits in (16, 32):
        rows = host(ellcsr(a, device, "symmetric", boundary_column=600, column_bits=bits))["ell_indices"].astype(int)
        banks = rows[1000:, :192].reshape(500, 3, 16, 4) % 16  # 16 threads read 4 neighbours each
        together = [len(set(banks[i, k, :, q])) for i in range(500) for k in range(3) for q in range(4)]
        assert min(together) >= 12 and np.mean(together) > 15.9


def test_the_boundary_that_is_chosen():
    csr = ds.csr_array(mirrored(1000, "symmetric", filled=0.1))
    A = csr.asformat("ellcsr", symmetry="symmetric", column_bits=16)
    column = A._format.mirrored_columns(A)
    others = {c: csr.asformat("ellcsr", symmetry="symmetric", column_bits=16, boundary_column=c).nbytes
              for c in range(0, 1001, 50)}  # fmt: skip
    assert 90 <= column < 500, "about where the dense region ends"
    assert A.nbytes <= 1.02 * min(others.values()) and A.nbytes < 0.75 * csr.asformat("ellcsr", column_bits=16).nbytes
    assert f"symmetric before column {column}" in repr(A)


@pytest.mark.parametrize("symmetry", ["symmetric", "hermitian"])
def test_operations_that_preserve_the_triangle(symmetry, device, tmp_path):
    a = mirrored(200, symmetry, "complex128")
    A = ellcsr(a, device, symmetry, column_bits=16, boundary_column=50)
    parts = host(A)
    ds.write(tmp_path / "a.npz", A)
    rebuilt = ds.ellcsr_array(tuple(A.parts().get(name) for name in NAMES + MIRRORS), shape=A.shape)
    for B in (A.copy(), A.T.T, A.to("cpu"), ds.read(tmp_path / "a.npz"), rebuilt, pickle.loads(pickle.dumps(A))):
        assert B.symmetry == symmetry and all(np.array_equal(host(B)[name], parts[name]) for name in parts)
    for B, b in ((A.T.copy(), a.T), (A.H.copy(), a.conj().T), (A * 2, a * 2), (-A, -a), (A / 2, a / 2)):
        assert B.symmetry == symmetry and np.array_equal(B.toarray(), b.toarray())
    full = A.asformat("ellcsr", symmetry=None)
    assert full.symmetry is None and A.unpacked().symmetry is None and full.unpacked() is full
    x = np.arange(200.0)
    for B, b in ((A * 2j, a * 2j), (A + A, a + a), (A - A.T, a - a.T), (A @ A, a @ a), (A * x, a.toarray() * x)):
        assert np.array_equal(B.toarray(), b if isinstance(b, np.ndarray) else b.toarray())
    assert np.allclose((A**0.5).toarray(), a.toarray() ** 0.5, rtol=1e-15)
    assert A.sum() == a.sum() and np.array_equal(A.diagonal(), a.diagonal()) and A.count_nonzero() == a.count_nonzero()
    assert np.array_equal(A.sum(axis=0), a.sum(axis=0)) and abs(A).symmetry == symmetry


def test_zeros_are_dropped_in_pairs(device):
    a = mirrored(100, "symmetric")
    a.data[a.data == 3] = 0
    A = ellcsr(a, device, "symmetric", boundary_column=40)
    assert A.nnz == a.nnz
    A.eliminate_zeros()
    a.eliminate_zeros()
    assert A.nnz == a.nnz and A.symmetry == "symmetric" and np.array_equal(A.toarray(), a.toarray())
    for positions in (([3], [1]), ([1, 0], [0, 2]), ([3, 1], [1, 4])):  # one more below than above, or as many
        lone = sp.csr_array((np.zeros(len(positions[0])), positions), shape=(5, 5))
        with raises(ValueError, "ellcsr_array", "zeros are stored", "eliminate_zeros()"):
            ellcsr(lone, device, "symmetric", boundary_column=2)
    outside = sp.csr_array((np.zeros(2), ([3, 2], [4, 2])), shape=(5, 5))  # beyond what is mirrored
    A = ellcsr(outside, device, "symmetric", boundary_column=2).tocsr().to("cpu")
    assert A.indices.tolist() == [2, 4] and A.indptr.tolist() == [0, 0, 0, 1, 2, 2]


def test_values_without_the_symmetry_are_refused(device):
    a = mirrored(30, "symmetric")
    for column in (0, 15, 30):
        wrong = a.toarray()
        wrong[20, 3] += 1
        with raises(ValueError, "ellcsr_array", "not symmetric"):
            ellcsr(sp.csr_array(wrong), device, "symmetric", boundary_column=column)
    with raises(ValueError, "not Hermitian"):
        ellcsr(a * (1 + 1j), device, "hermitian")
    A = ds.csr_array(a).to(device)
    for layout, words in (
        ({"symmetry": "yes"}, "expected None"),
        ({"symmetry": "symmetric", "boundary": 3}, "expected boundary_column"),
        ({"symmetry": "symmetric", "column_bits": 8}, "expected 16 or 32"),
    ):
        with raises(ValueError, "ellcsr_array: symmetry", words):
            A.asformat("ellcsr", **layout)
    with raises(ValueError, "square", "30 x 31"):
        ds.csr_array(np.eye(30, 31)).to(device).asformat("ellcsr", symmetry="symmetric")


def test_validation(device):
    a = mirrored(30, "symmetric", filled=0.5)
    A = ellcsr(a, device, "symmetric", boundary_column=15)
    good = host(A)
    leading, rows = good["ell_indices"], good["csr_indptr"]

    def build(shape=(30, 30), name="symmetric_columns", **changes):
        parts = good | changes
        given = [parts.get(key) for key in NAMES]
        mirror = [parts["symmetric_columns"], None] if name == "symmetric_columns" else [None, parts[name]]
        return ds.ellcsr_array((*given, *mirror), shape=shape, device=device)

    assert np.array_equal(build().toarray(), a.toarray())
    first = leading.copy()
    first[1, 0] = 1  # on the diagonal
    with raises(ValueError, "ell_indices[1] holds a column outside of 0 to 14 and below the diagonal"):
        build(ell_indices=first)
    late, twice = leading.copy(), leading.copy()
    late[25, (late[25] >= 0).sum() - 1] = 15
    with raises(ValueError, "ell_indices[25] holds a column outside"):
        build(ell_indices=late)
    assert (leading[29] >= 0).sum() > 2
    twice[29, 1] = twice[29, 0]
    with raises(ValueError, "ell_indices[29] holds a column twice"):
        build(ell_indices=twice)
    reversed_rows = leading.copy()
    count = (leading[29] >= 0).sum()
    reversed_rows[29, :count] = reversed_rows[29, :count][::-1]
    values = good["values"].copy()
    values[29 * leading.shape[1] :][:count] = values[29 * leading.shape[1] :][:count][::-1]
    assert np.array_equal(build(ell_indices=reversed_rows, values=values).toarray(), a.toarray()), "in any order"
    early = leading.copy()
    early[1] = np.roll(early[1], 1)  # a wrong number of leading entries, and index -1, once followed from this
    with raises(ValueError, "ell_indices[1, 1] follows padding", "at the end of its row"):
        build(ell_indices=early)
    rest = good["csr_indices"].copy()
    row = next(i for i in range(15, 30) if rows[i + 1] > rows[i])
    rest[rows[row]] = 14
    with raises(ValueError, f"csr_indices[{rows[row]}] lies outside", "rows and columns from 15 on"):
        build(csr_indices=rest)
    for bad in (np.array([-1], np.int32), np.array([31], np.int32)):
        with raises(ValueError, "columns have mirror images", "expected a square one"):
            build(symmetric_columns=bad)
    with raises(ValueError, "symmetric_columns"):
        build(symmetric_columns=np.array([15, 15], np.int32))
    narrow = np.where(leading < 0, 255, leading).astype(np.uint8)
    with raises(ValueError, "columns of 8 bits do not support symmetric storage"):
        build(ell_indices=narrow, csr_indices=good["csr_indices"].astype(np.uint16))
    with raises(ValueError, "symmetric_columns", "exclude each other"):
        ds.ellcsr_array((*(good.get(key) for key in NAMES), *[good["symmetric_columns"]] * 2), shape=(30, 30))


def test_the_drawing_of_the_page():
    dense = np.array([[1.0, 5, 6, 7, 0], [5, 2, 8, 0, 9], [6, 8, 3, 10, 0], [7, 0, 10, 4, 0], [0, 9, 0, 0, 11]])
    parts = ds.ellcsr_array(dense, symmetry="symmetric", boundary_column=2).parts()
    leading = [[0, 0, 0, 0], [5, 0, 0, 0], [6, 8, 0, 0], [7, 0, 0, 0], [9, 0, 0, 0]]
    assert parts["values"].tolist() == [*np.ravel(leading), 1, 2, 3, 10, 10, 4, 11]
    assert parts["ell_indices"].tolist() == [
        [-1] * 4,
        [0, -1, -1, -1],
        [0, 1, -1, -1],
        [0, -1, -1, -1],
        [1, -1, -1, -1],
    ]
    assert parts["csr_indices"].tolist() == [0, 1, 2, 3, 2, 3, 4]
    assert parts["csr_indptr"].tolist() == [0, 1, 2, 4, 6, 7] and parts["symmetric_columns"].tolist() == [2]


def test_values_of_a_hermitian_triangle_are_conjugated_in_their_mirror_images():
    dense = np.array([[1, 2 - 1j, 0], [2 + 1j, 3, 4j], [0, -4j, 5]])
    A = ds.ellcsr_array(dense, symmetry="hermitian", boundary_column=1)
    assert np.array_equal((1j * A).toarray(), 1j * dense)
    A.values *= 1j
    assert A.toarray()[1, 0] == 1j * dense[1, 0] and A.toarray()[0, 1] == -1j * dense[0, 1]


def test_values_without_the_symmetry(device):
    """Values of the rest may be anything: copies store both triangles then."""
    a = mirrored(30, "symmetric", filled=0.5)
    A = ellcsr(a, device, "symmetric", boundary_column=15)
    values = host(A)["values"].copy()
    values[-1] = np.nan
    A.values = values
    B = A.T.copy()
    assert B.symmetry is None and np.array_equal(B.toarray(), A.T.toarray(), equal_nan=True)
