"""Hamiltonians of molecules against PySCF: its determinants' energies, products, dense matrices and states."""

import sys

import numpy as np
import pytest
from scipy import sparse
from scipy.sparse.linalg import eigsh

import diagsparse as ds
from diagsparse import gallery
from diagsparse._backends import memory

WATER = "O 0 0 0; H 0 0.757 0.587; H 0 -0.757 0.587"
CASES = {  # a molecule, and which of its electrons and orbitals take part; then determinants
    "water": ({"atom": WATER}, {}, 441),
    "water, frozen core": ({"atom": WATER}, {"electrons": 8}, 225),
    "water, active space": ({"atom": WATER, "basis": "6-31g"}, {"electrons": 6, "orbitals": 6}, 400),
    "water, spins given": ({"atom": WATER}, {"electrons": (5, 3)}, 120),
    "lithium": ({"atom": "Li 0 0 0", "basis": "6-31g", "spin": 1}, {}, 324),
    "oxygen, with symmetry": ({"atom": "O 0 0 0; O 0 0 1.2", "spin": 2, "symmetry": True}, {"electrons": 12}, 448),
    "one spin only": ({"atom": "H 0 0 0; H 0 0 0.7", "basis": "6-31g"}, {"electrons": (2, 0)}, 6),
    "one determinant": ({"atom": "He 0 0 0"}, {}, 1),
}


@pytest.fixture(scope="module")
def pyscf():
    pytest.importorskip("pyscf.mcscf")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("pyscf.scf.hf.MUTE_CHKFILE", True)  # else each mean field leaves a file open
        module = pytest.importorskip("pyscf")
        with module.lib.with_omp_threads(1):  # where other work keeps the cores busy, more threads wait for each other
            yield module


@pytest.fixture(scope="module")
def mean_field(pyscf):
    """Restricted mean fields that have their orbitals, each made once."""
    made = {}

    def of(name):
        atoms = CASES[name][0]
        key = tuple(atoms.items())
        if key not in made:
            made[key] = pyscf.scf.RHF(pyscf.gto.M(**{"basis": "sto-3g", "verbose": 0} | atoms)).run()
        return made[key]

    return of


@pytest.fixture(params=CASES)
def made(request, pyscf, mean_field):
    """A matrix, and PySCF's integrals, constant, orbitals and electrons for the same."""
    field, space, order = mean_field(request.param), *CASES[request.param][1:]
    A = gallery.molecule_hamiltonian(field, **space)
    assert A.shape == (order, order) and A.dtype == float and A.has_canonical_format and A.indices.dtype == np.int32
    given = space.get("electrons", field.mol.nelec)
    core = (field.mol.nelectron - np.sum(given)) // 2
    cas = pyscf.mcscf.CASCI(field, space.get("orbitals", field.mo_coeff.shape[1] - core), given)
    one, constant = cas.get_h1eff()
    two = pyscf.ao2mo.restore(1, cas.get_h2eff(), cas.ncas)
    return A, one, two, constant, cas.ncas, cas.nelecas


def test_matrix_is_that_of_pyscf(made, pyscf):
    A, one, two, constant, orbitals, electrons = made
    fci = pyscf.fci.direct_spin1
    size = abs(A).sum(axis=0).max()
    assert (A != A.T).nnz == 0 and abs(A.data).min() >= 1e-12
    energies = fci.make_hdiag(one, two, orbitals, electrons) + constant
    assert abs(A.diagonal() - energies).max() <= 1e-14 * size
    _, dense = fci.pspace(one, two, orbitals, electrons, np=A.shape[0])  # from Slater's and Condon's rules
    assert abs(A.toarray() - dense - constant * np.eye(A.shape[0])).max() <= 2e-12
    absorbed = fci.absorb_h1e(one, two, orbitals, electrons, 0.5)
    strings = [pyscf.fci.cistring.num_strings(orbitals, number) for number in electrons]
    for x in np.random.default_rng(0).standard_normal((3, *strings)):
        expected = fci.contract_2e(absorbed, x, orbitals, electrons).ravel() + constant * x.ravel()
        assert abs(A @ x.ravel() - expected).max() <= 1e-13 * size * abs(x).max()


@pytest.mark.parametrize("name, count", [("water, frozen core", 4), ("lithium", 1), ("oxygen, with symmetry", 1)])
def test_lowest_states_are_those_of_pyscf(name, count, pyscf, mean_field):
    field, space, order = mean_field(name), *CASES[name][1:]
    A = gallery.molecule_hamiltonian(field, **space, format="ellcsr")
    assert isinstance(A, ds.ellcsr_array) and A.shape == (order, order)
    energies, states = eigsh(A, k=count, which="SA", v0=np.ones(order))
    given = space.get("electrons", field.mol.nelec)
    core = (field.mol.nelectron - np.sum(given)) // 2
    cas = pyscf.mcscf.CASCI(field, field.mo_coeff.shape[1] - core, given)
    cas.fcisolver.conv_tol, cas.fcisolver.nroots = 1e-12, count
    cas.fcisolver.pspace_size = 20  # else the solver begins with all eigenvalues of a dense matrix of order 400
    assert np.sort(energies) == pytest.approx(cas.kernel()[0], abs=1e-9)
    ground = states[:, energies.argmin()].reshape(pyscf.fci.cistring.num_strings(cas.ncas, cas.nelecas[0]), -1)
    assert pyscf.fci.spin_square(ground, cas.ncas, cas.nelecas)[1] == pytest.approx(field.mol.spin + 1, abs=1e-6)


def test_options(mean_field):
    water = mean_field("water")
    A = gallery.molecule_hamiltonian(water, electrons=8)
    for dtype, tolerance in (("float32", 1e-5), ("complex128", 1e-12)):
        other = gallery.molecule_hamiltonian(water, electrons=8, dtype=dtype)
        assert isinstance(other, sparse.csr_array) and other.dtype == dtype
        assert other.nnz == A.nnz and abs(other - A).max() < tolerance  # PySCF's integrals differ by their last bits
    assert abs(gallery.molecule_hamiltonian(water, electrons=[4, 4], orbitals=6) - A).max() < 1e-12
    all_of_it = gallery.molecule_hamiltonian(water, electrons=8, threshold=0)
    assert all_of_it.nnz > A.nnz and abs(all_of_it - A).max() < 2e-12


@pytest.mark.parametrize(
    "error, words, options",
    [
        (ValueError, "electrons is 7, expected the 10", {"electrons": 7}),
        (ValueError, "electrons is 12", {"electrons": 12}),
        (ValueError, "electrons is (4, 3)", {"electrons": (4, 3)}),
        (ValueError, "electrons is (4, 2, 2)", {"electrons": (4, 2, 2)}),
        (ValueError, "electrons is -2", {"electrons": -2}),
        (TypeError, "electrons is 7.5", {"electrons": 7.5}),
        (ValueError, "orbitals is 7, expected 4 to 6: of 7, the core takes 1", {"electrons": 8, "orbitals": 7}),
        (ValueError, "orbitals is 3, expected 5 to 7", {"orbitals": 3}),
        (TypeError, "orbitals is 'all'", {"orbitals": "all"}),
        (ValueError, "threshold is -1", {"threshold": -1}),
        (TypeError, "dtype is int64", {"dtype": int}),
    ],
)
def test_bad_arguments_are_named(error, words, options, mean_field):
    with pytest.raises(error) as raised:
        gallery.molecule_hamiltonian(mean_field("water"), **options)
    assert words in str(raised.value) and "gallery.molecule_hamiltonian" in str(raised.value)


def test_other_mean_fields_are_refused(pyscf):
    water = pyscf.gto.M(atom=WATER, basis="sto-3g", verbose=0)
    with pytest.raises(ValueError, match="no orbitals yet"):
        gallery.molecule_hamiltonian(pyscf.scf.RHF(water))
    for other in (pyscf.scf.UHF(water), pyscf.scf.GHF(water), water, None):
        with pytest.raises(TypeError, match=f"mean_field is {type(other).__name__}, expected RHF"):
            gallery.molecule_hamiltonian(other)
    field = pyscf.scf.RHF(water)
    field.mo_coeff = np.eye(7) * 1j
    with pytest.raises(TypeError, match="real orbitals"):
        gallery.molecule_hamiltonian(field)


def test_what_does_not_fit_is_refused_in_advance(pyscf, monkeypatch):
    nitrogen = pyscf.scf.RHF(pyscf.gto.M(atom="N 0 0 0; N 0 0 1.1", basis="cc-pvdz", verbose=0))
    nitrogen.mo_coeff = np.eye(28)
    with pytest.raises(ValueError, match=r"1401950721600 determinants, expected fewer than 2\*\*31"):
        gallery.molecule_hamiltonian(nitrogen)
    monkeypatch.setattr(memory, "available_bytes", lambda *backend: 10**9)
    with pytest.raises(MemoryError, match=r"1002001 determinants would need .*take fewer orbitals"):
        gallery.molecule_hamiltonian(nitrogen, electrons=8, orbitals=14)
    monkeypatch.setattr(memory, "available_bytes", lambda *backend: 10**10)
    with pytest.raises(MemoryError, match=r"38760 determinants would need .*take fewer orbitals"):
        gallery.molecule_hamiltonian(nitrogen, electrons=(6, 0), orbitals=20)  # all of them strings of one spin


def test_without_pyscf(monkeypatch):
    monkeypatch.setitem(sys.modules, "pyscf", None)
    with pytest.raises(ImportError, match=r'needs PySCF: pip install "diagsparse\[chemistry\]"'):
        gallery.molecule_hamiltonian(None)
