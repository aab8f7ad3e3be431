"""Matrices and vectors that are distributed by rows over many processes, on MPI."""

from ._distributed.build import from_global, from_local, from_rows
from ._distributed.files import load, save
from ._distributed.halo import Exchange, Halo, HaloForecast, halo
from ._distributed.matrix import DistributedArray
from ._distributed.recurrences import DeepHalo, chebyshev_multiply, deep_halo, power_multiply
from ._distributed.solvers import cg
from ._distributed.vector import Vector, dot, norm, sum, vector

__all__ = [
    "DeepHalo", "DistributedArray", "Exchange", "Halo", "HaloForecast", "Vector", "cg", "chebyshev_multiply",
    "deep_halo", "dot", "from_global", "from_local", "from_rows", "halo", "load", "norm", "power_multiply", "save",
    "sum", "vector",
]  # fmt: skip
