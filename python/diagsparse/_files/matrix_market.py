"""Matrix Market files, parsed and written by fast_matrix_market or SciPy after validation by `market_text`."""

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
from .market_text import Header, Text, explain, max_entries, opened

_LOGGER = logging.getLogger("diagsparse")


def read(path: Path, limit: int, format: str) -> Any:
    """Return the matrix in a file as a SciPy `coo_array` with int64, uint64, float64 or complex128 values.

    Raise ValueError with the number of the line if the text is invalid, and MemoryError if the matrix and its
    conversion to `format` would need more than `limit` bytes.
    """
    with opened(path) as file:
        text = Text(path, file)
        header = text.header
        if header.entries > max_entries(path):  # the file is invalid, no matter how much memory there is
            text.check_entries()
        header.require(limit, format)
        if header.entries == 0:  # the libraries may abort the process in this case
            text.check_entries()
            return sparse.coo_array((header.rows, header.columns), dtype=header.dtype)
        parsed = _parsed(text)
    if _diagonal_is_wrong(header, parsed):
        explain(path)
    return parsed


def _parsed(text: Text) -> Any:
    library, name = _library(), text.path.name
    _LOGGER.info("%s: reading with %s", name, library.__name__)
    if text.header.field == "pattern":
        _LOGGER.info("%s: pattern entries become float64 ones", name)
    source = _Source(text)
    try:
        parsed = sparse.coo_array(library.mmread(source, **_options(library)))
    except MemoryError:
        raise
    except Exception as error:
        if source.error is None:
            explain(text.path)
            raise ValueError(str(error)) from error
    if source.error is not None:
        raise source.error
    return parsed


def _diagonal_is_wrong(header: Header, A: Any) -> bool:
    if header.symmetry == "skew-symmetric":
        return bool((A.row == A.col).any())
    if header.symmetry == "hermitian" and header.field == "complex":
        return bool(A.data[A.row == A.col].imag.any())
    return False


def write(file: Any, A: Any) -> None:
    """Write a SciPy sparse matrix or a `SparseArray` to an open binary file, as a general matrix in coordinates."""
    checked = private(A, "write")[0] if is_from_scipy(A) else A.asformat("csr").to_scipy()
    plain = checked.tocoo()  # writing a 4 x 0 csr matrix would never terminate
    plain = plain.astype(np.int8) if plain.dtype == bool else plain
    sink = _Sink(file)
    if plain.nnz == 0 and plain.dtype.kind == "c":  # which the libraries would write as a real matrix
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
    """Return the options of `mmread`: SciPy has `spmatrix` since 1.16, and warns if it is missing since 1.18."""
    return {"spmatrix": False} if "spmatrix" in signature(library.mmread).parameters else {}


class _Source:
    """The file object for the compiled parser: it returns large chunks, and ends at the first error.

    Both libraries abort the process on a NUL byte, on text after the last value without a newline, and on a seek.
    """

    def __init__(self, text: Text) -> None:
        self._chunks = chain([text.header.clean], (chunk for chunk, lines in text.chunks() if lines.count))
        self.error: Exception | None = None

    def read(self, size: int = -1) -> bytes:
        try:
            return next(self._chunks, b"")
        except Exception as error:
            self.error = error
            return b""


class _Sink:
    """The file object for the compiled writer: both libraries abort the process on an error while flushing."""

    def __init__(self, file: Any) -> None:
        self._file = file
        self.error: Exception | None = None

    def write(self, data: bytes) -> None:
        try:
            if self.error is None:
                self._file.write(data)
        except Exception as error:
            self.error = error
