"""Index arrays of csr, csc and coo that users may write to: what is written is validated before the next use."""

from __future__ import annotations

import threading
from typing import Any, NamedTuple

import numpy as np

from .._backends.backend import CPU
from .._matrix.registry import FORMATS
from .._matrix.summary import Summary
from .._matrix.validation import private
from .exported import WritableCopy, exported_array

INDEX_LIMIT = 2**31 - 1  # of entries that SciPy counts in 32 bits


def index_array(native: Any, name: str) -> np.ndarray:
    """Return an index array of a native matrix, of the type that SciPy wants for all of them, to be written to.

    It is read-only where the matrix is part of another one, whose structure does not change.
    """
    if not native.sealed:
        return exported_array(native, ExportedIndices, name)
    array = native.parts()[name].astype(_index_type(native.stored), copy=False)
    array.flags.writeable = False
    return array


def _index_type(count: int) -> np.dtype:
    return np.dtype(np.int32 if count <= INDEX_LIMIT else np.int64)


class _State(NamedTuple):
    """The matrix that index arrays and values described when they were last compared."""

    native: Any  # its entries are sorted, each place once
    given: int  # how many entries there are in the user's arrays, repeated ones included
    snapshot: dict[str, np.ndarray]  # what all index arrays held, given out or not
    values: np.ndarray  # in the order of the user
    read: np.ndarray | None  # what they held, if `native` has a sorted copy; else it has `values` themselves
    copies: dict[str, WritableCopy]  # the index arrays that users may write to, by name

    @property
    def in_order(self) -> bool:
        return self.read is None

    def unchanged(self) -> bool:
        """Whether nothing was written since."""
        if not all(_same(copy.memory, self.snapshot[name]) for name, copy in self.copies.items()):
            return False
        return self.read is None or _same(self.values, self.read)


class ExportedIndices:
    """The index arrays of one matrix that were given out, and the native matrix that they describe.

    A user may leave entries in any order there, and repeat them. Then `native` returns a sorted copy, and `values` stay
    in the user's order until `sort` is called. Values are never moved: other matrices may have the same array.
    """

    def __init__(self, native: Any) -> None:
        self._format = FORMATS[native.format]
        self._shape = native.rows, native.cols
        self._lock = threading.RLock()
        self._state = self._of(native)  # replaced as a whole, so that Ctrl-C leaves the old one or the new one
        self._dual: tuple[Any, Any] = None, None  # a native matrix, and its transpose
        self._changed = self._ended = False

    def _of(self, native: Any) -> _State:
        """Return the state of a native matrix of which nobody has an index array."""
        parts = native.parts()
        snapshot = {name: parts[name] for name in self._format.structure}
        return _State(native, native.stored, snapshot, parts["values"], None, {})

    # ---- what the user gets -----------------------------------------------------------------------
    @property
    def values(self) -> np.ndarray:
        """The stored values, in the user's order."""
        return self._state.values

    def array(self, name: str) -> np.ndarray | None:
        """Return an index array to write to, the same one as long as somebody holds it; None after the end."""
        with self._lock:
            if self._ended:
                return None
            state = self._state
            if name not in state.copies:
                state.copies[name] = WritableCopy(state.snapshot[name].astype(_index_type(len(state.values))))
            return state.copies[name].array()

    def replace(self, name: str, new: np.ndarray) -> None:
        """Have an array that is nobody else's take the place of one that somebody holds, of whatever length."""
        with self._lock:
            self._state.copies[name] = WritableCopy(new)

    def in_order(self) -> bool:
        """Whether entries are sorted, and each place is there once."""
        with self._lock:
            return self._update().in_order

    def ascends(self) -> bool:
        """Whether indices of csr or csc ascend in each line; some may repeat."""
        with self._lock:
            state = self._update()
            return state.in_order or bool(self._written(state.snapshot, state.values).has_sorted_indices)

    def sort(self, sum_duplicates: bool) -> None:
        """Give the matrix arrays of its own in which entries are sorted; who holds earlier ones keeps them as they are.

        Entries of one place are summed if asked; else they lie side by side, for csr and csc.
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
        """Return an independent native matrix with entries in the user's order; None where that is the sorted one."""
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

    # ---- what native code gets --------------------------------------------------------------------
    def native(self, format: str) -> Any:
        """Return the matrix that the arrays describe, in its format or in that of its transpose.

        None where that is the matrix as it was made, and nobody holds an array.

        Raises
        ------
        ValueError
            Where the arrays describe no matrix.
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
        """Take over what was written, and give up the copies that nobody can write to any more."""
        state = self._state
        held = {name: copy for name, copy in state.copies.items() if copy.held()}  # before what they hold is compared
        if not state.unchanged():
            state = self._updated(state)
            self._changed = True  # first: Ctrl-C may come in between
            self._state = state
        if len(held) < len(state.copies):
            state = state._replace(copies=held) if held or not state.in_order else self._of(state.native)
            self._state = state
        return state

    def _written(self, arrays: dict[str, np.ndarray], values: np.ndarray) -> Any:
        """Return index arrays and values as one of SciPy's, which looks at none of them."""
        result = self._format.scipy_class(self._shape, dtype=values.dtype)
        result.data = values
        if self._format.is_compressed():
            result.indices, result.indptr = arrays["indices"], arrays["indptr"]
        else:
            result.coords = arrays["row"], arrays["col"]
        return result

    def _updated(self, state: _State) -> _State:
        """Return the state after what was written; an error leaves it to the next use to try again."""
        format, who, values, read = self._format, self._format.who, state.values, None
        snapshot = state.snapshot | {name: copy.memory.copy() for name, copy in state.copies.items()}
        s = Summary(self._shape, values.itemsize, len(values))
        format.require(s, None, CPU, temporary=format.scipy_workspace(s))
        try:
            entries, in_order = private(self._written(snapshot, values), who)
        except (ValueError, TypeError) as error:
            raise ValueError(f"{who}: its index arrays were written to, and describe no matrix: {error}") from None
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
    """Whether two arrays of one dimension hold the same, NaNs included."""
    return CPU.core.same_bytes(a, b) if a.dtype == b.dtype else np.array_equal(a, b)
