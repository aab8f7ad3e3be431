"""A possible layout of a matrix, with its bytes and the time of a product."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .._matrix.registry import FORMATS
from .._matrix.reordering import Reordering
from .._matrix.sparse_array import SparseArray
from .._matrix.summary import least_fill
from .statistics import Statistics


@dataclass(frozen=True, eq=False)
class Candidate:
    """A layout, and the cost of a product in it."""

    format: str
    layout: dict[str, Any]  #: options of the format
    nbytes: int
    moved_nbytes: int  #: bytes that one product moves: A, x and y
    seconds: float  #: time of one product, predicted
    conversion: float  #: seconds of the conversion, predicted
    dtype: str  #: dtype of the stored values
    positions: float = field(default=0.0, repr=False)  # multiplied values, including padding
    measured: float | None = None  #: seconds of one product, if measured
    order: Reordering | None = None  #: permutation of the rows and columns, if any
    matrix: Any = None  #: the user's matrix, if it has this layout already
    narrow: bool = False  #: whether the values are stored in fewer bytes than before
    statistics: Statistics | None = field(default=None, repr=False)  # of the matrix in this order

    @property
    def name(self) -> str:
        """``hm, symmetric, period 40``."""
        words = [f"SciPy's {self.format}" if self.is_scipy else self.format]
        words += ["a view"] * bool(isinstance(self.matrix, SparseArray) and self.matrix._op)
        for option, value in self.layout.items():
            words.append(str(value) if option == "symmetry" else f"{option} {value}")
        words += [self.dtype] * self.narrow + ["reordered"] * (self.order is not None)
        return ", ".join(words)

    @property
    def is_scipy(self) -> bool:
        """Whether this is the user's SciPy matrix, unchanged."""
        return self.matrix is not None and not isinstance(self.matrix, SparseArray)

    @property
    def product_seconds(self) -> float:
        """Seconds of one product: measured, otherwise predicted."""
        return self.seconds if self.measured is None else self.measured

    def __getstate__(self) -> dict[str, Any]:
        return vars(self) | {"statistics": None}  # the statistics are not needed once the reason is known

    def total_seconds(self, products: int) -> float:
        """Return the seconds of the conversion and of this number of products."""
        return self.conversion + products * self.product_seconds

    @property
    def complexity(self) -> int:
        """Number of settings that differ from the defaults; among equally fast layouts, the lowest one wins."""
        return len(self.layout) + self.narrow + (self.order is not None)

    @property
    def nearly_full(self) -> bool:
        """Whether entire diagonals are stored and mostly nonzero, so that products and sums are diagonals as well."""
        if self.is_scipy or self.statistics is None:
            return False
        full = self.statistics.full > least_fill(np.dtype(self.dtype).itemsize)
        return FORMATS[self.format].family == "diagonals" and full

    def build(self, csr: SparseArray) -> Any:
        """Return the analyzed matrix, given in csr, in this layout; the user's own matrix if it stays unchanged."""
        if self.matrix is not None:
            return self.matrix
        rows = csr if self.order is None else self.order.apply(csr)
        try:
            built = rows.asformat(self.format, **self.layout)
        except ValueError:  # the sums of hashes were equal, but the matrix is not symmetric
            if "symmetry" not in self.layout or rows._summary().symmetry == self.layout["symmetry"]:
                raise
            built = rows.asformat(self.format, **{name: v for name, v in self.layout.items() if name != "symmetry"})
        return self._with_order(built.astype(self.dtype, copy=False))

    def build_like(self, csr: SparseArray) -> Any:
        """Return another matrix, given in csr, in this layout, or raise ValueError if that is impossible.

        The dtype does not change, unless this layout stores the values in fewer bytes.
        """
        if self.is_scipy:
            return csr.to("cpu").to_scipy("csr").asformat(self.format)
        rows = csr if self.order is None else self.order.apply(csr)
        if self.matrix is not None and not self.layout:
            return self.matrix._format.like(self.matrix, rows)
        built = rows.asformat(self.format, **self.layout)
        return self._with_order(built.astype(self.dtype, copy=False) if self.narrow else built)

    def _with_order(self, built: SparseArray) -> Any:
        if self.order is None:
            return built
        from .reordered import Reordered  # a LinearOperator of SciPy, whose module takes long to import

        return Reordered(built, self.order.permutation)
