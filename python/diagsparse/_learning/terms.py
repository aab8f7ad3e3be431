"""Products with diagonals as lists of terms, and the lists of their derivatives.

Each operation is a list of terms, each of which multiplies contiguous elements of a row of u by those of a row of v, and
adds the products to those of a row of the result, for i = 0, ..., length - 1::

    result[r0, s0 + i] += u[r1, s1 + i] * v[r2, s2 + i]

The three arrays are on an equal footing. The derivative of the result with respect to u, applied to a gradient g of the
result, is the same list with u and the result exchanged: ``du[r1, s1 + i] += g[r0, s0 + i] * v[r2, s2 + i]``. So is the
derivative of that one. For the product ``y = A x`` the three lists are

- ``y = A x``, from A and x,
- ``g x``, sampled on the diagonals of A: the gradient of A, from g and x,
- ``A.T g``: the gradient of x, from A and g.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from .layout import of_product, rows_of

Offsets = tuple[int, ...]


@dataclass(frozen=True)
class Table:
    """The terms: their rows and starts, of shape (terms, 3), lengths, and the shapes of the three arrays."""

    rows: np.ndarray
    starts: np.ndarray
    lengths: np.ndarray
    shapes: tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Terms:
    """A list of terms as a value that can be hashed: the function and arguments that create it, and an order.

    `order` says which of the three arrays of the created list is the result, u and v.
    """

    create: Callable[..., Table]
    arguments: tuple[Any, ...]
    order: tuple[int, int, int] = (0, 1, 2)

    def exchanged(self, i: int, j: int) -> Terms:
        """Return the list with two of the arrays exchanged: the result (0), u (1) or v (2)."""
        order = list(self.order)
        order[i], order[j] = order[j], order[i]
        return replace(self, order=tuple(order))

    @cached_property
    def table(self) -> Table:
        """The terms, sorted by the row of the result."""
        t, order = self.create(*self.arguments), list(self.order)
        rows, starts = t.rows[:, order], t.starts[:, order]
        first = np.argsort(rows[:, 0], kind="stable")
        return Table(rows[first], starts[first], t.lengths[first], tuple(t.shapes[i] for i in order))


def _table(terms: list[tuple[int, ...]], *shapes: tuple[int, int]) -> Table:
    a = np.array(terms, np.int64).reshape(-1, 7)
    return Table(a[:, :3], a[:, 3:6], a[:, 6], shapes)


def product(offsets: Offsets, shape: tuple[int, int]) -> Terms:
    """Return the terms of ``y = A x``, from the values of A and one row that holds x."""
    return Terms(_product, (offsets, shape))


def _product(offsets: Offsets, shape: tuple[int, int]) -> Table:
    terms = []
    for k, offset in enumerate(offsets):
        first, end = rows_of(offset, shape)
        terms.append((0, k, 0, first, first, first + offset, end - first))
    return _table(terms, (1, shape[0]), (len(offsets), shape[0]), (1, shape[1]))


def transpose(offsets: Offsets, shape: tuple[int, int]) -> Terms:
    """Return the terms of the values of the transposed matrix, from those of A and a row of n ones."""
    return Terms(_transpose, (offsets, shape))


def _transpose(offsets: Offsets, shape: tuple[int, int]) -> Table:
    terms = []
    for k, offset in enumerate(offsets):
        first, end = rows_of(offset, shape)
        terms.append((k, k, 0, first + offset, first, first + offset, end - first))
    return _table(terms, (len(offsets), shape[1]), (len(offsets), shape[0]), (1, shape[1]))


def matmul(a: Offsets, b: Offsets, shape: tuple[int, int, int]) -> Terms:
    """Return the terms of ``C = A B`` for matrices of l x m and m x n elements: `shape` is (l, m, n)."""
    return Terms(_matmul, (a, b, shape))


def _matmul(a: Offsets, b: Offsets, shape: tuple[int, int, int]) -> Table:
    rows, middle, columns = shape
    found = of_product(a, b, rows, columns)
    position = {k: c for c, k in enumerate(found)}
    terms = []
    for i, p in enumerate(a):
        for j, q in enumerate(b):
            first, end = max(0, -p, -p - q), min(rows, middle - p, columns - p - q)
            if first < end:
                terms.append((position[p + q], i, j, first, first, first + p, end - first))
    return _table(terms, (len(found), rows), (len(a), rows), (len(b), middle))
