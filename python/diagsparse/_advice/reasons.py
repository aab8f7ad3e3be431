"""Why a layout was recommended: one sentence, of what decides and the numbers that it follows from."""

from __future__ import annotations

from collections.abc import Sequence

from .._show.columns import digits
from .candidates import Candidate
from .survey import DIAGONALS, Survey

_ROWS_AT_ONCE = ("ell", "sell", "jds", "hyb")
_CLEARLY = 0.9  # of a time
_FULL = 0.9  # of a diagonal that is called full


def reason(ranked: Sequence[Candidate], base: Candidate, products: int, all_fit: bool) -> str:
    """Return why the first of some layouts is first: sentences, with the numbers that they follow from."""
    best = ranked[0]
    if best is base and not all_fit:
        return f"No layout that fits makes {_times(products)} clearly faster."
    quicker = min(ranked, key=lambda one: one.taken)
    waits = ""
    if quicker.taken < _CLEARLY * best.taken:
        waits = f" A product would be faster in {quicker.name}, but {_times(products)} {_pay(products)} its conversion."
    return _of_layout(best, base, products) + waits + _changes(best)


def _changes(best: Candidate) -> str:
    """Return what a layout does that its user sees."""
    told = f" Stored in {best.dtype}, which holds every value exactly." if best.narrow else ""
    return told + " In reverse Cuthill-McKee order." * (best.order is not None)


def _pay(products: int) -> str:
    return "does not pay for" if products == 1 else "do not pay for"


def _of_layout(best: Candidate, base: Candidate, products: int) -> str:
    survey = best.survey
    assert survey is not None
    if not survey.csr.nnz:
        return "Nothing is stored, so one format is as fast as another."
    nnz = survey.csr.nnz
    if best is base:
        told = f": {_of_rows(survey)}" if best.format == "csr" else ""
        return f"No other format makes {_times(products)} clearly faster{told}."
    if best.format in DIAGONALS:
        d = len(survey.summary.offsets)
        full = nnz / max(1, survey.diagonal_places)
        little = best.nbytes < nnz * survey.csr.dtype.itemsize / _FULL
        what = "values and almost nothing else" if little else "no column indices, but what is not full with zeros"
        told = f"{_diagonals(d)} {_percent(full)} full: {best.format} stores {what}"
        if "symmetry" in best.layout:
            told += f", and one half of them, for A is {best.layout['symmetry']}"
        if "period" in best.layout:
            rows = best.layout["period"]
            told += f", and of each diagonal only {rows} row{'s' * (rows != 1)}, after which all repeat"
        return f"{told}; {digits(best.nbytes / nnz)} bytes a nonzero, csr {_csr_bytes(survey)}."
    if best.format == "mdia":
        d, full = len(survey.summary.offsets), nnz / max(1, survey.diagonal_places)
        only, zeros = ("", "") if full > _FULL else ("only ", " leaves their zeros out, and")
        half = f", and stores one half, for A is {best.layout['symmetry']}" if "symmetry" in best.layout else ""
        return f"{_diagonals(d)} {only}{_percent(full)} full: mdia{zeros} needs no column indices{half}."
    if best.format == "qband":
        chosen, rest = survey.bands
        on = _percent(1 - rest / nnz)
        many = f"{len(chosen)} nearly full diagonals hold" if len(chosen) != 1 else "One nearly full diagonal holds"
        return f"{many} {on} of the nonzeros: qband stores them as such, the rest by rows."
    if best.format == "bmsparse":
        fill = nnz / max(1, 64 * survey.summary.blocks())
        return f"The occupied 8 x 8 blocks are {_percent(fill)} full: bmsparse stores one index a block."
    if best.format == "csr":
        return f"No structure pays here: {_of_rows(survey)}."
    if survey.csr.shape[0] > 2 * nnz:
        return f"Most of the rows are empty, which {best.format} does not go through one by one."
    how = "goes through several rows at once" if best.format in _ROWS_AT_ONCE else "takes the least time"
    how += ", sorted by length" * (best.layout.get("sigma", 1) > 1)
    how += ", with column indices of 16 bits" * (best.layout.get("column_bits") == 16)
    return f"The nonzeros lie on too many diagonals and blocks: {best.format} {how}."


def _of_rows(survey: Survey) -> str:
    fill = survey.csr.nnz / max(1, 64 * survey.sample.blocks)
    known = survey.of_diagonals
    many = f"{len(survey.summary.offsets)}" if known else f"at least {len(survey.sample.offsets)}"
    plural = "s" * (many != "1")
    return (
        f"the nonzeros lie on {many} diagonal{plural}, and fill the 8 x 8 blocks that they occupy to {_percent(fill)}"
    )


def _diagonals(count: int) -> str:
    return f"The {count} diagonals are" if count != 1 else "The diagonal is"


def _times(products: int) -> str:
    return "one product" if products == 1 else f"{products} products"


def _csr_bytes(survey: Survey) -> str:
    return digits(survey.csr.nbytes / max(1, survey.csr.nnz))


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %" if share >= 0.01 else f"{100 * share:.2g} %"
