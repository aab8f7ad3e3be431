"""Matrices of quaternions, compared with Hamilton's product in NumPy and with complex matrices of twice the order."""

import numpy as np
import pytest
import scipy.sparse as sp
from cases import MULTIPLYING, at_night, case, fits, raises, random, rng_of, to_device, to_host
from quaternions import CONJUGATE, adjoint, close, dense, embedding, hamilton, product

import diagsparse as ds
from diagsparse._backends.types import complex_type
from diagsparse._quaternions import pairs

EACH_FORMAT = pytest.mark.parametrize("format", at_night(ds.formats(), before=("dia", "hm", "csr", "mdia", "ellcsr")))
EACH_DTYPE = pytest.mark.parametrize("dtype", ["float32", "float64"])
SHAPES = [(6, 6), (4, 9), (8, 3), (0, 3), (3, 0), (0, 0), (1, 1), (70, 70)]


@EACH_FORMAT
@EACH_DTYPE
def test_products_with_vectors(format, dtype, device):
    for shape in SHAPES:
        if not fits(format, shape):
            continue
        m, n = shape
        p = dense(shape, dtype)
        Q = ds.quaternion_array(p, format, device=device)
        assert (Q.shape, Q.dtype, Q.format, Q.device) == (shape, dtype, format, device)
        assert np.array_equal(Q.toarray(), p)
        for count in (None, 0, 1, 3, 17):
            x, y = random((n, count or 1, 4), dtype), random((count or 1, m, 4), dtype)
            with case((shape, count)):
                if count is None:
                    close(to_host(Q @ to_device(x[:, 0], device)), product(p, x)[:, 0], dtype)
                    close(to_host(to_device(y[0], device) @ Q), product(y, p)[0], dtype)
                    adjoined = to_host(Q.rmatvec(to_device(y[0], device)))
                    close(adjoined, product(adjoint(p), y.swapaxes(0, 1))[:, 0], dtype)
                    close(to_host(Q.H @ to_device(y[0], device)), adjoined, dtype)
                else:
                    x, y = x[:, :count], y[:count]
                    close(to_host(Q @ to_device(x, device)), product(p, x), dtype)
                    close(to_host(to_device(y, device) @ Q), product(y, p), dtype)


@pytest.mark.parametrize("format", ["dia", "mdia"])
@EACH_DTYPE
def test_large_products(format, dtype, device):
    """Diagonals begin and end in different rows, and on the CPU the result is written past the caches."""
    n = 2**19 + 5
    rng = rng_of(format, dtype)
    values = {k: rng.random((n - abs(k), 4), dtype) for k in (-3001, 0, 2)}
    kind, pair = complex_type(np.dtype(dtype)), []
    for i in (0, 1):
        diagonals = {k: q.view(kind)[:, i] for k, q in values.items()}
        pair.append(ds.diags(diagonals, format="dia").asformat(format).to(device))
    Q = ds.quaternion_array._wrap(pairs.joined(*pair))
    x = rng.random((n, 4), dtype)
    expected = np.zeros((3, n, 4))
    for k, q in values.items():
        rows, columns = slice(max(0, -k), n - max(0, k)), slice(max(0, k), n - max(0, -k))
        expected[0, rows] += hamilton(q, x[columns])
        expected[1, columns] += hamilton(q * CONJUGATE, x[rows])
        expected[2, columns] += hamilton(x[rows], q)
    x = to_device(x, device)
    for y, right in zip((Q @ x, Q.rmatvec(x), x @ Q), expected, strict=True):
        close(to_host(y), right, dtype)


@EACH_DTYPE
def test_large_blocks(dtype, device):
    """On the CPU, the result is written past the caches only where all of its rows begin at whole vectors."""
    n, rng = 2**18, rng_of(dtype)
    q = rng.random((n, 4), dtype)
    halves = q.view(complex_type(np.dtype(dtype)))
    Q = ds.quaternion_array._wrap(pairs.joined(*(ds.diags([half], [0], format="dia").to(device) for half in halves.T)))
    for count in (2, 3, 4, 5):
        x = rng.random((n, count, 4), dtype)
        close(to_host(Q @ to_device(x, device)), hamilton(q[:, None], x), dtype)


@pytest.mark.parametrize("format", MULTIPLYING)
def test_products_with_matrices(format, device):
    for shape in ((7, 7), (4, 9), (0, 3), (70, 70)):
        if not fits(format, shape):
            continue
        p, q = dense(shape), dense(shape[::-1], "float64", "right")
        P, Q = ds.quaternion_array(p, format, device=device), ds.quaternion_array(q, format, device=device)
        for left, right, expected in (
            (P, Q, product(p, q)),
            (P, P.H, product(p, adjoint(p))),
            (P.T, Q.conj().T, product(p.swapaxes(0, 1), adjoint(q))),
        ):
            R = left @ right
            close(R.toarray(), expected)
            assert R.format == (left.pair[0] @ right.pair[0]).format
            assert pairs.share_structure(*R.pair)
    assert P.matmul(Q, format="csr").format == "csr"


@pytest.mark.parametrize("format", ["hm", "csr", "mdia"])
def test_sums_and_multiples(format, device):
    for shape in ((6, 6), (4, 9), (0, 2)):
        p, q = dense(shape), dense(shape, "float64", "other")
        P, Q = ds.quaternion_array(p, format, device=device), ds.quaternion_array(q, format, device=device)
        close((P + Q).toarray(), p + q)
        close((P - Q).toarray(), p - q)
        assert not (P - P).toarray().any()
        close((-P).toarray(), -p)
        close((P * 2.5).toarray(), 2.5 * p)
        close((P / 2).toarray(), p / 2)
        close((P + P.H.H).toarray(), 2 * p)
        close(P.T.toarray(), p.swapaxes(0, 1))
        close(P.conj().toarray(), p * CONJUGATE)
        close(P.H.toarray(), adjoint(p))
        for factor in ([1, 2, -3, 4], np.array([0.0, 0, 0, 1]), (1.5, 0, 2, 0)):
            close((P * factor).toarray(), hamilton(p, factor))
            close((factor * P).toarray(), hamilton(factor, p))
        close(((1 + 2j) * P).toarray(), hamilton([1, 2, 0, 0], p))
        close((P * (1 + 2j)).toarray(), hamilton(p, [1, 2, 0, 0]))
        assert abs(P.norm() - np.linalg.norm(p)) <= 1e-13 * (1 + P.norm())
        for R in (P + Q, P - P, P * [1, 2, 3, 4], P.H, P.conj(), P + Q.pair[0], Q.pair[0] - P):
            assert pairs.share_structure(*R.pair)
            assert R.dtype == "float64"


def test_real_and_complex_operands(device):
    p = dense((6, 6))
    Q = ds.quaternion_array(p, "csr", device=device)
    a = p[..., 0] + 1j * p[..., 1]
    half = p * [1, 1, 0, 0]
    A = ds.csr_array(a).to(device)
    others = [A] if device == "cuda" else [A, sp.csr_array(a), sp.dia_array(a)]
    for other in others:
        close((Q @ other).toarray(), product(p, half))
        close((other @ Q).toarray(), product(half, p))
        close((Q + other).toarray(), p + half)
        close((other + Q).toarray(), p + half)
        close((other - Q).toarray(), half - p)
    close((Q @ ds.eye(6, format="csr").to(device)).toarray(), p)


@EACH_FORMAT
def test_the_complex_embedding(format, device):
    p, x = dense((6, 6)), random((6, 4), "float64")
    Q = ds.quaternion_array(p, format, device=device)
    E = Q.to_complex()
    assert (E.format, E.device, E.dtype) == (format, device, "complex128")
    assert np.array_equal(E.toarray(), embedding(p))
    assert np.allclose((Q @ Q).to_complex().toarray(), embedding(p) @ embedding(p), rtol=0, atol=1e-13)
    assert np.array_equal(Q.H.to_complex("csr").toarray(), embedding(p).conj().T)
    x1, x2 = x.view(complex).T
    expected = embedding(p) @ np.concatenate([x1, -x2.conj()])
    y = to_host(Q @ to_device(x, device)).view(complex)
    assert np.allclose(np.concatenate([y[:, 0], -y[:, 1].conj()]), expected, rtol=0, atol=1e-13)


def test_quaternions_do_not_commute():
    one, i, j, k = (ds.quaternion_array(unit.reshape(1, 1, 4)) for unit in np.eye(4))
    for left, right, expected in ((i, j, k), (j, k, i), (k, i, j), (j, i, -k), (k, j, -i), (i, k, -j)):
        assert (left @ right - expected).norm() == 0
    for unit in (i, j, k):
        assert (unit @ unit + one).norm() == 0


@pytest.mark.parametrize("n", [0, 1, 2, 60])
@EACH_DTYPE
def test_the_gallery(n, dtype):
    components = ds.gallery.quaternion_ci(n, 0.2, 0.5, 0.9, dtype=dtype, seed=1)
    assert all(isinstance(q, sp.csr_array) and q.dtype == dtype and q.shape == (n, n) for q in components)
    Q = ds.gallery.quaternion_ci(n, 0.2, 0.5, 0.9, dtype=dtype, seed=1, format="ellcsr")
    assert (Q.format, Q.dtype) == ("ellcsr", dtype)
    dense = Q.toarray()
    assert np.array_equal(dense, np.stack([q.toarray() for q in components], -1))
    assert np.array_equal(dense, adjoint(dense))
    pattern = ds.gallery.ci_matrix(n, 0.2, 0.5, 0.9, symmetric=True, seed=1)
    assert Q.nnz == pattern.nnz
    with raises(TypeError, "gallery.quaternion_ci: dtype is complex128, expected float32 or float64"):
        ds.gallery.quaternion_ci(5, dtype=complex)
