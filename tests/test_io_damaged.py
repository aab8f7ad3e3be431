"""Files that are cut off, damaged or hold something else: an error that says where, never a crash."""

import gzip
import io

import numpy as np
import pytest
import scipy.io
from market_files import LIBRARIES, text

import diagsparse as ds
from diagsparse import _matrix_market, gallery


@pytest.fixture(params=LIBRARIES)
def library(request, monkeypatch):
    """Both libraries that can parse the text."""
    module = pytest.importorskip(request.param)
    monkeypatch.setattr(_matrix_market, "_library", lambda: module)
    return module


REAL = "%%MatrixMarket matrix coordinate real general\n"
DAMAGED = [
    ("", "line 1: expected a banner like '%%MatrixMarket matrix coordinate real general', got nothing"),
    ("5 5 2\n1 1 1\n", "line 1: expected a banner like .* got '5 5 2'"),
    (
        "%%MatrixMarket matrix coordinate quaternion general\n1 1 0\n",
        "line 1: expected one of real, .* got 'quaternion g",
    ),
    ("%%MatrixMarket matrix coordinate real diagonal\n1 1 0\n", "line 1: .* got 'real diagonal'"),
    (REAL, "line 1: expected the sizes 'rows columns entries', got nothing"),
    (REAL + "5 5\n1 1 1\n", "line 2: expected the sizes 'rows columns entries', got '5 5'"),
    (REAL + "-5 5 1\n1 1 1\n", "line 2: expected the sizes .* got '-5 5 1'"),
    (REAL + "5 5 99999999999999999999999\n1 1 1\n", "line 2: expected the sizes"),
    (REAL + "5 5 5\n1 1 1\n2 2 2\n", "line 4: expected 5 entries, the file ends after 2"),
    (REAL + "5 5 1000000000000000\n1 1 1\n", "line 3: expected 1000000000000000 entries, the file ends after 1"),
    (REAL + "5 5 1\n1 1 1\n2 2 2\n", "line 4: expected 1 entries, more follow"),
    (REAL + "5 5 2\n1 1 1\n7 2 2\n", "line 4: expected row and column from 1 to 5 and 5, got '7 2'"),
    (REAL + "5 5 2\n0 1 1\n2 2 2\n", "line 3: expected row and column from 1 to 5 and 5, got '0 1'"),
    (REAL + "5 5 2\n1 1\n2 2 2\n", "line 3: expected 'row column value', got '1 1'"),
    (REAL + "5 5 2\n1 1 one\n2 2 2\n", "line 3: expected 'row column value', got '1 1 one'"),
    (REAL + "5 5 2\n1 1 1\n2 b 2\n", "line 4: expected 'row column value', got '2 b 2'"),
    (REAL + "5 5 2\n1 1 1\n% late\n2 2 2\n", "line 4: expected 'row column value', got '% late'"),
    (REAL + "5 5 2\n1 1 1\n2 2 \0\n", r"line 4: expected 'row column value', got '2 2 \\x00'"),
    (REAL + "% \0\n5 5 0\n", "NUL byte"),
    (REAL.replace("real", "complex") + "5 5 1\n1 1 1\n", "line 3: expected 'row column real imaginary', got '1 1 1'"),
    ("%%MatrixMarket matrix array real general\n2 2\n1\n2\n3\n", "line 5: expected 4 entries, the file ends after 3"),
    ("%%MatrixMarket matrix array real symmetric\n2 2\n1\n2\n", "line 4: expected 3 entries, the file ends after 2"),
    (bytes(range(256)), "line 1: expected a banner"),
]


@pytest.mark.parametrize("name", ["broken.mtx", "broken.mtx.gz"])
@pytest.mark.parametrize(("content", "message"), DAMAGED)
def test_damaged_text(tmp_path, library, content, message, name):
    with pytest.raises(ValueError, match=rf"^{name}: {message}"):
        ds.read(text(tmp_path, content, name))


@pytest.mark.parametrize("keep", [0.1, 0.5, 0.99])
def test_truncated_gzip(tmp_path, library, keep):
    data = io.BytesIO()
    scipy.io.mmwrite(data, gallery.banded(300, 2, 2, seed=0), symmetry="general")
    packed = gzip.compress(data.getvalue())
    (tmp_path / "cut.mtx.gz").write_bytes(packed[: int(keep * len(packed))])
    with pytest.raises(ValueError, match=r"cut.mtx.gz: line \d+: the compressed data is damaged or cut off"):
        ds.read(tmp_path / "cut.mtx.gz")
    (tmp_path / "cut.mtx.gz").write_bytes(b"no gzip at all")
    with pytest.raises(ValueError, match=r"cut.mtx.gz: line 1: the compressed data is damaged or cut off"):
        ds.read(tmp_path / "cut.mtx.gz")


def test_no_damage_ends_the_process(tmp_path, library):
    """Both libraries crash on some malformed text, for one when text follows a last value without a newline."""
    rng = np.random.default_rng(0)
    body = "".join(f"{i % 20 + 1} {7 * i % 20 + 1} {value}\n" for i, value in enumerate(rng.standard_normal(30)))
    whole = f"{REAL}20 20 30\n{body}".encode()
    path = tmp_path / "damaged.mtx"
    for trial in range(500):
        data = bytearray(whole[: rng.integers(len(whole))] if trial % 2 else whole)
        for place in rng.integers(len(data), size=3) if data else []:
            data[place] = rng.choice(list(b" \n\r0-9a.%\0\xff"))
        path.write_bytes(data)
        try:
            assert ds.issparse(ds.read(path))
        except ValueError as error:
            assert str(error).startswith("damaged.mtx: ")


def test_damaged_archives(tmp_path):
    path = tmp_path / "a.npz"
    ds.write(path, ds.array(gallery.tridiagonal(50), "hm"))
    whole = path.read_bytes()
    archive = dict(np.load(path))

    def refused(reason):
        with pytest.raises(ValueError, match=f"^a.npz: no matrix that diagsparse or SciPy wrote: .*{reason}"):
            ds.read(path)

    for content, reason in ((b"", "no zip"), (b"junk", "no zip"), (whole[: len(whole) // 2], "no zip")):
        path.write_bytes(content)
        refused(reason)
    for part in ("format", "version", "shape", "values", "offsets"):
        np.savez(path, **{name: values for name, values in archive.items() if name != part})
        refused(part)
    for change, reason in (
        ({"format": b"diagsparse.other"}, 'no format "other"'),
        ({"version": 2}, "later version"),
        ({"shape": (50,)}, ""),
        ({"shape": (-50, 50)}, ""),
        ({"values": archive["values"][:-1]}, ""),
        ({"offsets": archive["offsets"][:-1]}, ""),
        ({"offsets": archive["offsets"] * 0}, ""),
        ({"offsets": np.array([None] * 3, object)}, "allow_pickle"),
        ({"format": np.array(["csr", "hm"])}, ""),
        ({"format": b"csr"}, ""),
    ):
        np.savez(path, **(archive | change))
        refused(reason)
    np.savez(path, x=np.eye(3))
    refused("format")
    with path.open("wb") as file:
        np.save(file, np.eye(3))
    refused("no zip")


def test_a_full_disk_is_an_error(library):
    class Full(io.BytesIO):
        def write(self, data):
            raise OSError("the disk is full")

    with pytest.raises(OSError, match="the disk is full"):
        _matrix_market.write(Full(), gallery.tridiagonal(1000))
