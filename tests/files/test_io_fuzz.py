"""Files with random damage: what a plain reader makes of them, or an error that names the file."""

import gzip
import io
import random
import re
import signal
import warnings
import zipfile
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from cases import DIAGONAL
from market_files import LIBRARIES, market
from processes import python
from scipy import sparse

import diagsparse as ds
from diagsparse import gallery
from diagsparse._files import matrix_market
from diagsparse._files.market_lines import Lines

# ---- Lines -----------------------------------------------------------------------------------------------------------
NUMBER = re.compile(rb"-?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?|-?(nan|inf|infinity)", re.IGNORECASE)
WHOLE, INDEX = re.compile(rb"-?\d+"), re.compile(rb"\d+")
SCRAPS = [b"1", b"23", b".", b"-", b"+", b"e", b"E5", b" ", b"  ", b"\n", b"\n", b"nan", b"-inf", b"x", b"0.5", b"\0"]
SCRAPS += [b"1 2 3.5\n", b"7 8 -1e-5\n", b"5 6\n", b"-3\n", b"1 2 3 4\n", b"7" * 70, b" " * 130, b"Infinity", b"\xff"]


@pytest.mark.parametrize(("indices", "values"), [(2, 1), (2, 0), (2, 2), (0, 1), (0, 2)])
@pytest.mark.parametrize(
    ("dtype", "value"), [(float, NUMBER), (int, WHOLE), (np.uint64, INDEX)], ids=["real", "int", "uint"]
)
def test_lines_are_those_of_a_regular_expression(indices, values, dtype, value):
    forms = [INDEX] * indices + [value] * values
    rng = random.Random(0)
    for _ in range(700):
        text = b"".join(rng.choices(SCRAPS, k=rng.randint(1, 14))) + b"\n"
        text += b"\n" * (-len(text) % 64)
        words = [[word for word in line.split(b" ") if word] for line in text.split(b"\n")]
        filled = [number for number, line in enumerate(words) if line]
        good = [len(line) == len(forms) and all(map(re.Pattern.fullmatch, forms, line)) for line in words]
        lines = Lines(text, indices, values, np.dtype(dtype))
        assert lines.count == len(filled)
        assert [text[: lines.entry(i)].count(b"\n") for i in range(lines.count)] == filled
        found = None if lines.fault is None else text[: lines.fault].count(b"\n")
        assert found == next((number for number in filled if not good[number]), None), text


# ---- Files -----------------------------------------------------------------------------------------------------------
def write_files(folder):
    """Write a small file of every kind, as bytes by name."""
    plain = gallery.tridiagonal(9)
    for format in ds.formats():
        ds.write(folder / f"{format}.npz", ds.array(plain, format))
        ds.write(folder / f"{format}-complex.npz", ds.array(gallery.banded(8, 2, 1, dtype=complex, seed=1), format))
    for format in DIAGONAL:
        for i, packing in enumerate(({"symmetry": "symmetric"}, {"period": 3}, {"symmetry": "hermitian", "period": 1})):
            packed = ds.array(plain, format).asformat(format, **packing)
            ds.write(folder / f"{format}-{i}.npz", packed)
            ds.write(folder / f"{format}-{i}-narrow.npz", packed.astype("float16" if i else "bfloat16"))
    ds.write(folder / "bmsparse-narrow.npz", ds.bmsparse_array(plain, dtype="bfloat16"))
    for format in ("csr", "bsr", "coo", "dia"):
        sparse.save_npz(folder / f"scipy-{format}.npz", sparse.csr_array(plain).asformat(format))
    for i, (kind, value) in enumerate({
        "coordinate real general": "-2.5e1",
        "coordinate complex hermitian": "1.5 -2",
        "coordinate integer skew-symmetric": "3",
        "coordinate pattern symmetric": "",
    }.items()):  # fmt: skip
        positions = [f"{row} {col} {value}\n" for row in range(2, 6) for col in range(1, row)]
        (folder / f"{i}.mtx").write_text(market(kind, f"% a comment\n5 5 10\n{''.join(positions)}"))
    (folder / "array.mtx").write_text(market("array real symmetric", "4 4\n" + "1.5\n" * 10))
    for path in folder.glob("*.mtx"):
        path.with_suffix(".mtx.gz").write_bytes(gzip.compress(path.read_bytes()))
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def with_other_bytes(data, rng):
    data = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 4))):
        position = rng.randrange(len(data))
        change = rng.randrange(5)
        if change == 0:
            data[position] = rng.choice(b" \n\r\t0123456789-+.eE%naif\0\xff")
        elif change == 1:
            data[position] ^= 1 << rng.randrange(8)
        elif change == 2:
            del data[position : position + rng.randint(1, 3)]
        elif change == 3:
            data[position:position] = rng.choice((b" ", b"\n", b"7", b" 7", b"-", b"e5", b"9" * 30))
        elif rng.random() < 0.3:
            del data[max(position, 1) :]
    return bytes(data)


def with_another_member(data, rng):
    """Damage one array of an archive, or leave it out."""
    with zipfile.ZipFile(io.BytesIO(data)) as file:
        parts = {name.removesuffix(".npy"): np.load(io.BytesIO(file.read(name))) for name in file.namelist()}
    name = rng.choice(sorted(parts))
    part = np.array(parts.pop(name))
    numbers = [0, 1, -1, 2, 8, 9, 2**31 - 1, 2**31, 2**32, 2**62, 2**63 - 1, -(2**63)]
    types = ["f2", "f4", "f8", ">f8", "i1", "i8", ">i4", "u8", "c16", "?", "S3", "U5", "V2", "V3", "O"]
    change = rng.randrange(6)
    if change == 0:
        part = np.zeros(part.shape, rng.choice(types))
    elif change == 1:
        part = np.zeros(rng.choice(((), (0,), (5, 0), (0, 2**40), (3,), (2, 2, 2))), part.dtype)
    elif change == 2:
        part = np.array(rng.choices(numbers, k=rng.choice((1, 2, 3))))
    elif change == 3:
        part = part[..., :-1] if part.ndim else part
    elif change == 4 and part.dtype.kind in "iufc" and part.size:
        part.reshape(-1)[rng.randrange(part.size)] = np.array(rng.choice(numbers)).astype(part.dtype)
    result = io.BytesIO()
    np.savez(result, **parts, **({name: part} if change < 5 else {}))
    return result.getvalue()


def read_damaged(folder, trials):
    """Return how many files were read, and how many refused."""
    warnings.simplefilter("ignore")
    whole, rng = write_files(folder), random.Random(0)
    libraries = [import_module(name) for name in LIBRARIES if find_spec(name)]
    counts = [0, 0]
    for trial in range(trials):
        matrix_market._library = lambda: rng.choice(libraries)
        name = rng.choice(sorted(whole))
        damage = with_another_member if name.endswith(".npz") and trial % 3 else with_other_bytes
        path = folder / f"damaged{name[name.index('.') :]}"
        path.write_bytes(damage(whole[name], rng))
        signal.alarm(5)  # ends the process
        try:
            A = ds.read(path, format=rng.choice((None, None, "csr", "coo", "hm")))
            if max(A.shape) < 1000:
                A @ np.ones(A.shape[1])
            counts[0] += 1
        except (ValueError, MemoryError) as error:
            assert str(error).startswith(path.name + ": "), (name, trial, error)
            counts[1] += 1
    signal.alarm(0)
    return counts


def test_random_damage(tmp_path):
    """Thousands of files in one process: none may end it, hold it up or fill its memory."""
    pytest.importorskip("ml_dtypes")
    done = python(
        f"""
        import sys
        from pathlib import Path
        sys.path[:0] = {[str(folder) for folder in Path(__file__).parents[:2]]!r}
        from test_io_fuzz import read_damaged
        print(*read_damaged(Path({str(tmp_path)!r}), 1500))
        """,
        memory=6 << 30,
    )
    read, refused = map(int, done.split())
    assert read > 150 and refused > 1000
