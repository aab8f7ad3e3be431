"""Layouts in fewer bytes: one triangle, one period. All operations, against the matrix in full."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from cases import DIAGONAL, EACH_DTYPE, VIEWS, random, to_device, to_host
from packings import FORMATS, holds, mirrored, packed_cases, repeating, rounded, toeplitz, within
from scipy.sparse.linalg import cg, eigsh

import diagsparse as ds


@FORMATS
@EACH_DTYPE
def test_products_with_vectors_and_blocks(format, dtype, device):
    for name, a, layout in packed_cases(dtype):
        if not holds(format, a):
            continue
        A = ds.array(a, format, device=device).asformat(format, **layout)
        exact = a.astype(np.result_type(dtype, np.float64))
        for kernel in A.kernels("matvec"):
            for op, view in VIEWS.items():
                V, v = view(A), {"N": exact, "T": exact.T, "C": exact.conj(), "H": exact.conj().T}[op]
                x = random(V.shape[1], dtype, name)
                within(to_host(V.matvec(to_device(x, device), kernel=kernel)), v @ x, v, x)
                if a.shape[0] > 10_000 or op in "TC":
                    continue
                X = random(V.shape[1] * 8, dtype, name).reshape(-1, 8)
                for block in (X, np.asfortranarray(X[:, :3]), X[:, 1:6]):
                    y = V.matvec(to_device(block, device), kernel=kernel)
                    within(to_host(y), v @ block, v, block)
                within(to_host(V.rmatvec(to_device(random(V.shape[0], dtype, 1), device), kernel=kernel)),
                       v.conj().T @ random(V.shape[0], dtype, 1), v.conj().T, random(V.shape[0], dtype, 1))  # fmt: skip


@FORMATS
def test_alpha_beta_out_and_vectors_at_any_address(format, device):
    for dtype in ("float64", "complex64", "float32"):
        for layout in ({"symmetry": "symmetric"}, {"period": 1}):
            offsets = [0, 1, 2, 3, 30]
            a = mirrored(4001, offsets, dtype) if "symmetry" in layout else toeplitz(4001, offsets, dtype)
            A = ds.array(a, format, device=device).asformat(format, **layout)
            for start in range(4):
                x = to_device(random(4001 + start, dtype), device)[start:]
                out = to_device(random(4001 + start, dtype, "out"), device)[start:]
                before = to_host(out).copy()
                assert A.matvec(x, out=out, alpha=-0.5, beta=2) is out
                reference = -0.5 * (a.astype(np.result_type(dtype, float)) @ to_host(x)) + 2 * before
                error = abs(to_host(out) - reference)
                bound = 32 * np.finfo(dtype).eps * (abs(a) @ abs(to_host(x)) + 2 * abs(before))
                assert np.all(error <= bound)


@FORMATS
def test_float32_vectors_against_float64_ones(format, device):
    a = mirrored(500, range(12), "float32")
    A = ds.array(a, format, device=device).asformat(format, symmetry="symmetric")
    x = random(500, "float64")
    y = A @ to_device(x, device)
    assert y.dtype == np.float64
    within(to_host(y), a.astype(float) @ x, a.astype(float), x)


@FORMATS
def test_other_operations_see_the_whole_matrix(format, device):
    for dtype in ("float64", "complex64"):
        for name, a, layout in packed_cases(dtype):
            if a.shape[0] > 200 or not holds(format, a):
                continue
            full = ds.array(a, format, device=device)
            A = full.asformat(format, **layout)
            dense = a.toarray()
            assert A.shape == a.shape and A.dtype == a.dtype and A.format == format, name
            assert (A.symmetry, A.period) == (layout.get("symmetry"), layout.get("period"))
            for result in (A, A.unpacked(), A.copy(), pickle.loads(pickle.dumps(A)), A.to("cpu"), A.asformat(format)):
                assert np.array_equal(result.toarray(), dense), name
            assert A.unpacked().symmetry is None and A.unpacked().period is None
            assert (A.copy().symmetry, A.copy().period) == (A.symmetry, A.period)
            for op, view in VIEWS.items():
                reference = view(dense) if op != "H" else dense.conj().T
                assert np.array_equal(view(A).toarray(), reference), (name, op)
                assert np.array_equal(view(A).copy().toarray(), reference), (name, op)
                assert np.array_equal(view(A).unpacked().toarray(), reference), (name, op)
            for other in ds.formats():
                if holds(other, a):
                    assert np.array_equal(A.asformat(other).toarray(), dense), (name, other)
            assert np.array_equal(A.to_scipy().toarray(), dense)
            assert np.array_equal(A.to_scipy("csr").toarray(), dense)
            for k in (0, 1, -1, 3):
                if -a.shape[0] < k < a.shape[1]:
                    assert np.array_equal(A.diagonal(k), a.diagonal(k)), (name, k)
            assert A.count_nonzero() == a.count_nonzero()
            assert np.allclose(A.sum(), a.sum(), atol=1e-4) and np.allclose(A.trace(), a.diagonal().sum(), atol=1e-4)
            assert np.allclose(to_host(A.sum(axis=0)), a.sum(axis=0), atol=1e-4)
            for result, reference in (
                (A * 2, dense * 2), (-A, -dense), (A / 4, dense / 4), (abs(A), abs(dense)), (A**2, dense**2),
                (A + full, dense + dense), (full - A, 0 * dense), (A.multiply(full), dense * dense),
                (A.multiply(np.ones(a.shape[1])), dense), (A * 2j, dense * 2j), (A / 2j, dense / 2j),
                (A.conj(), dense.conj()),
                (A.astype("complex128"), dense), (A @ full.T, dense @ dense.T), (full.T @ A, dense.T @ dense),
                (ds.matmul(A, A.T, full @ full.T), 2 * dense @ dense.T), (ds.syrk(A), dense @ dense.T),
                (ds.plan_matmul(full, full, trans_b="T")(A, A), dense @ dense.T),
            ):  # fmt: skip
                assert np.allclose(result.toarray(), reference, rtol=1e-5, atol=1e-5), name
            assert format in repr(A) and str(next(iter(layout.values()))) in repr(A), repr(A)
            packed = {other: A.asformat(other).nbytes for other in DIAGONAL if holds(other, a)}
            assert A._repr_html_() and ds.memory_report(A) == ds.memory_report(full) | packed


@FORMATS
def test_files(format, tmp_path):
    for dtype in ("float64", "complex64"):
        for i, (name, a, layout) in enumerate(packed_cases(dtype)):
            if a.shape[0] > 1000 or not holds(format, a):
                continue
            A = ds.array(a, format).asformat(format, **layout)
            ds.write(tmp_path / f"{dtype}{i}.npz", A)
            B = ds.read(tmp_path / f"{dtype}{i}.npz")
            assert (B.format, B.symmetry, B.period, B.nbytes) == (A.format, A.symmetry, A.period, A.nbytes), name
            assert np.array_equal(B.toarray(), a.toarray()), name
    ds.write(tmp_path / "a.mtx", A)
    assert np.allclose(ds.read(tmp_path / "a.mtx").toarray(), a.toarray())


def test_plans_count_unpacked_operands():
    a = mirrored(100, [0, 1, 2], "float64")
    full = ds.hm_array(a)
    packed = full.asformat("hm", symmetry="symmetric")
    plans = [ds.plan_matmul(left, full) for left in (full, packed)]
    values = packed.values.nbytes  # with which the next call compares
    assert plans[1].workspace_nbytes == plans[0].workspace_nbytes + full.nbytes + values


def test_stored_arrays():
    n, upper = 10, [0, 1, 4]
    a = mirrored(n, upper, "float64")
    dia = ds.dia_array(a, symmetry="symmetric")
    assert dia.values.shape == (3, n) and sorted(dia.offsets) == upper and dia.nbytes == 3 * (n * 8 + 8)
    hm = ds.hm_array(a, symmetry="symmetric")
    assert hm.values.shape == (10 + 9 + 6,) and hm.offsets.tolist() == upper
    assert np.array_equal(hm.values[10:19], a.diagonal(1))
    cdm = ds.cdm_array(a, symmetry="symmetric")
    assert cdm.parts()["rows"].tolist() == upper and cdm.values.shape == (3, n)
    assert dia.nnz == hm.nnz == 10 + 2 * 9 + 2 * 6  # the elements that the layout represents
    t = toeplitz(n, [-1, 0, 3], "float64")
    assert ds.dia_array(t, period=1).values.tolist() == [[t[1, 0]], [t[0, 0]], [t[0, 3]]]
    assert ds.hm_array(t, period=1).values.tolist() == [t[0, 0], t[0, 3], t[1, 0]]
    assert ds.hm_array(t, period=1).nbytes == 3 * 8 + 16 * 3 + 8
    r = repeating(n, n, [-1, 0], 4, "float64")
    one = ds.dia_array(r, period=4).values
    assert one.shape == (2, 4) and np.array_equal(one[1], r.diagonal()[:4])
    assert np.array_equal(one[0], [r[4, 3], r[1, 0], r[2, 1], r[3, 2]])  # a value is at its row, modulo the period
    assert np.array_equal(ds.hm_array(r, period=4).values[4:], r.diagonal(-1)[:4])  # those of hm at min(i, j)


@FORMATS
def test_from_component_arrays(format, device):
    for name, a, layout in packed_cases("float64"):
        if not holds(format, a) or not 0 < a.shape[0] < 5001:
            continue
        result = ds.array(a, format, device=device).asformat(format, **layout)
        parts = result.parts()
        again = type(result)((parts["values"], parts[result._format.labels]), shape=a.shape, **layout)
        assert again.device == result.device and again.nbytes == result.nbytes
        assert np.array_equal(again.toarray(), result.toarray()), name


@FORMATS
def test_shortest_common_period(format, device):
    grid = ds.gallery.stencil(5, (6, 7))
    A = ds.array(grid, format, device=device).asformat(format, period="auto")
    assert A.period == 7 and np.array_equal(A.toarray(), grid.toarray())
    assert ds.array(toeplitz(50, [0, 1], "float32"), format, device=device).asformat(format, period="auto").period == 1
    short = sp.diags_array([np.arange(50.0) % 9, np.arange(7.0)], offsets=[0, 43], shape=(50, 50))
    A = ds.array(short, format, device=device).asformat(format, period="auto")  # the second diagonal need not repeat
    assert A.period == 9 and np.array_equal(A.toarray(), short.toarray())
    for length, period in ((100, 99), (100, 51)):  # it is enough if something repeats
        a = sp.diags_array(np.resize(np.arange(period) + 1.0, length))
        assert ds.array(a, format, device=device).asformat(format, period="auto").period == period
    tall = sp.diags_array([np.arange(5.0), np.ones(5)], offsets=[0, -3], shape=(17, 5))  # 5 < 17 is no repetition
    for a, rows in ((mirrored(40, [0, 1], "float64"), 40), *[(tall, 17)] * (format != "cdm")):
        with pytest.raises(ValueError, match=rf'period="auto".*within {rows} rows'):
            ds.array(a, format, device=device).asformat(format, period="auto")


@FORMATS
def test_values_that_do_not_allow_packing(format, device):
    def make(a, **layout):
        return ds.array(sp.csr_array(a), format, device=device).asformat(format, **layout)

    a = mirrored(30, [0, 2, 5], "complex128", True).toarray()
    with pytest.raises(ValueError, match=r"diagonal -5 does not allow symmetric: it is not diagonal 5"):
        make(a, symmetry="symmetric")
    a[4, 4] += 1e-300j
    with pytest.raises(ValueError, match="diagonal 0 does not allow hermitian"):
        make(a, symmetry="hermitian")
    b = toeplitz(30, [0, 2], "float64").toarray()
    b[29, 29] = 7
    with pytest.raises(ValueError, match="diagonal 0 does not allow period 1: its values do not repeat after 1 row"):
        make(b, period=1)
    with pytest.raises(ValueError, match="diagonal -2"):  # which is not stored
        make(toeplitz(30, [0, 2], "float64"), symmetry="symmetric")
    if format != "cdm":
        with pytest.raises(ValueError, match="symmetric storage is for square matrices, got 3 x 4"):
            make(np.ones((3, 4)), symmetry="symmetric")


@FORMATS
def test_meaningless_options(format):
    make = getattr(ds, f"{format}_array")
    eye = np.eye(4)
    for options, error, words in (
        ({"symmetry": "skew"}, ValueError, "symmetry='skew'"), ({"period": 0}, ValueError, "period=0"),
        ({"period": -3}, ValueError, "period=-3"), ({"period": 1.5}, TypeError, "period=1.5"),
        ({"period": True}, TypeError, "period=True"), ({"period": 2**31}, ValueError, "2147483648"),
        ({"slices": 4}, TypeError, "no option slices; expected symmetry, period"),
    ):  # fmt: skip
        with pytest.raises(error, match=words):
            make(eye, **options)
    with pytest.raises(TypeError, match="csr_array: no option symmetry"):
        ds.csr_array(eye, symmetry="symmetric")
    with pytest.raises(NotImplementedError, match="unpacked"):
        make(eye, period=1).eliminate_zeros()


def test_arrays_that_do_not_fit():
    with pytest.raises(ValueError, match="diagonals 1 and -1 are both given"):
        ds.dia_array((np.ones((2, 5)), [-1, 1]), shape=(5, 5), symmetry="symmetric")
    with pytest.raises(ValueError, match="diagonals 2 and -2 are both given"):
        ds.dia_array((np.ones((2, 4)), [-2, 2]), shape=(4, 4), symmetry="symmetric")
    assert (
        ds.cdm_array((np.ones((1, 4)), [2]), shape=(4, 4), symmetry="symmetric").nnz == 4
    )  # row n / 2 is its own image
    with pytest.raises(ValueError, match=r"values hold 2 x 5 values.*need 2 x 3 values"):
        ds.dia_array((np.ones((2, 5)), [0, 1]), shape=(5, 5), period=3)
    with pytest.raises(ValueError, match="period"):
        ds.dia_array((np.ones((2, 5)), [0, 1]), shape=(5, 5), period="auto")


@FORMATS
def test_chains_of_products(format, device):
    for layout in ({"symmetry": "symmetric"}, {"period": 1}, {"symmetry": "symmetric", "period": 1}):
        a = toeplitz(3000, [-2, -1, 0, 1, 2], "float64") / 8
        a = (a + a.T) / 2 if "symmetry" in layout else a
        A = ds.array(a, format, device=device).asformat(format, **layout)
        x = random(3000, "float64")
        for given in (A, A.astype("float32").astype("float16")):
            full = rounded(a, "float16") if given is not A else a
            for kernel in given.kernels("chain"):
                y = to_host(ds.power_multiply(given, to_device(x, device), 4, kernel=kernel))
                bound = abs(full)
                for _ in range(3):
                    bound = bound @ abs(full)
                assert np.all(
                    abs(y - full @ (full @ (full @ (full @ x)))) <= 64 * np.finfo(float).eps * (bound @ abs(x))
                )


@FORMATS
def test_solvers_of_scipy(format):
    grid = ds.gallery.stencil(5, (9, 11))
    lowest, b = np.linalg.eigvalsh(grid.toarray())[:2], np.ones(99)
    for layout in ({"symmetry": "symmetric"}, {"period": "auto"}):
        A = ds.array(grid, format).asformat(format, **layout)
        x, failed = cg(A, b, rtol=1e-10)
        assert not failed and np.allclose(grid @ x, b)
        assert np.allclose(np.sort(eigsh(A, k=2, which="SA", return_eigenvectors=False)), lowest)


@FORMATS
def test_plans_of_packed_views_run_for_new_values(format, device):
    """Views of packed matrices are laid out when they are unpacked: so are their replacements."""
    A = ds.array(toeplitz(40, [0, 2, 5], "complex128"), format, device=device).asformat(format, period=1)
    B = ds.array(ds.gallery.banded(40, 2, 1, seed=3, dtype="complex128"), format, device=device)
    for trans in ("N", "T", "H"):
        plan = ds.plan_matmul(A, B, trans_a=trans)
        expected = plan().toarray()
        for new in (A * 2, (A * 2).unpacked()):
            assert np.allclose(plan(new, B).toarray(), 2 * expected, rtol=1e-13)
        plain = ds.plan_matmul(A.unpacked(), B, trans_a=trans)
        assert np.allclose(plain(A * 2, B).toarray(), 2 * expected, rtol=1e-13)
    transposed = ds.plan_matmul(A.H, B)
    assert np.allclose(transposed((A * 2).H, B).toarray(), 2 * transposed().toarray(), rtol=1e-13)


@FORMATS
def test_views_of_packed_values_that_are_no_numbers(format, device):
    A = ds.array(toeplitz(9, [0, 2], "float64"), format, device=device).asformat(format, period=1)
    A.values = np.nan
    assert A.T.copy().period == 1 and np.isnan(A.T.copy().diagonal()).all()
