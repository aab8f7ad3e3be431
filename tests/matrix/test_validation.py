"""The validation of every matrix: inconsistent arrays are rejected, from any source."""

import copy

import numpy as np
import pytest
import scipy.sparse as sp
from cases import DIAGONAL, DTYPES, host, make, ours, raises, refused
from pickled import refuse_state, state_of
from processes import python

import diagsparse as ds

FORMATS = pytest.mark.parametrize("format", ds.formats())
INDEXED = tuple(f for f in ds.formats() if f not in DIAGONAL)
COMPRESSED = pytest.mark.parametrize("format", ["csr", "csc"])


# ---- index arrays ---------------------------------------------------------------------------------
@COMPRESSED
def test_pointers_that_lead_out_of_bounds(format):
    shape = (2, 4) if format == "csr" else (4, 2)
    for indices, indptr in (
        ([2, 1, 0], [0, 10**6, 0]), ([2, 1, 0], [0, 10**6, 3]), ([0, 1, 2], [0, -5, 3]), ([0, 1, 2], [-1, 1, 3]),
        ([0, 1, 2], [1, 2, 3]), ([0, 1, 2], [0, 3, 2]), ([0, 1, 2], [0, 1, 9]), ([0, 1, 4], [0, 1, 3]),
        ([0, -1, 2], [0, 1, 3]), ([0, 1, 2], [0, 3]), ([0, 1, 2], [0, 1, 2, 3]),
    ):  # fmt: skip
        refused(lambda i=indices, p=indptr: make(format, (np.ones(3), np.array(i), np.array(p)), shape=shape), format)


@FORMATS
@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_scipy_arrays_that_were_written_to(format, dtype):
    for scipy_format in ("csr", "csc", "bsr", "coo"):
        for name, at, value in (("indices", 1, 9), ("indices", 1, -2), ("indptr", 1, 10**6), ("indptr", 2, -1)):
            a = sp.csr_array(np.eye(6)).asformat(scipy_format)
            if scipy_format == "coo":
                coords = [c.astype(dtype) for c in a.coords]
                coords[name == "indptr"][at] = value
                a.coords = tuple(coords)
            else:
                a.indices, a.indptr = a.indices.astype(dtype), a.indptr.astype(dtype)
                getattr(a, name)[at] = value
            refused(lambda a=a: make(format, a), "_array")
            refused(lambda a=a: ds.array(a))
            refused(lambda a=a: ds.array(np.eye(6), "hm") @ a)


@FORMATS
def test_lists_and_dictionaries_and_diagonals_that_were_written_to(format):
    lists = sp.lil_array(np.eye(4))
    lists.rows[1] = [7]
    longer = sp.lil_array(np.eye(4))
    longer.data[1] = [1.0] * 5000
    keys = sp.dok_array(np.eye(4))
    keys._dict[(9, 1)] = 2.0
    few = sp.dia_array(np.eye(4))
    few.offsets = np.arange(50)
    for a in (lists, longer, keys, few):
        refused(lambda a=a: make(format, a))


def test_entries_out_of_order_that_scipy_calls_canonical():
    a = sp.csr_array((np.array([1.0, 2, 3]), np.array([2, 0, 0]), np.array([0, 3, 3])), shape=(2, 3))
    a.has_canonical_format = a.has_sorted_indices = True  # a lie
    assert np.array_equal(ds.csr_array(a).toarray(), [[5, 0, 1], [0, 0, 0]])
    assert np.array_equal(ds.coo_array(a).toarray(), [[5, 0, 1], [0, 0, 0]])
    assert np.array_equal(ds.csc_array(a.T).toarray(), np.transpose([[5, 0, 1], [0, 0, 0]]))


def test_arrays_longer_than_the_entries():
    a = sp.csr_array(np.eye(3))
    a.data, a.indices = np.append(a.data, [7.0, 8]), np.append(a.indices, [99, -4]).astype(np.int32)
    for format in ds.formats():
        assert np.array_equal(make(format, a).toarray(), np.eye(3))


def test_diagonals_far_outside_and_alternatives(tmp_path):
    """SciPy cuts offsets to 32 bits; `write` and `compare` read SciPy's objects too."""
    for far in (2**40, -(2**62), 2**63 - 1, -(2**63), 2**31, 7):
        a = sp.dia_array(np.eye(6))
        a.offsets = np.array([far])
        for format in ds.formats():
            assert make(format, a).nnz == 0 and make(format, a).shape == (6, 6)
        assert ds.array(a).count_nonzero() == 0
    a = sp.csr_array(np.diag([1.0, 2, 3]))
    a.indptr[-1] = 99
    for suffix in ("mtx", "mtx.gz", "npz"):
        refused(lambda s=suffix: ds.write(tmp_path / f"a.{s}", a), "indptr")
    refused(lambda: ds.compare(a), "indptr")
    assert not list(tmp_path.iterdir())


def test_arrays_that_scipy_does_not_produce():
    a = sp.coo_array(np.eye(3))
    a.coords = ([0, 1, 2], [0, 1, 2])
    assert np.array_equal(ds.csr_array(a).toarray(), np.eye(3))
    with pytest.raises(TypeError, match="dia_array"):
        type("other", (ds.hm_array,), {"format": "dia"})


# ---- Hermitian storage ----------------------------------------------------------------------------
@pytest.mark.parametrize("format", DIAGONAL)
def test_a_hermitian_main_diagonal_is_real(format, device):
    n = 6
    values = {
        "dia": np.full((2, n), 1 + 0j), "hm": np.full(2 * n - 1, 1 + 0j), "cdm": np.full((2, n), 1 + 0j)
    }[format]  # fmt: skip
    wrong = values.copy()
    wrong.reshape(-1)[2] += 1e-30j
    good = make(format, (values, [0, 1]), shape=(n, n), symmetry="hermitian").to(device)
    if device == "cpu":
        with raises(ValueError, f"{format}_array", "main diagonal", "real"):
            make(format, (wrong, [0, 1]), shape=(n, n), symmetry="hermitian")
        state = state_of(good)
        state[1]["values"][...] = wrong
        refuse_state(*state, words=["real"])
    before = good.toarray()
    with raises(ValueError, "main diagonal", "real"):
        good.values = wrong
    with raises(ValueError, "main diagonal", "real"):
        good.values = 1j
    assert np.array_equal(good.toarray(), before)
    good.values = 2
    assert np.array_equal(good.toarray(), 2 * before)


@pytest.mark.parametrize("format", DIAGONAL)
def test_roots_of_a_hermitian_matrix(format):
    a = np.diag([4.0, -9, 1, -1]) + 0j
    a[0, 1] = a[1, 0] = -4
    a[1, 2], a[2, 1] = 2j, -2j
    for power in (0.5, 1 / 3, 2, 1.5):
        result = make(format, a, symmetry="hermitian") ** power
        assert np.allclose(result.toarray(), a**power, rtol=1e-14, atol=0), power
        assert np.array_equal(result.toarray(), (make(format, a) ** power).toarray()), power


# ---- extents --------------------------------------------------------------------------------------
@pytest.mark.parametrize("format", INDEXED)
def test_columns_of_more_than_32_bits(format):
    wide = ds.hm_array((np.arange(1.0, 6), [2**32 + 5]), shape=(10, 2**32 + 10))
    for run in (
        lambda: wide.asformat(format),
        lambda: wide.to_scipy("csr"),
        lambda: make(format, wide),
        lambda: ds.matmul(ds.hm_array(np.eye(10)), wide, format=format),
        lambda: ds.plan_matmul(ds.hm_array(np.eye(10)), wide, format=format),
        lambda: ds.forecast("convert", wide, format=format),
        lambda: wide.T.asformat(format),
    ):
        with raises((ValueError, MemoryError), "4294967306"):
            run()
    with raises(ValueError, "csr_array", "10 x 4294967306", "2^31"):
        wide.to_scipy("csr")
    assert ds.memory_report(wide)["csr"] is None and ds.memory_report(wide)["hm"] == wide.nbytes


def test_a_wide_csr_becomes_diagonals_without_a_table_of_all_of_them(device):
    """A table of all diagonals took 16 GB and a minute for a result of 88 bytes."""
    n = 2**31 - 1
    a = sp.coo_array((np.array([1.0, 2, 3]), ([0, 1, 2], [n - 1, 5, 4])), shape=(3, n))
    A = ds.csr_array(a).to(device)
    H = A.asformat("hm")
    assert H.shape == (3, n) and H.offsets.tolist() == [2, 4, n - 1] and H.nnz == 7
    back = H.tocsr().to("cpu")
    assert back.indices.tolist() == [n - 1, 5, 4] and back.values.tolist() == [1, 2, 3]


def test_the_memory_of_a_wide_conversion():
    python(
        """
    import numpy as np, scipy.sparse as sp, diagsparse as ds
    a = sp.coo_array((np.ones(3), ([0, 1, 2], [2**31 - 2, 5, 4])), shape=(3, 2**31 - 1))
    assert ds.hm_array(a).nbytes < 200 and ds.forecast("convert", a, format="hm").result_nbytes < 200
    """,
        memory=1 << 30,
        timeout=20,
    )


# ---- what counts ----------------------------------------------------------------------------------
@pytest.mark.quick
@FORMATS
def test_stored_zeros_do_not_count_as_entries(format):
    """Nearly half of what the diagonals of a spin chain store are zeros."""
    chain = ds.gallery.spin_chain(10)
    A = make(format, chain)
    report = ds.memory_report(A)
    for other in ds.formats():
        assert report[other] == A.asformat(other).nbytes, other
        assert ds.forecast("convert", A, format=other).result_nbytes == report[other]
    assert A.tocsr().nbytes == report["csr"]
    peak = ds.forecast("convert", A, format="csr").total_nbytes
    A.tocsr(max_bytes=peak)
    if format != "csr":
        with raises(MemoryError, "csr_array"):
            A.tocsr(max_bytes=peak - 1)


@pytest.mark.parametrize("format", DIAGONAL)
@pytest.mark.parametrize("dtype", [*DTYPES, "float16", "bfloat16"])
def test_nonzeros_of_packed_matrices(format, dtype, device):
    if dtype == "bfloat16":
        pytest.importorskip("ml_dtypes")
    row = np.array([1.0, 0, 2, 0, 0, 3])
    for n in (6, 7, 11, 12, 25):
        a = sp.diags_array([np.resize(row, n), np.resize(row[::-1], n - 2)], offsets=[0, 2], shape=(n, n)).tocsr()
        for layout, full in (
            ({"period": 6}, a), ({"symmetry": "symmetric"}, a + sp.triu(a, 1).T),
            ({"symmetry": "symmetric", "period": 6}, a + sp.triu(a, 1).T),
        ):  # fmt: skip
            if dtype.startswith("complex") and "symmetry" in layout:
                layout = {**layout, "symmetry": "hermitian"}
            A = make(format, full.astype(np.float64)).asformat(format, **layout).astype(dtype).to(device)
            dense = A.toarray()
            assert A.count_nonzero() == np.count_nonzero(dense), (n, layout)
            assert A.T.count_nonzero() == np.count_nonzero(dense)
            assert ds.memory_report(A)["csr"] == A.unpacked().tocsr().nbytes


def test_copies_of_views_are_valid():
    for format in ds.formats():
        A = ours("banded 65", format, "complex64")
        assert np.array_equal(copy.deepcopy(A.H).toarray(), A.toarray().conj().T)
        assert host(copy.copy(A).parts()).keys() == A.parts().keys()


@pytest.mark.parametrize("kind", [np.float32, np.int64, np.complex128, np.float16])
@pytest.mark.parametrize("size", [1, 12, 1000])
def test_columns_of_another_type_are_not_counted(kind, size):
    """Columns of ell are counted before they are checked: as what they are, or not at all."""
    state = state_of(ds.ell_array(ds.gallery.tridiagonal(4)))
    state[1]["indices"] = np.ones(size, kind).reshape(1, -1)
    refuse_state(*state)


@pytest.mark.parametrize("dtype", ["uint8", "uint16", "uint64"])
def test_index_types_that_a_format_does_not_have(dtype):
    core, zeros = make("coo", np.eye(1))._core, np.zeros(3, dtype)
    with raises(ValueError, "coo_array", "row", dtype, "int32"):
        core.indexed_matrix("coo", 9, 9, np.ones(3), [("row", zeros), ("col", zeros)])
