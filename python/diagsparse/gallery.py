"""Test matrices: bands, quasi-bands, blocks, finite differences, quantum spins, molecules, random diagonals.

Every function returns a SciPy sparse array: a `dia_array` where the nonzeros lie on diagonals (its padding is zero),
else a `csr_array`.  With ``format=`` it returns a diagsparse matrix of that format instead.  ``dtype`` is float32,
float64, complex64 or complex128.  Random values are uniform in [-1, -0.1] and [0.1, 1] (complex: both parts), so that
none is zero; ``seed`` is what `numpy.random.default_rng` takes, and the same seed and dtype give the same bits.  Bad
arguments raise ValueError or TypeError that name what was given and expected.  The cost is that of writing the result.
"""

from ._gallery.blocks import blocked
from ._gallery.constant import stencil, toeplitz, tridiagonal
from ._gallery.drawn import arrow, banded, hessenberg, random_diagonals, triangular
from ._gallery.interaction import ci_matrix
from ._gallery.molecule import molecule_hamiltonian
from ._gallery.operators import bose_hubbard, heisenberg, pauli_sum, transverse_ising
from ._gallery.quasi import quasi_band
from ._gallery.spins import spin_chain

__all__ = [
    "arrow", "banded", "blocked", "bose_hubbard", "ci_matrix", "heisenberg", "hessenberg", "molecule_hamiltonian",
    "pauli_sum", "quasi_band", "random_diagonals", "spin_chain", "stencil", "toeplitz", "transverse_ising",
    "triangular", "tridiagonal",
]  # fmt: skip
