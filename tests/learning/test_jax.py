"""Gradients, transformations and compilation of diagonals in JAX."""

from functools import partial

import numpy as np
import pytest
from cases import at_night, raises
from learned import EACH_SHAPE, SHAPES, inside, padded, random, scipys, x64  # noqa: F401

import diagsparse as ds

pytestmark = pytest.mark.usefixtures("x64")
jax = pytest.importorskip("jax")
jnp = jax.numpy
check_grads = pytest.importorskip("jax.test_util").check_grads

from diagsparse.jax import Diagonals, from_array  # noqa: E402

KINDS = [("wide", "float64"), ("tall", "complex128"), ("wide", "complex128"), ("tall", "float64")]


def matrix(name, dtype="float64", seed=0):
    """Return a matrix with zeros in the padding, for finite differences."""
    offsets, shape = SHAPES[name]
    return Diagonals(np.nan_to_num(padded(offsets, shape, dtype, seed)), offsets, shape)


def vector(n, dtype="float64", seed=1):
    return jnp.asarray(random(n, dtype=dtype, seed=seed))


def apply(A, x):
    return A @ x


@EACH_SHAPE
def test_gradient_of_a_square(name):
    """Of |A x - b|^2, in closed form; NaN in the padding reaches nothing."""
    offsets, shape = SHAPES[name]
    values = padded(offsets, shape)
    S, x, b = scipys(values, offsets, shape), vector(shape[1]), vector(shape[0], seed=2)

    def loss(A, x):
        return jnp.sum((A @ x - b) ** 2)

    value, (dA, dx) = jax.jit(jax.value_and_grad(loss, (0, 1)))(Diagonals(values, offsets, shape), x)
    r = S @ x - b
    columns = np.clip(np.arange(shape[0]) + np.array(offsets, int).reshape(-1, 1), 0, max(shape[1] - 1, 0))
    expected = np.where(inside(offsets, shape), 2 * r * np.append(x, 0)[columns], 0)
    assert isinstance(dA, Diagonals) and dA.offsets == offsets and dA.shape == shape
    assert np.isclose(value, r @ r)
    assert np.allclose(dA.values, expected, rtol=1e-12, atol=1e-12) and not np.any(dA.values[~inside(offsets, shape)])
    assert np.allclose(dx, 2 * S.T @ r, rtol=1e-12, atol=1e-12)


@jax.jit
def everything(A, x, X, y, Y):
    return A @ x, A @ X, y @ A, Y @ A, A.H, (A * 2 - A.conj() / 3).todense(), A.diagonal(0)


@pytest.mark.parametrize("order", at_night([1, 2], before=[1]))
@pytest.mark.parametrize("kind", at_night(KINDS, before=KINDS[:2]))
def test_derivatives(kind, order):
    A = matrix(*kind)
    m, n = A.shape
    shapes = (n,), (n, 2), (m,), (2, m)
    check_grads(everything, (A, *(jnp.asarray(random(*shape, dtype=A.dtype)) for shape in shapes)), order=order)


@pytest.mark.parametrize("order", at_night([1, 2], before=[1]))
def test_derivatives_of_loops(order):
    A = matrix("many")
    check_grads(jax.jit(lambda A, x, y: (A @ x, y @ A)), (A, *map(vector, A.shape[::-1])), order=order)


@pytest.mark.parametrize("order", at_night([2, 3], before=[2]))
def test_derivatives_of_higher_order(order):
    A = matrix("wide")
    check_grads(jax.jit(apply), (A, vector(9)), order=order)


@pytest.mark.parametrize("order", at_night([1, 2], before=[1]))
def test_derivatives_of_products_of_matrices(order):
    A, B = matrix("wide", "complex128"), matrix("tall", "complex128")
    check_grads(jax.jit(lambda A, B: (A @ B, A @ A.T + A @ A.H)), (A, B), order=order)


def test_real_matrix_times_complex_vector():
    A, x = matrix("wide"), vector(9, "complex128")
    check_grads(jax.jit(apply), (A, x), order=1)
    dA = jax.grad(lambda A: jnp.sum(jnp.abs(A @ x) ** 2))(A)
    assert dA.values.dtype == np.float64


def test_single_precision():
    A, x = matrix("band", "float32"), vector(6, "float32")
    check_grads(jax.jit(apply), (A, x), order=1, atol=1e-2, rtol=1e-2)
    assert jax.grad(lambda A: jnp.sum((A @ x) ** 2))(A).values.dtype == np.float32


def test_vmap():
    offsets, shape = SHAPES["wide"]
    values, vectors = jnp.asarray(random(4, 3, 5)), jnp.asarray(random(4, 9, seed=1))
    every = [Diagonals(v, offsets, shape) for v in values]
    stacked = jax.tree.map(lambda *arrays: jnp.stack(arrays), *every)
    close = partial(np.testing.assert_allclose, rtol=1e-13, atol=1e-13)
    close(jax.vmap(apply, (None, 0))(every[0], vectors), [every[0] @ x for x in vectors])
    close(jax.vmap(apply, (0, None))(stacked, vectors[0]), [A @ vectors[0] for A in every])
    close(jax.vmap(apply)(stacked, vectors), [A @ x for A, x in zip(every, vectors, strict=True)])
    close(jax.vmap(apply, (None, 1), 1)(every[0], vectors.T), np.stack([every[0] @ x for x in vectors], 1))
    block = jnp.asarray(random(4, 9, 2))
    close(jax.vmap(apply)(stacked, block), [A @ X for A, X in zip(every, block, strict=True)])
    both = jax.vmap(jax.vmap(apply, (None, 0)), (0, None))(stacked, vectors)
    close(both, [[A @ x for x in vectors] for A in every])
    close(jax.vmap(lambda A: (A @ A.T).values)(stacked), [(A @ A.T).values for A in every])
    with raises(ValueError, "(4, 3, 5)", "(3, 5)", "vmap"):
        stacked @ vectors[0]


def test_derivatives_under_vmap():
    offsets, shape = SHAPES["wide"]
    values, vectors = jnp.asarray(random(4, 3, 5)), jnp.asarray(random(4, 9, seed=1))

    def product(v, x):
        return Diagonals(v, offsets, shape) @ x

    for axes in ((None, 0), (0, None), (0, 0)):
        operands = [a if axis == 0 else a[0] for a, axis in zip((values, vectors), axes, strict=True)]
        check_grads(jax.jit(jax.vmap(product, axes)), operands, order=1)
    gradient = jax.jit(jax.grad(lambda v, x: jnp.sum(product(v, x) ** 2)))
    each = jax.vmap(gradient, (None, 0))(values[0], vectors)
    np.testing.assert_allclose(each, [gradient(values[0], x) for x in vectors], rtol=1e-12, atol=1e-13)


def test_jacobian_and_hessian():
    A = matrix("wide")
    x = vector(9)
    dense = np.asarray(A.todense())
    for jacobian in (jax.jacfwd, jax.jacrev):
        assert np.allclose(jacobian(lambda x: A @ x)(x), dense)
        assert np.allclose(jacobian(lambda x: x @ A.T)(x), dense)
    assert np.allclose(jax.hessian(lambda x: jnp.sum((A @ x) ** 2))(x), 2 * dense.T @ dense)


def test_a_pytree():
    A = matrix("band")
    (leaf,), structure = jax.tree.flatten(A)
    assert leaf is A.values and jax.tree.unflatten(structure, [leaf]).offsets == A.offsets
    assert jax.tree.structure(A) == jax.tree.structure(2 * A) != jax.tree.structure(A.T)
    assert jax.tree_util.tree_flatten_with_path(A)[0][0][0] == (jax.tree_util.GetAttrKey("values"),)
    assert repr(jax.tree.map(lambda _: None, A)).startswith("Diagonals(6 x 6 NoneType")
    step = jax.jit(lambda A, x: A - 0.1 * jax.grad(lambda A: jnp.sum((A @ x) ** 2))(A))
    assert step(A, vector(6)).offsets == A.offsets
    last, _ = jax.lax.scan(lambda x, _: (A @ x, None), vector(6), length=3)
    assert np.allclose(last, A @ (A @ (A @ vector(6))))


def test_traced_factors():
    A = matrix("band")
    assert np.allclose(jax.jit(lambda s: (s * A / (1 + s)).values)(2.0), A.values * 2 / 3)
    assert np.isclose(jax.grad(lambda s: jnp.sum((s * A).values))(2.0), jnp.sum(A.values))


def test_many_diagonals_compile_to_a_loop():
    """The number of operations does not depend on that of diagonals."""
    sizes = []
    for count in (100, 400):
        A = Diagonals(np.zeros((count, 500)), range(count), (500, 500))
        sizes.append(len(jax.jit(apply).lower(A, jnp.zeros(500)).as_text().splitlines()))
    assert sizes[0] == sizes[1] < 2000


def test_matrices_of_diagsparse_in_traced_functions():
    A, x = ds.array(ds.gallery.tridiagonal(6), "csr"), jnp.ones(6)
    for function in (lambda x: A @ x, lambda x: x @ A, A.matvec, lambda x: A * x[0], lambda x: A + x):
        with raises(TypeError, "jax.jit", "diagsparse.jax.from_array"):
            jax.jit(function)(x)
    assert np.allclose(jax.jit(lambda x: from_array(A) @ x)(x), A @ np.ones(6))
    with raises(TypeError, "to_array: JAX traces the values", "A.todense()"):
        jax.jit(lambda A: A.to_array())(from_array(A))
    with raises(TypeError, "integers", "traced"):
        jax.jit(lambda k: Diagonals(jnp.ones((1, 3)), [k], (3, 3)))(0)
