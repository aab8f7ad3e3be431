"""Operators in QuTiP's data layer: sums, products, states and expectations, against QuTiP's own dense arithmetic."""

from typing import Any

import numpy as np
from oracle import long

from fuzz.arrays import NARROW, numbers, widened
from fuzz.case import Case
from fuzz.checks import close
from fuzz.matrices import Drawn, draw, extents

try:
    from qutip.core import data

    import diagsparse.qutip as layer
except ImportError:  # the extra qutip is not installed
    layer = None
COMPLEX = np.dtype("complex128")


def operator(case: Case, shape: tuple[int, int]) -> tuple[Any, np.ndarray, Drawn]:
    """Return an operator with a factor, and its dense equivalent."""
    while True:
        drawn = draw(case, shape=shape)
        if drawn.A.dtype not in NARROW:
            break
    factor = case.pick([1, 1, -1j, 0.5, 2 - 1j])
    case.note("factor", factor)
    return layer.Sparse(drawn.A, factor), long(drawn.exact) * factor, drawn


def dense(given: Any) -> np.ndarray:
    """Return a result of the layer as an array."""
    return given.to_array() if hasattr(given, "to_array") else np.asarray(given)


def loose(drawn: Drawn) -> int:
    """Return how many roundings of float64 equal one of the matrix's own type."""
    return int(np.finfo(widened(drawn.exact.dtype)).eps / np.finfo(float).eps)


def algebra(case: Case) -> None:
    """Sums, products, Kronecker products, views."""
    shape = extents(case)
    a, x, of_a = operator(case, shape)
    name = case.pick(["add", "sub", "mul", "neg", "matmul", "kron", "multiply", "adjoint", "transpose", "conj"])
    case.note(name)
    if name in ("neg", "adjoint", "transpose", "conj"):
        result = getattr(data, name)(a)
        ref = {"neg": -x, "adjoint": x.conj().T, "transpose": x.T, "conj": x.conj()}[name]
        size, terms = abs(ref), 2
    elif name == "mul":
        factor = case.pick([2, -0.5j, 1 + 1j, 0])
        result, ref = data.mul(a, factor), x * factor
        size, terms = abs(ref), 2
    else:
        second = {"matmul": (shape[1], case.between(0, 20)), "kron": (case.between(0, 6), case.between(0, 6))}
        b, y, of_b = operator(case, second.get(name, shape))
        result = getattr(data, name)(a, b)
        ref, size = {
            "add": lambda: (x + y, abs(x) + abs(y)),
            "sub": lambda: (x - y, abs(x) + abs(y)),
            "multiply": lambda: (x * y, abs(x * y)),
            "matmul": lambda: (x @ y, abs(x) @ abs(y)),
            "kron": lambda: (np.kron(x, y), abs(np.kron(x, y))),
        }[name]()
        terms = shape[1] + 2
        terms *= max(loose(of_a), loose(of_b))
        of_b.require_unchanged()
    assert isinstance(result, layer.Sparse), type(result)
    close(dense(result).astype(COMPLEX), ref, size, (terms + 4) * loose(of_a))
    of_a.require_unchanged()


def with_states(case: Case) -> None:
    """Products with kets and blocks, expectations, traces, norms."""
    n = case.between(1, 40)
    a, x, drawn = operator(case, (n, n))
    terms = (n + 6) * loose(drawn)
    columns = case.pick([1, 1, 3, n])
    state = data.Dense(np.asarray(numbers(case, (n, columns), COMPLEX, "uniform"), order=case.pick("CF")))
    s = long(state.to_array())
    name = case.pick(["matmul", "expect", "trace", "inner_op"])
    case.note(name, columns)
    if name == "matmul":
        close(dense(data.matmul(a, state)), x @ s, abs(x) @ abs(s), terms)
    elif name == "expect":
        state = state if columns in (1, n) else data.Dense(np.ascontiguousarray(state.to_array()[:, :1]))
        s = long(state.to_array())
        ket = s.shape[1] == 1
        ref = (s.conj().T @ x @ s)[0, 0] if ket else np.trace(x @ s)
        size = (abs(s).T @ abs(x) @ abs(s))[0, 0] if ket else np.trace(abs(x) @ abs(s))
        close(np.asarray(data.expect(a, state), COMPLEX), np.asarray(ref), np.asarray(size), 2 * terms)
    elif name == "trace":
        close(np.asarray(data.trace(a), COMPLEX), np.asarray(np.trace(x)), np.asarray(abs(np.diag(x)).sum()), terms)
    else:
        left = data.Dense(np.ascontiguousarray(state.to_array()[:, :1]))
        bra = data.adjoint(left)
        ket = long(left.to_array())
        ref, size = (ket.conj().T @ x @ ket)[0, 0], (abs(ket).T @ abs(x) @ abs(ket))[0, 0]
        close(np.asarray(data.inner_op(bra, a, left), COMPLEX), np.asarray(ref), np.asarray(size), 2 * terms)
    drawn.require_unchanged()


CHECKS: dict[Any, float] = {algebra: 2, with_states: 1} if layer else {}
