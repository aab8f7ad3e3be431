"""Words and numbers that reasons are made of."""

from __future__ import annotations

from .._show.columns import digits
from .survey import Survey

FULL = 0.9  #: of a diagonal that is called full


def percent(share: float) -> str:
    """Return a share: ``95 %``, ``0.12 %``."""
    return f"{100 * share:.0f} %" if share >= 0.01 else f"{100 * share:.2g} %"


def diagonals(count: int) -> str:
    """Return a subject and its verb."""
    return f"The {count} diagonals are" if count != 1 else "The diagonal is"


def times(products: int) -> str:
    """Return how many products there are."""
    return "one product" if products == 1 else f"{products} products"


def bytes_each(nbytes: float, survey: Survey) -> str:
    """Return the bytes of a nonzero, and those of one in csr."""
    nnz = max(1, survey.csr.nnz)
    return f"{digits(nbytes / nnz)} bytes a nonzero, csr {digits(survey.csr.nbytes / nnz)}"


def nowhere(survey: Survey) -> str:
    """Return how many diagonals a matrix has, and how empty its blocks are; "" where it has few and full ones."""
    if survey.full > FULL:
        return ""
    fill = survey.csr.nnz / max(1, 64 * survey.sample.blocks)
    known = survey.of_diagonals
    many = f"{len(survey.offsets)}" if known else f"at least {len(survey.sample.offsets)}"
    plural = "s" * (many != "1")
    return f"the nonzeros lie on {many} diagonal{plural}, and fill the 8 x 8 blocks that they occupy to {percent(fill)}"
