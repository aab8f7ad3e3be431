"""Orthonormal bases of Krylov spaces, in which a matrix is small: by Lanczos, and by Arnoldi."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .vectors import Vectors

WHOLE = 30  #: rows up to which a space is orthogonalized against all vectors
_CANCELLED = 0.7  # of a vector that is left after it was orthogonalized; if it is less, it has to be repeated
_INVARIANT = 10  # times eps, relative to the matrix: a part that is left of a product, and counts as zero


class Krylov(NamedTuple):
    """An orthonormal basis of a Krylov space, and the matrix in it."""

    basis: list[Any]  #: the vectors, of which the first is that of the space
    small: np.ndarray  #: V^H A V, square
    rest: float  #: the norm of what A adds to the space; 0 if the space is invariant
    size: float  #: the norm of the first vector before it was scaled


class Process:
    """Builds the basis of a Krylov space, one vector at a time.

    `scale` is about the size of the matrix, so that no square of an element of a product overflows or vanishes.
    """

    def __init__(self, v: Vectors, A: Any, start: Any, hermitian: bool, scale: float, dtype: np.dtype) -> None:
        # Where the space may be the whole one, all vectors have to stay orthogonal.
        hermitian = hermitian and A.shape[0] > WHOLE
        self.v, self.A, self.hermitian, self.scale, self.dtype = v, A, hermitian, scale, np.dtype(dtype)
        self.size = v.norm(start)
        self.basis: list[Any] = []
        self.columns: list[np.ndarray] = []  # of V^H A V, with the element below the last row
        self.rest, self._next = 1.0, start
        if not self.size > 0 or not np.isfinite(self.size):
            self.rest = 0.0

    def step(self) -> None:
        """Add a vector."""
        v, j = self.v, len(self.basis)
        q = v.empty(self._next.shape, self.dtype)
        self._normalize(q, self.rest if j else self.size)
        self.basis.append(q)
        w = v.empty(q.shape, self.dtype)
        v.multiply(self.A, q, w, 1 / self.scale)
        column = np.zeros(j + 2, complex)
        if self.hermitian:  # w is orthogonal to all vectors but the last two, up to rounding
            if j:
                column[j - 1] = self.columns[-1][j]
                v.combine(-column[j - 1].real, self.basis[-2], 1.0, w)
            column[j] = v.real_inner(q, w)
            v.combine(-column[j].real, q, 1.0, w)
        else:
            before = v.norm(w)
            self._orthogonalize(w, column)
            if v.norm(w) < _CANCELLED * before:
                self._orthogonalize(w, column)
        rest, size = v.norm(w), float(np.linalg.norm(column))
        whole = j + 1 == self.A.shape[0] or rest <= _INVARIANT * np.finfo(self.dtype).eps * size
        self.rest = 0.0 if whole else rest
        column[j + 1] = self.rest
        self.columns.append(column)
        self._next = w

    def _normalize(self, q: Any, size: float) -> None:
        """Write the next vector, which has this norm, to q with norm 1."""
        if size > 4 * np.finfo(self.dtype).tiny:
            self.v.combine(1 / size, self._next, 0.0, q)
        else:  # the inverse may be infinite
            self.v.combine(size**-0.5, self._next, 0.0, q)
            self.v.combine(size**-0.5 - 1, q, 1.0, q)

    def _orthogonalize(self, w: Any, column: np.ndarray) -> None:
        """Subtract from w its components in all vectors of the basis, which are added to `column`."""
        for i, other in enumerate(self.basis):
            component = self.v.inner(other, w)
            self.v.combine(-component if self.dtype.kind == "c" else -component.real, other, 1.0, w)
            column[i] += component

    def result(self) -> Krylov:
        """Return what was built."""
        m = len(self.basis)
        small = np.zeros((m, m), complex)
        for j, column in enumerate(self.columns):
            small[: min(j + 2, m), j] = column[:m]
        if self.hermitian:
            small = (
                np.diag(small.diagonal().real)
                + np.diag(small.diagonal(-1).real, -1)
                + np.diag(small.diagonal(-1).real, 1)
            )
        return Krylov(self.basis, self.scale * small, self.scale * self.rest, self.size)
