"""QuTiP's solvers on operators of ours: values compared with its own formats, and no conversions in between."""

import numpy as np
import pytest
from qutip_layers import QUIET, chain, data, layer, oscillator, qutip, same, spin

import diagsparse as ds
from diagsparse._matrix.sparse_array import SparseArray

TIMES = np.linspace(0, 1.5, 4)
GROUPS = ["diagsparse", "diagsparse-host"]
OWN = ["tsit5", "vern7", "vern9"]  # integrators that QuTiP has of its own


@pytest.fixture
def no_conversions(monkeypatch):
    """Return a function after which every conversion raises, and a list that grows with every product."""
    products = []
    plain = SparseArray.matvec

    def counted(self, x, **kwargs):
        products.append(type(x))
        return plain(self, x, **kwargs)

    def refuse(self, *args, **kwargs):
        raise AssertionError(f"{self!r} is converted")

    def begin():
        monkeypatch.setattr(SparseArray, "matvec", counted)
        for format in ds.formats():
            for name in ("to_scipy", "toarray", "asformat"):
                monkeypatch.setattr(getattr(ds, f"{format}_array"), name, refuse)
        return products

    return begin


def close(ours, theirs, tolerance=2e-5):
    """Say whether two results agree in their expectation values and their last states."""
    pairs = [*zip(ours.expect, theirs.expect), (ours.states[-1], theirs.states[-1])]
    return all(same(a, b, tolerance) for a, b in pairs)


@pytest.mark.parametrize("group", GROUPS)
@pytest.mark.parametrize("method", ["adams", "bdf", "dop853", "krylov", *OWN])
def test_sesolve_on_a_spin_chain(method, group, no_conversions):
    H, psi = chain(6)
    z, options = spin("z", 0, 6), QUIET | {"method": method, "store_states": True}
    options |= {"krylov_dim": 12} if method == "krylov" else {}
    expected = qutip.sesolve(H, psi, TIMES, e_ops=[z, H], options=options)
    ours, e_ops = H.to(group), [z.to(group), H.to(group)]
    solver = qutip.SESolver(ours, options=options)
    state = psi.to(group if method in OWN else "dense")
    products = no_conversions()
    result = solver.run(state, TIMES, e_ops=e_ops)
    assert len(products) > 20 and close(result, expected)
    if method in OWN:
        assert all(type(state.data) is data.to.parse(group).dense for state in result.states)


@pytest.mark.parametrize("group", GROUPS)
@pytest.mark.parametrize("more", [{}, {"matrix_form": True}, {"method": "vern7"}], ids=str)
def test_mesolve_on_a_damped_oscillator(more, group, no_conversions):
    H, a, psi = oscillator(12)
    c_ops, options = [0.5 * a, 0.2 * a.dag()], QUIET | {"store_states": True} | more
    expected = qutip.mesolve(H, psi, TIMES, c_ops, e_ops=[a.dag() * a, a], options=options)
    ours, e_ops = H.to(group), [(a.dag() * a).to(group), a.to(group)]
    assert [e.isherm for e in e_ops] == [True, False]  # which QuTiP asks once
    solver = qutip.MESolver(ours, [c.to(group) for c in c_ops], options=options)
    state = psi.to("dense" if more.get("matrix_form") else group)
    products = no_conversions()
    result = solver.run(state, TIMES, e_ops=e_ops)
    assert len(products) > 20 and close(result, expected)


@pytest.mark.parametrize("group", GROUPS)
def test_a_hamiltonian_that_changes_with_time(group, no_conversions):
    H, psi = chain(5)
    drive = sum(spin("x", i, 5) for i in range(5))
    e_ops, options = [spin("z", 2, 5)], QUIET | {"store_states": True, "method": "vern7"}

    def terms(bring):
        bent = qutip.QobjEvo(lambda t: bring(np.cos(t) * spin("z", 1, 5)))
        return qutip.QobjEvo([bring(H), [bring(drive), lambda t, w: np.sin(w * t)]], args={"w": 3}), bent

    (wave, bent), (ours, our_bent) = terms(lambda x: x), terms(lambda x: x.to(group))
    assert same(ours(0.7), wave(0.7)) and type(ours(0.7).data) is data.to.parse(group).sparse
    expected = qutip.sesolve(wave, psi, TIMES, e_ops=e_ops, options=options)
    solver, e_ours = qutip.SESolver(ours, options=options), [x.to(group) for x in e_ops]
    assert close(qutip.sesolve(ours + our_bent, psi.to(group), TIMES, e_ops=e_ours, options=options),
                 qutip.sesolve(wave + bent, psi, TIMES, e_ops=e_ops, options=options))  # fmt: skip
    products = no_conversions()
    assert close(solver.run(psi.to(group), TIMES, e_ops=e_ours), expected) and len(products) > 20


def test_the_liouvillian_of_a_chain(no_conversions):
    H, psi = chain(4)
    c_ops = [0.3 * spin("-", i, 4) for i in range(4)]
    expected = qutip.mesolve(H, psi, TIMES, c_ops, e_ops=[spin("z", 0, 4)], options=QUIET | {"store_states": True})
    L = qutip.liouvillian(H.to("diagsparse"), [c.to("diagsparse") for c in c_ops])
    assert type(L.data) is layer.Sparse and same(L, qutip.liouvillian(H, c_ops))
    z = spin("z", 0, 4).to("diagsparse")
    solver = qutip.MESolver(L, options=QUIET | {"store_states": True})
    products = no_conversions()
    assert close(solver.run(psi, TIMES, e_ops=[z]), expected) and len(products) > 20


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_packed_and_short_values_in_a_solver(dtype, no_conversions):
    H = ds.hm_array(ds.gallery.transverse_ising(5), dtype=dtype)
    psi = qutip.basis([2] * 5, [0] * 5)
    expected = qutip.sesolve(qutip.Qobj(H.toarray().astype(complex), dims=[[2] * 5] * 2), psi, TIMES, options=QUIET)
    ours = qutip.Qobj(ds.hm_array(H, symmetry="symmetric"), dims=[[2] * 5] * 2)
    solver = qutip.SESolver(ours, options=QUIET)
    products = no_conversions()
    assert same(solver.run(psi, TIMES).final_state, expected.final_state, 1e-5) and len(products) > 20


def test_monte_carlo_and_steady_states():
    H, a, psi = oscillator(8)
    ours, c = H.to("diagsparse"), (0.8 * a).to("diagsparse")
    number = a.dag() * a
    options = QUIET | {"map": "serial"}
    result = qutip.mcsolve(ours, psi, TIMES, [c], e_ops=[number.to("diagsparse")], ntraj=5, seeds=1, options=options)
    expected = qutip.mcsolve(H, psi, TIMES, [0.8 * a], e_ops=[number], ntraj=5, seeds=1, options=options)
    assert same(result.expect[0], expected.expect[0], 1e-3)
    assert same(qutip.steadystate(ours, [c]), qutip.steadystate(H, [0.8 * a]), 1e-8)


def test_operators_that_are_created_in_our_layer():
    with qutip.CoreOptions(default_dtype="diagsparse"):
        a, psi = qutip.destroy(6), qutip.basis(6, 2)
        assert type((a.dag() * a).data) is layer.Sparse and type(psi.data) is data.Dense
        assert same(qutip.sesolve(a + a.dag(), psi, [0, 0.1], options=QUIET).final_state.norm(), 1.0, 1e-6)
