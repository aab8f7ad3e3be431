"""The entry point of the command line: `main` runs a command, or reports which package is missing."""

from __future__ import annotations

import sys
from typing import Any

try:
    import click  # noqa: F401
    import rich  # noqa: F401
except ImportError as error:
    _missing = error.name

    def main(*args: Any, **kwargs: Any) -> Any:
        """Report the missing package, and exit."""
        print(
            f'diagsparse: error: the command line needs {_missing}; install it with pip install "diagsparse[cli]"',
            file=sys.stderr,
        )
        raise SystemExit(2)

else:
    from ._study.commands import main

__all__ = ["main"]
