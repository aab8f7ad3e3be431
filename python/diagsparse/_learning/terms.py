"""Products with diagonals as lists of terms, and the lists of their derivatives.

Each operation is a list of terms. A term multiplies contiguous elements of a row of u by those of a row of v, and adds
the products to those of a row of the result, for i = 0, ..., length - 1::

    result[r0, s0 + i] += u[r1, s1 + i] * v[r2, s2 + i]

The three arrays are on an equal footing. The derivative of the result with respect to u, applied to a gradient g of the
result, is the same list with u and the result exchanged: ``du[r1, s1 + i] += g[r0, s0 + i] * v[r2, s2 + i]``. So is the
derivative of that one. For the product ``y = A x`` the three lists are

- ``y = A x``, from A and x,
- ``g x``, sampled on the diagonals of A: the gradient of A, from g and x,
- ``A.T g``: the gradient of x, from A and g.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np

from .layout import of_product, rows_of

Offsets = tuple[int, ...]


@dataclass(frozen=True)
class Table:
    """The terms, sorted by the row of the result.

    Attributes
    ----------
    rows, starts : ndarray, shape (terms, 3)
        The row, and the first element there, of the result, u and v.
    lengths : ndarray, shape (terms,)
        The number of elements.
    shapes : tuple of 3 tuples
        The shapes of the three arrays: rows and elements.
    """

    rows: np.ndarray
    starts: np.ndarray
    lengths: np.ndarray
    shapes: tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Terms:
    """A list of terms as a value that can be compared and hashed: how it is created, and an order.

    `order` says which of the three arrays of the created list is the result, u and v.
    """

    kind: str
    a: Offsets
    b: Offsets
    shape: tuple[int, ...]
    order: tuple[int, ...] = (0, 1, 2)

    def exchanged(self, i: int, j: int) -> Terms:
        """Return the list with two of the arrays exchanged: the result (0), u (1) or v (2)."""
        order = list(self.order)
        order[i], order[j] = order[j], order[i]
        return replace(self, order=tuple(order))

    @property
    def is_derivative(self) -> bool:
        """Whether arrays were exchanged."""
        return self.order != (0, 1, 2)

    @property
    def may_be_native(self) -> bool:
        """Whether there are kernels for the list: a product of a matrix with elements, or one of its derivatives."""
        return self.kind == "product" and min(*self.shape, len(self.a)) > 0

    def operands(self, u: Any, v: Any) -> dict[int, Any]:
        """Return u and v by their numbers in the created list."""
        return dict(zip(self.order[1:], (u, v), strict=True))

    @property
    def table(self) -> Table:
        """The terms."""
        return _table_of(self)


def product(offsets: Offsets, shape: tuple[int, int]) -> Terms:
    """Return the terms of ``y = A x``, from the values of A and one row that holds x."""
    return Terms("product", offsets, (), shape)


def transpose(offsets: Offsets, shape: tuple[int, int]) -> Terms:
    """Return the terms of the values of the transposed matrix, from those of A and a row of n ones."""
    return Terms("transpose", offsets, (), shape)


def matmul(a: Offsets, b: Offsets, shape: tuple[int, int, int]) -> Terms:
    """Return the terms of ``C = A B`` for matrices of l x m and m x n elements: `shape` is (l, m, n)."""
    return Terms("matmul", a, b, shape)


@lru_cache(maxsize=256)
def _table_of(terms: Terms) -> Table:
    rows, starts, lengths, shapes = (_matmul if terms.kind == "matmul" else _of_one)(terms)
    order = list(terms.order)
    first = np.argsort(rows[:, order[0]], kind="stable")
    return Table(rows[first][:, order], starts[first][:, order], lengths[first], tuple(shapes[i] for i in order))


def _of_one(terms: Terms) -> tuple[Any, ...]:
    """Return the terms of a product or a transpose: one for each diagonal."""
    offsets, (m, n) = terms.a, terms.shape
    k = np.arange(len(offsets))
    shift = np.array(offsets, np.int64)
    first, end = np.array([rows_of(offset, (m, n)) for offset in offsets], np.int64).reshape(-1, 2).T
    if terms.kind == "product":
        rows, starts, result = (0 * k, k, 0 * k), (first, first, first + shift), (1, m)
    else:
        rows, starts, result = (k, k, 0 * k), (first + shift, first, first + shift), (len(offsets), n)
    return np.stack(rows, axis=1), np.stack(starts, axis=1), end - first, (result, (len(offsets), m), (1, n))


def _matmul(terms: Terms) -> tuple[Any, ...]:
    """Return the terms of a product of two matrices: one for each pair of diagonals that meet."""
    rows, middle, columns = terms.shape
    found = np.array(of_product(terms.a, terms.b, rows, columns), np.int64)
    i, j = np.indices((len(terms.a), len(terms.b))).reshape(2, -1)
    p, q = np.array(terms.a, np.int64)[i], np.array(terms.b, np.int64)[j]
    first = np.maximum(0, np.maximum(-p, -p - q))
    length = np.minimum(rows, np.minimum(middle - p, columns - p - q)) - first
    both = np.stack([np.searchsorted(found, p + q), i, j], axis=1), np.stack([first, first, first + p], axis=1)
    return *(a[length > 0] for a in (*both, length)), ((len(found), rows), (len(terms.a), rows), (len(terms.b), middle))
