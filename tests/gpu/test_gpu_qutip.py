"""QuTiP's solvers with operators and states on a GPU, compared with its own on the host."""

import pickle
from importlib.util import find_spec

import numpy as np
import pytest
from cases import NO_CUDA
from libraries import load
from qutip_layers import QUIET, chain, data, layer, oscillator, qutip, random_operator, same, spin

import diagsparse as ds

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not ds.cuda_available(), reason=NO_CUDA),
    pytest.mark.skipif(not find_spec("cupy"), reason="QuTiP's layer on a GPU needs CuPy"),
]

TIMES = np.linspace(0, 1.5, 4)
A, B = random_operator(1), random_operator(2)
KET, RHO = qutip.rand_ket(12, seed=3).to("dense"), qutip.rand_dm(12, seed=4).to("dense")


@pytest.mark.parametrize("name", ["sum", "product", "tensor", "dag", "liouvillian", "power", "tidied", "identity"])
def test_operators_stay_on_the_gpu(name):
    run = {
        "sum": lambda a, b: -1j * a + 0.5j * b + b.dag(),
        "product": lambda a, b: 1j * a * b.dag(),
        "tensor": lambda a, b: qutip.tensor(1j * a, b),
        "dag": lambda a, b: (1j * a).dag(),
        "liouvillian": lambda a, b: qutip.liouvillian(a + a.dag(), [b]),
        "power": lambda a, b: a**3,
        "tidied": lambda a, b: a.tidyup(1e-10),
        "identity": lambda a, b: qutip.qeye_like(a) + 2 * qutip.qzero_like(a),
    }[name]
    result = run(*(x.to("diagsparse-cuda") for x in (A, B)))
    assert type(result.data) is layer.CudaSparse and result.data.matrix.device == "cuda" and same(result, run(A, B))
    assert same(result.to("diagsparse"), run(A, B)) and result.isherm == run(A, B).isherm


def test_operators_and_states():
    cupy = load("cupy")
    a, x, rho = (1j * A).to("diagsparse-cuda"), KET.to("diagsparse-cuda"), RHO.to("diagsparse-cuda")
    for result, expected in ((a * x, 1j * A * KET), (a * rho, 1j * A * RHO), (rho * a, RHO * 1j * A)):
        assert isinstance(result.data.array, cupy.ndarray) and same(result, expected)
    for result in (a * KET, a * RHO, RHO * a):  # states on the host are copied there and back
        assert type(result.data) is data.Dense
    assert same(a * KET, 1j * A * KET) and same(RHO * a, RHO * 1j * A)
    assert same([qutip.expect(a, y) for y in (x, rho, KET, RHO)], [qutip.expect(1j * A, y) for y in (KET, RHO)] * 2)
    super_ = qutip.sprepost(a, a.dag())
    expected = data.expect_super(qutip.sprepost(A, A.dag()).data, qutip.operator_to_vector(RHO).data)
    assert same(data.expect_super(super_.data, qutip.operator_to_vector(rho).data), expected)


def test_states():
    load("cupy")
    x, rho = KET.to("diagsparse-cuda"), RHO.to("diagsparse-cuda")
    for result, expected in (
        (x + 2j * x, KET + 2j * KET), (x.proj(), KET.proj()), (rho.dag() - rho * rho, RHO.dag() - RHO * RHO),
        (qutip.vector_to_operator(qutip.operator_to_vector(rho)), RHO), (-rho.trans(), -RHO.trans()),
    ):  # fmt: skip
        assert type(result.data) is layer.CudaDense and same(result, expected)
    assert same([x.norm(), rho.tr(), x.dag() * x, x.overlap(x)], [1, 1, 1, 1])
    error = data.ode.wrmn_error
    assert same(error(x.data, x.data, 1e-3, 1e-2), error(KET.data, KET.data, 1e-3, 1e-2))
    assert same(pickle.loads(pickle.dumps(x)), KET)
    assert same(pickle.loads(pickle.dumps(A.to("diagsparse-cuda"))), A)


@pytest.mark.parametrize("method", ["tsit5", "vern7", "vern9"])
def test_integrators_leave_states_on_the_gpu(method, monkeypatch):
    cupy = load("cupy")
    H, psi = chain(6)
    z, options = spin("z", 0, 6), QUIET | {"method": method, "store_states": True}
    expected = qutip.sesolve(H, psi, TIMES, e_ops=[z], options=options)
    solver, e_ops = qutip.SESolver(H.to("diagsparse-cuda"), options=options), [z.to("diagsparse-cuda")]
    assert e_ops[0].isherm and e_ops[0].data.matrix.device == "cuda"
    start = psi.to("diagsparse-cuda")
    monkeypatch.setattr(layer.CudaDense, "to_array", lambda self: pytest.fail("a state comes to the host"))
    result = solver.run(start, TIMES, e_ops=e_ops)
    assert all(isinstance(state.data.array, cupy.ndarray) for state in result.states)
    monkeypatch.undo()
    assert same(result.expect[0], expected.expect[0], 2e-5) and same(result.states[-1], expected.states[-1], 2e-5)


@pytest.mark.parametrize("more", [{}, {"matrix_form": True}, {"method": "vern7"}], ids=str)
def test_mesolve(more):
    load("cupy")
    H, a, psi = oscillator(12)
    options = QUIET | {"store_states": True} | more
    expected = qutip.mesolve(H, psi, TIMES, [0.5 * a], e_ops=[a.dag() * a], options=options)
    b = a.to("diagsparse-cuda")
    start = psi.to("diagsparse-cuda") if more.get("method") else psi
    result = qutip.mesolve(H.to("diagsparse-cuda"), start, TIMES, [0.5 * b], e_ops=[b.dag() * b], options=options)
    assert same(result.expect[0], expected.expect[0], 2e-5) and same(result.states[-1], expected.states[-1], 2e-5)


def test_a_matrix_that_is_on_the_gpu():
    matrix = ds.hm_array(ds.gallery.tridiagonal(12), device="cuda")
    H = qutip.Qobj(matrix, copy=False)
    assert type(H.data) is layer.CudaSparse and H.data.matrix is matrix
    assert same(H * KET, qutip.Qobj(matrix.toarray()) * KET)
