"""Matrices in files: Matrix Market (`.mtx`, `.mtx.gz`) and NumPy archives (`.npz`)."""

from __future__ import annotations

import gzip
import logging
import os
import secrets
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any
from zipfile import is_zipfile

import numpy as np
from numpy.typing import DTypeLike
from scipy import sparse

from ._packing import Packing
from ._types import ConversionWarning, named_dtype

_LOGGER = logging.getLogger("diagsparse")
_SUFFIXES = ".mtx", ".mtx.gz", ".npz"
_SCIPY_FORMATS = {"dia", "csr", "csc", "coo"}
_TAG, _VERSION = "diagsparse.", 1


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
        float64 (integers with a `ConversionWarning`).

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
    from . import _matrix_market, array

    path = Path(path)
    archive = _suffix("read", path) == ".npz"
    loaded = _read_npz(path) if archive else _matrix_market.read(path)
    if sparse.issparse(loaded):
        if loaded.dtype.kind in "biu":
            if dtype is None:
                told = f"{path.name}: {loaded.dtype} values become float64; pass dtype= to choose"
                warnings.warn(told, ConversionWarning, stacklevel=2)
            loaded = loaded.astype(np.float64)
        loaded = array(loaded, loaded.format if archive and loaded.format in _SCIPY_FORMATS else "csr")
    if dtype is not None:
        loaded = loaded.astype(dtype, copy=False)
    return loaded if format is None else loaded.asformat(format)


def read_floats(path: str | os.PathLike[str]) -> Any:
    """Read a matrix for a report: as `read`, but integers become float64 without a warning."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConversionWarning)
        return read(path)


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
    from . import _matrix_market, issparse

    path = Path(path)
    suffix = _suffix("write", path)
    if not (issparse(A) or sparse.issparse(A)):
        raise TypeError(f"write: A is a {type(A).__name__}, expected a diagsparse matrix or a SciPy sparse array")
    with _replacing(path) as file:
        if suffix == ".npz":
            _write_npz(file, A)
        elif suffix == ".mtx":
            _matrix_market.write(file, A)
        else:
            with gzip.GzipFile(path.stem, "wb", compresslevel=6, fileobj=file, mtime=0) as packed:
                _matrix_market.write(packed, A)


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


def _write_npz(file: IO[bytes], A: Any) -> None:
    if sparse.issparse(A):
        sparse.save_npz(file, A if A.format in _SCIPY_FORMATS | {"bsr"} else A.tocsr(), compressed=False)
    elif A.format in _SCIPY_FORMATS and not A._packed:
        sparse.save_npz(file, A.to_scipy(), compressed=False)
    else:
        plain = (A.copy() if A._op else A).to("cpu")
        packing = {k: v for k, v in plain._packing._asdict().items() if v} if A._packed else {}
        np.savez(file, format=f"{_TAG}{A.format}".encode(), version=_VERSION, shape=A.shape, **plain.parts(), **packing)


def _read_npz(path: Path) -> Any:
    """Return a SciPy sparse array, or a matrix of ours."""
    from ._protocols import from_parts

    with path.open("rb") as file:
        try:
            if not is_zipfile(file):
                raise ValueError("no zip archive, or cut off")
            file.seek(0)
            with np.load(file, allow_pickle=False) as archive:
                tag = bytes(archive["format"].item()).decode()
                if tag.startswith(_TAG):
                    parts = {name: archive[name] for name in archive.files}
                    del parts["format"]
                    m, n = map(int, parts.pop("shape"))
                    if (version := int(parts.pop("version"))) > _VERSION:
                        raise ValueError(f"written by a later version of diagsparse (file version {version})")
                    if parts["values"].dtype.kind == "V":  # what NumPy makes of a type that it does not know
                        parts["values"] = parts["values"].view(named_dtype("bfloat16"))
                    packing = [parts.pop(k).item() if k in parts else None for k in Packing._fields]
                    return from_parts(tag.removeprefix(_TAG), parts, (m, n), *packing)
            file.seek(0)
            return sparse.load_npz(file)
        except MemoryError:
            raise
        except Exception as error:
            reason = error.args[0] if error.args else type(error).__name__
            raise ValueError(f"{path.name}: no matrix that diagsparse or SciPy wrote: {reason}") from error
