"""Arrays that cannot be written to, and that say why in the errors of attempts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np


def read_only(array: Any, why: str) -> Any:
    """Return a view of a NumPy array or a `DeviceArray`; writing to it raises ValueError with the message `why`."""
    if not isinstance(array, np.ndarray):
        return array.read_only(why)
    view = array.view(ReadOnlyArray)
    view.flags.writeable = False
    view._why = why
    return view


class ReadOnlyArray(np.ndarray):
    """A NumPy array that cannot be written to. Results of operations on it are ordinary arrays."""

    _why = ""

    def __array_finalize__(self, parent: Any) -> None:
        self._why = getattr(parent, "_why", "")

    def __array_wrap__(self, result: Any, context: Any = None, return_scalar: bool = False) -> Any:
        return result[()] if return_scalar else np.asarray(result)

    def __setitem__(self, which: Any, new: Any) -> None:
        self._require_writeable()
        super().__setitem__(which, new)

    def _require_writeable(self) -> None:
        if not self.flags.writeable and self._why:
            raise ValueError(self._why)


def _in_place(name: str) -> Callable[[ReadOnlyArray, Any], Any]:
    """Return an operator such as ``*=``, with the error of the array."""

    def operator(self: ReadOnlyArray, other: Any) -> Any:
        self._require_writeable()
        return getattr(np.ndarray, name)(self, other)

    return operator


for _operator in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow"):
    setattr(ReadOnlyArray, f"__i{_operator}__", _in_place(f"__i{_operator}__"))
