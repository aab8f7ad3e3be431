"""Matrices and vectors whose rows are distributed over many processes, by MPI.

- `from_rows`, `from_local`, `from_global` and `load` build a `DistributedArray`, `vector` builds a `Vector`.
- ``D @ x``, ``D.T @ x``, ``D @ E``, `power_multiply` and `chebyshev_multiply` are products, `cg` solves linear systems,
  and `dot`, `norm` and `sum` return the same bits for any number of processes.
- ``D.halo`` describes what is exchanged for a product, and `halo` computes the same before a matrix is built.

Except for `halo`, every function has to be called by all processes, in the same order, with the same arguments apart
from the rows themselves. It needs mpi4py and an MPI library; importing this module does not.
"""

from ._distributed.build import from_global, from_local, from_rows
from ._distributed.deep_halo import DeepHalo, deep_halo
from ._distributed.files import load, save
from ._distributed.halo import Exchange, Halo, HaloForecast, halo
from ._distributed.matrix import DistributedArray
from ._distributed.recurrences import chebyshev_multiply, power_multiply
from ._distributed.solvers import cg
from ._distributed.vector import Vector, dot, norm, sum, vector

__all__ = [
    "DeepHalo", "DistributedArray", "Exchange", "Halo", "HaloForecast", "Vector", "cg", "chebyshev_multiply",
    "deep_halo", "dot", "from_global", "from_local", "from_rows", "halo", "load", "norm", "power_multiply", "save",
    "sum", "vector",
]  # fmt: skip
