"""States like those on a GPU, in NumPy arrays: every operation compared with QuTiP's dense states."""

import pickle

import numpy as np
import pytest
from cases import raises
from qutip_layers import HostDense, data, layer, qutip, random_operator, same

KET, OTHER = (qutip.rand_ket(12, seed=seed).to("dense") for seed in (3, 5))
RHO = qutip.rand_dm(12, seed=4).to("dense")
A = random_operator(1)

STAY = {
    "sum": lambda x, y, r, a: x + 2j * y,
    "difference": lambda x, y, r, a: r - 1j * r.dag(),
    "neg": lambda x, y, r, a: -x,
    "dag": lambda x, y, r, a: x.dag(),
    "conj": lambda x, y, r, a: x.conj(),
    "trans": lambda x, y, r, a: r.trans(),
    "product": lambda x, y, r, a: r * r,
    "after an operator": lambda x, y, r, a: 1j * a * x,
    "block after an operator": lambda x, y, r, a: 1j * a * r,
    "before an operator": lambda x, y, r, a: r * (1j * a),
    "bra before an operator": lambda x, y, r, a: x.dag() * a,
    "projector": lambda x, y, r, a: x.proj(),
    "projector of a bra": lambda x, y, r, a: x.dag().proj(),
    "stacked": lambda x, y, r, a: qutip.operator_to_vector(r),
    "unstacked": lambda x, y, r, a: qutip.vector_to_operator(qutip.operator_to_vector(r)),
    "unit": lambda x, y, r, a: (3 * x).unit(),
    "copy": lambda x, y, r, a: x.copy(),
}
LEAVE = {
    "trace": lambda x, y, r, a: (1j * r).tr(),
    "norm": lambda x, y, r, a: [x.norm(), r.norm("fro"), r.norm()],
    "inner": lambda x, y, r, a: [x.dag() * y, x.overlap(y)],
    "expectation": lambda x, y, r, a: [qutip.expect(a, x), qutip.expect(1j * a, r)],
    "of an operator in csr": lambda x, y, r, a: qutip.expect(A, x),
    "of a superoperator": lambda x, y, r, a: data.expect_super(
        qutip.sprepost(a, a.dag()).data, qutip.operator_to_vector(r).data
    ),
    "isherm": lambda x, y, r, a: [qutip.Qobj(r.data).isherm, qutip.Qobj((1j * r).data).isherm],
    "equal": lambda x, y, r, a: [x == x, x == y],
    "error": lambda x, y, r, a: data.ode.wrmn_error(x.data, y.data, 1e-3, 1e-2),
}


def brought(group):
    return *(x.to(group) for x in (KET, OTHER, RHO)), A.to(group)


@pytest.mark.parametrize("name", STAY)
def test_results_stay(name):
    result = STAY[name](*brought("diagsparse-host"))
    assert type(result.data) is HostDense and same(result, STAY[name](*brought("core")))


@pytest.mark.parametrize("name", LEAVE)
def test_numbers(name):
    assert same(LEAVE[name](*brought("diagsparse-host")), LEAVE[name](*brought("core")))


def test_in_place_operations():
    x = KET.to("diagsparse-host").data
    array = x.array
    for result in (data.imul(x, 2j), data.iadd(x, x.copy(), 3)):
        assert result is x and x.array is array
    assert np.allclose(array, 8j * KET.full())
    transposed = data.transpose(RHO.to("diagsparse-host").data)
    assert not np.shares_memory(transposed.array, data.transpose(transposed).array)


def test_arrays_in_and_out():
    x = HostDense(np.arange(3.0))
    assert x.shape == (3, 1) and x.array.dtype == complex and repr(x) == str(x) == "HostDense(shape=(3, 1))"
    again = pickle.loads(pickle.dumps(x))
    assert type(again) is HostDense and np.array_equal(again.to_array(), x.to_array())
    out = x.to_array()
    out[:] = 7
    assert x.array[0, 0] == 0
    assert type(data.to("diagsparse", A.to("diagsparse-host").data)) is layer.Sparse


def test_errors():
    x, wide = HostDense(np.ones(12)), HostDense(np.ones((3, 4)))
    with raises(ValueError, "HostDense: got an array of 3 dimensions, expected 1 or 2"):
        HostDense(np.ones((2, 2, 2)))
    for call in (wide.trace, lambda: data.project(wide), lambda: data.column_unstack(wide, 3)):
        with raises(ValueError, "3", "4"):
            call()
    for call in (data.add, data.iadd, data.sub, data.inner):
        with raises(ValueError, "(12, 1)", "(3, 4)"):
            call(x, wide)
    for rows in (5, 0):
        with raises(ValueError, "column_unstack: the state has shape (12, 1)"):
            data.column_unstack(x, rows)
    with raises(ValueError, "l2: the state has shape (3, 4)"):
        data.norm.l2(wide)
    assert data.norm.l2(x) == pytest.approx(12**0.5)
    with raises(ValueError, "inner: the shapes are (12, 1) and (1, 1)"):
        data.inner(x, HostDense(np.ones((1, 1))))
    with raises(ValueError, "wrmn_error: the shapes are (12, 1) and (3, 4)"):
        data.ode.wrmn_error(x, wide, 1e-6, 1e-6)
