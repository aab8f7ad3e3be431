"""Phrases that several reasons contain."""

from __future__ import annotations

from .._show.columns import digits, percent
from .statistics import Statistics

FULL = 0.9  #: fraction of stored elements above which diagonals are called full


def diagonals(count: int) -> str:
    """Return the beginning of a sentence: ``The 5 diagonals are``."""
    return f"The {count} diagonals are" if count != 1 else "The diagonal is"


def times(products: int) -> str:
    """Return the number of products: ``a single product``, ``10 products``."""
    return "a single product" if products == 1 else f"{products} products"


def bytes_each(nbytes: float, statistics: Statistics) -> str:
    """Return a sentence: the bytes per nonzero in a layout, and in csr."""
    nnz = max(1, statistics.csr.nnz)
    here, in_csr = digits(nbytes / nnz), digits(statistics.csr.nbytes / nnz)
    return f"This needs {here} bytes per nonzero, compared with {in_csr} in csr."


def positions_of_nonzeros(statistics: Statistics) -> str:
    """Return how many diagonals a matrix has, and how full its blocks are; "" if it has few and full diagonals."""
    if statistics.full > FULL:
        return ""
    fill = statistics.csr.nnz / max(1, 64 * statistics.sample.blocks)
    known = statistics.of_diagonals
    many = f"{len(statistics.offsets)}" if known else f"at least {len(statistics.sample.offsets)}"
    plural = "s" * (many != "1")
    blocks = f"the 8 x 8 blocks that contain them are {percent(fill)} full"
    return f"the nonzeros lie on {many} diagonal{plural}, and {blocks}"
