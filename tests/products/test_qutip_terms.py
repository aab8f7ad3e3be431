"""Time-dependent operators of QuTiP as lists of matrices and functions."""

import numpy as np
import pytest
from cases import raises
from qutip_layers import qutip

import diagsparse as ds

OPTIONS = {"progress_bar": "", "atol": 1e-12, "rtol": 1e-10}
LAYERS = ("csr", "dense", "diagsparse", pytest.param("diagsparse-cuda", marks=pytest.mark.gpu))


def driven(layer):
    """Return a driven pair of spins, with a constant, a real, a complex and a sampled term."""
    one, two = (qutip.tensor(*ops) for ops in ((qutip.sigmaz(), qutip.qeye(2)), (qutip.sigmax(), qutip.sigmay())))
    raising = qutip.tensor(qutip.sigmap(), qutip.sigmaz())
    times = np.linspace(0, 1, 101)
    H = qutip.QobjEvo(
        [
            one.to(layer),
            [two.to(layer), lambda t, w: np.sin(w * t)],
            [raising.to(layer), lambda t: np.exp(1j * t)],
            [raising.dag().to(layer), lambda t: np.exp(-1j * t)],
            [(2 * one).to(layer), np.cos(times)],
        ],
        args={"w": 3.0},
        tlist=times,
    )
    return H


@pytest.mark.parametrize("layer", LAYERS)
def test_terms(layer):
    if layer == "diagsparse-cuda" and not ds.cuda_available():
        pytest.skip("no GPU")
    H = driven(layer)
    terms = ds.qutip.terms(H)
    matrices = [term[0] if isinstance(term, list) else term for term in terms]
    K = ds.linear_combination(matrices)
    for t in (0.0, 0.3, 1.0):
        c = [term[1](t) if isinstance(term, list) else 1.0 for term in terms]
        np.testing.assert_allclose(K(*c).toarray(), H(t).full(), atol=1e-14)
    psi = qutip.tensor(qutip.basis(2, 0), qutip.basis(2, 1))
    found = ds.evolve(terms, psi.full()[:, 0], [0.5, 1.0], tol=1e-9).states
    expected = qutip.sesolve(driven("csr"), psi, [0, 0.5, 1.0], options=OPTIONS).states[1:]
    np.testing.assert_allclose(found, [state.full()[:, 0] for state in expected], atol=1e-8)


def test_constant_operators_and_factors():
    (a,) = ds.qutip.terms(qutip.sigmay())
    np.testing.assert_array_equal(a.toarray(), qutip.sigmay().full())
    (pair,) = ds.qutip.terms([[(-1j * qutip.sigmax()).to("diagsparse"), lambda t: t]])
    assert pair[0].dtype == float
    np.testing.assert_array_equal(pair[1](2.0) * pair[0].toarray(), -2j * qutip.sigmax().full())
    assert ds.qutip.terms(qutip.QobjEvo([qutip.sigmaz(), [qutip.sigmax(), lambda t: 1.0]]))[0][0].shape == (2, 2)


def test_terms_that_are_functions():
    H = qutip.QobjEvo(lambda t: t * qutip.sigmax())
    for bad in (H, H + qutip.sigmaz(), H * qutip.QobjEvo([[qutip.sigmaz(), lambda t: t]])):
        with raises(TypeError, "terms", "function that returns operators"):
            ds.qutip.terms(bad)
