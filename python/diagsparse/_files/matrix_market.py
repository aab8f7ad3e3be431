"""Matrix Market files, parsed and written by fast_matrix_market or SciPy; `_market_text` checks what they parse."""

from __future__ import annotations

import logging
from importlib import import_module
from inspect import signature
from itertools import chain
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from scipy import sparse

from .._matrix.base import is_from_scipy
from .._matrix.validation import private
from .market_text import Header, Text, explain, opened, room

_LOGGER = logging.getLogger("diagsparse")


def read(path: Path, limit: int, format: str) -> Any:
    """Return the matrix in a file as a `coo_array` of SciPy, with int64, uint64, float64 or complex128 values.

    Raises
    ------
    ValueError
        For whatever is wrong with the text, with the line that it was found in.
    MemoryError
        When that, and its conversion to `format`, would take more than `limit` bytes.
    """
    with opened(path) as file:
        text = Text(path, file)
        header = text.header
        if header.entries > room(path):  # no matter how much memory there is
            text.drain()
        header.require(limit, format)
        if header.entries == 0:  # for which the libraries may end the process
            text.drain()
            return sparse.coo_array((header.rows, header.columns), dtype=header.dtype)
        made = _parsed(text)
    if _diagonal_is_wrong(header, made):
        explain(path)
    return made


def _parsed(text: Text) -> Any:
    library, name = _library(), text.path.name
    _LOGGER.info("%s: reading with %s", name, library.__name__)
    if text.header.field == "pattern":
        _LOGGER.info("%s: pattern entries become float64 ones", name)
    source = _Source(text)
    try:
        made = sparse.coo_array(library.mmread(source, **_options(library)))
    except MemoryError:
        raise
    except Exception as error:
        if source.error is None:
            explain(text.path)
            raise ValueError(str(error)) from error
    if source.error is not None:
        raise source.error
    return made


def _diagonal_is_wrong(header: Header, made: Any) -> bool:
    if header.symmetry == "skew-symmetric":
        return bool((made.row == made.col).any())
    if header.symmetry == "hermitian" and header.field == "complex":
        return bool(made.data[made.row == made.col].imag.any())
    return False


def write(file: Any, A: Any) -> None:
    """Write a SciPy sparse matrix or one of ours to an open binary file, as a general matrix in coordinates."""
    checked = private(A, "write")[0] if is_from_scipy(A) else A.asformat("csr").to_scipy()
    plain = checked.tocoo()  # as csr, a 4 x 0 matrix never ends
    plain = plain.astype(np.int8) if plain.dtype == bool else plain
    sink = _Sink(file)
    if plain.nnz == 0 and plain.dtype.kind == "c":  # of which the libraries say that it is real
        sink.write(b"%%%%MatrixMarket matrix coordinate complex general\n%d %d 0\n" % plain.shape)
    else:
        _library().mmwrite(sink, plain, symmetry="general")
    if sink.error is not None:
        raise sink.error


def _library() -> ModuleType:
    try:
        return import_module("fast_matrix_market")
    except ImportError:
        return import_module("scipy.io")


def _options(library: ModuleType) -> dict[str, Any]:
    """Return what SciPy wants to be told from version 1.16 on, and warns of from 1.18 on."""
    return {"spmatrix": False} if "spmatrix" in signature(library.mmread).parameters else {}


class _Source:
    """Text as the compiled reader sees it: large pieces, and the end where something is wrong.

    Both libraries end the process on a NUL byte, on text after the last value without a newline, and on a seek.
    """

    def __init__(self, text: Text) -> None:
        self._pieces = chain([text.header.clean], (piece for piece, lines in text.pieces() if lines.count))
        self.error: Exception | None = None

    def read(self, size: int = -1) -> bytes:
        try:
            return next(self._pieces, b"")
        except Exception as error:
            self.error = error
            return b""


class _Sink:
    """A file as the compiled writer sees it: both libraries end the process on an error while they flush."""

    def __init__(self, file: Any) -> None:
        self._file = file
        self.error: Exception | None = None

    def write(self, data: bytes) -> None:
        try:
            if self.error is None:
                self._file.write(data)
        except Exception as error:
            self.error = error
