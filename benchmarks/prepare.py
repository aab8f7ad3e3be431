"""Prepared calls: functions that build a call for the clock, and return it together with its result."""

from __future__ import annotations

import operator
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from diagsparse import plan_matmul, plan_matvec
from diagsparse._backends.backend import CPU, Backend
from diagsparse._matrix.sparse_array import SparseArray

Prepared = tuple[Callable[[], Any], Any]
"""A call that writes to preallocated memory, and its result."""


def planned_square(A: SparseArray, kernel: str = "", triangle: str | None = None) -> Prepared:
    """Return a planned call of ``A A``, or of a triangle of it, that writes to its first result, and this result."""
    return planned(plan_matmul(A, A, kernel=kernel or None, triangle=triangle))


def planned(plan: Any) -> Prepared:
    """Return a planned product that writes to its first result, and this result."""
    C = plan()
    return partial(plan, out=C), C


def called(function: Callable[..., Any], *args: Any, **options: Any) -> Prepared:
    """Return a call of a function, which allocates its result, and its result."""
    call = partial(function, *args, **options)
    return call, call()


def square(A: Any, kernel: str = "") -> Prepared:
    """Return a call of ``A A`` for a matrix of any library, which allocates its result, and its result."""
    return called(A.matmul, A, kernel=kernel) if kernel else called(operator.matmul, A, A)


def planned_matvec(A: SparseArray, x: Any, kernel: str = "") -> Prepared:
    """Return a planned call of ``A x`` that writes to its first result, and this result."""
    plan = plan_matvec(A, kernel=kernel or None)
    y = plan(x)
    return partial(plan, x, out=y), y


def on_device(x: np.ndarray, where: Backend) -> Any:
    """Return a vector in the memory of a device."""
    return x if where is CPU else where.core.from_host(x, where.index)
