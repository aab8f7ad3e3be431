"""Views: a transpose and a conjugate are two bits, and no value moves."""

from __future__ import annotations

from .base import CONJUGATED, TRANSPOSED, SparseArray


class Views:
    """`A.T`, `A.H` and `A.conj()`; mixed into every matrix class. csr and csc have a `T` of their own."""

    @property
    def T(self: SparseArray) -> SparseArray:
        """The transpose, as a view."""
        return self._wrap(self._matrix, self._op ^ TRANSPOSED)

    mT = T

    @property
    def H(self: SparseArray) -> SparseArray:
        """The conjugate transpose, as a view."""
        return self.T.conj()

    def transpose(self: SparseArray, axes: tuple[int, int] | None = None, copy: bool = False) -> SparseArray:
        """Return `A.T`; ``copy=True`` lays it out anew."""
        if (tuple(axes) if isinstance(axes, list) else axes) not in (None, (1, 0), (-1, -2), (1, -2), (-1, 0)):
            raise ValueError(f"transpose: axes {axes}: expected None or (1, 0)")
        return self.T.copy() if copy else self.T

    def adjoint(self: SparseArray) -> SparseArray:
        """Return `A.H`."""
        return self.H

    def conj(self: SparseArray, copy: bool = False) -> SparseArray:
        """Return the complex conjugate, as a view unless ``copy=True``."""
        view = self._wrap(self._matrix, self._op ^ CONJUGATED)
        return view.copy() if copy else view

    conjugate = conj
