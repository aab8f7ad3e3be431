"""Damaged files: `ds.read` refuses them with a reason, or returns a sound matrix."""

import io
import re
import struct
import zipfile
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

import diagsparse as ds
from diagsparse._files import matrix_market
from fuzz import corpus, damage, surviving
from fuzz.audited import no_code
from fuzz.case import Case as Case
from fuzz.surviving import survive

BLOCK = 50  # cases per child process
_LIBRARIES = [import_module(name) for name in ("fast_matrix_market", "scipy.io") if find_spec(name.partition(".")[0])]


def prepare(plan: Any) -> None:
    """Nothing: the children have the library from here."""


def enter(plan: Any) -> None:
    """Prepare a child."""
    surviving.enter(plan)


def run(case: Case) -> None:
    """Read one damaged file."""
    suffix = case.weighted({".mtx": 3, ".mtx.gz": 1, ".npz": 5})
    case.checks(f"files.{suffix}")
    if suffix == ".npz":
        data = _archive(case, corpus.archive(case))
    else:
        data = _text(case, corpus.text(case))
        if suffix == ".mtx.gz":
            data = corpus.compressed(case, data)
            data = damage.raw(case, data) if case.chance(0.5) else data
        use_a_library(case)
    path = case.folder / f"damaged{suffix}"
    path.write_bytes(data)
    case.note(f"{len(data)} bytes", repr(data[:400]) if suffix == ".mtx" else "")
    options: dict[str, Any] = {"format": case.pick([None, None, *ds.formats()])}
    options["dtype"] = case.pick([None, None, "complex128", "float32"])
    survive(case, lambda: read(path, **options))


def read(path: Path, **options: Any) -> Any:
    """Return the matrix in a file, of which nothing may run."""
    with no_code():
        return ds.read(path, **options)


def use_a_library(case: Case) -> None:
    """Let one of the libraries parse the text of Matrix Market files."""
    library = case.pick(_LIBRARIES)
    matrix_market._library = lambda: library
    case.note(library.__name__)


def _text(case: Case, data: bytes) -> bytes:
    """Return the text with changed words and numbers, or with changed bytes."""
    if case.chance(0.4):
        return damage.raw(case, data)
    for _ in range(case.between(1, 3)):
        words = list(re.finditer(rb"\S+", data))
        if not words:
            return data
        word = case.pick(words[: case.pick([5, 12, len(words)])])
        new = case.pick(_WORDS)
        case.note(f"{word[0]!r} -> {new!r}")
        data = data[: word.start()] + new + data[word.end() :]
    return data


_WORDS = (
    *(b"", b"0", b"1", b"-1", b"2", b"3", b"7", b"99", b"65536", b"2147483647", b"2147483648", b"4294967296"),
    *(b"1000000000000", b"9223372036854775807", b"9223372036854775808", b"18446744073709551616", b"99999999999"),
    *(b"1e5", b"nan", b"inf", b"-inf", b"1e999", b"1e-999", b"0x10", b"+1", b"1.5.5", b"1,5", b"1 1", b"1 1 1"),
    *(b"%", b"\n", b"\r", b"\0", b"\xff", b"x" * 5000, b"1 " * 500, b"%%MatrixMarket", b"matrix", b"vector"),
    *(b"coordinate", b"array", b"real", b"integer", b"complex", b"pattern", b"unsigned-integer"),
    *(b"general", b"symmetric", b"skew-symmetric", b"hermitian"),
)


def _archive(case: Case, members: dict[str, np.ndarray]) -> bytes:
    """Return an archive of damaged members, or the bytes of a good one damaged."""
    kind = case.weighted({"members": 4, "headers": 2, "bytes": 2, "directory": 1, "bytes of a member": 2})
    case.note(", ".join(f"{name} {a.dtype}{a.shape}" for name, a in members.items()))
    case.note("damage:", kind)
    if kind == "members":
        for _ in range(case.between(1, 2)):
            _members(case, members)
    files = {name: _saved(a) for name, a in members.items()}
    name = case.pick(list(files)) if files else ""
    if kind == "headers" and files:
        files[name] = _header(case, files[name])
    elif kind == "bytes of a member" and files:
        case.note(name)
        files[name] = damage.raw(case, files[name])
    data = _zipped(case, files)
    if kind == "bytes":
        return damage.raw(case, data)
    return _directory(case, data) if kind == "directory" else data


def _members(case: Case, members: dict[str, Any]) -> None:
    """Change, drop, rename or exchange members."""
    kind = case.weighted({"array": 6, "dropped": 1, "exchanged": 1, "added": 1, "shape": 1, "packing": 1, "format": 1})
    name, other = (case.pick(list(members)) for _ in range(2)) if members else ("", "")
    case.note(kind, name, other if kind == "exchanged" else "")
    if kind == "array" and members:
        members[name] = damage.array(case, members[name])
    elif kind == "dropped" and members:
        del members[name]
    elif kind == "exchanged" and members:
        members[name], members[other] = members[other], members[name]
    elif kind == "added":
        members[case.pick(["period", "symmetry", "extra", "values", "indices", "version"])] = case.rng.integers(
            -3, 9, case.between(0, 4)
        )
    elif kind == "shape" and "shape" in members:
        members["shape"] = damage.shape(case, (case.between(0, 12), case.between(0, 12)))
    elif kind == "packing":
        members[case.pick(["period", "symmetry"])] = case.pick([*damage.EXTENTS, "symmetric", "hermitian", 3])
    elif "format" in members:
        names = [b"csr", b"csc", b"coo", b"dia", b"bsr", b"lil", b"", b"\xff\xfe", "csr", 7]
        members["format"] = case.pick(
            [*(f"diagsparse.{f}".encode() for f in [*ds.formats(), "", "x", "dia\0"]), *names]
        )


def _saved(a: Any) -> bytes:
    """Return the bytes of a ``.npy`` file."""
    data = io.BytesIO()
    try:
        if np.size(a) > 1 << 20:  # broadcast from less
            a = np.zeros(3)
        np.save(data, a, allow_pickle=True)
    except Exception:  # what NumPy does not save is not what is tested
        np.save(data, np.zeros(2))
    return data.getvalue()


_SHAPES = (
    *("()", "(0,)", "(1,)", "(-1,)", "(2, 2)", "(3, 0)", "(2.5,)", "(True,)", "[3]", "None"),
    *("(1099511627776,)", "(4611686018427387904, 4)", "(0, 1099511627776)"),
)


def _header(case: Case, data: bytes) -> bytes:
    """Return a ``.npy`` file with another header: its dtype, its order or its shape."""
    length = struct.unpack("<H", data[8:10])[0]
    header = data[10 : 10 + length].decode("latin1")
    kind = case.pick(["descr", "shape", "fortran_order", "number", "length"])
    if kind == "descr":
        new = case.pick(
            ["<f4", "<f8", ">f8", "<c16", "<i4", "<i8", "|O", "|V8", "<U4", "<f2", "|b1", "<M8[s]", "f8,f8", "<i999"]
        )
        header = re.sub(r"'descr': '?[^,]*'?,", f"'descr': '{new}',", header)
    elif kind == "shape":
        new = case.pick(_SHAPES)
        header = re.sub(r"'shape': \([^)]*\)", f"'shape': {new}", header)
    elif kind == "fortran_order":
        header = header.replace("'fortran_order': False", f"'fortran_order': {case.pick(['True', '1', 'None'])}")
    elif kind == "number":
        header = re.sub(r"\d+", lambda found: case.pick(["0", "1", "7", "65536", "99999999999", found[0]]), header)
    if kind == "length":
        return data[:8] + struct.pack("<H", case.pick([0, 1, length - 1, length + 1, 65535])) + data[10:]
    case.note(header.strip())
    encoded = header.encode("latin1")
    return data[:8] + struct.pack("<H", len(encoded)) + encoded + data[10 + length :]


def _zipped(case: Case, files: dict[str, bytes]) -> bytes:
    data = io.BytesIO()
    method = case.pick([zipfile.ZIP_STORED, zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2])
    with zipfile.ZipFile(data, "w", method) as archive:
        for name, content in files.items():
            archive.writestr(f"{name}.npy" if case.chance(0.98) else name, content)
    return data.getvalue()


def _directory(case: Case, data: bytes) -> bytes:
    """Return an archive that states wrong sizes, positions or checksums of its members."""
    result = bytearray(data)
    records = [(found.start(), 46) for found in re.finditer(rb"PK\x01\x02", data)] + [(data.rfind(b"PK\x05\x06"), 22)]
    at, length = case.pick(records)
    field = at + 4 + 2 * case.between(0, length // 2 - 3)
    number = case.pick([0, 1, 8, 0xFFFF, 0x10000, 0x7FFFFFFF, 0xFFFFFFFF, len(data)])
    result[field : field + 4] = struct.pack("<I", number)
    case.note(f"byte {field} becomes {number}")
    return bytes(result)
