"""Operators of ours in QuTiP: every operation compared with its own csr, their formats, and errors."""

import os
import pickle
import sys
from importlib.util import find_spec

import numpy as np
import pytest
import qutip_layers as layers
from cases import raises
from processes import python
from qutip_layers import chain, data, layer, matrix_of, qutip, random_operator, same

import diagsparse as ds

A, B = random_operator(1), random_operator(2)
KET = qutip.rand_ket(12, seed=3)
RHO = qutip.rand_dm(12, seed=4).to("dense")

STAY = {  # operations whose result is one of ours
    "neg": lambda a, b: -a,
    "times a number": lambda a, b: (2 - 1j) * a,
    "over a number": lambda a, b: a / 4,
    "sum": lambda a, b: a + b,
    "sum of one phase": lambda a, b: -1j * a + 0.5j * b,
    "sum of several phases": lambda a, b: -1j * a + 2 * b + (1 + 1j) * a,
    "sum with nothing": lambda a, b: 0 * a + b,
    "sum of nothing": lambda a, b: 0 * a + 0 * b,
    "sum far apart": lambda a, b: 1e-200 * (1e-100 * a) + 1e200 * (1e-200 * b),
    "difference": lambda a, b: 1j * a - b,
    "with a number": lambda a, b: a + 3 - 1j,
    "product": lambda a, b: 1j * a * b,
    "dag": lambda a, b: (1j * a).dag(),
    "conj": lambda a, b: (1j * a).conj(),
    "trans": lambda a, b: (1j * a).trans(),
    "product of views": lambda a, b: (1j * a).dag() * b.trans(),
    "power": lambda a, b: (1j * a) ** 3,
    "tensor": lambda a, b: qutip.tensor(1j * a, b),
    "permuted": lambda a, b: qutip.tensor(1j * a, b).permute([1, 0]),
    "copy": lambda a, b: a.copy(),
    "tidied": lambda a, b: (a + 1e-14 * b).tidyup(),
    "spre": lambda a, b: qutip.spre(1j * a),
    "spost": lambda a, b: qutip.spost(1j * a),
    "sprepost": lambda a, b: qutip.sprepost(1j * a, b),
    "liouvillian": lambda a, b: qutip.liouvillian(a + a.dag(), [b, 0.1 * a]),
    "identity": lambda a, b: qutip.qeye_like(a),
    "zero": lambda a, b: qutip.qzero_like(a),
}
LEAVE = {  # operations whose result is a number, a state or dense
    "times a ket": lambda a, b: (1j * a) * KET,
    "times a matrix": lambda a, b: (1j * a) * RHO,
    "after a matrix": lambda a, b: RHO * (1j * a),
    "after a bra": lambda a, b: KET.dag() * (1j * a),
    "between states": lambda a, b: (1j * a).matrix_element(KET, KET),
    "trace": lambda a, b: (1j * a).tr(),
    "of a ket": lambda a, b: qutip.expect(1j * a, KET),
    "of a density matrix": lambda a, b: qutip.expect(1j * a, RHO),
    "of views": lambda a, b: [qutip.expect(v, s) for v in ((1j * a).dag(), a.conj(), a.trans()) for s in (KET, RHO)],
    "of a sparse state": lambda a, b: qutip.expect(1j * a, KET.to("csr")),
    "eigenvalues": lambda a, b: (a + a.dag()).eigenenergies(),
    "norm": lambda a, b: (1j * a).norm("fro"),
    "exponential": lambda a, b: (0.1j * a).expm(),
    "diagonal": lambda a, b: (1j * a).diag(),
    "part": lambda a, b: qutip.tensor(1j * a, b).ptrace(0),
    "isherm": lambda a, b: [x.isherm for x in (qutip.Qobj(y.data) for y in (a, a + a.dag(), 1j * (a - a.dag())))],
    "equal": lambda a, b: [a == a, a == b, a == a + 1e-14 * b],
}


@pytest.mark.parametrize("group", ["diagsparse", "diagsparse-host"])
@pytest.mark.parametrize("name", STAY)
def test_results_stay(name, group):
    result = STAY[name](A.to(group), B.to(group))
    assert type(result.data) is data.to.parse(group).sparse
    assert same(result, STAY[name](A, B)) and result.data.to_array().dtype == complex


@pytest.mark.parametrize("group", ["diagsparse", "diagsparse-host"])
@pytest.mark.parametrize("name", LEAVE)
def test_other_results(name, group):
    result, expected = LEAVE[name](A.to(group), B.to(group)), LEAVE[name](A, B)
    assert type(result) is type(expected) and same(result, expected, 1e-10)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("shape", [(12, 1), (12, 12), (12, 5)])
def test_dense_blocks_of_both_orders(shape, order):
    x = data.Dense(np.asarray(np.random.default_rng(0).normal(size=shape) + 1j, order=order))
    a = (1j * A.to("diagsparse")).data
    for result in (data.matmul(a, x, 2j), data.transpose(data.matmul(data.transpose(x), data.transpose(a), 2j))):
        assert np.allclose(result.to_array(), -2 * A.full() @ x.to_array())
    assert shape[1] == 1 or data.matmul(a, x).fortran == x.fortran == (order == "F")
    dagger = data.matmul_dag(data.adjoint(x), a, 2j)
    assert np.allclose(dagger.to_array(), x.to_array().conj().T @ A.full().conj().T * 2)


def test_rectangular_operators():
    a = random_operator(5, 7, 12)
    ours = a.to("diagsparse")
    assert same(ours * KET, a * KET) and same(ours * ours.dag(), a * a.dag()) and ours.data.adjoint() != a.data
    assert not data.isherm(ours.data)
    for call in (ours.data.trace, lambda: data.expect(ours.data, KET.data)):
        with pytest.raises(ValueError, match="7"):
            call()


@pytest.mark.parametrize("state", ["csr", "dia", "dense", layer.Sparse, layers.HostSparse, layers.HostDense], ids=str)
@pytest.mark.parametrize("operator", [layer.Sparse, layers.HostSparse, layers.HostDense])
def test_the_expectation_value_of_one_element_takes_the_state_as_a_ket(operator, state):
    a, x = qutip.Qobj([[2 + 1j]]).to(operator), qutip.Qobj([[0.6 + 0.8j]]).to(state)
    assert same(qutip.expect(a, qutip.Qobj(x, dims=[[1], [1]])), 2 + 1j)
    assert same([data.expect(a.data, x.data), data.expect(x.data, a.data)], [2 + 1j, 5 * (0.6 + 0.8j)])


LATER = """
import numpy as np
import qutip
import qutip_layers as layers  # imports diagsparse.qutip

class Later(layers.HostDense):
    pass

to, expect = qutip.core.data.to, qutip.core.data.expect
to.add_conversions([
    (Later, layers.data.Dense, lambda given: Later(given.as_ndarray().copy()), 1),
    (layers.data.Dense, Later, layers.states.to_dense, 1),
])
a, x = qutip.Qobj([[2 + 1j]]).data, qutip.Qobj([[0.6 + 0.8j]]).data
for other in (layers.layer.Sparse, layers.HostDense):
    values = [expect(to(other, a), to(Later, x)), expect(to(Later, a), to(other, x))]
    assert np.allclose(values, 2 + 1j), (other, values)
"""


def test_expectation_values_follow_types_that_are_registered_later():
    python(LATER, PYTHONPATH=os.pathsep.join(sys.path))  # alone: QuTiP forgets no type


def test_superoperators():
    L, vector = qutip.liouvillian(A + A.dag(), [B]), qutip.operator_to_vector(RHO).to("dense")
    ours = L.to("diagsparse")
    assert same(data.expect_super(ours.data, vector.data), data.expect_super(L.data, vector.data))
    with raises(ValueError, "expect_super: the operator has shape (144, 144), the state (12, 1)"):
        data.expect_super(ours.data, KET.data)
    with raises(ValueError, "expect: the operator has shape (144, 144), the state (12, 1)"):
        data.expect(ours.data, KET.data)


@pytest.mark.parametrize("format", ["hm", "dia", "cdm", "mdia", "csr", "sell", "qband"])
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
def test_format_and_type_are_preserved(format, dtype):
    matrix = ds.array(ds.gallery.banded(12, 1, 2, seed=0), format, dtype=dtype)
    H = -1j * qutip.Qobj(matrix)
    assert matrix_of(H).format == format and matrix_of(H).dtype == dtype and H.data.factor == -1j
    assert same(H * KET, qutip.Qobj(-1j * matrix.toarray().astype(complex)) * KET)
    assert same(H.dag() * KET, qutip.Qobj(1j * matrix.toarray().astype(complex).conj().T) * KET)
    assert same(H + H, qutip.Qobj(-2j * matrix.toarray().astype(complex)), 1e-6)


def test_packed_matrices_stay_packed():
    full = ds.hm_array(ds.gallery.tridiagonal(12))
    for packed in (ds.hm_array(full, symmetry="symmetric"), ds.dia_array(full, period=1)):
        H = -1j * qutip.Qobj(packed)
        assert matrix_of(H).nbytes == packed.nbytes < full.nbytes
        theirs = qutip.Qobj(full.toarray())
        assert same(H * KET, -1j * theirs * KET) and same(H + 1j * H, (1 - 1j) * theirs) and same(H.tr(), -24j)


def test_real_and_imaginary_operators_are_stored_as_real_ones():
    H, _ = chain(4)
    for factor, expected_factor in ((1, 1), (-1j, 1j)):
        ours = (factor * H).to("diagsparse")
        assert matrix_of(ours).dtype == np.float64 and ours.data.factor == expected_factor and same(ours, factor * H)
    assert matrix_of((-1j * H.to("diagsparse")) + (0.5j * H.to("diagsparse"))).dtype == np.float64
    assert matrix_of((H + 1j * layers.spin("z", 0, 4)).to("diagsparse")).dtype == np.complex128


def test_results_take_the_format_of_the_fewest_bytes():
    a, eye = (x.to("diagsparse") for x in (qutip.destroy(32), qutip.qeye(32)))
    assert matrix_of(a * a.dag()).format == matrix_of(qutip.tensor(a, eye)).format == "hm"
    row = qutip.Qobj(ds.hm_array(np.eye(8)[:, :1] * np.ones(8)))
    assert matrix_of(row).format == "hm"
    assert matrix_of(qutip.tensor(eye, row)).format == "csr"  # most of seven diagonals are zeros
    scattered = qutip.Qobj(ds.csr_array(np.eye(64)[np.random.default_rng(0).permutation(64)]))
    both = qutip.qeye(64).to("diagsparse") + scattered
    assert matrix_of(both).format == "csr"


def test_copies_are_independent_and_operators_do_not_change():
    matrix = ds.hm_array(ds.gallery.tridiagonal(6))
    H = qutip.Qobj(matrix)
    again, before = H.copy(), H.full()
    matrix.values[:] = 7
    again.data.matrix.values[:] = 8
    assert np.array_equal(H.full(), before)
    shared = qutip.Qobj(matrix, copy=False)
    matrix.values[:] = 9
    assert shared.full()[0, 0] == 9
    theirs = A.copy()
    ours = theirs.to("diagsparse")
    data.imul(theirs.data, 0)
    assert same(ours, A)


def test_pickles_and_reprs():
    H = -1j * A.to("diagsparse")
    again = pickle.loads(pickle.dumps(H))
    assert type(again.data) is layer.Sparse and same(again, H)
    assert repr(H.data) == str(H.data) == f"Sparse({H.data.factor} * {H.data.matrix!r})"


def test_errors():
    H = A.to("diagsparse")
    with pytest.raises(ValueError, match="shape"):
        layer.Sparse(3)
    with pytest.raises(TypeError):
        layer.Sparse(H.data.matrix, "two")
    with pytest.raises(TypeError):
        data.mul(H.data, "two")
    with raises(ValueError, "multiply: the shapes are (12, 12) and (12, 1), expected the same"):
        data.multiply(H.data, KET.to(layer.Sparse).data)
    with raises(ValueError, "shapes do not match: (3, 4) and (12, 12)"):
        data.create(H.data.matrix, shape=(3, 4))
    for call in (data.matmul, data.add, data.sub, data.multiply):
        with pytest.raises(ValueError, match="12"):
            call(H.data, random_operator(0, 5, 5).to("diagsparse").data)
    with pytest.raises(ValueError, match="12"):
        data.matmul(H.data, qutip.basis(5, 0).data)


@pytest.mark.parametrize("left", ["csr", "dense", layer.Sparse, layers.HostSparse, layers.HostDense])
@pytest.mark.parametrize("right", [layer.Sparse, layers.HostSparse, layers.HostDense])
def test_products_with_an_adjoint_and_sums_into_out(left, right):
    a, b = A.to(left).data, B.to(right).data
    product = 2j * A.full() @ B.full()
    for x, y in ((a, b), (data.transpose(b), data.transpose(a))):
        expected = product if x is a else product.T
        assert np.allclose(data.matmul_dag(x, data.adjoint(y), 2j).to_array(), expected)
        out = data.Dense(np.ones((12, 12)))  # as QuTiP gives its own products a fourth argument
        assert np.allclose(data.matmul[type(x), type(y)](x, y, 2j, out).to_array(), expected + 1)


GPU_LAYER = ds.cuda_available() and bool(find_spec("cupy"))


@pytest.mark.skipif(GPU_LAYER, reason="there is a GPU, with CuPy")
def test_without_a_gpu():
    assert not {layer.CudaSparse, layer.CudaDense} & data.to.dtypes
    assert all(qutip.basis(3, 1, dtype=dtype).shape == (3, 1) for dtype in data.to.dtypes)
    with raises(ValueError, "'diagsparse-cuda'"):
        A.to("diagsparse-cuda")
    for make in (lambda: layer.CudaSparse(ds.gallery.tridiagonal(3)), lambda: layer.CudaDense(KET.full())):
        with pytest.raises((ds.CudaUnavailable, ImportError)):
            make()
