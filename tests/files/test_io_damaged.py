"""Files that are cut off, damaged or hold something else: an error that says where, never a crash."""

import gzip
import io

import numpy as np
import pytest
import scipy.io
from market_files import LIBRARIES, market, text

import diagsparse as ds
from diagsparse import gallery
from diagsparse._files import matrix_market


@pytest.fixture(params=LIBRARIES)
def library(request, monkeypatch):
    """Both libraries that can parse the text."""
    module = pytest.importorskip(request.param)
    monkeypatch.setattr(matrix_market, "_library", lambda: module)
    return module


REAL = market("coordinate real general", "")
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
    (market("coordinate complex general", "5 5 1\n1 1 1\n"), "line 3: .* 'row column real imaginary', got '1 1 1'"),
    (market("array real general", "2 2\n1\n2\n3\n"), "line 5: expected 4 entries, the file ends after 3"),
    (market("array real symmetric", "2 2\n1\n2\n"), "line 4: expected 3 entries, the file ends after 2"),
    (bytes(range(256)), "line 1: expected a banner"),
]


@pytest.mark.parametrize("name", ["broken.mtx", "broken.mtx.gz"])
@pytest.mark.parametrize(("content", "message"), DAMAGED)
def test_damaged_text(tmp_path, library, content, message, name):
    with pytest.raises(ValueError, match=rf"^{name}: {message}"):
        ds.read(text(tmp_path, content, name))


COORDINATES = "coordinate real general"
LIES = [  # of which the libraries read a part, or what the header does not allow
    (COORDINATES, "5 5 1\n1 1 3.0 7\n", "line 3: expected 'row column value', got '1 1 3.0 7'"),
    (COORDINATES, "5 5 2\n1 1 3\n2 2 1 \n3 3 % note\n", "line 5: expected 2 entries, more follow"),
    (COORDINATES, "5 5 2\n1 1 3.0 4\n2 2\n", "line 3: expected 'row column value', got '1 1 3.0 4'"),
    (COORDINATES, "5 5 2\n1 1 \n 3.0 2 2 1\n", "line 3: expected 'row column value', got '1 1'"),
    (COORDINATES, "5 5 1\n1 1 3.0abc\n", "line 3: .* got '1 1 3.0abc'"),
    (COORDINATES, "5 5 1\n1 1 1.5D+03\n", "line 3: .* got '1 1 1.5D"),
    (COORDINATES, "5 5 1\n1 1 1,5\n", "line 3: .* got '1 1 1,5'"),
    (COORDINATES, "5 5 1\n1 1 1.2.3\n", "line 3: .* got '1 1 1.2.3'"),
    (COORDINATES, "5 5 1\n1 1 1_0\n", "line 3: .* got '1 1 1_0'"),
    (COORDINATES, "5 5 1\n1 1.5 3\n", "line 3: .* got '1 1.5 3'"),
    (COORDINATES, "5 5 1\n1 1 3e\n", "line 3: .* got '1 1 3e'"),
    (COORDINATES, "5 5 1\n1 1 1\x0c\n", r"line 3: .* got '1 1 1\\x0c'"),
    (COORDINATES, "5 5 3\n1 1 1\n\r\n2 2 4\n", "line 5: expected 3 entries, the file ends after 2"),
    (COORDINATES, "2147483648 5 0\n", "line 2: expected at most 2147483647 rows and columns, got 2147483648 x 5"),
    ("coordinate pattern general", "5 5 1\n1 1 5\n", "line 3: expected 'row column', got '1 1 5'"),
    ("coordinate integer general", "5 5 1\n1 1 3.7\n", "line 3: expected 'row column integer', got '1 1 3.7'"),
    ("coordinate integer general", "5 5 1\n1 1 9999999999999999999\n", "line 3: expected an integer from -9223372036"),
    ("coordinate unsigned-integer general", "5 5 1\n1 1 -3\n", "line 3: .* got '1 1 -3'"),
    ("coordinate unsigned-integer skew-symmetric", "2 2 1\n2 1 3\n", "line 1: expected values that such a "),
    (
        "coordinate real skew-symmetric",
        "2 2 2\n2 1 3\n2 2 0\n",
        "line 4: expected no entries on the diagonal of a skew-symmetric matrix, .* '2 2 0'",
    ),
    (
        "coordinate complex hermitian",
        "2 2 1\n2 2 3 1\n",
        "line 3: expected real values on the diagonal of a hermitian .* '2 2 3 1'",
    ),
    (
        "array complex hermitian",
        "2 2\n1 0\n2 1\n3 nan\n",
        "line 5: expected real values on the diagonal of a hermitian .* '3 nan'",
    ),
    ("array complex general", "1 1\n1\n", "line 3: expected 'real imaginary', got '1'"),
    ("array real general", "2 1\n1 2\n3\n", "line 3: expected 'value', got '1 2'"),
    ("array real general", "2 1\n1 2\n", "line 3: expected 'value', got '1 2'"),
    ("array real general", "0 3\n1\n", "line 3: expected 0 entries, more follow"),
    ("array pattern general", "1 1\n1\n", "line 1: expected values that such a matrix can have, got 'array pattern ge"),
]


@pytest.mark.parametrize(("kind", "body", "message"), LIES)
def test_lying_text(tmp_path, library, kind, body, message):
    with pytest.raises(ValueError, match=f"^broken.mtx: {message}"):
        ds.read(text(tmp_path, market(kind, body)))


def test_the_line_is_found_in_a_large_file(tmp_path, library):
    lines = [f"{i} {i} {i}.5" for i in range(1, 100_001)]
    path = text(tmp_path, REAL + "% a comment\n100000 100000 100000\n" + "\n".join(lines), "large.mtx.gz")
    assert ds.read(path, format="hm").diagonal()[-1] == 100_000.5
    for number, line in ((3, "100001 1 1"), (60_000, "1 1 1 1"), (90_000, "1 0 1"), (99_999, "1 1 x")):
        wrong = "\n".join([*lines[:number], line, *lines[number + 1 :]])
        path = text(tmp_path, REAL + f"% a comment\n100000 100000 100000\n{wrong}", "large.mtx")
        with pytest.raises(ValueError, match=f"^large.mtx: line {number + 4}: expected "):
            ds.read(path)


@pytest.mark.parametrize("keep", [0.1, 0.5, 0.99])
def test_truncated_gzip(tmp_path, library, keep):
    data = io.BytesIO()
    scipy.io.mmwrite(data, gallery.banded(300, 2, 2, seed=0), symmetry="general")
    packed = gzip.compress(data.getvalue())
    (tmp_path / "cut.mtx.gz").write_bytes(packed[: int(keep * len(packed))])
    with pytest.raises(ValueError, match=r"cut.mtx.gz: line \d+: the compressed data is damaged or truncated"):
        ds.read(tmp_path / "cut.mtx.gz")
    (tmp_path / "cut.mtx.gz").write_bytes(b"no gzip at all")
    with pytest.raises(ValueError, match=r"cut.mtx.gz: line 1: the compressed data is damaged or truncated"):
        ds.read(tmp_path / "cut.mtx.gz")


def test_no_damage_ends_the_process(tmp_path, library):
    """Both libraries crash on some malformed text, for one when text follows a last value without a newline."""
    rng = np.random.default_rng(0)
    body = "".join(f"{i % 20 + 1} {7 * i % 20 + 1} {value}\n" for i, value in enumerate(rng.standard_normal(30)))
    whole = f"{REAL}20 20 30\n{body}".encode()
    path = tmp_path / "damaged.mtx"
    for trial in range(500):
        data = bytearray(whole[: rng.integers(len(whole))] if trial % 2 else whole)
        for position in rng.integers(len(data), size=3) if data else []:
            data[position] = rng.choice(list(b" \n\r0-9a.%\0\xff"))
        path.write_bytes(data)
        try:
            assert ds.issparse(ds.read(path))
        except ValueError as error:
            assert str(error).startswith("damaged.mtx: ")


def test_a_full_disk_is_an_error(library):
    class Full(io.BytesIO):
        def write(self, data):
            raise OSError("the disk is full")

    with pytest.raises(OSError, match="the disk is full"):
        matrix_market.write(Full(), gallery.tridiagonal(1000))
