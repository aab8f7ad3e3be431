"""The reason for a recommendation: sentences that name the decisive property of the matrix, with numbers."""

from __future__ import annotations

from collections.abc import Sequence

from .._matrix.registry import COMMON
from . import words
from .candidate import Candidate
from .models import MODELS

_CLEARLY = 0.9  # ratio of times below which a layout is clearly faster


def reason(ranked: Sequence[Candidate], current: Candidate, products: int, all_fit: bool, requested: bool) -> str:
    """Return why the first of these layouts is ranked first; `requested`: the user restricted the formats."""
    best = ranked[0]
    if best is current and not all_fit:
        return f"No layout that fits in memory would make {words.times(products)} clearly faster."
    quicker = min(ranked, key=lambda one: one.product_seconds)
    faster_later = ""
    if quicker.product_seconds < _CLEARLY * best.product_seconds:
        faster_later = (
            f" A product would be faster in {quicker.name}, but for {words.times(products)}"
            " the conversion costs more than it saves."
        )
    elif best is not current and best.nearly_full and not quicker.nearly_full:
        same = f"{quicker.name} is equally fast, but products and sums of {best.format} matrices remain diagonal."
        return same + _changes(best)
    return _of_layout(best, current, products, requested) + faster_later + _changes(best)


def _of_layout(best: Candidate, current: Candidate, products: int, requested: bool) -> str:
    statistics = best.statistics
    assert statistics is not None
    if not statistics.csr.nnz:
        return "The matrix has no entries, so all formats are equally fast."
    if best is current:
        positions = words.positions_of_nonzeros(statistics) if best.format == COMMON else ""
        because = f": {positions}" if positions else ""
        return f"No other format would make {words.times(products)} clearly faster{because}."
    model = MODELS[best.format]
    if requested and not model.structured:
        return f"Of the requested formats, {best.format} is the fastest."
    return model.reason(best, statistics)


def _changes(best: Candidate) -> str:
    """Return how the dtype and the order of the rows differ from those of the given matrix."""
    narrow = f" The values are stored in {best.dtype}, which represents all of them exactly." if best.narrow else ""
    return narrow + " The rows and columns are in reverse Cuthill-McKee order." * (best.order is not None)
