"""Matrix Market files: texts of them, and the folder of real ones."""

import gzip
import os
from pathlib import Path

LIBRARIES = ["fast_matrix_market", "scipy.io"]  # those that can parse the text


def market(kind: str, body: str) -> str:
    """Return the text of a file: its banner, and the lines below."""
    return f"%%MatrixMarket matrix {kind}\n{body}"


def text(folder: Path, content: str | bytes, name: str = "broken.mtx") -> Path:
    """Write a file, compressed where its name says so, and return its path."""
    data = content if isinstance(content, bytes) else content.encode()
    (folder / name).write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    return folder / name


def matrix_folder() -> Path | None:
    """Return the folder of real matrices: DIAGSPARSE_MATRICES, or `matrices/` in a folder next to the repository."""
    if "DIAGSPARSE_MATRICES" in os.environ:
        found = [Path(os.environ["DIAGSPARSE_MATRICES"])]
    else:
        found = sorted(Path(__file__).resolve().parents[2].glob("*/matrices"))
    return next((folder for folder in found if any(folder.glob("*.mtx*"))), None)
