"""The command line's door: `main` is the group of commands, or says what to install."""

from __future__ import annotations

import sys
from typing import Any

try:
    import click  # noqa: F401
    import rich  # noqa: F401
except ImportError as error:
    _missing = error.name

    def main(*args: Any, **kwargs: Any) -> Any:
        """Say what to install."""
        print(f'diagsparse: error: the command line needs {_missing}: pip install "diagsparse[cli]"', file=sys.stderr)
        raise SystemExit(2)

else:
    from ._study.commands import main

__all__ = ["main"]
