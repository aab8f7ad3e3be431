"""Views: the transpose and the conjugate are two bits; the values are shared."""

from __future__ import annotations

from .base import CONJUGATED, TRANSPOSED, M


def transposed(a: M) -> M:
    """Return the transpose as a view: `A.T`. csr and csc override it."""
    return a._wrap(a._matrix, a._op ^ TRANSPOSED)


def transpose(a: M, axes: tuple[int, int] | None = None, copy: bool = False) -> M:
    """Return `A.T`, as a view unless ``copy=True``."""
    if (tuple(axes) if isinstance(axes, list) else axes) not in (None, (1, 0), (-1, -2), (1, -2), (-1, 0)):
        raise ValueError(f"transpose: axes {axes}: expected None or (1, 0)")
    return a.T.copy() if copy else a.T


def adjoint(a: M) -> M:
    """Return `A.H`."""
    return a.H


def conj(a: M, copy: bool = False) -> M:
    """Return the complex conjugate, as a view unless ``copy=True``."""
    view = a._wrap(a._matrix, a._op ^ CONJUGATED)
    return view.copy() if copy else view
