"""Time-dependent operators of QuTiP as lists of matrices and functions, for `evolve` and `linear_combination`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import qutip

from .._backends.types import plain_number
from .operators import Sparse


def terms(H: Any) -> list[Any]:
    """Return an operator of QuTiP as the list ``[A0, [A1, f1], ...]`` that `diagsparse.evolve` takes.

    QuTiP's solvers multiply the state by each term of a `QobjEvo` and add the products. `diagsparse.evolve` and
    `diagsparse.linear_combination` compute one matrix at each time.

    Parameters
    ----------
    H : qutip.QobjEvo, qutip.Qobj, or what `QobjEvo` accepts
        Operators in the data layers of this library keep their matrices; others are converted.

    Returns
    -------
    list
        Matrices of constant terms, and pairs of a matrix and a function of time, which is QuTiP's coefficient.

    Raises
    ------
    TypeError
        If a term is a function that returns operators, or a product of time-dependent ones, whose matrices are not
        known in advance.

    Examples
    --------
    >>> import numpy as np, qutip, diagsparse as ds, diagsparse.qutip
    >>> H = qutip.QobjEvo([qutip.sigmaz(), [qutip.sigmax(), lambda t: np.sin(t)]])
    >>> psi = qutip.basis(2, 0)
    >>> result = ds.evolve(ds.qutip.terms(H), psi.full()[:, 0], 2.0)
    >>> expected = qutip.sesolve(H, psi, [0, 2.0], options={"atol": 1e-10, "rtol": 1e-8}).states[-1]
    >>> bool(np.allclose(result.final, expected.full()[:, 0], atol=1e-7))
    True
    """
    evolution = H if isinstance(H, qutip.QobjEvo) else qutip.QobjEvo(H)
    return [_term(term) for term in evolution.to_list()]


def _term(term: Any) -> Any:
    """Return a term of `QobjEvo.to_list`: a matrix, or a pair of a matrix and a function."""
    if isinstance(term, qutip.Qobj):
        data = _data(term)
        return data.matrix if data.factor == 1 else data.matrix * plain_number(data.factor)
    operator, coefficient = term
    if not isinstance(operator, qutip.Qobj):
        raise TypeError("terms: a term of H is a function that returns operators, expected operators and coefficients")
    data = _data(operator)
    return [data.matrix, coefficient if data.factor == 1 else _scaled(coefficient, data.factor)]


def _data(operator: Any) -> Sparse:
    """Return an operator as data of this library."""
    return operator.data if isinstance(operator.data, Sparse) else operator.to(Sparse).data


def _scaled(coefficient: Callable[[float], Any], factor: complex) -> Callable[[float], Any]:
    return lambda t: factor * coefficient(t)
