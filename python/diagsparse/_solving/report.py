"""The result of `solve` with ``report=True``: the method, the reason for it, and the errors of the solution."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._show import columns, display


@dataclass(frozen=True, eq=False, repr=False)
class SolveReport:
    """How a system was solved, and how accurately: `str()` returns a few lines.

    Attributes
    ----------
    method : str
        The method that found the solution.
    reason : str
        Why it was tried.
    failed : dict of str to str
        The methods that were tried before, and why each of them failed.
    shape : (int, int)
        The shape of the matrix; for a batch, of each member.
    dtype : str
        The dtype of the solution.
    device : str
        Where the matrix is.
    tol : float
        The bound that holds for the backward errors.
    backward_error : ndarray, shape (k,)
        The normwise backward error of each right-hand side, ``|b - A x| / (|A| |x| + |b|)`` in the maximum norm. It is
        NaN for a right-hand side that is not finite.
    relative_residual : ndarray, shape (k,)
        ``norm(b - A x) / norm(b)`` in the 2-norm.
    refinements : int
        How often a residual was solved for, and the result added to the solution.
    setup_seconds : float
        Time of the choice and the set-up, such as a factorization.
    seconds : float
        Time of everything else: the solution, its refinement and its errors.
    """

    method: str
    reason: str
    failed: dict[str, str]
    shape: tuple[int, int]
    dtype: str
    device: str
    tol: float
    backward_error: NDArray[np.float64]
    relative_residual: NDArray[np.float64]
    refinements: int
    setup_seconds: float
    seconds: float

    def to_dict(self) -> dict[str, Any]:
        """Return all fields as plain values, ready for JSON; numbers that are not finite are None."""
        plain = {name: [float(v) if np.isfinite(v) else None for v in getattr(self, name)] for name in _ERRORS}
        return vars(self) | {"shape": list(self.shape)} | plain

    def __repr__(self) -> str:
        n = self.shape[0]
        return f"<solution of {n} x {n} {self.dtype} by {self.method}: backward error {largest(self.backward_error)}>"

    def __str__(self) -> str:
        return "\n".join([repr(self)[1:-1], *columns.columns(self._rows(), "<<")])

    def _repr_html_(self) -> str:
        return display.page(repr(self), [], display.table(("", ""), self._rows()))

    def _rows(self) -> list[tuple[str, str]]:
        count, most = len(self.backward_error), " (the largest)"
        several = most if count > 1 else ""
        return [
            ("method", self.method),
            ("why", self.reason),
            *((f"failed: {name}", why) for name, why in self.failed.items()),
            ("right-hand sides", str(count)),
            ("backward error", f"{largest(self.backward_error)}, at most {self.tol:.2g} allowed{several}"),
            ("relative residual", f"{largest(self.relative_residual)}{several}"),
            ("refinements", str(self.refinements)),
            ("set-up", columns.seconds(self.setup_seconds)),
            ("solution", columns.seconds(self.seconds)),
            ("device", self.device),
        ]


_ERRORS = ("backward_error", "relative_residual")


def largest(errors: NDArray[np.float64]) -> str:
    """Return the largest error with two digits; those that are not finite count only if no other is there."""
    finite = errors[np.isfinite(errors)]
    return f"{(finite if len(finite) else errors).max(initial=0.0):.2g}"
