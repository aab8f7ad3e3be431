"""Elements, rows, columns and parts by index, read and written, and `setdiag`, against NumPy on the CPU."""

from typing import Any

import numpy as np
import scipy.sparse as sp

from fuzz import layouts
from fuzz.arrays import NARROW, numbers
from fuzz.case import Case
from fuzz.checks import refused, require_equal, same
from fuzz.matrices import DIAGONAL, Drawn, draw


def index(case: Case, extent: int) -> Any:
    """Return an index into an axis: an integer, a slice, an array or a mask."""
    kind = case.pick(["integer", "slice", "window", "array", "mask", "all"])
    if kind == "integer" and extent:
        return case.between(-extent, extent - 1)
    if kind == "array" and extent:
        return case.rng.integers(-extent, extent, case.between(0, 2 * extent))
    if kind == "mask":
        return case.rng.random(extent) < 0.5
    ends = [case.pick([None, case.between(-extent - 2, extent + 2)]) for _ in range(2)]
    return slice(None) if kind == "all" else slice(*ends, case.pick([None, 1] if kind == "window" else [2, -1, -3]))


def dense(result: Any) -> np.ndarray:
    """Return what was read, ours or SciPy's, as an array."""
    return result.toarray() if hasattr(result, "toarray") else np.asarray(result)


def reads(case: Case) -> None:
    """``A[i, j]``, ``A[i]``, ``A[i, :]``, ``A[rows][:, cols]`` and iteration over the rows."""
    drawn = draw(case)
    A, exact = drawn.A, drawn.exact
    rows, cols = (index(case, extent) for extent in exact.shape)
    if all(isinstance(i, np.ndarray) for i in (rows, cols)):
        if np.ndim(rows) and case.chance(0.5):
            which: Any = rows  # rows alone
        else:
            result = A[rows][:, cols]
            case.note("picked rows, then columns", rows, cols)
            return same(result, exact[rows][:, cols], "csr")
    else:
        which = case.pick([rows, (rows, cols)])
    case.note("index", which)
    got, expected = A[which], exact[which]
    assert np.shape(dense(got)) == expected.shape, f"shape {np.shape(dense(got))}, expected {expected.shape}"
    require_equal(np.atleast_1d(dense(got)).astype(expected.dtype), np.atleast_1d(expected))
    for m in (exact.shape[0], -exact.shape[0] - 1):
        refused(IndexError, lambda m=m: A[m, 0], f"row {m}")
    if case.chance(0.1):
        for i, row in enumerate(A):
            require_equal(dense(row).reshape(-1).astype(exact.dtype), exact[i])
    drawn.require_unchanged()


def copied(case: Case) -> tuple[Any, Drawn]:
    """Return a matrix that may be written to, and what it is a copy of."""
    drawn = draw(case)
    return drawn.A.copy(), drawn


def stored_places(A: Any) -> np.ndarray | None:
    """Return where a matrix stores something, as a mask; None for formats where that is not easily known."""
    if A.format in DIAGONAL:
        return np.isin(layouts.reach(A.shape), A.offsets)
    if A.format not in ("csr", "csc", "coo"):
        return None
    ones = sp.coo_array(A.to_scipy("csr"))
    mask = np.zeros(A.shape, bool)
    mask[ones.row, ones.col] = True
    return mask


def writes(case: Case) -> None:
    """``A[i, j] = v`` where something is stored; elsewhere it is refused, and nothing is written."""
    A, drawn = copied(case)
    exact, nbytes = drawn.exact.copy(), A.nbytes
    packed = bool(A._matrix.symmetry or any(A._format.packing(A)))
    if not exact.size or packed:
        why = "a packed matrix" if packed else "no element"
        refused(ValueError if packed else IndexError, lambda: A.__setitem__((0, 0), 1), why)
        return drawn.require_unchanged()
    chosen = case.rng.permutation(exact.size)[: case.between(1, min(exact.size, case.pick([1, 3, 50])))]
    if case.chance(0.7):  # of elements that are not zero, which are stored
        nonzero = np.flatnonzero(exact)
        chosen = case.rng.permutation(nonzero)[: len(chosen)] if len(nonzero) else chosen
    i, j = np.unravel_index(chosen, exact.shape)
    values = numbers(case, len(chosen), exact.dtype, "quarters")
    if case.chance(0.3):
        i, j, values = i[0], j[0], values[0]
    case.note("write", np.size(i), "elements")
    mask = stored_places(A)
    missing = (exact[i, j] == 0) & (values != 0)  # at positions that may not be stored
    missing = missing & ~mask[i, j] if mask is not None else missing
    try:
        A[i, j] = values
    except ValueError as error:
        assert missing.any(), f"refused: {error}"
    else:
        assert mask is None or not missing.any(), f"{np.count_nonzero(missing)} elements that are not stored"
        exact[i, j] = values
    same(A, exact, drawn.A.format)
    if exact.dtype.kind != "c":
        refused(TypeError, lambda: A.__setitem__((0, 0), 1j), "a complex value in a real matrix")
        same(A, exact, drawn.A.format)
    assert A.nbytes == nbytes, f"{A.nbytes} bytes, before {nbytes}"
    drawn.require_unchanged()


def setdiag(case: Case) -> None:
    """`setdiag`: in place, also where the diagonal was not stored, and of views."""
    A, drawn = copied(case)
    exact, (m, n) = drawn.exact.copy(), drawn.shape
    k = case.pick([0, 1, -1, n - 1, 1 - m, case.between(-m - 1, n + 1)])
    length = max(0, min(m, n - k) - max(0, -k))
    dtype = exact.dtype
    values = case.pick([0.5, 0, numbers(case, case.between(0, length + 2), dtype, "quarters")])
    case.note("setdiag", k, np.shape(values))
    if (k >= n > -1 and k > 0) or (-k >= m and k < 0):
        return refused(ValueError, lambda: A.setdiag(values, k), f"diagonal {k}")
    count = length if np.ndim(values) == 0 else min(length, len(values))
    along = np.arange(count)
    exact[along + max(0, -k), along + max(0, k)] = values if np.ndim(values) == 0 else values[:count]
    A.setdiag(values, k)
    assert A.dtype == drawn.A.dtype and A.shape == (m, n)
    if A.dtype in NARROW:
        exact = exact.astype(A.dtype).astype(dtype)
    same(A, exact, drawn.A.format)
    drawn.require_unchanged()


def large(case: Case) -> None:
    """Elements and windows of matrices with many rows, against SciPy."""
    drawn = draw(case, large=1.0)
    A, exact, (m, n) = drawn.A, sp.csr_array(drawn.exact), drawn.shape
    for _ in range(5):
        i, j = case.between(0, m - 1), case.between(0, n - 1)
        assert A[i, j] == exact[i, j], f"element {i}, {j}"
    r, c = case.between(0, m - 1), case.between(0, n - 1)
    window = slice(r, r + case.between(0, 3000)), slice(c, c + case.between(0, 3000))
    case.note("window", window)
    same(A[window], exact[window])
    require_equal(dense(A[r]).reshape(-1), exact[[r]].toarray()[0])
    require_equal(dense(A[:, c]).reshape(-1), exact[:, [c]].toarray()[:, 0])


CHECKS: dict[Any, float] = {reads: 3, writes: 1.5, setdiag: 1.5, large: 0.05}
