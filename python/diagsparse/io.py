"""Matrices in files: Matrix Market (`.mtx`, `.mtx.gz`) and NumPy archives (`.npz`)."""

from __future__ import annotations

import gzip
import logging
import os
import secrets
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import IO, Any

import numpy as np
from numpy.typing import DTypeLike
from scipy import sparse

_LOGGER = logging.getLogger("diagsparse")
_SUFFIXES = ".mtx", ".mtx.gz", ".npz"
_SCIPY_FORMATS = {"dia", "csr", "csc", "coo"}
_TAG, _VERSION = "diagsparse.", 1
_LAYOUTS = "coordinate", "array"
_FIELDS = {"real": ["value"], "integer": ["value"], "unsigned-integer": ["value"], "double": ["value"],
           "complex": ["real", "imaginary"], "pattern": []}  # fmt: skip
_SYMMETRIES = "general", "symmetric", "skew-symmetric", "hermitian"


def read(path: str | os.PathLike[str], *, format: str | None = None, dtype: DTypeLike | None = None) -> Any:
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
        float64, which is logged at INFO level.

    Returns
    -------
    diagsparse matrix, shape (m, n)
        Explicit zeros stay stored, duplicate entries are summed, symmetric files give both triangles.

    Raises
    ------
    ValueError
        For another suffix and for a file that is damaged or holds something else: the message names file and line.
    FileNotFoundError
        If there is no such file.
    TypeError
        For another dtype, or a real one for complex values.

    Notes
    -----
    Peak memory is about three times that of the result.

    Examples
    --------
    >>> import diagsparse as ds, tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "poisson.mtx.gz"
    >>> ds.write(path, ds.gallery.stencil(5, 30))
    >>> ds.read(path, format="hm").shape
    (900, 900)
    """
    from . import array

    path = Path(path)
    loaded = _read_npz(path) if _suffix("read", path) == ".npz" else _read_matrix_market(path)
    if sparse.issparse(loaded):
        if loaded.dtype.kind in "biu":
            _LOGGER.info("%s: %s values become float64", path.name, loaded.dtype)
            loaded = loaded.astype(np.float64)
        native = "csr" if _suffix("read", path) != ".npz" or loaded.format == "bsr" else loaded.format
        loaded = array(loaded, native)
    if dtype is not None:
        loaded = loaded.astype(dtype, copy=False)
    return loaded if format is None else loaded.asformat(format)


def write(path: str | os.PathLike[str], A: Any) -> None:
    """Write a matrix to a file, which appears (or is replaced) only once it is complete.

    Parameters
    ----------
    path : str or path
        `.mtx` or `.mtx.gz` (Matrix Market, "general", shortest decimals that give the same bits back) or `.npz`
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
    from . import issparse

    path = Path(path)
    suffix = _suffix("write", path)
    if not (issparse(A) or sparse.issparse(A)):
        raise TypeError(f"write: A is a {type(A).__name__}, expected a diagsparse matrix or a SciPy sparse array")
    with _replacing(path) as file:
        if suffix == ".npz":
            _write_npz(file, A)
        elif suffix == ".mtx":
            _write_matrix_market(file, A)
        else:
            with gzip.GzipFile(path.with_suffix("").name, "wb", fileobj=file) as packed:
                _write_matrix_market(packed, A)


def _suffix(who: str, path: Path) -> str:
    for suffix in _SUFFIXES:
        if path.name.lower().endswith(suffix):
            return suffix
    raise ValueError(f"{who}: {path.name}: unknown suffix, expected {', '.join(_SUFFIXES[:-1])} or {_SUFFIXES[-1]}")


@contextmanager
def _replacing(path: Path) -> Iterator[IO[bytes]]:
    """Open a new file that takes the place of `path` at the end, and vanishes after an error."""
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}.tmp")
    try:
        with temporary.open("xb") as file:
            yield file
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


# ---- NumPy archives --------------------------------------------------------------------------------------------------


def _write_npz(file: IO[bytes], A: Any) -> None:
    if sparse.issparse(A):
        sparse.save_npz(file, A if A.format in _SCIPY_FORMATS | {"bsr"} else A.tocsr(), compressed=False)
    elif A.format in _SCIPY_FORMATS:
        sparse.save_npz(file, A.to_scipy(), compressed=False)
    else:
        plain = (A.copy() if A._op else A).to("cpu")
        np.savez(file, format=f"{_TAG}{A.format}".encode(), version=_VERSION, shape=A.shape, **plain.parts())


def _read_npz(path: Path) -> Any:
    """Return a SciPy sparse array, or a matrix of ours."""
    from ._array import from_parts

    with path.open("rb") as file:
        try:
            with np.load(file, allow_pickle=False) as archive:
                tag = bytes(archive["format"].item()).decode()
                if tag.startswith(_TAG):
                    parts = {name: archive[name] for name in archive.files}
                    del parts["format"]
                    shape, version = tuple(map(int, parts.pop("shape"))), int(parts.pop("version"))
                    if version > _VERSION:
                        raise ValueError(f"written by a later version of diagsparse (file version {version})")
                    return from_parts(tag.removeprefix(_TAG), parts, shape)
            file.seek(0)
            return sparse.load_npz(file)
        except MemoryError:
            raise
        except Exception as error:
            reason = error.args[0] if error.args else type(error).__name__
            raise ValueError(f"{path.name}: no matrix that diagsparse or SciPy wrote: {reason}") from error


# ---- Matrix Market ---------------------------------------------------------------------------------------------------


def _matrix_market() -> ModuleType:
    try:
        import fast_matrix_market as module
    except ImportError:
        import scipy.io as module
    return module


def _write_matrix_market(file: IO[bytes], A: Any) -> None:
    plain = A if sparse.issparse(A) else A.asformat("csr").to_scipy()
    plain = plain.astype(np.int8) if plain.dtype == bool else plain
    _matrix_market().mmwrite(file, plain, symmetry="general")


def _read_matrix_market(path: Path) -> Any:
    """Return a SciPy sparse array."""
    module = _matrix_market()
    _LOGGER.info("%s: reading with %s", path.name, module.__name__)
    with _open(path) as file:
        try:
            if b"pattern" in file.readline().lower():
                _LOGGER.info("%s: pattern entries become float64 ones", path.name)
            file.seek(0)
            return sparse.coo_array(module.mmread(file))
        except Exception as error:
            complaint = _complaint(path)
            if complaint is None and isinstance(error, MemoryError | OSError):
                raise
            raise ValueError(f"{path.name}: {complaint or error}") from error


def _open(path: Path) -> IO[bytes]:
    return gzip.open(path, "rb") if path.name.lower().endswith(".gz") else path.open("rb")  # type: ignore[return-value]


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
    if len(sizes) != len(names) or not all(size.isdigit() for size in sizes):
        return f"expected the sizes '{' '.join(names)}', got {_quoted(sizes)}"
    m, n = int(sizes[0]), int(sizes[1])
    if symmetry != "general" and m != n:
        return f"expected a square matrix, being {symmetry}, got {m} x {n}"
    half = {"general": m * n, "skew-symmetric": m * (m - 1) // 2}.get(symmetry, m * (m + 1) // 2)
    expected = int(sizes[2]) if layout == "coordinate" else half
    names = (["row", "column"] if layout == "coordinate" else []) + _FIELDS[field]
    count = 0
    for line in filter(None, lines):
        if count == expected:
            return f"expected {expected} entries, more follow"
        if len(line) < len(names) or not _are_numbers(line, layout):
            return f"expected '{' '.join(names)}', got {_quoted(line)}"
        if layout == "coordinate" and not (1 <= int(line[0]) <= m and 1 <= int(line[1]) <= n):
            return f"expected row and column from 1 to {m} and {n}, got {_quoted(line[:2])}"
        count += 1
    return None if count == expected else f"expected {expected} entries, the file ends after {count}"


def _are_numbers(line: list[str], layout: str) -> bool:
    try:
        return all((int if layout == "coordinate" and i < 2 else float)(word) or True for i, word in enumerate(line))
    except ValueError:
        return False


def _quoted(words: list[str]) -> str:
    return f"'{' '.join(words)[:60]}'" if words else "nothing"
