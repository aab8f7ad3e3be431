"""Errors of factors, which name the function that the user called, the matrix and the pivot."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from .host_cholesky import NotPositiveDefinite
from .substitution import Singular


@contextmanager
def named_errors(who: str, sigma: complex, order: int, members: int | None) -> Iterator[None]:
    """Make errors begin with `who`, and those of singular matrices name the matrix and the pivot.

    The matrix is ``A - sigma I``, or for a batch the block diagonal matrix of its members, each of this order.
    """
    matrix = f"A{shift(sigma)}"
    try:
        yield
    except NotPositiveDefinite as error:
        where, minor = _of_member(error.order - 1, order, members)
        what = f"the leading minor of order {minor + 1}{where} is not positive"
        raise np.linalg.LinAlgError(f"{who} {matrix} is not positive definite: {what}") from None
    except Singular as error:
        where, row = _of_member(error.row, order, members)
        raise np.linalg.LinAlgError(f"{who} {matrix} is singular: the pivot of row {row}{where} is zero") from None
    except np.linalg.LinAlgError as error:
        raise np.linalg.LinAlgError(f"{who} {matrix} is singular: {error}") from None
    except (ValueError, MemoryError, ImportError) as error:
        error.args = (f"{who} {str(error).removeprefix('factorized: ').removeprefix(f'{who} ')}",)
        raise


def shift(sigma: complex) -> str:
    """Return how a shift is written after the matrix, ``" - 2 I"``."""
    return f" - {sigma} I" if sigma else ""


def _of_member(row: int, order: int, members: int | None) -> tuple[str, int]:
    """Return the words that name the member of a row, and the row within it, from 0."""
    member, row = divmod(row, max(1, order))
    return ("" if members is None else f" of member {member}"), row
