"""Linear combinations with changing coefficients: what SciPy's sums give, in one structure, on every device."""

import numpy as np
import pytest
import scipy.sparse as sp
from cases import EACH_DTYPE, matrix, partner, raises, random, to_device, to_host
from test_palettes import painted

import diagsparse as ds
from diagsparse._backends import memory

FORMATS = ("dia", "hm", "cdm", "mdia", "csr", "csc", "coo")
COEFFICIENTS = ((1.0, 0.25, -3.0), (0.0, 0.0, 0.0), (1, np.float32(2), np.array(0.5)))


def check(K, matrices, coefficients, matrix_of=None, **options):
    """Compare ``K(*coefficients)`` with SciPy's sum; return it."""
    result = K(*coefficients, **options)
    wide = "complex128" if any(np.iscomplexobj(c) for c in coefficients) or K.dtype.kind == "c" else "float64"
    dense = [sp.csr_array(a).astype(wide).toarray() for a in matrices]
    numbers = [complex(c) if wide[0] == "c" else float(c) for c in coefficients]
    expected = sum(c * a for c, a in zip(numbers, dense, strict=True))
    scale = sum(abs(c) * abs(a) for c, a in zip(numbers, dense, strict=True))
    assert (result.format, result.shape) == (K.format, K.shape)
    found = result.to("cpu").toarray()
    assert found.dtype == result.dtype
    eps = np.finfo(result.dtype).eps
    assert (abs(found - expected) <= 2 * len(matrices) * eps * scale).all()
    x = random(K.shape[1], result.dtype)
    bound = 2 * eps * (K.shape[1] + 8) * (scale @ abs(x))
    assert (abs(to_host(result @ to_device(x, result.device[:4])) - expected @ x) <= bound).all()
    return result


@EACH_DTYPE
@pytest.mark.parametrize("format", FORMATS)
def test_every_format(device, format, dtype):
    for name in ("banded 65", "random diagonals 127", "empty rows", "1x1", "nothing stored", "wide 20 x 70", "0x5"):
        a = matrix(name, dtype)
        if format == "cdm" and a.shape[0] != a.shape[1]:
            continue
        matrices = [a, partner(name, "float32") if min(a.shape) else a, -a]
        K = ds.linear_combination([ds.array(m, format, device=device) for m in matrices])
        assert (K.terms, K.shape, K.format, K.device[:4]) == (3, a.shape, format, device[:4])
        for coefficients in (*COEFFICIENTS, (1j, 2.0, 1 + 0j)):
            result = check(K, matrices, coefficients)
            assert result.dtype == np.result_type(K.dtype, np.complex64 if 1j in coefficients else np.float32)


@EACH_DTYPE
def test_palettes(device, dtype):
    """Only tables are computed, also where terms share diagonals; and values one by one where they have to be."""
    colors = ({-33: 2, 0: 5, 1: 1, 32: 70}, {-33: 3, 0: 9, 1: 1, 64: 1900, 100: 17}, {0: 2, 32: 9, 732: 1})
    matrices = [painted(dtype if k < 2 else "float32", own, (700, 733), seed=k) for k, own in enumerate(colors)]
    terms = [ds.mdia_array(a, device=device, palette=True) for a in matrices]
    K = ds.linear_combination(terms)
    for coefficients in (*COEFFICIENTS, (1j, 2.0, 1 + 0j)):
        result = check(K, matrices, coefficients)
        assert result.palette
    sizes = np.diff(np.asarray(to_host(result.table_indptr)))
    by_offset = dict(zip(result.offsets.tolist(), sizes.tolist(), strict=True))
    assert (by_offset[32], by_offset[64], by_offset[100]) == (0, 0, 17)
    assert 5 < by_offset[0] <= 6 * 10 * 3 and by_offset[1] <= 3


def test_palettes_of_the_same_structure_and_of_one_term(device):
    a = painted(colors={-1: 2, 0: 1, 5: 3})
    first = ds.mdia_array(a, device=device, palette=True)
    K = ds.linear_combination([first, 2 * first, first.T if a.shape[0] == a.shape[1] else first])
    result = check(K, [a, 2 * a, a], (1.0, 2.0, -1.0))
    assert result.nbytes <= 1.2 * first.nbytes
    plain = ds.mdia_array(a, device=device, palette=False)
    assert not check(ds.linear_combination([plain]), [a], (2.0,)).palette
    both = check(ds.linear_combination([plain, first]), [a, a], (2.0, 1j))
    assert not to_host(both.table_indptr).any()  # the first matrix stores all values one by one
    assert ds.linear_combination([first])(0.5).palette


def test_spins(device):
    """Only the tables of a chain in a field change, a few numbers."""
    H0, H1 = (g(12, format="mdia") for g in (ds.gallery.heisenberg, ds.gallery.transverse_ising))
    terms = [ds.mdia_array(H, palette=True, device=device) for H in (H0, H1)]
    K = ds.linear_combination(terms)
    H = check(K, [H0.to_scipy(), H1.to_scipy()], (1.0, 0.3))
    assert to_host(H.parts()["values"]).size < 200
    assert K.nbytes < sum(t.nbytes for t in terms) * 3
    seen = H.values if device == "cpu" else None
    K(2.0, 0.0)
    assert seen is None or not np.array_equal(seen, H.values)


@pytest.mark.parametrize("symmetry", ["symmetric", "hermitian"])
def test_one_triangle(device, symmetry):
    a = painted("complex128", shape=(300, 300), colors={0: 3, 1: 2, 40: 300})
    a, b = (
        (m + (m.T if symmetry == "symmetric" else m.conj().T)).tocsr()
        for m in (a, painted("complex128", {0: 1, 7: 2}, (300, 300)))
    )
    for palette in (False, True):
        terms = [ds.mdia_array(m, symmetry=symmetry, palette=palette, device=device) for m in (a, b)]
        K = ds.linear_combination(terms)
        assert check(K, [a, b], (1.5, -2.0)).symmetry == symmetry
        if symmetry == "symmetric":
            assert check(K, [a, b], (1j, 2.0)).symmetry == symmetry
        else:
            with raises(ValueError, "complex", "Hermitian", "unpacked"):
                K(1.0, 1j)
        mixed = ds.linear_combination([terms[0], ds.mdia_array(b, device=device)])
        assert check(mixed, [a, b], (1j, 2.0)).symmetry is None


def test_packed_diagonals_views_and_16_bits(device):
    a = matrix("banded 65")
    s = (a + a.T).tocsr()
    packed = ds.hm_array(s, symmetry="symmetric", device=device)
    K = ds.linear_combination([packed, ds.hm_array(a, device=device).T, sp.csr_array(a)], format="hm")
    check(K, [s, a.T, a], (1.0, 2.0, 3.0))
    c = matrix("banded 65", "complex64")
    K = ds.linear_combination([ds.mdia_array(c, device=device).H, ds.mdia_array(c, palette=True, device=device).T])
    check(K, [c.conj().T, c.T], (1.0, 2.0))
    narrow = ds.dia_array(a, dtype="float16", device=device)
    K = ds.linear_combination([narrow, narrow])
    assert K.dtype == np.float32
    check(K, [narrow.astype("float32").to("cpu").to_scipy()] * 2, (1.0, 2.0))


def test_many_terms(device):
    """More than a GPU kernel takes at once, each of which has few of the diagonals."""
    n, rng = 200, np.random.default_rng(0)
    matrices = [
        sp.diags_array([rng.standard_normal(n), rng.standard_normal(n - k)], offsets=[0, k]) for k in range(1, 150)
    ]
    c = rng.standard_normal(len(matrices))
    for format in ("dia", "csr"):
        K = ds.linear_combination([ds.array(a, format, device=device) for a in matrices])
        check(K, matrices, c)
        check(K, matrices, [*c[:-1], 1j])
    assert ds.linear_combination(matrices, format="dia").nbytes < 5 * sum(a.data.nbytes for a in matrices)


def test_large(device):
    """Runs that are longer than a tile, in parallel."""
    n = 100_001
    a = sp.diags_array([np.arange(1.0, n + 1 - abs(k)) for k in (-3, 0, 1)], offsets=[-3, 0, 1])
    b = sp.diags_array([np.ones(n), np.arange(n - 50.0)], offsets=[0, 50])
    for format in ("dia", "mdia"):
        K = ds.linear_combination([ds.array(m, format, device=device) for m in (a, b)])
        for c in ((1.0, -2.0), (1j, 0.5)):
            wanted = (c[0] * a + c[1] * b).tocsr()
            difference = K(*c).to("cpu").to_scipy("csr") - wanted
            assert abs(difference).max() <= 1e-15 * abs(wanted).max()


def test_the_matrix_that_is_filled(device):
    a, b = matrix("banded 65"), matrix("tridiagonal 65")
    K = ds.linear_combination([ds.dia_array(m, device=device) for m in (a, b)])
    H = K(1.0, 2.0)
    assert K(2.0, 3.0) is H
    assert K(2.0, 3j) is not H and K(2.0, 3j) is K(0.0, 1j)
    out = K.empty()
    assert K(1.0, 0.5, out=out) is out
    check(K, [a, b], (1.0, 0.5), out=out)
    check(K, [a, b], (1.0, 0.5j), out=K.empty("complex128"))
    check(K, [a, b], (2.0, 3.0))  # `out` is another matrix
    same = [to_host(K(0.1, 0.3).values) for _ in range(2)]
    np.testing.assert_array_equal(*same)
    assert "2 matrices" in repr(K) and "dia_array 65 x 65" in str(K)


def test_values_that_a_user_replaces(device):
    """An assignment discards the palette of a matrix that was filled; the next call fills another one."""
    a = painted(colors={0: 3, 1: 1})
    K = ds.linear_combination([ds.mdia_array(a, palette=True, device=device)])
    H = K(1.0)
    H.values = 7.0
    assert not H.palette
    check(K, [a], (3.0,))
    with raises(ValueError, "out", "structure"):
        K(1.0, out=H)


def test_terms_are_copied(device):
    a = ds.dia_array(matrix("banded 65"), device=device)
    K = ds.linear_combination([a])
    before = a.toarray()
    a.values = 0.0
    np.testing.assert_array_equal(K(1.0).toarray(), before)


def test_special_values(device):
    """Real coefficients do not mix real and imaginary parts; rows of other terms are not touched."""
    a = sp.diags_array([np.array([1 + 2j, np.inf, 3.0])], offsets=[0])
    b = sp.diags_array([np.ones(2)], offsets=[1])
    K = ds.linear_combination([ds.dia_array(m, device=device) for m in (a, b)])
    H = K(2.0, 1.0).toarray()
    assert H[1, 1] == np.inf and H[0, 0] == 2 + 4j and H[0, 1] == 1


@pytest.mark.gpu
@pytest.mark.parametrize("library", ["cupy", "torch"])
def test_coefficients_on_the_device(library):
    xp = pytest.importorskip(library)
    H0, H1 = ds.gallery.heisenberg(8, format="mdia"), ds.gallery.transverse_ising(8, format="mdia")
    for palette in (False, True):
        K = ds.linear_combination([ds.mdia_array(H, palette=palette, device="cuda") for H in (H0, H1)])
        for value, kind in ((0.3, "float64"), (0.3, "float32"), (0.3 + 1j, "complex128"), (2, "int32")):
            where = {"device": "cuda"} if library == "torch" else {}
            c = xp.asarray(value, dtype=getattr(xp, kind), **where)
            number = complex(np.dtype(kind).type(value)) if kind[0] == "c" else float(np.dtype(kind).type(value))
            H = check(K, [H0.to_scipy(), H1.to_scipy()], (1.0, number))
            expected = to_host(H.parts()["values"])
            found = to_host(K(1.0, c, out=K.empty(H.dtype)).parts()["values"])
            np.testing.assert_array_equal(found, expected)
    with raises(TypeError, "coefficient 1", "(2,)"):
        K(1.0, xp.asarray([1.0, 2.0], **where))
    on_the_host = ds.linear_combination([H0, H1])
    with raises(TypeError, "cpu", "cuda"):
        on_the_host(1.0, c)


@pytest.mark.gpu
def test_a_graph_of_fills_and_products():
    cupy = pytest.importorskip("cupy")
    H0, H1 = (g(8, format="mdia").to("cuda") for g in (ds.gallery.heisenberg, ds.gallery.transverse_ising))
    K, c, x = ds.linear_combination([H0, H1]), cupy.asarray(0.5), cupy.asarray(random(256, "float64"))
    y = cupy.empty_like(x)
    K(1.0, c).matvec(x, out=y)
    stream = cupy.cuda.Stream(non_blocking=True)
    with stream:
        stream.begin_capture()
        K(1.0, c).matvec(x, out=y)
        graph = stream.end_capture()
    for value in (0.25, -3.0):
        c.fill(value)
        cupy.cuda.get_current_stream().synchronize()
        graph.launch(stream)
        stream.synchronize()
        np.testing.assert_allclose(y.get(), (H0.to("cpu") + value * H1.to("cpu")) @ x.get(), atol=1e-13)


def test_errors(device, monkeypatch):
    a = ds.dia_array(matrix("banded 65"), device=device)
    with raises(ValueError, "no matrices"):
        ds.linear_combination([])
    for bad in (a, "ab", 3):
        with raises(TypeError, "expected a list of sparse matrices"):
            ds.linear_combination(bad)
    with raises(TypeError, "matrix 1", "sparse matrix"):
        ds.linear_combination([a, np.eye(65)])
    with raises(ValueError, "matrix 0", "65 x 65", "matrix 1", "3 x 3"):
        ds.linear_combination([a, sp.eye_array(3)])
    with raises(ValueError, "format='sell'", "csr, dia, hm, mdia"):
        ds.linear_combination([a], format="sell")
    K = ds.linear_combination([a, a])
    with raises(TypeError, "1 coefficients for 2 matrices"):
        K(1.0)
    for bad in ("1", None, [1.0, 2.0], np.ones(2)):
        with raises(TypeError, "coefficient 1", "number"):
            K(1.0, bad)
    before = K(1.0, 2.0).toarray()
    for bad in (a, K.empty("complex128"), np.zeros((65, 65)), K.empty().T):
        with raises(ValueError, "out"):
            K(1.0, 3.0, out=bad)
    with raises(ValueError, "coefficient 0", "range of float64"):
        K(10**400, 1.0)
    with raises(ValueError, "dtype=float32", "float64 or complex128"):
        K.empty("float32")
    np.testing.assert_array_equal(K(1.0, 2.0).toarray(), before)
    monkeypatch.setattr(memory, "SMALL", 0)
    monkeypatch.setattr(memory, "available_bytes", lambda backend=None: 1000)
    for format in ("dia", "mdia", "csr"):
        with raises(MemoryError, "would need", *(["linear_combination"] if format == "dia" else [])):
            ds.linear_combination([a, a], format=format)
    with raises(MemoryError, "linear_combination", "would need"):
        K.empty()


@pytest.mark.gpu
def test_devices_are_not_mixed():
    a = ds.dia_array(matrix("banded 65"))
    with raises(ValueError, "matrix 0", "cuda", "matrix 1", "cpu"):
        ds.linear_combination([a.to("cuda"), a])
