"""Gradients and transformations of diagonals in PyTorch, and of tensors in products with other matrices."""

from functools import partial

import numpy as np
import pytest
from cases import raises
from learned import EACH_SHAPE, SHAPES, inside, load, padded, random, scipys

import diagsparse as ds

load("torch")
import torch  # noqa: E402
from torch.autograd import gradcheck, gradgradcheck  # noqa: E402
from torch.multiprocessing.reductions import StorageWeakRef  # noqa: E402

from diagsparse.torch import Diagonals, from_array, matvec  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore:`torch.jit.script` is deprecated", "ignore:Memory Efficient Attention")


def tensor(x, device="cpu"):
    return torch.tensor(x, device=device, requires_grad=True)


def leaves(name, device="cpu", dtype="float64"):
    """Return offsets, shape, values with zeros in the padding, and two vectors."""
    offsets, (m, n) = SHAPES[name]
    values = np.nan_to_num(padded(offsets, (m, n), dtype))
    arrays = values, random(n, dtype=dtype, seed=1), random(m, dtype=dtype, seed=2)
    return offsets, (m, n), *(tensor(a, device) for a in arrays)


def checked(function, *operands):
    """Check derivatives of the first and second order, also forward and of batches."""
    assert gradcheck(function, operands, check_forward_ad=True, check_batched_grad=True)
    assert gradgradcheck(function, operands)


@EACH_SHAPE
def test_gradient_of_a_square(device, name):
    """Of |A x - b|^2, in closed form; NaN in the padding reaches nothing."""
    offsets, shape = SHAPES[name]
    values = padded(offsets, shape)
    S, x, b = scipys(values, offsets, shape), random(shape[1], seed=1), random(shape[0], seed=2)
    v, t = tensor(values, device), tensor(x, device)
    loss = ((Diagonals(v, offsets, shape) @ t - torch.tensor(b, device=device)) ** 2).sum()
    loss.backward()
    r = S @ x - b
    columns = np.clip(np.arange(shape[0]) + np.array(offsets, int).reshape(-1, 1), 0, max(shape[1] - 1, 0))
    expected = np.where(inside(offsets, shape), 2 * r * np.append(x, 0)[columns], 0)
    assert np.isclose(loss.item(), r @ r)
    assert np.allclose(v.grad.cpu(), expected, rtol=1e-12, atol=1e-12)
    assert not np.any(v.grad.cpu().numpy()[~inside(offsets, shape)])
    assert np.allclose(t.grad.cpu(), 2 * S.T @ r, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
@pytest.mark.parametrize("name", ["wide", "tall"])
def test_derivatives(device, name, dtype):
    offsets, shape, values, x, y = leaves(name, device, dtype)
    checked(lambda v, x: matvec(v, offsets, shape, x), values, x)
    checked(lambda v, y: y @ Diagonals(v, offsets, shape), values, y)
    block = tensor(random(shape[1], 2, dtype=dtype), device)
    checked(lambda v, X: matvec(v, offsets, shape, X), values, block)
    checked(lambda v, X: X.mT @ Diagonals(v, offsets, shape).T, values, block)
    checked(lambda v: (Diagonals(v, offsets, shape).H * 3).todense(), values)


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_derivatives_of_products_of_matrices(device, dtype):
    (p, a, v, *_), (q, b, w, *_) = leaves("wide", device, dtype), leaves("tall", device, dtype)
    checked(lambda v, w: (Diagonals(v, p, a) @ Diagonals(w, q, b)).values, v, w)
    checked(lambda v: (Diagonals(v, p, a) @ Diagonals(v, p, a).H).diagonal(1), v)


def test_real_matrix_times_complex_vector(device):
    offsets, shape, values, *_ = leaves("wide", device)
    x = tensor(random(9, dtype="complex128"), device)
    checked(lambda v, x: matvec(v, offsets, shape, x), values, x)
    assert matvec(values.float(), offsets, shape, x.to(torch.complex64)).dtype == torch.complex64


def test_vmap(device):
    offsets, shape, values, x, _ = leaves("wide", device)
    many, vectors = tensor(random(4, 3, 5), device), tensor(random(4, 9), device)

    def product(v, x):
        return matvec(v, offsets, shape, x)

    for axes in ((None, 0), (0, None), (0, 0)):
        each = [(v if axes[0] == 0 else values, t if axes[1] == 0 else x) for v, t in zip(many, vectors, strict=True)]
        operands = many if axes[0] == 0 else values, vectors if axes[1] == 0 else x
        mapped = torch.vmap(product, axes)
        torch.testing.assert_close(mapped(*operands), torch.stack([product(*pair) for pair in each]))
        checked(mapped, *operands)
    nested = torch.vmap(torch.vmap(product, (None, 0)), (0, None))(many, vectors)
    torch.testing.assert_close(nested[1, 2], product(many[1], vectors[2]))


def test_transforms(device):
    offsets, shape, values, x, _ = leaves("wide", device)
    values, x = values.detach(), x.detach()
    dense = Diagonals(values, offsets, shape).todense()

    def product(x):
        return matvec(values, offsets, shape, x)

    for jacobian in (torch.func.jacfwd, torch.func.jacrev):
        torch.testing.assert_close(jacobian(product)(x), dense)
    hessian = torch.func.hessian(lambda x: (product(x) ** 2).sum())(x)
    torch.testing.assert_close(hessian, 2 * dense.T @ dense)
    gradient = torch.func.grad(lambda v, x: (matvec(v, offsets, shape, x) ** 2).sum())
    vectors = torch.tensor(random(4, 9), device=device)
    mapped = torch.vmap(gradient, (None, 0))(values, vectors)
    torch.testing.assert_close(mapped, torch.stack([gradient(values, x) for x in vectors]))


@pytest.mark.filterwarnings("ignore")  # of PyTorch's own
@pytest.mark.parametrize("backend", ["aot_eager", pytest.param("inductor", marks=pytest.mark.nightly)])
def test_compile(device, backend):
    offsets, shape, values, x, _ = leaves("wide", device)

    def loss(v, x):
        return (torch.sin(2 * matvec(v, offsets, shape, x)) ** 2).sum()

    expected = torch.autograd.grad(loss(values, x), (values, x))
    compiled = torch.compile(loss, backend=backend, fullgraph=True)
    for one, other in zip(torch.autograd.grad(compiled(values, x), (values, x)), expected, strict=True):
        torch.testing.assert_close(one, other)


@pytest.mark.filterwarnings("ignore")
def test_the_operator_is_registered(device):
    _, shape, values, x, _ = leaves("wide", device)
    arguments = "product", [3, -1, 0], [], [*shape], [0, 1, 2], []
    torch.library.opcheck(torch.ops.diagsparse.terms.default, (values, x.detach()[None].requires_grad_(), *arguments))


class Fit(torch.nn.Module):
    """A module whose parameter are the values of a band."""

    def __init__(self, A):
        super().__init__()
        self.values = torch.nn.Parameter(A.values)
        self.offsets, self.shape = A.offsets, A.shape

    def forward(self, x):
        return Diagonals(self.values, self.offsets, self.shape) @ x


def test_a_module_learns(device):
    wanted = from_array(ds.gallery.banded(20, 1, 1, seed=0)).to(device)
    model = Fit(wanted * 0).to(device)
    optimizer = torch.optim.LBFGS(model.parameters(), line_search_fn="strong_wolfe")
    x = torch.tensor(random(20, 8), device=device)

    def step():
        optimizer.zero_grad()
        loss = ((model(x) - wanted @ x) ** 2).mean()
        loss.backward()
        return loss

    for _ in range(20):
        optimizer.step(step)
    torch.testing.assert_close(model.values.detach(), wanted.values, rtol=1e-3, atol=1e-3)


@pytest.mark.gpu
def test_streams():
    """Work runs in PyTorch's current stream: nothing else waits for the delay there."""
    offsets, shape, values, x, _ = leaves("many", "cuda")
    expected = matvec(values, offsets, shape, x)
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        late = x.detach().clone().zero_()
        torch.cuda._sleep(50_000_000)
        late.copy_(x.detach())
        y = matvec(values, offsets, shape, late)
    assert not side.query()
    side.synchronize()
    torch.testing.assert_close(y, expected)


# ---- tensors in products with matrices of diagsparse --------------------------------------------------------------
@pytest.mark.parametrize("format", ["dia", "hm", "csr", "mdia"])
@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_gradients_of_tensors(device, format, dtype):
    band = ds.gallery.banded(7, 2, 1, seed=0).tocsr()[:5]
    for S in (band, band * (1 + 2j)):
        A = ds.array(S, format, device=device)
        m, n = A.shape
        for shape in ((n,), (n, 2)):
            x = tensor(random(*shape, dtype=dtype), device)
            y = tensor(random(*(shape[1:] + (m,)), dtype=dtype), device)
            for function, operand in (
                (A.__matmul__, x), (partial(A.matvec, alpha=2), x), (A.__rmatmul__, y), (A.T.rmatvec, x),
                (A.conj().__matmul__, x),
            ):  # fmt: skip
                assert function(operand).device == operand.device
                assert gradcheck(function, operand, check_forward_ad=True)
                assert gradgradcheck(function, operand)
        assert np.allclose((A @ x.detach()).cpu().numpy(), S @ x.detach().cpu().numpy())


def test_tensors_give_tensors(device):
    A = ds.dia_array(ds.gallery.tridiagonal(6)).to(device)
    for dtype, result in (
        (torch.float32, torch.float64),
        (torch.int64, torch.float64),
        (torch.bfloat16, torch.float64),
        (torch.complex64, torch.complex128),
    ):
        x = torch.ones(6, dtype=dtype)
        for y in (A @ x, x @ A, A @ x[:, None], A.matvec(x)):
            assert isinstance(y, torch.Tensor) and y.device == x.device and y.dtype == result
    x = torch.ones(6, requires_grad=True)
    (A @ x).sum().backward()
    assert x.grad.dtype == torch.float32 and x.grad.tolist() == [1, 0, 0, 0, 0, 1]
    out = np.zeros(6)
    assert A.matvec(x.detach(), out=out) is out and out.tolist() == [1, 0, 0, 0, 0, 1]
    with raises(TypeError, "gradient", "out=", "detach()"):
        A.matvec(x, out=out)
    with torch.no_grad():
        assert not (A @ x).requires_grad
    with raises(ValueError, "x has 5 elements", "6 x 6"):
        A @ torch.ones(5)


def test_vmap_of_tensors():
    A = ds.csr_array(ds.gallery.banded(7, 2, 1, seed=0))
    x, X = torch.tensor(random(4, 7)), torch.tensor(random(4, 7, 3))
    torch.testing.assert_close(torch.vmap(lambda x: A @ x)(x), torch.stack([A @ one for one in x]))
    torch.testing.assert_close(torch.vmap(lambda x: A @ x)(X), torch.stack([A @ one for one in X]))
    torch.testing.assert_close(torch.func.jacfwd(lambda x: A @ x)(x[0]), torch.tensor(A.toarray()))


def test_values_are_freed():
    """What is kept for the next product with the same diagonals does not keep the values."""
    values = torch.ones((2, 50))
    memory = StorageWeakRef(values.untyped_storage())
    Diagonals(values, (0, 7), (50, 50)) @ torch.ones(50)
    del values
    assert memory.expired()


def test_forward_derivatives_of_forward_ones_are_refused():
    def f(t):
        return matvec(torch.ones((1, 3), dtype=torch.float64), (0,), (3, 3), torch.sin(t)).sum()

    t = torch.tensor([0.3, 0.5, 0.7], dtype=torch.float64)
    with raises(NotImplementedError, "forward derivatives", "torch.func.grad"):
        torch.func.jacfwd(torch.func.jacfwd(f))(t)
    torch.testing.assert_close(torch.func.jacfwd(torch.func.grad(f))(t), torch.diag(-torch.sin(t)))
    torch.testing.assert_close(torch.func.hessian(f)(t), torch.diag(-torch.sin(t)))
