"""Checks of the arguments of `recommend` and `array`."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral
from typing import Any

from .._matrix.registry import FORMATS, format_named
from .._matrix.sparse_array import SparseArray
from .._study.titles import TITLES

OPS = tuple(TITLES)  #: the operations that formats are recommended for
_LAST = 1 << 53


def check_op(op: Any, A: SparseArray | None, who: str) -> None:
    """Raise ValueError for an unknown operation, or one that is impossible for A."""
    known = (*OPS, "solve") if who == "recommend" else OPS
    if op not in known:
        raise ValueError(f"{who}: op={op!r}: expected {' or '.join(map(repr, known))}")
    if op == "solve" and A is not None and A.shape[0] != A.shape[1]:
        raise ValueError(f'{who}: op="solve" expects a square matrix, got {A.shape[0]} x {A.shape[1]}')
    if op == "matmul" and A is not None and A.shape[0] != A.shape[1]:
        raise ValueError(
            f'{who}: op="matmul" multiplies A by itself: expected a square matrix, got {A.shape[0]} x {A.shape[1]}'
        )


def format_names(given: Sequence[str] | None) -> list[str]:
    """Return the names of `formats=`, by default all of them."""
    if given is not None and not isinstance(given, str | Sequence):
        raise TypeError(f"recommend: formats={given!r}: expected a list of format names")
    names = [given] if isinstance(given, str) else list(FORMATS) if given is None else list(dict.fromkeys(given))
    if not names:
        raise ValueError("recommend: formats=[]: expected at least one name, or None for all")
    for name in names:
        format_named(name)
    return names


def check_reuse(reuse: Any) -> None:
    """Raise TypeError unless `reuse` is a bool."""
    if not isinstance(reuse, bool):
        raise TypeError(f"recommend: reuse={reuse!r}, expected True or False")


def product_count(products: Any) -> int:
    """Return `products=` as an integer."""
    if not isinstance(products, Integral) or isinstance(products, bool):
        raise TypeError(f"recommend: products={products!r}: expected a whole number")
    if not 1 <= int(products) <= _LAST:
        raise ValueError(f"recommend: products={products}: expected 1 to 2^53")
    return int(products)
