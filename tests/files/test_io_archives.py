"""Invalid NumPy archives: a ValueError states what was expected, before an array reaches native code."""

import zipfile
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

import diagsparse as ds
from diagsparse import gallery


def refused(path, reason):
    with pytest.raises(ValueError, match=rf"^{path.name}: not a matrix written by diagsparse or SciPy: .*{reason}"):
        ds.read(path)


def saved(path, A):
    """Write a matrix, and return its archive's arrays."""
    ds.write(path, A)
    with np.load(path) as archive:
        return dict(archive)


class Intruder:
    """Its pickle calls a function when it is loaded."""

    def __reduce__(self):
        return Path.touch, (Path("intruder"),)


def test_nothing_is_unpickled(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    A = sparse.csr_array(np.eye(3))
    whole = saved(Path("ours.npz"), ds.csr_array(A))
    sparse.save_npz("scipys.npz", A)
    with np.load("scipys.npz") as archive:
        theirs = dict(archive)
    for parts, values in ((whole, "values"), (theirs, "data")):
        for name in (values, "format", "shape"):
            np.savez("changed.npz", **parts | {name: np.array([Intruder()] * 3, object)})
            with pytest.raises(ValueError):
                ds.read("changed.npz")
    assert not Path("intruder").exists()
    np.load("changed.npz", allow_pickle=True)["shape"]
    assert Path("intruder").exists()


def test_no_archive(tmp_path):
    path = tmp_path / "a.npz"
    ds.write(path, ds.array(gallery.tridiagonal(50), "hm"))
    whole = path.read_bytes()
    for content in (b"", b"junk", whole[: len(whole) // 2]):
        path.write_bytes(content)
        refused(path, "not a zip archive")
    with path.open("wb") as file:
        np.save(file, np.eye(3))
    refused(path, "not a zip archive")
    np.savez(path, x=np.eye(3))
    refused(path, "missing member 'format'")
    path.write_bytes(bytes(byte ^ (0x55 * (i == len(whole) // 2)) for i, byte in enumerate(whole)))
    refused(path, "CRC")


def test_missing_and_unknown_members(tmp_path):
    path = tmp_path / "a.npz"
    archive = saved(path, ds.array(gallery.tridiagonal(50), "hm"))
    for part in archive:
        np.savez(path, **{name: values for name, values in archive.items() if name != part})
        refused(path, f"missing member '{part}'")
    np.savez(path, **archive, notes=1)
    refused(path, "unexpected member 'notes'")
    np.savez(path, **archive)
    with zipfile.ZipFile(path, "a") as file, pytest.warns(UserWarning, match="Duplicate name"):
        file.writestr("values.npy", b"")
    refused(path, "two members have the same name")


MEMBERS = [  # of an hm matrix, 50 x 50
    ({"format": b"diagsparse.other"}, 'no format "other", expected one of dia, hm, cdm'),
    ({"format": np.array(["csr", "hm"])}, "format: <U3 in 1 dimensions, expected text in 0"),
    ({"format": b"csr"}, "unexpected member 'offsets'"),
    ({"format": b"x" * 100}, "format: .* expected text in 0"),
    ({"version": 2}, "written by a later version of diagsparse .file version 2, expected 1"),
    ({"version": 0}, "file version 0, expected 1"),
    ({"version": 1.0}, "version: float64 in 0 dimensions, expected integers in 0"),
    ({"version": np.nan}, "version: float64"),
    ({"version": [1, 1]}, "version: int64 in 1 dimensions"),
    ({"shape": (50,)}, r"shape is \(50,\), expected two extents from 0, below 2\^62"),
    ({"shape": (-50, 50)}, r"shape is \(-50, 50\), expected"),
    ({"shape": (2**63 - 1, 1)}, "expected two extents"),
    ({"shape": (50.0, 50.0)}, "shape: float64"),
    (
        {"shape": np.array([50, 2**64 - 1], np.uint64)},
        r"shape contains 18446744073709551615, expected integers below 2\^63",
    ),
    ({"shape": (50, 51)}, ""),
    ({"values": np.zeros(147)}, ""),
    ({"values": np.zeros((1, 148))}, "values: float64 in 2 dimensions, expected floating-point numbers in 1"),
    ({"values": np.zeros(148, int)}, "values: int64 .* expected floating-point numbers"),
    ({"values": np.zeros(148, "V3")}, r"values: \|V3 .* expected floating-point numbers"),
    ({"values": np.zeros(148, [("a", "f4")])}, "values: .* expected floating-point numbers"),
    ({"values": np.zeros(148, "longdouble")}, "values: float128 .* expected floating-point numbers"),
    ({"offsets": np.array([0, 1])}, ""),
    ({"offsets": np.array([0, 0, 0])}, ""),
    ({"offsets": np.array([0, 1, 50])}, ""),
    ({"offsets": np.array([0, 1, -(2**63)])}, ""),
    ({"offsets": np.array([0.0, 1, -1])}, "offsets: float64 in 1 dimensions, expected integers in 1"),
    ({"offsets": np.array([None] * 3, object)}, "offsets: object in 1 dimensions, expected integers in 1"),
    ({"starts": np.array([0, 50, 99, 147])}, "starts do not fit"),
    ({"period": -1}, "period=-1"),
    ({"period": 2**40}, "period=1099511627776"),
    ({"period": 2.0}, "period: float64"),
    ({"period": "auto"}, "period: <U4"),
    ({"symmetry": "upper"}, "symmetry='upper'"),
    ({"symmetry": 1}, "symmetry: int64 .* expected text"),
    ({"symmetry": "symmetric"}, ""),
]


@pytest.mark.parametrize(("change", "reason"), MEMBERS)
def test_members_of_another_kind(tmp_path, change, reason):
    path = tmp_path / "a.npz"
    np.savez(path, **(saved(path, ds.array(gallery.tridiagonal(50), "hm")) | change))
    refused(path, reason)


SCIPY = [  # of a 6 x 6 matrix
    ("csr", {"indices": np.full(16, 6)}, ""),
    ("csr", {"indices": np.full(16, -1)}, ""),
    ("csr", {"indptr": np.array([0, 9, 3, 8, 11, 14, 16])}, ""),
    ("csr", {"indptr": np.array([0, 2, 5, 8, 11, 14, 2**40])}, ""),
    ("csr", {"indptr": np.array([0, 2, 5, 8, 11, 14, -1])}, ""),
    ("csc", {"indices": np.zeros(16)}, "indices: float64"),
    ("csc", {"data": np.array(["x"] * 16)}, "data: <U1 .* expected numbers"),
    ("csc", {"data": np.zeros(16, np.float16)}, "data: float16 .* expected numbers"),
    ("bsr", {"indices": np.full(16, 99)}, ""),
    ("bsr", {"data": np.zeros((16, 0, 0))}, ""),
    ("bsr", {"data": np.zeros(16)}, "data: float64 in 1 dimensions, expected numbers in 3"),
    ("coo", {"row": np.full(16, 6)}, ""),
    ("coo", {"col": np.full(15, 1)}, ""),
    ("coo", {"shape": (6, 6, 6)}, "expected two extents"),
    ("dia", {"offsets": np.array([1, 1, 1])}, ""),
    ("dia", {"offsets": np.array([0, 1, 2**32 - 1])}, "offsets .0, 1, 4294967295., expected those of a 6 x 6 matrix"),
    ("dia", {"data": np.zeros((2, 6))}, ""),
    ("dia", {"format": "lil"}, 'no format "lil", expected one of dia, csr, csc, bsr, coo'),
]


@pytest.mark.parametrize(("format", "change", "reason"), SCIPY)
def test_members_of_scipy(tmp_path, format, change, reason):
    path = tmp_path / "a.npz"
    np.savez(path, **(saved(path, sparse.csr_array(gallery.tridiagonal(6)).asformat(format)) | change))
    refused(path, reason)


def test_headers_that_claim_more(tmp_path):
    path = tmp_path / "a.npz"
    parts = saved(path, ds.array(gallery.tridiagonal(50), "hm"))
    with zipfile.ZipFile(path) as file:
        members = {info.filename: file.read(info) for info in file.infolist()}
    for shape in ("(900000000000,)", "(-148,)", "(149,)", "(0, 999999999999999999999)", "(" * 4000):
        header = f"{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}\n".encode()
        damaged = b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + parts["values"].tobytes()
        with zipfile.ZipFile(path, "w") as file:
            for name, content in (members | {"values.npy": damaged}).items():
                file.writestr(name, content)
        refused(path, "values")
    with zipfile.ZipFile(path, "w", zipfile.ZIP_LZMA) as file:
        for name, content in members.items():
            file.writestr(name, content)
    refused(path, "compressed by method 14, expected none or deflate")


@pytest.mark.parametrize("format", ["hm", "csr", "csc", "coo", "bsr", "dia"])
def test_the_other_byte_order(tmp_path, format):
    path = tmp_path / "a.npz"
    A = gallery.banded(8, 2, 1, dtype=complex, seed=1)
    parts = saved(path, ds.array(A, "hm") if format == "hm" else sparse.csr_array(A).asformat(format))
    members = {
        name: part if part.dtype.kind in "SU" else part.astype(part.dtype.newbyteorder())
        for name, part in parts.items()
    }
    np.savez(path, **members)
    assert np.array_equal(ds.read(path).toarray(), A.toarray())


def test_coordinates_in_one_array(tmp_path):
    a = sparse.coo_array(np.eye(4))
    np.savez(tmp_path / "a.npz", format=b"coo", shape=(4, 4), data=a.data, coords=np.array(a.coords), _is_array=True)
    assert np.array_equal(ds.read(tmp_path / "a.npz").toarray(), np.eye(4))
    np.savez(tmp_path / "a.npz", format=b"coo", shape=(4, 4), data=np.zeros(0), coords=np.zeros((2**40, 0), int))
    refused(tmp_path / "a.npz", "")


@pytest.mark.parametrize("format", ["csr", "csc"])
def test_pointers_of_a_matrix_without_entries(tmp_path, format):
    """SciPy's own check passes them by, and its conversion to coo wrote 2^31 - 1 rows: the process died."""
    path = tmp_path / "a.npz"
    archive = saved(path, ds.array(sparse.csr_array((10, 10)), format))
    archive["indptr"][-2] = 2**31 - 1
    np.savez(path, **archive)
    for target in (None, "coo", "hm"):
        with pytest.raises(ValueError, match=r"indptr\[\d+\] is \d+; expected 11 integers that rise from 0 to 0"):
            ds.read(path, format=target)
