"""Why a layout was recommended: sentences, of what decides and the numbers that it follows from."""

from __future__ import annotations

from collections.abc import Sequence

from .._matrix.registry import COMMON
from . import words
from .candidate import Candidate
from .models import MODELS

_CLEARLY = 0.9  # of a time


def reason(ranked: Sequence[Candidate], base: Candidate, products: int, all_fit: bool, asked: bool) -> str:
    """Return why the first of some layouts is first; `asked`: of formats that the user named."""
    best = ranked[0]
    if best is base and not all_fit:
        return f"No layout that fits makes {words.times(products)} clearly faster."
    quicker = min(ranked, key=lambda one: one.taken)
    waits = ""
    if quicker.taken < _CLEARLY * best.taken:
        pay = "does not pay for" if products == 1 else "do not pay for"
        waits = f" A product would be faster in {quicker.name}, but {words.times(products)} {pay} its conversion."
    elif best.nearly_full and best is not base and best.taken > quicker.taken and not quicker.nearly_full:
        return f"{quicker.name} is as fast, but products and sums of diagonals are diagonals, too.{_changes(best)}"
    return _of_layout(best, base, products, asked) + waits + _changes(best)


def _of_layout(best: Candidate, base: Candidate, products: int, asked: bool) -> str:
    survey = best.survey
    assert survey is not None
    if not survey.csr.nnz:
        return "Nothing is stored, so one format is as fast as another."
    if best is base:
        nowhere = words.nowhere(survey) if best.format == COMMON else ""
        told = f": {nowhere}" if nowhere else ""
        return f"No other format makes {words.times(products)} clearly faster{told}."
    model = MODELS[best.format]
    if asked and not model.structured:
        return f"Of the formats that were asked for, {best.format} takes the least time."
    return model.reason(best, survey)


def _changes(best: Candidate) -> str:
    """Return what a layout does that its user sees."""
    told = f" Stored in {best.dtype}, which holds every value exactly." if best.narrow else ""
    return told + " In reverse Cuthill-McKee order." * (best.order is not None)
