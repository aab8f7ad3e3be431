"""Advice: what `recommend` names can be built and is the same matrix; `array`, `analyze`, forecasts of bytes."""

import json
from typing import Any

import numpy as np
import scipy.sparse as sp

import diagsparse as ds
from fuzz.arrays import NARROW
from fuzz.case import Case
from fuzz.checks import same
from fuzz.matrices import draw


def recommendations(case: Case) -> None:
    """Every layout that is recommended, for products with vectors or with itself."""
    drawn = draw(case, large=0.02)
    A, exact = drawn.A, drawn.exact
    op = case.pick(["matvec", "matmul"]) if A.shape[0] == A.shape[1] and A.dtype not in NARROW else "matvec"
    options: dict[str, Any] = {"products": case.pick([1, 100, 10**6])}
    if op == "matvec":
        options |= {"narrow": case.chance(0.3), "reuse": case.chance(0.7)}
    if case.chance(0.2):
        options["formats"] = case.some(ds.formats(), 4) or None
    given = A if case.chance(0.7) or case.device != "cpu" else sp.csr_array(exact)
    case.note(op, options, type(given).__name__)
    advice = ds.recommend(given, op, **options)
    if not advice.unchanged:
        made = advice.build()
        assert made.format == advice.format, f"format {made.format}, expected {advice.format}"
        same(made, exact)
    csr = ds.csr_array(A.astype(exact.dtype) if A.dtype != exact.dtype else A)
    for one in case.some(advice.candidates, 3):
        if one.is_scipy:
            continue
        made = one.build(csr)
        if one.matrix is None:  # else it is the given one
            assert (made.format, str(made.dtype)) == (one.format, one.dtype), f"{made!r}, expected {one.name}"
        same(made, exact)
    assert advice.reason in str(advice)
    drawn.require_unchanged()


def arrays(case: Case) -> None:
    """`array` without a format, and `memory_report` compared with what is built."""
    drawn = draw(case, large=0.02)
    op = case.pick(["matvec", "matmul"]) if drawn.shape[0] == drawn.shape[1] else "matvec"
    given = case.pick([sp.csr_array(drawn.exact), drawn.exact])
    case.note("array of", type(given).__name__, op)
    made = ds.array(given, op=op, device=case.device)
    same(made, drawn.exact, None, drawn.exact.dtype)
    report, format = ds.memory_report(made), case.pick(ds.formats())
    if report[format] is not None and report[format] < 10**8:
        nbytes = made.asformat(format).nbytes
        assert nbytes <= report[format], f"{format} takes {nbytes} bytes, {report[format]} were reported"


def analyses(case: Case) -> None:
    """`analyze`: everything that is counted, compared with NumPy's counts of the same entries, and readable text."""
    if case.device != "cpu":
        return
    drawn = draw(case, large=0.02)
    A, (m, n) = drawn.A, drawn.shape
    made = ds.analyze(A, rcm=case.chance(0.2))
    entries = sp.coo_array((A.unpacked() if A._packed else A).asformat("csr").to("cpu").to_scipy("csr"))
    row, col, a = entries.row.astype(int), entries.col.astype(int), entries.data
    offsets, counts = np.unique(col - row, return_counts=True)
    lengths, rows = np.unique(np.bincount(row, minlength=m), return_counts=True)
    expected: dict[str, Any] = {
        "shape": (m, n), "dtype": A.dtype, "nnz": len(a), "offsets": offsets.tolist(), "counts": counts.tolist(),
        "row_lengths": np.transpose([lengths, rows]).tolist(), "row_min": lengths.min(initial=m + n) if m else 0,
        "row_max": lengths.max(initial=0), "bandwidth": abs(offsets).max(initial=0), "blocks": _blocks(row, col, 8),
        "symmetry": _symmetry(drawn.exact),
    }  # fmt: skip
    for name, value in expected.items():
        got = getattr(made, name)
        got = got.tolist() if isinstance(got, np.ndarray) else got
        assert got == value, f"{name}: {got}, expected {value}"
    full = [len(a[col - row == k]) == min(m, n - k) - max(0, -k) for k in offsets] if not drawn.large else []
    constant = [bool(whole) and len(np.unique(a[col - row == k])) == 1 for k, whole in zip(offsets, full, strict=False)]
    assert drawn.large or made.constant_diagonals == sum(constant), (
        f"{made.constant_diagonals} constant, expected {sum(constant)}"
    )
    for size, blocks in made.bitmap_blocks.items():
        assert blocks.blocks == _blocks(row, col, size), f"{blocks.blocks} blocks of {size}"
    assert made.cells.sum() == len(a), f"{made.cells.sum()} entries in the picture"
    csr = sp.csr_array(entries)
    assert made.nbytes["csr"] == a.nbytes + 4 * len(a) + 8 * (m + 1), f"{made.nbytes['csr']} bytes of csr"
    bsr = made.other_formats["bsr"]
    if bsr is not None and not m % (side := int(bsr.layout.split()[0])) and not n % side and len(a):
        assert csr.tobsr((side, side)).data.size == bsr.stored, f"bsr {bsr.layout}: {bsr.stored} values"
    assert str(made) and "<" in made._repr_html_() and json.dumps(made.to_dict())
    drawn.require_unchanged()


def _blocks(row: np.ndarray, col: np.ndarray, size: int) -> int:
    """Return how many square blocks hold these entries."""
    return len(np.unique(np.stack([row // size, col // size]), axis=1).T)


def _symmetry(exact: Any) -> str:
    """Return what the values of a matrix are, as the report calls it."""
    if exact.shape[0] != exact.shape[1]:
        return "none"
    images = {"symmetric": exact.T, "hermitian": exact.conj().T, "skew-symmetric": -exact.T}
    equal = [name for name, image in images.items() if not abs(exact - image).max(initial=0)] if not sp.issparse(
        exact) else [name for name, image in images.items() if not (exact != image).nnz]  # fmt: skip
    return equal[0] if equal else "none"


CHECKS: dict[Any, float] = {recommendations: 2, arrays: 1, analyses: 0.5}
