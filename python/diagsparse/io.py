"""Reading and writing matrices: Matrix Market (`.mtx`, `.mtx.gz`) and NumPy archives (`.npz`)."""

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

from ._backends import memory
from ._backends.types import ConversionWarning, floats_for, named_dtype, widened
from ._files import archives, matrix_market
from ._matrix.base import is_from_scipy
from ._matrix.registry import format_named

_SUFFIXES = ".mtx", ".mtx.gz", ".npz"
_SMALL, _RATIO = 256 * 10**6, 100  # bytes that every file may need, and bytes per byte of a larger file


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
        A Matrix Market file (`.mtx` or `.mtx.gz`), which is read by fast_matrix_market if that is installed and by
        SciPy otherwise, or a NumPy archive (`.npz`), written by `write` or by `scipy.sparse.save_npz`.
    format : str, optional
        Format of the result, one of `diagsparse.formats()`. The default is csr for Matrix Market files, and the format
        of the file for archives.
    dtype : dtype, optional
        float32, float64, complex64 or complex128, and float16 or bfloat16 if the format stores them. The default is the
        dtype in the file, with float64 for integers and for patterns (with a `ConversionWarning` for integers).
    max_bytes : int, optional
        Limit for the memory that reading needs, which is predicted from the header of the file, and for the result. The
        default is 100 times the bytes of the file, but at least 256 MB and at most the free memory. So a small file
        that describes a very large matrix is rejected unless `max_bytes` allows it.

    Returns
    -------
    SparseArray, shape (m, n)
        Explicit zeros are stored, duplicate entries are summed, and symmetric files give both triangles.

    Raises
    ------
    ValueError
        If the suffix is unknown, or if the file is damaged or contains something else. The message states the file and
        the line.
    MemoryError
        If `max_bytes` is exceeded. The message states the number of bytes; nothing large has been allocated.
    FileNotFoundError
        If the file does not exist.
    TypeError
        If the dtype is not supported, or is real although the values are complex.

    Notes
    -----
    The peak memory is about three times that of the result. For text files, the prediction is twice the rows, columns
    and values of all entries, including mirrored ones, plus 16 bytes per row.

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
        if is_from_scipy(loaded) and loaded.dtype.kind in "biu":
            floats_for(loaded.dtype, dtype, path.name)  # warns
            loaded.data = loaded.data.astype(np.float64)  # astype of a coo_array would sort its entries
        default = loaded.format if archive and loaded.format != "bsr" else "csr"
        return _converted(loaded, format or default, dtype, limit)
    except (ValueError, MemoryError) as error:
        kind = MemoryError if isinstance(error, MemoryError) else ValueError
        raise kind(f"{path.name}: {str(error) or 'out of memory'}") from error.__cause__


def read_floats(path: str | os.PathLike[str], *, format: str | None = None, max_bytes: int | None = None) -> Any:
    """Read a matrix for a report: like `read`, but without a warning if integers become float64."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConversionWarning)
        return read(path, format=format, max_bytes=max_bytes)


def _limit(path: Path, max_bytes: int | None) -> int:
    """Return the limit for the memory that reading a file needs, in bytes."""
    if max_bytes is None:
        return min(memory.available_bytes(), max(_SMALL, _RATIO * path.stat().st_size))
    return memory.checked_limit(max_bytes, "read")


def _converted(loaded: Any, format: str, dtype: DTypeLike | None, limit: int) -> Any:
    """Convert a SciPy matrix or a `SparseArray` to this format, through csr only if necessary."""
    if not is_from_scipy(loaded):
        loaded = loaded if dtype is None else loaded.astype(dtype, copy=False)
        intermediate = "csr" if format in ("csc", "coo") else format
        return loaded.asformat(intermediate, max_bytes=limit).asformat(format, max_bytes=limit)
    if format == "coo" and loaded.format == "dia" and loaded.shape[0] > loaded.data.size:
        loaded = _entries(loaded)
    intermediate = format if format in ("csr", "csc", "coo") or loaded.format == "dia" else "csr"
    first = None if dtype is None else widened(named_dtype(dtype))
    result = format_named(intermediate).array(loaded, dtype=first, max_bytes=limit).asformat(format, max_bytes=limit)
    return result if dtype is None else result.astype(dtype, copy=False)


def _entries(a: Any) -> Any:
    """Convert a SciPy `dia_array` to a `coo_array`; SciPy itself would allocate pointers to all rows."""
    col = np.arange(a.data.shape[1])
    row = col - a.offsets[:, np.newaxis]
    inside = (row >= 0) & (row < a.shape[0]) & (col < a.shape[1]) & (a.data != 0)
    return sparse.coo_array((a.data[inside], (row[inside], np.broadcast_to(col, row.shape)[inside])), shape=a.shape)


def write(path: str | os.PathLike[str], A: Any) -> None:
    """Write a matrix to a file, which is created or replaced only when it is complete.

    A file that is replaced keeps its permissions, and symbolic links to it remain valid.

    Parameters
    ----------
    path : str or path
        The suffix determines the kind of file. `.mtx` and `.mtx.gz` are Matrix Market files of the kind "general", with
        the shortest decimals that reproduce the values exactly. They do not record the dtype, so read a float32 matrix
        with ``ds.read(path, dtype="float32")``. `.npz` is an uncompressed archive. Matrices in dia, csr, csc and coo
        are stored such that `scipy.sparse.load_npz` can read them. All others are stored as the arrays of `A.parts()`,
        together with ``format`` = b"diagsparse.<format>", ``version`` and ``shape``.
    A : SparseArray, SciPy sparse array or matrix
        A view (`A.T`, `A.H`) is copied first.

    Raises
    ------
    ValueError
        If the suffix is unknown.
    TypeError
        If A is not a sparse matrix.

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
        message = str(error).removeprefix("write: ") or "out of memory"
        raise kind(f"write: {path.name}: {message}") from error


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
    """Open a new temporary file; errors name the folder, because the user does not know the file."""
    try:
        return temporary.open("xb")
    except OSError as error:
        raise type(error)(error.errno, error.strerror, str(temporary.parent)) from None


@contextmanager
def _replacing(path: Path) -> Iterator[IO[bytes]]:
    """Open a temporary file that replaces `path`, with its permissions, at the end, and is deleted after an error.

    The target of a symbolic link is replaced, not the link. Pipes and devices are written to directly.
    """
    path = Path(os.path.realpath(path))
    if path.exists() and not path.is_file():
        try:
            with path.open("wb") as file:
                yield file
        except BrokenPipeError as error:  # with the name of the file
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
