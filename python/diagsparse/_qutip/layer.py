"""The data layer: what QuTiP is told of our types when `diagsparse.qutip` is imported."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, wraps
from typing import Any

from qutip.core import data as qutip_data
from qutip.core.data import Data, Dense

from . import operators, states
from .operators import Sparse
from .states import CudaDense


def add_operators(cls: type[Sparse]) -> None:
    """Tell QuTiP what it can do with operators of a class, alone and with its own dense states."""
    told: dict[Any, list[tuple]] = {
        qutip_data.add: [(cls, cls, cls, operators.add)],
        qutip_data.sub: [(cls, cls, cls, operators.sub)],
        qutip_data.mul: [(cls, cls, operators.mul)],
        qutip_data.imul: [(cls, cls, operators.mul)],
        qutip_data.neg: [(cls, cls, operators.neg)],
        qutip_data.transpose: [(cls, cls, cls.transpose)],
        qutip_data.conj: [(cls, cls, cls.conj)],
        qutip_data.adjoint: [(cls, cls, cls.adjoint)],
        qutip_data.trace: [(cls, cls.trace)],
        qutip_data.matmul: [
            (cls, cls, cls, with_out(operators.matmul)),
            (cls, Dense, Dense, with_out(operators.times_dense)),
            (Dense, cls, Dense, with_out(operators.dense_times)),
        ],
        qutip_data.matmul_dag: [
            (cls, cls, cls, with_out(operators.matmul_dag)),
            (Dense, cls, Dense, with_out(operators.dense_times_adjoint)),
        ],
        qutip_data.multiply: [(cls, cls, cls, operators.multiply)],
        qutip_data.kron: [(cls, cls, cls, operators.kronecker)],
        qutip_data.zeros: [(cls, partial(operators.zeros, cls))],
        qutip_data.identity: [(cls, partial(operators.identity, cls))],
        qutip_data.iszero: [(cls, operators.iszero)],
        qutip_data.isherm: [(cls, operators.isherm)],
        qutip_data.expect: [(Data, Data, expect_of_any), (cls, Dense, operators.expect)],
        qutip_data.expect_super: [(cls, Dense, operators.expect_super)],
        qutip_data.eigs: [(cls, operators.eigs)],
        qutip_data.pow: [(cls, cls, operators.by_csr(qutip_data.pow_csr))],
        qutip_data.tidyup: [(cls, operators.by_csr(qutip_data.tidyup_csr))],
        qutip_data.permute.dimensions: [(cls, cls, operators.by_csr(qutip_data.permute.dimensions_csr))],
        qutip_data.permute.indices: [(cls, cls, operators.by_csr(qutip_data.permute.indices_csr))],
    }
    add(told)


def add_states(cls: type[CudaDense], operator: type[Sparse]) -> None:
    """Tell QuTiP what it can do with states of a class, alone and with operators that lie where they do."""
    told: dict[Any, list[tuple]] = {
        qutip_data.add: [(cls, cls, cls, states.add)],
        qutip_data.iadd: [(cls, cls, cls, states.iadd)],
        qutip_data.sub: [(cls, cls, cls, states.sub)],
        qutip_data.mul: [(cls, cls, states.mul)],
        qutip_data.imul: [(cls, cls, states.imul)],
        qutip_data.neg: [(cls, cls, states.neg)],
        qutip_data.transpose: [(cls, cls, cls.transpose)],
        qutip_data.conj: [(cls, cls, cls.conj)],
        qutip_data.adjoint: [(cls, cls, cls.adjoint)],
        qutip_data.trace: [(cls, cls.trace)],
        qutip_data.matmul: [
            (cls, cls, cls, with_out(states.matmul)),
            (operator, cls, cls, with_out(states.times_state)),
            (cls, operator, cls, with_out(states.state_times)),
        ],
        qutip_data.zeros: [(cls, partial(states.zeros, cls))],
        qutip_data.column_stack: [(cls, cls, states.column_stack)],
        qutip_data.column_unstack: [(cls, cls, states.column_unstack)],
        qutip_data.inner: [(cls, cls, states.inner)],
        qutip_data.project: [(cls, cls, states.project)],
        qutip_data.norm.frobenius: [(cls, states.frobenius)],
        qutip_data.norm.l2: [(cls, states.l2)],
        qutip_data.ode.wrmn_error: [(cls, cls, states.wrmn_error)],
        qutip_data.expect: [(Data, Data, expect_of_any), (operator, cls, operators.expect)],
        qutip_data.expect_super: [(operator, cls, operators.expect_super)],
    }
    add(told)


def with_out(product: Callable[..., Any]) -> Callable[..., Any]:
    """Return ``product(left, right, scale)`` that takes `out` as well, to which the result is then added.

    QuTiP calls the products of its own types so, also where it has nothing to add to.
    """

    @wraps(product)
    def call(left: Data, right: Data, scale: complex = 1, out: Data | None = None) -> Data:
        result = product(left, right, scale)
        return result if out is None else qutip_data.iadd(out, result)

    return call


def expect_of_any(op: Data, state: Data) -> complex:
    """Return the expectation value for any two types, also for those that are registered later.

    QuTiP's own function takes a state of one element as a bra. It stays in use where neither type is ours.
    """
    ours = isinstance(op, Sparse | CudaDense) or isinstance(state, Sparse | CudaDense)
    return operators.expect_by_product(op, state) if ours else qutip_data.expect_data(op, state)


def add(told: dict[Any, list[tuple]]) -> None:
    """Give QuTiP's dispatchers their functions."""
    for dispatcher, functions in told.items():
        dispatcher.add_specialisations(functions)
