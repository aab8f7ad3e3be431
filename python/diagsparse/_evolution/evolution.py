"""The result of `evolve`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .._show import columns, display


@dataclass(frozen=True, eq=False, repr=False)
class Evolution:
    """The states of a system at several times: `str()` returns a few lines.

    Attributes
    ----------
    times : ndarray, shape (k,)
        The times, in the given order; k = 1 if a number was given.
    states : array, shape (k, n) or (k, n, p), or None
        The states at these times: on a GPU an array of the library of the initial state, on the CPU of NumPy. None if
        they were not kept.
    final : array, shape (n,) or (n, p)
        The state at the time that was given last.
    expect : ndarray, shape (k, m) or (k, m, p), or None
        ``<psi, O psi>`` of m observables; real if they are all Hermitian. None without observables.
    method : {"chebyshev", "krylov", "taylor"}
        How the states were computed.
    reason : str
        Why this method was chosen.
    spectrum : (float, float), or None
        The interval of the Chebyshev series. None for the other methods.
    products : int
        Number of products of the matrix with vectors, or with blocks, without those of observables.
    tol : float
        What the error of each state was bounded by, or for matrices that are not Hermitian estimated to be below,
        relative to the initial state and without rounding errors.
    seconds : float
        The time that it took.
    steps, rejected : int, or None
        For a changing matrix, the number of steps, and of those that were rejected because of their error.
    """

    times: np.ndarray
    states: Any
    final: Any
    expect: np.ndarray | None
    method: str
    reason: str
    spectrum: tuple[float, float] | None
    products: int
    tol: float
    seconds: float
    steps: int | None
    rejected: int | None

    def __repr__(self) -> str:
        what = f"shape {tuple(self.final.shape)}, {len(self.times)} time{'s' if len(self.times) != 1 else ''}"
        return f"<evolution by {self.method}: {what}, {self.products} products>"

    def __str__(self) -> str:
        return "\n".join([repr(self)[1:-1], *columns.columns(self._rows(), "<<")])

    def _repr_html_(self) -> str:
        return display.page(repr(self), [], display.table(("", ""), self._rows()))

    def _rows(self) -> list[tuple[str, str]]:
        rows = [
            ("method", self.method),
            ("why", self.reason),
            ("tolerance", f"{self.tol:.1e}, relative to psi"),
        ]
        if self.spectrum is not None:
            rows.append(("spectrum", f"{self.spectrum[0]:.6g} to {self.spectrum[1]:.6g}"))
        if self.steps is not None:
            rows.append(("steps", f"{self.steps}, and {self.rejected} rejected"))
        return [*rows, ("products", str(self.products)), ("time", f"{self.seconds:.3g} s")]
