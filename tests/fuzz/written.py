"""Index arrays that are written to, values that are written to, and uses of the matrix in between, in any order."""

from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp

from fuzz.case import Case
from fuzz.checks import close, refused
from fuzz.matrices import draw


def dense(A: Any, raw: dict[str, np.ndarray]) -> np.ndarray:
    """Return what these arrays describe; what repeats is summed."""
    result = np.zeros(A.shape, raw["data"].dtype)
    if A.format == "coo":
        row, col = raw["row"], raw["col"]
    else:
        line = np.repeat(np.arange(len(raw["indptr"]) - 1), np.diff(raw["indptr"]))
        row, col = (line, raw["indices"]) if A.format == "csr" else (raw["indices"], line)
    np.add.at(result, (row, col), raw["data"][: len(row)])
    return result


def index_arrays(case: Case) -> None:
    """A sequence of writes and uses, of which every use sees all writes before it."""
    A = draw(case, formats=("csr", "csc", "coo"), plain=True).A.copy()
    if case.device != "cpu" or not A.nnz:
        return
    names = ("row", "col") if A.format == "coo" else ("indices", "indptr")
    extents = {"row": A.shape[0], "col": A.shape[1], "indices": A.shape[1 if A.format == "csr" else 0]}
    raw = {name: getattr(A, name).copy() for name in (*names, "data")}
    view, held = A.T, []
    for _ in range(case.between(1, 8)):
        step = case.pick(
            ["index", "order", "values", "scale", "hold", "release", "use", "view", "copy", "sort", "wrong"]
        )
        case.note(step)
        name = case.pick([n for n in names if n in extents])
        if step == "index":
            raw[name][:] = case.rng.integers(0, extents[name], len(raw[name]), dtype=np.int32)
            getattr(A, name)[:] = raw[name]
        elif step == "order":
            lines = [0, len(raw["data"])] if A.format == "coo" else raw["indptr"].tolist()
            for first, end in pairwise(lines):
                order = first + case.rng.permutation(end - first)
                for part in {*names, "data"} - {"indptr"}:
                    raw[part][first:end] = raw[part][order]
                    getattr(A, part)[first:end] = raw[part][first:end]
        elif step == "values":
            raw["data"][:] = case.rng.integers(-9, 9, len(raw["data"]))
            A.data = raw["data"]
        elif step == "scale":
            raw["data"] *= 2
            A *= 2
        elif step == "hold":
            held.append(getattr(A, name)[case.between(0, 2) :])
        elif step == "release":
            held.clear()
        elif step == "copy":
            A = A.copy()
            view, held = A.T, []
        elif step == "sort":
            before, bound = dense(A, raw), dense(A, raw | {"data": abs(raw["data"])})
            A.sum_duplicates()
            raw = {part: getattr(A, part).copy() for part in raw}
            assert A.has_canonical_format
            close(dense(A, raw), before, bound, A.nnz)
            view = A.T
        elif step == "wrong":
            at = case.between(0, len(raw[name]) - 1)
            getattr(A, name)[at] = case.pick([-1, extents[name], 2**31 - 1])
            refused(ValueError, lambda A=A: A @ np.ones(A.shape[1]), "an index outside")
            getattr(A, name)[at] = raw[name][at]
        exact = dense(A, raw)
        size = dense(A, raw | {"data": abs(raw["data"])})
        if step == "use":
            x = case.rng.integers(-3, 3, A.shape[1]).astype(A.dtype)
            close(A @ x, exact @ x, size @ abs(x), A.nnz)
        elif step == "view":
            close(view, exact.T, size.T, A.nnz)
        for part, array in raw.items():
            got = getattr(A, part)
            assert np.array_equal(got[: len(array)], array[: len(got)], equal_nan=part == "data"), f"{part} changed"
    close(sp.csr_array(A).toarray(), dense(A, raw), dense(A, raw | {"data": abs(raw["data"])}), A.nnz)


CHECKS = {index_arrays: 1}
