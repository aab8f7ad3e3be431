"""A layout that comes into question, with its bytes and the time of a product."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .._matrix.registry import FORMATS
from .._matrix.reordering import Reordering
from .._matrix.sparse_array import SparseArray
from .._matrix.summary import least_fill
from .in_order import Reordered
from .survey import Survey


@dataclass(frozen=True, eq=False)
class Candidate:
    """A layout, and what a product takes in it."""

    format: str
    layout: dict[str, Any]  #: options of the format
    nbytes: int
    moved_nbytes: int  #: by one product: A, x and y
    seconds: float  #: of one product, by the model
    conversion: float  #: seconds to make it, by the model
    dtype: str  #: in which the values are stored
    measured: float | None = None  #: seconds of one product, where they were measured
    order: Reordering | None = None  #: of the rows and columns, where it is another one
    matrix: Any = None  #: the user's own, where this is how it is
    narrow: bool = False  #: whether the values are stored in fewer bytes than they were
    survey: Survey | None = field(default=None, repr=False)  # of the rows in this order

    @property
    def name(self) -> str:
        """``hm, symmetric, period 40``."""
        words = [f"SciPy's {self.format}" if self.theirs else self.format]
        words += ["a view"] * bool(isinstance(self.matrix, SparseArray) and self.matrix._op)
        for option, value in self.layout.items():
            words.append(str(value) if option == "symmetry" else f"{option} {value}")
        words += [self.dtype] * self.narrow + ["reordered"] * (self.order is not None)
        return ", ".join(words)

    @property
    def theirs(self) -> bool:
        """Whether this is a matrix of SciPy's, as the user has it."""
        return self.matrix is not None and not isinstance(self.matrix, SparseArray)

    @property
    def taken(self) -> float:
        """Seconds of one product: measured, else by the model."""
        return self.seconds if self.measured is None else self.measured

    def __getstate__(self) -> dict[str, Any]:
        return vars(self) | {"survey": None}  # which is not needed once the reason is told

    def total(self, products: int) -> float:
        """Return the seconds of the conversion and of so many products."""
        return self.conversion + products * self.taken

    @property
    def simple(self) -> int:
        """How many things are not as they are by default: the fewer, the sooner it is recommended."""
        return len(self.layout) + self.narrow + (self.order is not None)

    @property
    def nearly_full(self) -> bool:
        """Whether all elements of diagonals are stored and most are nonzero: products and sums are diagonals, too."""
        if self.theirs or self.survey is None:
            return False
        full = self.survey.full > least_fill(np.dtype(self.dtype).itemsize)
        return FORMATS[self.format].family == "diagonals" and full

    def made_of(self, csr: SparseArray) -> Any:
        """Return the matrix that was looked at, which is in csr, in this layout; the user's own where it stays."""
        if self.matrix is not None:
            return self.matrix
        rows = csr if self.order is None else self.order.apply(csr)
        try:
            made = rows.asformat(self.format, **self.layout)
        except ValueError:  # a matrix that seemed symmetric, by sums of hashes, and is not
            if "symmetry" not in self.layout or rows._summary().symmetry == self.layout["symmetry"]:
                raise
            made = rows.asformat(self.format, **{name: v for name, v in self.layout.items() if name != "symmetry"})
        return self._in_its_order(made.astype(self.dtype, copy=False))

    def made_like(self, csr: SparseArray) -> Any:
        """Return another matrix, which is in csr, in this layout; ValueError where it does not allow that.

        Its values keep their type, unless this layout stores them in fewer bytes.
        """
        if self.theirs:
            return csr.to("cpu").to_scipy("csr").asformat(self.format)
        rows = csr if self.order is None else self.order.apply(csr)
        if self.matrix is not None and not self.layout:
            return self.matrix._format.like(self.matrix, rows)
        made = rows.asformat(self.format, **self.layout)
        return self._in_its_order(made.astype(self.dtype, copy=False) if self.narrow else made)

    def _in_its_order(self, made: SparseArray) -> Any:
        return made if self.order is None else Reordered(made, self.order.permutation)
