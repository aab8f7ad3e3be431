"""Writable index arrays of csr, csc and coo, whose changes are validated before the next use."""

from __future__ import annotations

import threading
from typing import Any, NamedTuple

import numpy as np

from .._backends.backend import CPU
from .._matrix.registry import FORMATS
from .._matrix.summary import Summary
from .._matrix.validation import private
from .exported import WritableCopy, exported_array

INDEX_LIMIT = 2**31 - 1  # entries up to which SciPy's index arrays are int32


def index_array(native: Any, name: str) -> np.ndarray:
    """Return a writable index array of a native matrix, in the common index type that SciPy requires.

    It is read-only if the matrix is part of another one, whose structure is fixed.
    """
    if not native.sealed:
        return exported_array(native, ExportedIndices, name)
    array = native.parts()[name].astype(_index_type(native.stored), copy=False)
    array.flags.writeable = False
    return array


def _index_type(count: int) -> np.dtype:
    return np.dtype(np.int32 if count <= INDEX_LIMIT else np.int64)


class _State(NamedTuple):
    """The matrix that index arrays and values described at the last comparison."""

    native: Any  # its entries are sorted, without duplicates
    given: int  # the number of entries in the user's arrays, including duplicates
    snapshot: dict[str, np.ndarray]  # the contents of all index arrays, exported or not
    values: np.ndarray  # in the user's order
    read: np.ndarray | None  # a copy of the values if `native` has a sorted copy, None if it has `values` themselves
    copies: dict[str, WritableCopy]  # the exported index arrays, by name

    @property
    def in_order(self) -> bool:
        return self.read is None

    def unchanged(self) -> bool:
        """Whether nothing has been written since."""
        if not all(_same(copy.memory, self.snapshot[name]) for name, copy in self.copies.items()):
            return False
        return self.read is None or _same(self.values, self.read)


class ExportedIndices:
    """The exported index arrays of one matrix, and the native matrix that they describe.

    A user may write entries in any order, and with duplicates. `native` then returns a sorted copy, and `values` stay
    in the user's order until `sort` is called. Values are never reordered in place, as other matrices may share them.
    """

    def __init__(self, native: Any) -> None:
        self._format = FORMATS[native.format]
        self._shape = native.rows, native.cols
        self._lock = threading.RLock()
        self._state = self._of(native)  # replaced in one step, so that Ctrl-C leaves it consistent
        self._dual: tuple[Any, Any] = None, None  # a native matrix, and its transpose
        self._changed = self._ended = False

    def _of(self, native: Any) -> _State:
        """Return the state of a native matrix without exported index arrays."""
        parts = native.parts()
        snapshot = {name: parts[name] for name in self._format.structure}
        return _State(native, native.stored, snapshot, parts["values"], None, {})

    # ---- for users --------------------------------------------------------------------------------
    @property
    def values(self) -> np.ndarray:
        """The stored values, in the user's order."""
        return self._state.values

    def array(self, name: str) -> np.ndarray | None:
        """Return a writable index array, the same one while it is referenced; None if the exporter has ended."""
        with self._lock:
            if self._ended:
                return None
            state = self._state
            if name not in state.copies:
                state.copies[name] = WritableCopy(state.snapshot[name].astype(_index_type(len(state.values))))
            return state.copies[name].array()

    def replace(self, name: str, new: np.ndarray) -> None:
        """Replace an exported array by a new one, of any length, which nothing else references."""
        with self._lock:
            self._state.copies[name] = WritableCopy(new)

    def in_order(self) -> bool:
        """Whether entries are sorted, without duplicates."""
        with self._lock:
            return self._update().in_order

    def ascends(self) -> bool:
        """Whether the indices of csr or csc ascend in each row or column; they may repeat."""
        with self._lock:
            state = self._update()
            return state.in_order or bool(self._written(state.snapshot, state.values).has_sorted_indices)

    def sort(self, sum_duplicates: bool) -> None:
        """Replace the arrays of the matrix by sorted copies; arrays that were exported before do not change.

        With `sum_duplicates`, duplicates are summed; otherwise they are adjacent, for csr and csc.
        """
        with self._lock:
            state = self._update()
            if state.in_order:
                return
            s = Summary(self._shape, state.values.itemsize, len(state.values))
            self._format.require(s, None, CPU)
            if sum_duplicates or state.given == state.native.stored:
                state = self._of(state.native.with_values(state.native.values.copy()))
            else:
                ordered = self._written(state.snapshot, state.values).sorted_indices()
                snapshot = {"indices": ordered.indices, "indptr": ordered.indptr}
                state = _State(state.native, state.given, snapshot, ordered.data, ordered.data.copy(), {})
            self._changed = True  # first: Ctrl-C may come in between
            self._state = state

    def copied(self, format: str) -> Any:
        """Return an independent native matrix with entries in the user's order; None if they are sorted."""
        with self._lock:
            state = self._update()
            if state.in_order:
                return None
            result = self._in_format(format).as_made
            exporter = ExportedIndices(state.native)
            exporter._state = state._replace(values=state.values.copy(), copies={})
            exporter._changed = True
            result.export_by(exporter)
            return result

    # ---- for native code --------------------------------------------------------------------------
    def native(self, format: str) -> Any:
        """Return the matrix that the arrays describe, in its format or in that of its transpose.

        None if that is the original matrix and no array is referenced; the exporter then ends.

        Raises
        ------
        ValueError
            If the arrays do not describe a matrix.
        """
        with self._lock:
            state = self._update()
            if not (self._changed or state.copies):
                self._ended = True
                return None
            return self._in_format(format)

    def _in_format(self, format: str) -> Any:
        native = self._state.native
        if format == native.format:
            return native
        if self._dual[0] is not native:
            self._dual = native, native.dual()
        return self._dual[1]

    def _update(self) -> _State:
        """Apply changes, and drop the copies that are no longer referenced."""
        state = self._state
        held = {name: copy for name, copy in state.copies.items() if copy.held()}  # before the comparison
        if not state.unchanged():
            state = self._updated(state)
            self._changed = True  # first: Ctrl-C may come in between
            self._state = state
        if len(held) < len(state.copies):
            state = state._replace(copies=held) if held or not state.in_order else self._of(state.native)
            self._state = state
        return state

    def _written(self, arrays: dict[str, np.ndarray], values: np.ndarray) -> Any:
        """Return index arrays and values as a SciPy array, without validation."""
        result = self._format.scipy_class(self._shape, dtype=values.dtype)
        result.data = values
        if self._format.is_compressed():
            result.indices, result.indptr = arrays["indices"], arrays["indptr"]
        else:
            result.coords = arrays["row"], arrays["col"]
        return result

    def _updated(self, state: _State) -> _State:
        """Return the state after the changes; after an error, the next use tries again."""
        format, who, values, read = self._format, self._format.who, state.values, None
        snapshot = state.snapshot | {name: copy.memory.copy() for name, copy in state.copies.items()}
        s = Summary(self._shape, values.itemsize, len(values))
        format.require(s, None, CPU, temporary=format.scipy_workspace(s))
        try:
            entries, in_order = private(self._written(snapshot, values), who)
        except (ValueError, TypeError) as error:
            raise ValueError(
                f"{who}: its index arrays were written to, and do not describe a matrix: {error}"
            ) from None
        given = entries.nnz
        if in_order:
            stored = values[:given]
        else:
            read = values.copy()
            entries = format.canonical(entries)
            stored = entries.data
            stored.flags.writeable = False  # what is written to a sorted copy would be lost
        structure = [(name, format.index(entries, name)) for name in format.structure]
        native = format.from_component_arrays(CPU, self._shape, stored, structure)
        return _State(native, given, snapshot, values, read, state.copies)


def _same(a: np.ndarray, b: np.ndarray) -> bool:
    """Whether two one-dimensional arrays are equal; NaNs compare equal."""
    return CPU.core.same_bytes(a, b) if a.dtype == b.dtype else np.array_equal(a, b)
