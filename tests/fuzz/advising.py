"""Advice: what `recommend` names can be built and is the same matrix; `array`, `analyze`, forecasts of bytes."""

from typing import Any

import numpy as np
import scipy.sparse as sp

import diagsparse as ds
from fuzz.arrays import NARROW
from fuzz.case import Case
from fuzz.checks import same
from fuzz.matrices import draw


def recommendations(case: Case) -> None:
    """Every layout that is told, for products with vectors or with itself."""
    drawn = draw(case, large=0.02)
    A, exact = drawn.A, drawn.exact
    op = case.pick(["matvec", "matmul"]) if A.shape[0] == A.shape[1] and A.dtype not in NARROW else "matvec"
    options: dict[str, Any] = {"products": case.pick([1, 100, 10**6])}
    if op == "matvec":
        options["narrow"] = case.chance(0.3)
    if case.chance(0.2):
        options["formats"] = case.some(ds.formats(), 4) or None
    given = A if case.chance(0.7) or case.device != "cpu" else sp.csr_array(exact)
    case.note(op, options, type(given).__name__)
    advice = ds.recommend(given, op, **options)
    if not advice.stays:
        made = advice.build()
        assert made.format == advice.format, f"format {made.format}, expected {advice.format}"
        same(made, exact)
    csr = ds.csr_array(A.astype(exact.dtype) if A.dtype != exact.dtype else A)
    for one in case.some(advice.candidates, 3):
        if one.theirs:
            continue
        made = one.made_of(csr)
        if one.matrix is None:  # else it is the given one
            assert (made.format, str(made.dtype)) == (one.format, one.dtype), f"{made!r}, expected {one.name}"
        same(made, exact)
    assert advice.reason in str(advice)
    drawn.require_unchanged()


def arrays(case: Case) -> None:
    """`array` without a format, and `memory_report` beside what is made."""
    drawn = draw(case, large=0.02)
    op = case.pick(["matvec", "matmul"]) if drawn.shape[0] == drawn.shape[1] else "matvec"
    given = case.pick([sp.csr_array(drawn.exact), drawn.exact])
    case.note("array of", type(given).__name__, op)
    made = ds.array(given, op=op, device=case.device)
    same(made, drawn.exact, None, drawn.exact.dtype)
    report, format = ds.memory_report(made), case.pick(ds.formats())
    if report[format] is not None and report[format] < 10**8:
        nbytes = made.asformat(format).nbytes
        assert nbytes <= report[format], f"{format} takes {nbytes} bytes, {report[format]} were told"


def analyses(case: Case) -> None:
    """`analyze`: counts beside NumPy's, and words that can be shown."""
    if case.device != "cpu":
        return
    drawn = draw(case, large=0.02)
    made = ds.analyze(drawn.A, rcm=case.chance(0.2))
    stored = sp.csr_array(drawn.A.unpacked().to_scipy("csr") if drawn.A._packed else drawn.A.to_scipy("csr"))
    assert made.shape == drawn.shape and made.nnz >= np.count_nonzero(stored.data), f"{made.nnz} nonzeros"
    assert str(made) and "<" in made._repr_html_()
    drawn.require_unchanged()


CHECKS: dict[Any, float] = {recommendations: 2, arrays: 1, analyses: 0.5}
