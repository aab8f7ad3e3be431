"""What a case has reached that none did before: lines of the library's Python code, and outcomes.

Native code is not traced. What it finds wrong shows in its messages, which are a part of the outcome. A message of
another format is new as well, but only for the run: there are too many to save a case for each.
"""

import dis
import re
import sys
from pathlib import Path
from types import CodeType, FrameType, TracebackType
from typing import Any

import diagsparse as ds

ROOT = str(Path(ds.__file__).parent)
_VALUES = re.compile(r"""'[^']*'|"[^"]*"|[\[(][^\])]*[\])]|[-+\w.^]*\d[-+\w.^]*""")
_FORMATS = re.compile(rf"\b({'|'.join(ds.formats())})(_array)?\b")


class Reached:
    """A context in which lines are traced; `new` has what its last use reached first, as text."""

    def __init__(self) -> None:
        self.seen: set[str] = set()
        self.new: list[str] = []
        self._left: dict[CodeType, dict[int, str]] = {}  # lines that nothing has reached yet

    def __enter__(self) -> None:
        self.new = []
        sys.settrace(self._call)

    def __exit__(self, kind: type | None, error: BaseException | None, where: TracebackType | None) -> None:
        sys.settrace(None)

    def outcome(self, text: str) -> None:
        """Note how a case ended; numbers, quoted text and lists do not make a difference."""
        words = _VALUES.sub("#", text)[:100]
        self._note(_FORMATS.sub("#", words))
        self._note(f"in a format: {words}")

    @property
    def is_general(self) -> bool:
        """Whether something is new that is not only new in a format."""
        return any(not what.startswith("in a format: ") for what in self.new)

    def _note(self, what: str) -> None:
        if what not in self.seen:
            self.seen.add(what)
            self.new.append(what)

    def _call(self, frame: FrameType, event: str, arg: Any) -> Any:
        code = frame.f_code
        if not code.co_filename.startswith(ROOT):
            return None
        if code not in self._left:
            name = code.co_filename.removeprefix(ROOT)
            lines = {line: f"{name}:{line}" for _, line in dis.findlinestarts(code) if line is not None}
            self._left[code] = {line: key for line, key in lines.items() if key not in self.seen}
        return self._line if self._left[code] else None

    def _line(self, frame: FrameType, event: str, arg: Any) -> Any:
        if event == "line" and (what := self._left[frame.f_code].pop(frame.f_lineno, None)):
            self._note(what)
        return self._line
