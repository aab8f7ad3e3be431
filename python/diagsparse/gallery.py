"""Test matrices: bands, quasi-bands, blocks, finite differences, quantum spins, molecules, random diagonals.

Every function returns a SciPy sparse array: a `dia_array` if the nonzeros lie on diagonals, with zeros as padding, and
a `csr_array` otherwise. `quaternion_ci` returns four of them. All functions have these parameters in common:

- ``format`` is a format of diagsparse. The result is then a diagsparse matrix in this format.
- ``dtype`` is float32, float64, complex64 or complex128.
- ``rows=(first, last)`` of stencils, Toeplitz matrices and quantum operators builds only these rows, for example those
  of one of several processes.
- ``seed`` of random matrices can be anything that `numpy.random.default_rng` accepts. The same seed and dtype give the
  same values. They are uniform in [-1, -0.1] and [0.1, 1], for complex numbers in both parts, so none of them is zero.

Invalid arguments raise ValueError or TypeError, which state what was given and what was expected. The cost is that of
writing the result.
"""

from ._gallery.blocks import blocked
from ._gallery.constant import stencil, toeplitz, tridiagonal
from ._gallery.diffusion import diffusion
from ._gallery.interaction import ci_matrix, quaternion_ci
from ._gallery.molecule import molecule_hamiltonian
from ._gallery.operators import bose_hubbard, heisenberg, pauli_sum, transverse_ising
from ._gallery.quasi import quasi_band
from ._gallery.random_matrices import arrow, banded, hessenberg, random_diagonals, triangular
from ._gallery.spins import spin_chain

__all__ = [
    "arrow", "banded", "blocked", "bose_hubbard", "ci_matrix", "diffusion", "heisenberg", "hessenberg",
    "molecule_hamiltonian", "pauli_sum", "quasi_band", "quaternion_ci", "random_diagonals", "spin_chain", "stencil",
    "toeplitz", "transverse_ising", "triangular", "tridiagonal",
]  # fmt: skip
