"""Common to the tests of Matrix Market files."""

import gzip
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
