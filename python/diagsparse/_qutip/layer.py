"""The data layer: the functions that importing `diagsparse.qutip` registers in QuTiP."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, wraps
from types import ModuleType
from typing import Any

from qutip.core import data as qutip_data
from qutip.core.data import Data, Dense

from . import operators, states
from .operators import Sparse
from .states import CudaDense


def add_operators(cls: type[Sparse]) -> None:
    """Register the operations of operators of a class, among themselves and with QuTiP's dense states."""
    specialisations: dict[Any, list[tuple]] = {
        **common_operations(cls, operators),
        qutip_data.imul: [(cls, cls, operators.mul)],
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
    add(specialisations)


def add_states(cls: type[CudaDense], operator: type[Sparse]) -> None:
    """Register the operations of states of a class, among themselves and with operators on the same device."""
    specialisations: dict[Any, list[tuple]] = {
        **common_operations(cls, states),
        qutip_data.iadd: [(cls, cls, cls, states.iadd)],
        qutip_data.imul: [(cls, cls, states.imul)],
        qutip_data.matmul: [
            (cls, cls, cls, with_out(states.matmul)),
            (operator, cls, cls, with_out(states.times_state)),
            (cls, operator, cls, with_out(states.state_times)),
        ],
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
    add(specialisations)


def common_operations(cls: Any, functions: ModuleType) -> dict[Any, list[tuple]]:
    """Return the operations that operators and states have in common, from the module of their functions."""
    return {
        qutip_data.add: [(cls, cls, cls, functions.add)],
        qutip_data.sub: [(cls, cls, cls, partial(functions.add, scale=-1))],
        qutip_data.mul: [(cls, cls, functions.mul)],
        qutip_data.neg: [(cls, cls, partial(functions.mul, value=-1))],
        qutip_data.transpose: [(cls, cls, cls.transpose)],
        qutip_data.conj: [(cls, cls, cls.conj)],
        qutip_data.adjoint: [(cls, cls, cls.adjoint)],
        qutip_data.trace: [(cls, cls.trace)],
        qutip_data.zeros: [(cls, partial(functions.zeros, cls))],
    }


def with_out(product: Callable[..., Any]) -> Callable[..., Any]:
    """Add a parameter `out` to ``product(left, right, scale)``, to which the result is added.

    QuTiP passes `out` in products of its own types, even if it is None.
    """

    @wraps(product)
    def call(left: Data, right: Data, scale: complex = 1, out: Data | None = None) -> Data:
        result = product(left, right, scale)
        return result if out is None else qutip_data.iadd(out, result)

    return call


def expect_of_any(op: Data, state: Data) -> complex:
    """Return the expectation value for any two types, including those that are registered later.

    QuTiP's own function interprets a state with one element as a bra. It is still used for types of other libraries.
    """
    ours = isinstance(op, Sparse | CudaDense) or isinstance(state, Sparse | CudaDense)
    return operators.expect_by_product(op, state) if ours else qutip_data.expect_data(op, state)


def add(specialisations: dict[Any, list[tuple]]) -> None:
    """Register functions in QuTiP's dispatchers."""
    for dispatcher, functions in specialisations.items():
        dispatcher.add_specialisations(functions)
