"""NumPy archives (`.npz`): those of SciPy, and those of formats and packings that SciPy does not support."""

from __future__ import annotations

from math import prod
from pathlib import Path
from typing import IO, Any
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile, is_zipfile

import numpy as np
from scipy import sparse

from .._backends import memory
from .._backends.types import VALUE_TYPES, named_dtype
from .._formats.packing import Packing
from .._matrix.base import is_from_scipy
from .._matrix.protocols import from_parts
from .._matrix.registry import FORMATS
from .._matrix.validation import private

SCIPY_FORMATS = "dia", "csr", "csc", "coo"  # supported by both libraries
_TAG, _VERSION = "diagsparse.", 1
_CONTENTS = {  # the arrays of SciPy's formats, and their dimensions
    "dia": {"data": 2, "offsets": 1},
    "csr": {"data": 1, "indices": 1, "indptr": 1},
    "csc": {"data": 1, "indices": 1, "indptr": 1},
    "bsr": {"data": 3, "indices": 1, "indptr": 1},
    "coo": {"data": 1, "row": 1, "col": 1},
}
_COORDS = {"data": 1, "coords": 2}  # of coo in recent versions of SciPy
_INTEGERS = {np.dtype(code) for code in "bhilqBHILQ"}
_TEXT = {np.dtype(f"{kind}{size}") for kind in "SU" for size in range(1, 33)}
_TYPES = {  # all other arrays contain integers
    "format": ("text", _TEXT),
    "symmetry": ("text", _TEXT),
    "data": ("numbers", {*VALUE_TYPES, *_INTEGERS, np.dtype(bool)}),
    "values": ("floating-point numbers", {*VALUE_TYPES, np.dtype(np.float16), np.dtype("V2")}),  # V2: bfloat16
}
_DENSEST = 1032  # largest compression ratio of deflate


def write(file: IO[bytes], A: Any) -> None:
    """Write a SciPy sparse matrix or a `SparseArray` to an open binary file."""
    if is_from_scipy(A):
        A = private(A, "write")[0]
        sparse.save_npz(file, A if A.format in {*SCIPY_FORMATS, "bsr"} else A.tocsr(), compressed=False)
    elif A.format in SCIPY_FORMATS and not A._packed:
        sparse.save_npz(file, A.to_scipy(), compressed=False)
    else:
        plain = (A.copy() if A._op else A).to("cpu")
        packing = {k: v for k, v in plain._format.packing(plain)._asdict().items() if v} if A._packed else {}
        np.savez(file, format=f"{_TAG}{A.format}".encode(), version=_VERSION, shape=A.shape, **plain.parts(), **packing)


def read(path: Path, limit: int) -> Any:
    """Return the matrix in a file: a SciPy sparse array or a `SparseArray`.

    Raise ValueError if the file was not written by one of the libraries, MemoryError if the arrays would need more than
    `limit` bytes, and ImportError if the values are bfloat16 and ml_dtypes is not installed.
    """
    with path.open("rb") as file:
        try:
            if not is_zipfile(file):
                raise ValueError("not a zip archive, or truncated")
            with ZipFile(file) as archive:
                return _Members(archive, path.stat().st_size).matrix(limit)
        except (MemoryError, ImportError):
            raise
        except Exception as error:
            reason = str(error) or type(error).__name__
            raise ValueError(f"not a matrix written by diagsparse or SciPy: {reason}") from error


class _Members:
    """The arrays of an archive, which are read only after checking their headers against their sizes."""

    def __init__(self, archive: ZipFile, size: int) -> None:
        self._archive, self._size = archive, size
        self._infos = {info.filename.removesuffix(".npy"): info for info in archive.infolist()}
        if len(self._infos) < len(archive.infolist()):
            raise ValueError("two members have the same name")

    def matrix(self, limit: int) -> Any:
        """Return the matrix in the archive."""
        format = self._word("format")
        ours = format.startswith(_TAG)
        known, name = list(FORMATS if ours else _CONTENTS), format.removeprefix(_TAG)
        if name not in known:
            raise ValueError(f'no format "{name}", expected one of {", ".join(known)}')
        if ours and (version := self._word("version")) != _VERSION:
            later = "written by a later version of diagsparse " * (version > _VERSION)
            raise ValueError(f"{later}(file version {version}, expected {_VERSION})")
        contents = self._ours(FORMATS[name]) if ours else self._scipys(format)
        others = {"format", "version", *Packing._fields} if ours else {"format", "_is_array"}
        parts = self._parts(contents | {"shape": 1}, others, limit)
        shape = tuple(parts.pop("shape").tolist())
        if len(shape) != 2 or not all(0 <= extent < 2**62 for extent in shape):
            raise ValueError(f"shape is {shape[:8]}, expected two extents from 0, below 2^62")
        if not ours:
            return _scipy(format, parts, shape)
        packing = {name: self._word(name) for name in Packing._fields if name in self._infos}
        return _ours(name, parts, shape, Packing.of(packing, format))

    def _scipys(self, format: str) -> dict[str, int]:
        """Return the names of the arrays of a SciPy format, and their numbers of dimensions."""
        return _COORDS if format == "coo" and "coords" in self._infos else _CONTENTS[format]

    def _ours(self, format: Any) -> dict[str, int]:
        """Return the names of the arrays of a diagsparse format, and their numbers of dimensions."""
        optional = [name for name in format.optional if name in self._infos]
        names = "values", *format.structure, *optional, *format.derived
        return {name: 2 if name in format.two_dimensional else 1 for name in names}

    def _parts(self, contents: dict[str, int], others: set[str], limit: int) -> dict[str, np.ndarray]:
        """Return these arrays if the archive has no other members than them and `others`."""
        if unknown := sorted(set(self._infos) - set(contents) - others):
            raise ValueError(f"unexpected member {unknown[0][:60]!r}")
        nbytes = sum(self._nbytes(name, dimensions) for name, dimensions in contents.items())
        memory.require(nbytes, limit, "the arrays in the file")
        return {name: self._array(name, dimensions) for name, dimensions in contents.items()}

    def _word(self, name: str) -> Any:
        """Return a string or an integer."""
        value = self._array(name, 0).item()
        return value.decode() if isinstance(value, bytes) else value

    def _array(self, name: str, dimensions: int) -> np.ndarray:
        """Return an array in native byte order; indices of 4 or more bytes are converted to signed integers."""
        self._nbytes(name, dimensions)
        with self._archive.open(self._infos[name]) as member:
            array = np.lib.format.read_array(member, allow_pickle=False)
        if not array.dtype.isnative:
            array = array.byteswap(inplace=True).view(array.dtype.newbyteorder("="))
        if array.dtype.kind != "u" or array.dtype.itemsize < 4 or name in ("data", "bitmap", "mask", "codes"):
            return array
        if array.size and array.max() >= 2**63:
            raise ValueError(f"{name} contains {array.max()}, expected integers below 2^63")
        return array.astype(np.int64)

    def _nbytes(self, name: str, dimensions: int) -> int:
        """Return the bytes of an array according to its header, after checking the other fields of the header."""
        if name not in self._infos:
            raise ValueError(f"missing member {name!r}")
        info = self._infos[name]
        if info.compress_type not in (ZIP_STORED, ZIP_DEFLATED):
            raise ValueError(f"{name} is compressed by method {info.compress_type}, expected none or deflate")
        if info.compress_size > self._size or info.file_size > _DENSEST * info.compress_size:
            raise ValueError(f"{name}: {info.file_size} bytes cannot result from {info.compress_size} compressed bytes")
        with self._archive.open(info) as member:
            try:
                if (version := np.lib.format.read_magic(member)) != (1, 0):
                    raise ValueError(f"it has version {version}, expected (1, 0)")
                shape, _, dtype = np.lib.format.read_array_header_1_0(member)
            except Exception as error:  # Python's parser raises MemoryError, among others
                raise ValueError(f"{name} has no valid NumPy header: {error}") from error
            nbytes = info.file_size - member.tell()
        kind, types = _TYPES.get(name, ("integers", _INTEGERS))
        if len(shape) != dimensions or dtype.newbyteorder("=") not in types:
            raise ValueError(f"{name}: {dtype} in {len(shape)} dimensions, expected {kind} in {dimensions}")
        if min(shape, default=0) < 0 or prod(shape) * dtype.itemsize != nbytes:
            raise ValueError(
                f"{name}: {dtype} values of shape {shape} do not have {nbytes} bytes, the size in the archive"
            )
        return nbytes


def _ours(format: str, parts: dict[str, np.ndarray], shape: tuple[int, int], packing: Packing) -> Any:
    if parts["values"].dtype.kind == "V":
        parts["values"] = parts["values"].view(named_dtype("bfloat16"))
    matrix = from_parts(format, parts, shape, *packing)
    if "starts" in parts and not np.array_equal(parts["starts"], matrix.parts()["starts"]):
        raise ValueError("starts do not fit offsets and shape")
    return matrix


def _scipy(format: str, parts: dict[str, np.ndarray], shape: tuple[int, int]) -> Any:
    values, *positions = parts.values()
    positions = [position.astype(np.int64) if position.dtype.kind == "u" else position for position in positions]
    if format == "dia" and not all(abs(k) < max(2**31, *shape) for k in positions[0].tolist()):
        raise ValueError(f"offsets {positions[0].tolist()[:8]}, expected those of a {shape[0]} x {shape[1]} matrix")
    if 0 in values.shape[1:] and format == "bsr":
        raise ValueError(f"blocks are {values.shape[1]} x {values.shape[2]}, expected at least 1 x 1")
    if "indptr" in parts and parts["indptr"].min(initial=0) < 0:
        raise ValueError("indptr contains negative integers")
    arrays: tuple[Any, ...] = (values, *positions)
    if format == "coo":
        row, col = positions if len(positions) == 2 else positions[0]
        arrays = values, (row, col)
    # SciPy does not validate the arrays later, and its check_format ignores the pointers of an empty matrix.
    return private(getattr(sparse, f"{format}_array")(arrays, shape=shape), "read")[0]
