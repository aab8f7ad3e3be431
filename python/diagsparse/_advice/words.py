"""Phrases that several reasons contain."""

from __future__ import annotations

from .._show.columns import digits
from .survey import Survey

FULL = 0.9  #: the fraction of a diagonal from which on it is called full


def percent(share: float) -> str:
    """Return a fraction in percent: ``95 %``, ``0.12 %``."""
    return f"{100 * share:.0f} %" if share >= 0.01 else f"{100 * share:.2g} %"


def diagonals(count: int) -> str:
    """Return the beginning of a sentence: ``The 5 diagonals are``."""
    return f"The {count} diagonals are" if count != 1 else "The diagonal is"


def times(products: int) -> str:
    """Return the number of products: ``a single product``, ``10 products``."""
    return "a single product" if products == 1 else f"{products} products"


def bytes_each(nbytes: float, survey: Survey) -> str:
    """Return a sentence: the bytes per nonzero in a layout, and in csr."""
    nnz = max(1, survey.csr.nnz)
    here, in_csr = digits(nbytes / nnz), digits(survey.csr.nbytes / nnz)
    return f"This takes {here} bytes per nonzero, compared with {in_csr} in csr."


def nowhere(survey: Survey) -> str:
    """Return how many diagonals a matrix has, and how full its blocks are; "" if it has few and full diagonals."""
    if survey.full > FULL:
        return ""
    fill = survey.csr.nnz / max(1, 64 * survey.sample.blocks)
    known = survey.of_diagonals
    many = f"{len(survey.offsets)}" if known else f"at least {len(survey.sample.offsets)}"
    plural = "s" * (many != "1")
    blocks = f"the 8 x 8 blocks that contain them are {percent(fill)} full"
    return f"the nonzeros lie on {many} diagonal{plural}, and {blocks}"
