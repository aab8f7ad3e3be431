"""Matrix Market text: read and written by fast_matrix_market or SciPy, explained here when it is malformed."""

from __future__ import annotations

import gzip
import logging
import zlib
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from scipy import sparse

_LOGGER = logging.getLogger("diagsparse")
_LAYOUTS = "coordinate", "array"
_FIELDS = {field: ["value"] for field in ("real", "double", "integer", "unsigned-integer")}
_FIELDS |= {"complex": ["real", "imaginary"], "pattern": []}
_SYMMETRIES = "general", "symmetric", "skew-symmetric", "hermitian"


def read(path: Path) -> Any:
    """Return the matrix in a file as a `coo_array` of SciPy, with int64, uint64, float64 or complex128 values.

    Raises
    ------
    ValueError
        For whatever is wrong with the text, with the line that it was found in.
    """
    library = _library()
    _LOGGER.info("%s: reading with %s", path.name, library.__name__)
    with _open(path) as file:
        try:
            banner = file.readline().lower()
            file.seek(0)
            if b"pattern" in banner:
                _LOGGER.info("%s: pattern entries become float64 ones", path.name)
            if b"array" in banner and b"general" not in banner and _complaint(path):
                raise ValueError  # the libraries take a triangle that is cut off as it is
            return sparse.coo_array(library.mmread(_Stream(file)))
        except Exception as error:
            complaint = _complaint(path)
            if complaint is None and isinstance(error, MemoryError | OSError):
                raise
            raise ValueError(f"{path.name}: {complaint or error}") from error


def write(file: Any, A: Any) -> None:
    """Write a SciPy sparse matrix or one of ours to an open binary file, as a general matrix in coordinates."""
    plain = (A if sparse.issparse(A) else A.asformat("csr").to_scipy()).tocoo()  # as csr, a 4 x 0 matrix never ends
    plain = plain.astype(np.int8) if plain.dtype == bool else plain
    stream = _Stream(file)
    _library().mmwrite(stream, plain, symmetry="general")
    if stream.error is not None:
        raise stream.error


def _library() -> ModuleType:
    try:
        return import_module("fast_matrix_market")
    except ImportError:
        return import_module("scipy.io")


def _open(path: Path) -> Any:
    return gzip.open(path) if path.name.lower().endswith(".gz") else path.open("rb")


class _Stream:
    """A file as the compiled reader and writer may see it.

    Both libraries end the process on a NUL byte, on text after the last value without a newline, on a seek that fails,
    and on an error while they flush.
    """

    def __init__(self, file: Any) -> None:
        self._file, self._last = file, b"\n"
        self.error: Exception | None = None

    def read(self, size: int = -1) -> bytes:
        data = self._file.read(size)
        if b"\0" in data:
            raise ValueError("NUL byte in a text file")
        if not data and self._last != b"\n":
            data = b"\n"
        self._last = data[-1:] or self._last
        return data

    def write(self, data: bytes) -> None:
        try:
            if self.error is None:
                self._file.write(data)
        except Exception as error:
            self.error = error


# ---- What is wrong with a file ---------------------------------------------------------------------------------------


def _complaint(path: Path) -> str | None:
    """Find the first error in a Matrix Market file that a reader has refused, with its line; None if there is none."""
    number = 0

    def lines() -> Iterator[list[str]]:
        nonlocal number
        for line in file:
            number += 1
            yield line.decode(errors="replace").split()

    with _open(path) as file:
        try:
            complaint = _check(lines())
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            number, complaint = number + 1, f"the compressed data is damaged or cut off: {error}"
    return complaint and f"line {max(number, 1)}: {complaint}"


def _check(lines: Iterator[list[str]]) -> str | None:
    banner = next(lines, [])
    words = [word.lower() for word in banner]
    if len(words) != 5 or words[:2] != ["%%matrixmarket", "matrix"] or words[2] not in _LAYOUTS:
        return f"expected a banner like '%%MatrixMarket matrix coordinate real general', got {_quoted(banner)}"
    layout, field, symmetry = words[2:]
    if field not in _FIELDS or symmetry not in _SYMMETRIES:
        return f"expected one of {', '.join(_FIELDS)} and one of {', '.join(_SYMMETRIES)}, got {_quoted(banner[3:])}"
    names = ["rows", "columns", "entries"] if layout == "coordinate" else ["rows", "columns"]
    sizes = next((line for line in lines if line and not line[0].startswith("%")), [])
    if len(sizes) != len(names) or not all(size.isdecimal() and len(size) < 19 for size in sizes):
        return f"expected the sizes '{' '.join(names)}', got {_quoted(sizes)}"
    m, n = int(sizes[0]), int(sizes[1])
    if symmetry != "general" and m != n:
        return f"expected a square matrix, being {symmetry}, got {m} x {n}"
    half = {"general": m * n, "skew-symmetric": m * (m - 1) // 2}.get(symmetry, m * (m + 1) // 2)
    expected = int(sizes[2]) if layout == "coordinate" else half
    indices = ["row", "column"] if layout == "coordinate" else []
    names = indices + _FIELDS[field]
    count = 0
    for line in filter(None, lines):
        if count == expected:
            return f"expected {expected} entries, more follow"
        if not _are_numbers(line, len(indices), len(names)):
            return f"expected '{' '.join(names)}', got {_quoted(line)}"
        if indices and not (1 <= int(line[0]) <= m and 1 <= int(line[1]) <= n):
            return f"expected row and column from 1 to {m} and {n}, got {_quoted(line[:2])}"
        count += 1
    return None if count == expected else f"expected {expected} entries, the file ends after {count}"


def _are_numbers(line: list[str], integers: int, count: int) -> bool:
    try:
        numbers = [*map(int, line[:integers]), *map(float, line[integers:count])]
    except ValueError:
        return False
    return len(numbers) == count


def _quoted(words: list[str]) -> str:
    return repr(" ".join(words)[:60]) if words else "nothing"
