"""Index arrays of csr, csc and coo that users may write to: what is written is validated before the next use."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import numpy as np

from .._matrix.gate import private
from .._matrix.registry import FORMATS
from .._matrix.summary import Summary
from .._places.backend import CPU
from .exported import WritableCopy, exported_array

if TYPE_CHECKING:
    from .indexed import IndexedArray

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


class ExportedIndices:
    """The index arrays of one matrix that were given out, and the native matrix that they describe.

    A user may leave entries in any order there, and repeat them. Then `native` returns a sorted copy, and `values` stay
    in the user's order until `sort` is called.
    """

    values: np.ndarray

    def __init__(self, native: Any) -> None:
        self._class: type[IndexedArray] = FORMATS[native.format]  # type: ignore[assignment]
        self._shape = native.rows, native.cols
        self._lock = threading.RLock()
        self._copies: dict[str, WritableCopy] = {}  # those that were given out, by the names of the arrays
        self._changed = self._ended = False
        self._sorted: dict[str, np.ndarray] | None = None  # the arrays of a sort in place that is not finished
        self._settle(native)

    def _settle(self, native: Any) -> None:
        """Have a native matrix stand for the arrays, in its own order."""
        parts = native.parts()
        self.values = parts["values"]
        self._accept(native, {name: parts[name] for name in self._class._structure}, in_order=True)

    def _accept(self, native: Any, seen: dict[str, np.ndarray], in_order: bool) -> None:
        read = None if in_order else self.values.copy()  # the values that were sorted; there may be no memory for them
        self._native, self._dual, self._in_order, self._read = native, None, in_order, read
        # What all index arrays held, given out or not. The last one: if Ctrl-C came before, the next use compares with
        # what they held earlier, and takes over again.
        self._seen = seen

    # ---- what the user gets -----------------------------------------------------------------------
    def array(self, name: str) -> np.ndarray | None:
        """Return an index array to write to, the same one as long as somebody holds it; None after the end."""
        with self._lock:
            if self._ended:
                return None
            if name not in self._copies:
                self._copies[name] = WritableCopy(self._seen[name].astype(_index_type(len(self.values))))
            return self._copies[name].array()

    def replace(self, name: str, new: np.ndarray) -> None:
        """Have an array that is nobody else's take the place of one that somebody holds, of whatever length."""
        with self._lock:
            self._copies[name] = WritableCopy(new)

    def in_order(self) -> bool:
        """Whether entries are sorted, and each place is there once."""
        with self._lock:
            self._update()
            return self._in_order

    def sort(self) -> bool:
        """Sort the entries in place, values and index arrays; False where some would have to be summed."""
        with self._lock:
            self._update()
            if self._in_order:
                return True
            parts = self._native.parts()
            if len(parts["values"]) != len(self.values):
                return False
            self._sorted = parts
            self._finish_sort()
            return True

    def _finish_sort(self) -> None:
        """Write sorted values and index arrays over those of the user; the next use goes on if Ctrl-C ends it."""
        if (parts := self._sorted) is None:
            return
        self.values[...] = parts["values"]
        for name, copy in self._copies.items():
            copy.memory[...] = parts[name]
        self._settle(self._native.with_values(self.values))
        self._sorted = None

    def copied(self, format: str) -> Any:
        """Return an independent native matrix with the same entries in the same order, in the user's, that is."""
        with self._lock:
            made = self.native(format).as_made
            exporter = ExportedIndices(self._native)
            exporter.values = self.values.copy()
            exporter._copies = {name: WritableCopy(array.copy()) for name, array in self._seen.items()}
            exporter._accept(self._native, self._seen, self._in_order)
            exporter._changed = True
            made.export_by(exporter)
            return made

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
            self._update()
            if not (self._changed or self._copies):
                self._ended = True
                return None
            if format == self._native.format:
                return self._native
            self._dual = self._dual or self._native.dual()
            return self._dual

    def _update(self) -> None:
        """Take over what was written, and give up the copies if nobody can write to them any more."""
        self._finish_sort()
        held = any(copy.held() for copy in self._copies.values())  # asked before what they hold is compared
        if not self._as_seen():
            self._take_over()
        if not held and self._in_order and self._copies:
            self._copies.clear()
            self._settle(self._native)

    def _as_seen(self) -> bool:
        if not all(_same(copy.memory, self._seen[name]) for name, copy in self._copies.items()):
            return False
        return self._read is None or _same(self.values, self._read)

    def _take_over(self) -> None:
        cls, who = self._class, self._class.__name__
        seen = self._seen | {name: copy.memory.copy() for name, copy in self._copies.items()}
        written = cls._scipy(self._shape, dtype=self.values.dtype)
        written.data = self.values
        if cls._in_lines():
            written.indices, written.indptr = seen["indices"], seen["indptr"]
        else:
            written.coords = seen["row"], seen["col"]
        s = Summary(self._shape, self.values.itemsize, len(self.values))
        cls._require(s, None, CPU, beside=cls._beside_scipy(s))
        try:
            entries, in_order = private(written, who)
        except (ValueError, TypeError) as error:
            raise ValueError(f"{who}: its index arrays were written to, and describe no matrix: {error}") from None
        if in_order:
            values = self.values[: entries.nnz]
        else:
            entries = cls._canonical(entries)
            values = entries.data
            values.flags.writeable = False  # what is written to a sorted copy would be lost
        structure = [(name, cls._index(entries, name)) for name in cls._structure]
        native = cls._of_arrays(CPU, self._shape, values, structure)
        self._changed = True  # first: Ctrl-C may come in between
        self._accept(native, seen, in_order)


def _same(a: np.ndarray, b: np.ndarray) -> bool:
    """Whether two arrays of one dimension hold the same, NaNs included."""
    return CPU.core.same_bytes(a, b) if a.dtype == b.dtype else np.array_equal(a, b)
