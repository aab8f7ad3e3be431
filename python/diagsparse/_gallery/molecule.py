"""Hamiltonians of molecules, from PySCF."""

from __future__ import annotations

from math import comb
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from .arguments import Dtype, Format, checked_dtype, gallery_function, whole_number
from .construction import as_format

_BYTES = 64  # bytes per nonzero at the peak of the construction


@gallery_function
def molecule_hamiltonian(
    mean_field: Any,
    *,
    orbitals: int | None = None,
    electrons: int | tuple[int, int] | None = None,
    threshold: float = 1e-12,
    dtype: Dtype = float,
    format: Format = None,
) -> Any:
    """Return the Hamiltonian of a molecule for all determinants (full configuration interaction).

    Its eigenvalues are the energies of the molecule in hartree, including the repulsion of the nuclei. The orbitals and
    their integrals are those of a mean-field calculation with PySCF (``pip install "diagsparse[chemistry]"``)::

        from pyscf import gto, scf

        mean_field = scf.RHF(gto.M(atom="Li 0 0 0; H 0 0 1.6", basis="6-31g")).run()
        A = gallery.molecule_hamiltonian(mean_field, format="ellcsr")  # of order 3025
        energies, states = scipy.sparse.linalg.eigsh(A, k=4, which="SA")

    Determinants are numbered as in PySCF: with b strings of spin down, the determinant with string i of spin up and
    string j of spin down is row i b + j. So PySCF's array for a vector x is ``x.reshape(-1, b)``. In determinant 0, the
    lowest orbitals are occupied.

    Parameters
    ----------
    mean_field : pyscf.scf.hf.RHF
        A restricted mean field (RHF, ROHF or RKS) with real orbitals, after its ``kernel()``.
    orbitals : int, optional
        Number of orbitals above the core that are included, by default all. This is `ncas` of `pyscf.mcscf.CASCI`.
    electrons : int or (int, int), optional
        Number of electrons that are included, in total or for spin up and spin down, by default all. The other
        electrons occupy the lowest orbitals in pairs, which form the core. This is `nelecas` of `pyscf.mcscf.CASCI`.
    threshold : float
        Integrals and elements below this value in hartree are left out. They are zero by symmetry, up to rounding
        errors.
    dtype : dtype
        The dtype of the result. The matrix is always computed in float64.

    Returns
    -------
    csr_array
        Real symmetric, in float64 down to the last bit. With m orbitals and u electrons of spin up, there are
        ``comb(m, u)`` strings of this spin. The order of the matrix is the product of the numbers for both spins.

    Raises
    ------
    ImportError
        If PySCF is not installed.
    TypeError
        If the mean field is not one of PySCF, or has different orbitals for spin up and spin down.
    ValueError
        If the mean field has no orbitals yet, or the electrons do not fit into the orbitals or the core.
    MemoryError
        If the matrix would not fit in memory. Nothing large has been allocated then.

    Notes
    -----
    With d electrons of spin down, a row has at most ``(1 + u (m - u)) (1 + d (m - d))`` nonzeros, plus those for moving
    two electrons of the same spin. Most of them are zero by symmetry. Time and memory are proportional to the number of
    nonzeros: 2.3 million of them take a second and 150 MB.
    """
    try:
        from pyscf import ao2mo, mcscf, scf
    except ImportError as error:
        raise ImportError('gallery.molecule_hamiltonian needs PySCF: pip install "diagsparse[chemistry]"') from error
    from .._backends.memory import require_free  # imported here, so that the gallery works without the compiled core

    dtype = checked_dtype(dtype)
    if not isinstance(mean_field, scf.hf.RHF) or np.iscomplexobj(mean_field.mo_coeff):
        raise TypeError(
            f"mean_field is {type(mean_field).__name__}, expected RHF, ROHF or RKS of PySCF with real orbitals"
        )
    if mean_field.mo_coeff is None:
        raise ValueError("mean_field has no orbitals yet, call its kernel() first")
    if not threshold >= 0:
        raise ValueError(f"threshold is {threshold}, expected a number of hartree >= 0")
    m, spins = _space(mean_field, orbitals, electrons)
    n = comb(m, spins[0]) * comb(m, spins[1])
    if n >= 2**31:
        raise ValueError(f"{n} determinants, expected fewer than 2**31: take fewer orbitals")

    hint = "; take fewer orbitals, or fewer electrons"
    require_free(24 * m**4, f"the integrals of {m} orbitals", hint=hint)
    space = mcscf.CASCI(mean_field, m, spins)
    one, constant = space.get_h1eff()
    two = ao2mo.restore(1, space.get_h2eff(), m)  # (pq|rs)
    one = _cleaned(one - np.einsum("prrq->pq", two) / 2, threshold).reshape(1, m * m)
    two = _cleaned(two.reshape(m * m, m * m), threshold)
    pointers = 16 * sum(comb(m, electrons) ** 2 for electrons in spins)  # there is a row for each pair of strings
    require_free(int(_BYTES * _entries(two, m, spins)) + pointers, f"{n} determinants", hint=hint)
    # H = sum of one[pq] E_pq and of (pq|rs) E_pq E_rs / 2, where E_pq = E_pq of spin up + E_pq of spin down.
    (up, _, up_alone), (_, moved, down_alone) = (_of_one_spin(one, two, m, electrons) for electrons in spins)
    a, b = up_alone.shape[0], down_alone.shape[0]
    both = (up.T @ moved).tocoo()  # rows: pairs (to, from) of strings of spin up; columns: of spin down
    (up_to, up_from), (down_to, down_from) = divmod(both.row, a), divmod(both.col, b)
    H = sparse.csr_array((both.data, (up_to * b + down_to, up_from * b + down_from)), shape=(n, n))
    H = H + sparse.kronsum(down_alone, up_alone, format="csr") + constant * sparse.eye_array(n, format="csr")
    return as_format(_cleaned(H, threshold).astype(dtype), format)


def _space(mean_field: Any, orbitals: int | None, electrons: int | tuple[int, int] | None) -> tuple[int, list[int]]:
    """Return the number of included orbitals, and of included electrons of each spin."""
    molecule, available = mean_field.mol, mean_field.mo_coeff.shape[1]
    given = molecule.nelec if electrons is None else electrons
    counts = [whole_number("electrons", n, "a count") for n in (given if isinstance(given, tuple | list) else [given])]
    core, odd = divmod(molecule.nelectron - sum(counts), 2)
    spins = counts if len(counts) > 1 else [(counts[0] + spin) // 2 for spin in (molecule.spin, -molecule.spin)]
    if len(spins) != 2 or core < 0 or odd or min(spins) < 0:
        raise ValueError(
            f"electrons is {electrons}, expected the {molecule.nelectron} of the molecule less"
            " pairs, those of the core, or (up, down)"
        )
    least, most = max(1, *spins), available - core
    m = most if orbitals is None else whole_number("orbitals", orbitals, "a count")
    if not least <= m <= most:
        raise ValueError(f"orbitals is {m}, expected {least} to {most}: of {available}, the core takes {core}")
    return m, spins


def _of_one_spin(one: Any, two: Any, m: int, electrons: int) -> tuple[Any, Any, Any]:
    """Return E, (pq|rs) E_rs and the Hamiltonian for the strings of one spin.

    Row p m + q of the first two is a flattened matrix of order `strings`. The matrix of E_pq moves an electron from
    orbital q to p.
    """
    from pyscf.fci import cistring

    links = cistring.gen_linkstr_index(range(m), electrons)  # for each string: p, q, the result of E_pq, a sign
    strings = len(links)
    p, q, to, sign = links.reshape(-1, 4).T.astype(np.int32 if strings**2 < 2**31 else np.int64)
    start = np.repeat(np.arange(strings, dtype=p.dtype), links.shape[1])
    excitations = sparse.csr_array(
        (sign.astype(float), (p * m + q, to * strings + start)), shape=(m * m, strings * strings)
    )
    moved = two @ excitations
    stacked = (m * m * strings, strings)
    # E_qp is the transpose of E_pq, and (pq|rs) = (qp|rs).
    alone = excitations.reshape(stacked).T @ moved.reshape(stacked) / 2
    alone = alone + (one @ excitations).reshape((strings, strings))
    return excitations, moved, (alone + alone.T) / 2


def _entries(two: Any, m: int, spins: list[int]) -> float:
    """Return an upper bound for the number of nonzeros, before duplicates are summed."""
    moves = []  # number of pairs of strings that E_pq connects, for each p m + q
    for electrons in spins:
        strings = comb(m, electrons)
        count = np.full((m, m), strings * electrons * (m - electrons) / max(1, m * (m - 1)))
        np.fill_diagonal(count, strings * electrons / m)
        moves.append(count.ravel())
    # One or two electrons of the same spin move.
    alone = sum(comb(e, 1) * comb(m - e, 1) + comb(e, 2) * comb(m - e, 2) for e in spins)
    return float(moves[0] @ ((two != 0) @ moves[1])) + comb(m, spins[0]) * comb(m, spins[1]) * (1 + alone)


def _cleaned(values: NDArray[np.float64] | Any, threshold: float) -> Any:
    """Return a `csr_array` without zeros and elements below the threshold."""
    csr = sparse.csr_array(values)
    csr.data[abs(csr.data) < threshold] = 0
    csr.eliminate_zeros()
    csr.sort_indices()
    return csr
