"""No code that a file contains, or names, may run while the file is read: Python reports each such event to a hook."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

EVENTS = {  # what loading objects or running commands begins with
    "pickle.find_class", "os.system", "os.exec", "os.fork", "os.posix_spawn", "subprocess.Popen", "socket.connect",
    "os.mkdir", "os.remove", "os.rename", "ctypes.dlopen",
}  # fmt: skip
_state = {"installed": False, "active": False}
_seen: list[str] = []  # also what the code that was called has caught


class CodeRan(Exception):
    """Something in a file was about to run."""


def _hook(event: str, arguments: tuple[Any, ...]) -> None:
    if _state["active"] and event in EVENTS:
        _seen.append(f"{event}{arguments!r:.200}")
        raise CodeRan(_seen[-1])


@contextmanager
def no_code() -> Iterator[None]:
    """Raise `CodeRan` where something would run. The hook stays in this process, as all audit hooks do."""
    if not _state["installed"]:
        sys.addaudithook(_hook)
        _state["installed"] = True
    _state["active"] = True
    _seen.clear()
    try:
        yield
    finally:
        _state["active"] = False
        if _seen:
            raise CodeRan(_seen[0])
