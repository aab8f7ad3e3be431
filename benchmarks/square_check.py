"""The check of a square C = A A by any library, on a sample of rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from diagsparse._matrix.sparse_array import SparseArray
from diagsparse._study.exactness import MatmulCheck
from diagsparse._study.sampled import sampled_rows


class SampledSquare:
    """Check of C = A A, for A in SciPy's csr, on a sample of rows."""

    def __init__(self, a: Any) -> None:
        self._rows = sampled_rows(a.shape[0])
        self._check = MatmulCheck(a[self._rows], a)
        self._columns = a.shape[1]

    def __call__(self, C: Any) -> float:
        """Return the largest error of a matrix of any library, divided by its bound; it is correct up to 1."""
        host = C.to_scipy("csr") if isinstance(C, SparseArray) else C.get() if hasattr(C, "get") else C
        if host.format == "bsr":
            return self._check(_bsr_rows(host, self._rows)[:, : self._columns])
        return self._check(host.tocsr()[self._rows])


def _bsr_rows(C: Any, rows: np.ndarray) -> Any:
    """Return rows of a SciPy bsr as csr. Converting all of it would store every zero of its blocks."""
    height = C.blocksize[0]
    of = [np.arange(*C.indptr[i : i + 2]) for i in rows // height]
    some, ends = np.concatenate(of), np.cumsum([0, *map(len, of)])
    blocks = type(C)((C.data[some], C.indices[some], ends), shape=(height * len(rows), C.shape[1]))
    return blocks.tocsr()[height * np.arange(len(rows)) + rows % height]
