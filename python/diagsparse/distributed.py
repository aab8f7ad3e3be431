"""Matrices and vectors that are distributed by rows over many processes, on MPI."""

from ._distributed.build import from_global, from_local, from_rows
from ._distributed.halo import Exchange, Halo, HaloForecast, halo
from ._distributed.matrix import DistributedArray
from ._distributed.vector import Vector, dot, norm, sum, vector

__all__ = [
    "DistributedArray", "Exchange", "Halo", "HaloForecast", "Vector", "dot", "from_global", "from_local", "from_rows",
    "halo", "norm", "sum", "vector",
]  # fmt: skip
