"""Matrix Market text: the header, the validated lines below it, and error messages with line numbers."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator
from itertools import repeat
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from .._backends import memory
from .market_lines import Lines

_MARKS = "%%matrixmarket", "%matrixmarket"  # the latter is wrong, but occurs in practice
_LAYOUTS = {"coordinate": ["row", "column"], "array": []}  # the numbers of a line before its values
_FIELDS = {"real": ["value"], "double": ["value"], "integer": ["integer"], "unsigned-integer": ["integer"]}
_FIELDS |= {"complex": ["real", "imaginary"], "pattern": []}
_SYMMETRIES = "general", "symmetric", "skew-symmetric", "hermitian"
_DTYPES = {"integer": np.int64, "unsigned-integer": np.uint64, "complex": np.complex128}  # of the others: float64
_MOST = 2**31 - 1  # rows or columns
_CHUNK = 1 << 19  # bytes that are read at once; an upper limit for the length of lines
_HEADER = 1 << 20  # largest number of bytes of the header, including comments
_READ_ERRORS = EOFError, gzip.BadGzipFile, zlib.error
_BLANKS = bytes.maketrans(b"\t\r", b"  ")


def opened(path: Path) -> Any:
    """Open a text file, which may be compressed."""
    return gzip.open(path) if _is_compressed(path) else path.open("rb")


def _is_compressed(path: Path) -> bool:
    return path.name.lower().endswith(".gz")


def max_entries(path: Path) -> int:
    """Return the largest number of entries of a file: each needs two bytes, and deflate compresses 1032:1 at most."""
    return path.stat().st_size * (516 if _is_compressed(path) else 1)


class Header(NamedTuple):
    """The header of a file."""

    layout: str
    field: str
    symmetry: str
    rows: int
    columns: int
    entries: int  # number of lines with entries

    @property
    def names(self) -> list[str]:
        """The names of the numbers in a line."""
        return _LAYOUTS[self.layout] + _FIELDS[self.field]

    @property
    def dtype(self) -> np.dtype:
        """The dtype of the values."""
        return np.dtype(_DTYPES.get(self.field, np.float64))

    @property
    def clean(self) -> bytes:
        """The header without comments."""
        entries = f" {self.entries}" if self.layout == "coordinate" else ""
        banner = f"%%MatrixMarket matrix {self.layout} {self.field} {self.symmetry}"
        return f"{banner}\n{self.rows} {self.columns}{entries}\n".encode()

    def require(self, limit: int, format: str) -> None:
        """Raise MemoryError if the entries and their conversion to `format` would need more than `limit` bytes."""
        (m, n), itemsize = (self.rows, self.columns), self.dtype.itemsize
        if self.layout == "array":
            memory.require(m * n * (3 * itemsize + 16), limit, f"reading an array of {m} x {n} values")
            return
        entries = self.entries * (1 if self.symmetry == "general" else 2)
        order, pointers = 24 * entries, 16 * ({"csc": n}.get(format, m) + 1)
        hint = 'format="coo" does without pointers to rows' if pointers > order and format != "coo" else ""
        nbytes = 2 * entries * (itemsize + 8) + (order if format == "coo" else pointers)
        memory.require(nbytes, limit, f"reading {entries} entries of a {m} x {n} matrix", hint)

    def error_in(self, words: list[bytes], row: int, column: int) -> str | None:
        """Return the error in a syntactically valid entry, or None; `row` and `column` are its position in an array."""
        if self.layout == "coordinate":
            row, column = map(_integer, words[:2])
            if not (1 <= row <= self.rows and 1 <= column <= self.columns):
                return f"expected row and column from 1 to {self.rows} and {self.columns}, got {_quoted(*words[:2])}"
        if self.dtype.kind in "iu":
            least, most = np.iinfo(self.dtype).min, np.iinfo(self.dtype).max
            if not least <= _integer(words[-1]) <= most:
                return f"expected an integer from {least} to {most}, got {_quoted(words[-1])}"
        if row == column and self.symmetry == "skew-symmetric":
            return f"expected no entries on the diagonal of a skew-symmetric matrix, got {_quoted(*words)}"
        if row == column and self.symmetry == "hermitian" and self.field == "complex" and float(words[-1]) != 0:
            return f"expected real values on the diagonal of a hermitian matrix, got {_quoted(*words)}"
        return None


class Text:
    """An open file: its header, then its lines in chunks, which are validated before they are returned.

    Errors in the text raise ValueError, here and in the methods. The message states the line.
    """

    def __init__(self, path: Path, file: Any) -> None:
        self.path, self._file = path, file
        self._at = self._read = 0  # bytes before the current line or chunk, and before the next one
        try:
            self.header = self._header()
        except _READ_ERRORS as error:
            raise self._read_error(error) from error

    # ---- header -------------------------------------------------------------------------------------
    def _header(self) -> Header:
        banner = self._line()
        words = banner.lower().split()
        if len(words) != 5 or words[0] not in _MARKS or words[1] != "matrix" or words[2] not in _LAYOUTS:
            example = "%%MatrixMarket matrix coordinate real general"
            raise self.error(f"expected a banner like '{example}', got {_quoted(banner)}")
        layout, field, symmetry = words[2:]
        if field not in _FIELDS or symmetry not in _SYMMETRIES:
            given = f"one of {', '.join(_FIELDS)} and one of {', '.join(_SYMMETRIES)}"
            raise self.error(f"expected {given}, got {_quoted(*words[3:])}")
        if {"array", "pattern"} <= set(words) or {"unsigned-integer", "skew-symmetric"} <= set(words):
            raise self.error(f"expected values that such a matrix can have, got {_quoted(*words[2:])}")
        line = self._line()
        while line.startswith("%") or line.isspace():
            line = self._line()
        return self._sized(layout, field, symmetry, line)

    def _sized(self, layout: str, field: str, symmetry: str, line: str) -> Header:
        names = ["rows", "columns", "entries"][: 3 if layout == "coordinate" else 2]
        sizes = line.split()
        if len(sizes) != len(names) or not all(size.isdecimal() and len(size) < 19 for size in sizes):
            raise self.error(f"expected the sizes '{' '.join(names)}', got {_quoted(line)}")
        m, n = int(sizes[0]), int(sizes[1])
        if max(m, n) > _MOST:
            raise self.error(f"expected at most {_MOST} rows and columns, got {m} x {n}")
        if symmetry != "general" and m != n:
            raise self.error(f"expected a square {symmetry} matrix, got {m} x {n}")
        values = {"general": m * n, "skew-symmetric": m * (m - 1) // 2}.get(symmetry, m * (m + 1) // 2)
        return Header(layout, field, symmetry, m, n, values if layout == "array" else int(sizes[2]))

    def _line(self) -> str:
        """Return the next line of the header, or an empty string at the end of the file."""
        line = self._file.readline(_CHUNK)
        self._at = self._read if line else max(self._read - 1, 0)
        self._read += len(line)
        if len(line) == _CHUNK or self._read > _HEADER:
            raise self.error(f"expected lines below {_CHUNK} bytes, and the sizes within {_HEADER} bytes")
        return line.decode("ascii", "replace")

    # ---- entries ------------------------------------------------------------------------------------
    def chunks(self) -> Iterator[tuple[bytes, Lines]]:
        """Yield the lines below the header in chunks, with tabs and carriage returns replaced by spaces."""
        header, count = self.header, 0
        numbers = len(_LAYOUTS[header.layout]), len(_FIELDS[header.field]), header.dtype
        try:
            while chunk := self._file.read(_CHUNK):
                rest = self._file.readline(_CHUNK)
                self._at, self._read = self._read, self._read + len(chunk) + len(rest)
                if len(rest) == _CHUNK:
                    raise self.error(f"expected lines below {_CHUNK} bytes", len(chunk))
                end = b"\n" * (64 - (len(chunk) + len(rest)) % 64)
                chunk = b"".join((chunk, rest, end))
                if b"\t" in chunk or b"\r" in chunk:
                    chunk = chunk.translate(_BLANKS)
                lines = Lines(chunk, *numbers)
                self._check(chunk, lines, header.entries - count)
                count += lines.count
                yield chunk, lines
        except _READ_ERRORS as error:
            raise self._read_error(error) from error
        if count < header.entries:
            self._at = max(self._read - 1, 0)
            raise self.error(f"expected {header.entries} entries, the file ends after {count}")

    def check_entries(self) -> None:
        """Check all lines below the header."""
        for _ in self.chunks():
            pass

    def _check(self, chunk: bytes, lines: Lines, expected: int) -> None:
        fault = lines.fault
        if lines.count > expected and (fault is None or lines.entry(expected) <= fault):
            raise self.error(f"expected {self.header.entries} entries, more follow", lines.entry(expected))
        if fault is not None:
            line = chunk[chunk.rfind(b"\n", 0, fault) + 1 : chunk.index(b"\n", fault)]
            raise self.error(f"expected '{' '.join(self.header.names)}', got {_quoted(line)}", fault)

    # ---- errors -------------------------------------------------------------------------------------
    def error(self, message: str, position: int = 0) -> ValueError:
        """Return an error at this byte of the current line or chunk."""
        return ValueError(f"line {_line_at(self.path, self._at + position)}: {message}")

    def _read_error(self, error: Exception) -> ValueError:
        return self.error(f"the compressed data is damaged or truncated: {error}", 2**63)


def explain(path: Path) -> None:
    """Raise ValueError for the first entry that is syntactically valid, but impossible in this matrix, if any."""
    with opened(path) as file:
        text = Text(path, file)
        header = text.header
        width = len(header.names)
        positions = _positions(header) if header.layout == "array" else repeat((0, 0))
        for chunk, lines in text.chunks():
            words = chunk.split()
            for number in range(lines.count):
                message = header.error_in(words[number * width : (number + 1) * width], *next(positions))
                if message is not None:
                    raise text.error(message, lines.entry(number))


def _positions(header: Header) -> Iterator[tuple[int, int]]:
    """Yield the positions of the values of an array file: column by column, from the diagonal on if symmetric."""
    below = {"general": -header.columns, "skew-symmetric": 1}.get(header.symmetry, 0)
    for column in range(header.columns):
        for row in range(max(0, column + below), header.rows):
            yield row, column


def _line_at(path: Path, position: int) -> int:
    """Return the number of the line that contains this byte, or of the last line that can be read."""
    number = 1
    with opened(path) as file:
        try:
            while position and (text := file.read1(min(position, 8192))):
                number, position = number + text.count(b"\n"), position - len(text)
        except _READ_ERRORS:
            pass
    return number


def _integer(word: bytes) -> int:
    """Return an integer, or one with fewer digits but still too large, since Python refuses thousands of digits."""
    size = int(word.lstrip(b"-").lstrip(b"0")[:30] or b"0")
    return -size if word.startswith(b"-") else size


def _quoted(*words: str | bytes) -> str:
    text = " ".join(word if isinstance(word, str) else word.decode("ascii", "replace") for word in words)
    text = text.strip(" \t\r\n")
    return repr(text[:60]) if text else "nothing"
