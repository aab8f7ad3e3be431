"""Matrices in files: Matrix Market (`.mtx`, `.mtx.gz`) and NumPy archives (`.npz`)."""

from __future__ import annotations

import gzip
import os
import secrets
import stat
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import DTypeLike
from scipy import sparse

from ._files import archives, matrix_market
from ._matrix.base import is_scipys
from ._matrix.registry import format_named
from ._places import memory
from ._places.types import ConversionWarning, floats_for

_SUFFIXES = ".mtx", ".mtx.gz", ".npz"
_SMALL, _RATIO = 256 * 10**6, 100  # bytes that any file may take, and those for each byte of a larger one


def read(
    path: str | os.PathLike[str],
    *,
    format: str | None = None,
    dtype: DTypeLike | None = None,
    max_bytes: int | None = None,
) -> Any:
    """Read a matrix from a file.

    Parameters
    ----------
    path : str or path
        `.mtx` or `.mtx.gz` (Matrix Market; read by fast_matrix_market where it is installed, else by SciPy) or `.npz`
        (of `write` or of `scipy.sparse.save_npz`).
    format : str, optional
        Format of the result, one of `diagsparse.formats()`.  By default csr for Matrix Market, and for `.npz` the
        format of the file.
    dtype : dtype, optional
        float32, float64, complex64 or complex128.  By default that of the file; integer and pattern values become
        float64 (integers with a `ConversionWarning`).
    max_bytes : int, optional
        Limit of the memory that reading takes, as the header of the file forecasts it, and of the result.  By default
        100 times the bytes of the file, or 256 MB where that is more, but not more than the machine has free: a small
        file that promises a large matrix is refused until `max_bytes` allows it.

    Returns
    -------
    diagsparse matrix, shape (m, n)
        Explicit zeros stay stored, duplicate entries are summed, symmetric files give both triangles.

    Raises
    ------
    ValueError
        For another suffix and for a file that is damaged or holds something else: the message names file and line.
    MemoryError
        With the bytes, when they exceed `max_bytes`; nothing large was allocated.
    FileNotFoundError
        If there is no such file.
    TypeError
        For another dtype, or a real one for complex values.

    Notes
    -----
    Peak memory is about three times that of the result: text is forecast at twice its entries, mirrored ones included,
    as row, column and value, and 16 bytes for each row.

    Examples
    --------
    >>> import diagsparse as ds, tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "poisson.mtx.gz"
    >>> ds.write(path, ds.gallery.stencil(5, 30))
    >>> ds.read(path, format="hm").shape
    (900, 900)
    """
    path = _checked("read", path)
    archive = _suffix("read", path) == ".npz"
    if format is not None:
        format_named(format)  # raises
    limit = _limit(path, max_bytes)
    try:
        loaded = archives.read(path, limit) if archive else matrix_market.read(path, limit, format or "csr")
        if is_scipys(loaded) and loaded.dtype.kind in "biu":
            floats_for(loaded.dtype, dtype, path.name)  # warns
            loaded.data = loaded.data.astype(np.float64)  # astype of a coo_array would sort its entries
        kept = loaded.format if archive and loaded.format != "bsr" else "csr"
        return _converted(loaded, format or kept, dtype, limit)
    except (ValueError, MemoryError) as error:
        kind = MemoryError if isinstance(error, MemoryError) else ValueError
        raise kind(f"{path.name}: {str(error) or 'out of memory'}") from error.__cause__


def read_floats(path: str | os.PathLike[str], *, format: str | None = None, max_bytes: int | None = None) -> Any:
    """Read a matrix for a report: as `read`, but integers become float64 without a warning."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConversionWarning)
        return read(path, format=format, max_bytes=max_bytes)


def _limit(path: Path, max_bytes: int | None) -> int:
    """Return the bytes that reading a file may take."""
    if max_bytes is None:
        return min(memory.available_bytes(), max(_SMALL, _RATIO * path.stat().st_size))
    return memory.checked_limit(max_bytes, "read")


def _converted(loaded: Any, format: str, dtype: DTypeLike | None, limit: int) -> Any:
    """Return a matrix of SciPy or ours in this format, by way of csr only where there is no other."""
    if not is_scipys(loaded):
        loaded = loaded if dtype is None else loaded.astype(dtype, copy=False)
        way = "csr" if format in ("csc", "coo") else format
        return loaded.asformat(way, max_bytes=limit).asformat(format, max_bytes=limit)
    if format == "coo" and loaded.format == "dia" and loaded.shape[0] > loaded.data.size:
        loaded = _entries(loaded)
    way = format if format in ("csr", "csc", "coo") or loaded.format == "dia" else "csr"
    return format_named(way).array(loaded, dtype=dtype, max_bytes=limit).asformat(format, max_bytes=limit)


def _entries(a: Any) -> Any:
    """Return SciPy's diagonals as a `coo_array`; SciPy itself would go by pointers to all rows."""
    col = np.arange(a.data.shape[1])
    row = col - a.offsets[:, np.newaxis]
    inside = (row >= 0) & (row < a.shape[0]) & (col < a.shape[1]) & (a.data != 0)
    return sparse.coo_array((a.data[inside], (row[inside], np.broadcast_to(col, row.shape)[inside])), shape=a.shape)


def write(path: str | os.PathLike[str], A: Any) -> None:
    """Write a matrix to a file, which appears (or is replaced) only once it is complete.

    A file that is replaced keeps its permissions, and symbolic links to it stay.

    Parameters
    ----------
    path : str or path
        `.mtx` or `.mtx.gz` (Matrix Market, "general", shortest decimals that give the same bits back; the file does
        not name their type, so a float32 matrix needs ``ds.read(path, dtype="float32")`` for that) or `.npz`
        (uncompressed: dia, csr, csc and coo as `scipy.sparse.load_npz` reads them; every other format as the arrays of
        `A.parts()` beside ``format`` = b"diagsparse.<format>", ``version`` and ``shape``).
    A : diagsparse matrix, SciPy sparse array or matrix
        A view (`A.T`, `A.H`) is laid out first.

    Raises
    ------
    ValueError
        For another suffix.
    TypeError
        For any other A.

    Examples
    --------
    >>> import diagsparse as ds, tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "band.npz"
    >>> ds.write(path, ds.gallery.banded(100, 1, 2, seed=0, format="hm"))
    >>> ds.read(path).format
    'hm'
    """
    path = _checked("write", path)
    suffix = _suffix("write", path)
    if not sparse.issparse(A):
        raise TypeError(f"write: A is a {type(A).__name__}, expected a diagsparse matrix or a SciPy sparse array")
    try:
        with _replacing(path) as file:
            if suffix == ".npz":
                archives.write(file, A)
            elif suffix == ".mtx":
                matrix_market.write(file, A)
            else:
                with gzip.GzipFile(path.stem, "wb", compresslevel=6, fileobj=file, mtime=0) as packed:
                    matrix_market.write(packed, A)
    except (ValueError, TypeError, MemoryError) as error:
        kind = next(kind for kind in (MemoryError, TypeError, ValueError) if isinstance(error, kind))
        told = str(error).removeprefix("write: ") or "out of memory"
        raise kind(f"write: {path.name}: {told}") from error


def _checked(who: str, path: Any) -> Path:
    try:
        return Path(path)
    except TypeError:
        raise TypeError(f"{who}: path is {path!r}, expected a str or a path") from None


def _suffix(who: str, path: Path) -> str:
    for suffix in _SUFFIXES:
        if path.name.lower().endswith(suffix):
            return suffix
    raise ValueError(f"{who}: {path.name}: unknown suffix, expected {', '.join(_SUFFIXES[:-1])} or {_SUFFIXES[-1]}")


def _opened(temporary: Path) -> IO[bytes]:
    """Open a new file that the user does not know of; it is the folder that cannot take it."""
    try:
        return temporary.open("xb")
    except OSError as error:
        raise type(error)(error.errno, error.strerror, str(temporary.parent)) from None


@contextmanager
def _replacing(path: Path) -> Iterator[IO[bytes]]:
    """Open a new file that takes the place and the permissions of `path` at the end, and vanishes after an error.

    What a symbolic link leads to is replaced, not the link. A pipe or a device is written to.
    """
    path = Path(os.path.realpath(path))
    if path.exists() and not path.is_file():
        try:
            with path.open("wb") as file:
                yield file
        except BrokenPipeError as error:  # which of the files of a command it was
            raise BrokenPipeError(error.errno, error.strerror, str(path)) from None
        return
    temporary = path.with_name(f".diagsparse-{secrets.token_hex(8)}.tmp")
    try:
        with _opened(temporary) as file:
            if path.exists():
                os.fchmod(file.fileno(), stat.S_IMODE(path.stat().st_mode))
            yield file
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
