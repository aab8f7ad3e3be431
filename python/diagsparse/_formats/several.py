"""Formats that consist of two matrices on one array of values: hyb and qband."""

from __future__ import annotations

import math
from typing import Any

from .._backends import memory
from .._backends.backend import Backend
from .._matrix.registry import COMMON, FORMATS
from .._matrix.sparse_array import SparseArray
from .._matrix.summary import Summary
from .._matrix.workspaces import sorting
from .format import Format


class Several(Format):
    """A layout whose component arrays are those of two matrices, which have no entry in common."""

    padded = True

    def child(self, a: SparseArray, number: int) -> SparseArray:
        """Return one of the two matrices, on its part of the values."""
        return a._wrap(a._matrix.children()[number], a._op)

    def from_component_arrays(
        self, backend: Backend, shape: tuple[int, int], values: Any, structure: list[tuple[str, Any]]
    ) -> Any:
        # Validation merges the matrices, to check that they have no entry in common.
        stored, item = math.prod(values.shape), values.itemsize
        nbytes = 2 * (stored * (item + 4) + 8 * (shape[0] + 1)) + sorting(stored, item, backend)
        memory.require_free(nbytes, f"{self.who}: validating its arrays", backend)
        return super().from_component_arrays(backend, shape, values, structure)

    def to_csr_workspace(self, a: SparseArray, s: Summary) -> int:
        # Both are converted to csr, and merged.
        rows = FORMATS[COMMON].nbytes(s) + 8 * (s.shape[0] + 1)
        return rows + sorting(s.entries, s.itemsize, a._backend)
