"""What a file may cost: forecast from its header, limited by `max_bytes`, whatever the file holds."""

import gzip
import tracemalloc
import zipfile

import numpy as np
import pytest
from market_files import LIBRARIES, market, text
from processes import python
from scipy import sparse

import diagsparse as ds
from diagsparse._files import matrix_market


def packed(folder, *parts, name="bomb.mtx.gz"):
    """Write a compressed file of parts that are repeated, (bytes, times); return its path."""
    with (folder / name).open("wb") as file:
        for part, times in parts:
            block = gzip.compress(part * max(1, min(times, 2**20 // len(part))))
            file.write(block * max(1, times * len(part) // 2**20))
    return folder / name


def test_a_small_file_that_promises_much(tmp_path):
    count = 2**26
    header = market("coordinate pattern general", f"5 5 {count}\n").encode()
    path = packed(tmp_path, (header, 1), (b"1 1\n", count))
    assert path.stat().st_size < 10**6
    with pytest.raises(
        MemoryError,
        match=r"^bomb.mtx.gz: reading 67108864 entries of a 5 x 5 matrix would need 2.1 GB, the limit is 256 MB; "
        "pass max_bytes= to change the limit",
    ):
        ds.read(path)


def entries(kind, n=20_000, count=50_000):
    rng = np.random.default_rng(0)
    row, col = rng.integers(1, n + 1, (2, count))
    if "general" not in kind:
        row, col = np.maximum(row, col) % n + 1, np.minimum(row, col)
        row, col = np.maximum(row, col + 1) - (col == n), np.minimum(col, n - 1)
    value = {"pattern": "", "complex": " 1.5 2"}.get(kind.split()[1], " 3")
    return market(kind, f"{n} {n} {count}\n" + "".join(f"{i} {j}{value}\n" for i, j in zip(row, col, strict=True)))


@pytest.mark.parametrize("format", ["csr", "csc", "coo"])
@pytest.mark.parametrize(
    "kind",
    [
        "coordinate real general",
        "coordinate integer symmetric",
        "coordinate pattern skew-symmetric",
        "coordinate complex hermitian",
        "array real general",
        "array complex symmetric",
    ],
)
@pytest.mark.filterwarnings("ignore::diagsparse.ConversionWarning")
def test_the_forecast_holds(tmp_path, kind, format):
    """What is allocated stays below the bytes that the error names, except for the chunks in which text is read."""
    if kind.startswith("array"):
        n, line = 250, "1.5\n" if "real" in kind else "1.5 2\n"
        content = market(kind, f"{n} {n}\n" + line * (n * n if "general" in kind else n * (n + 1) // 2))
    else:
        content = entries(kind)
    path = text(tmp_path, content, "a.mtx")
    tracemalloc.start()
    ds.read(path, format=format)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert ds.read(path, format=format, max_bytes=peak + 10**7).format == format
    with pytest.raises(MemoryError, match=r"^a.mtx: reading .* would need .* the limit is .* max_bytes="):
        ds.read(path, format=format, max_bytes=max(0, peak - 3 * 10**6))


def test_pointers_to_rows_count(tmp_path):
    path = text(tmp_path, market("coordinate real general", "2147483647 3 2\n2147483647 1 1.5\n7 3 2\n"), "tall.mtx")
    with pytest.raises(
        MemoryError,
        match=r"^tall.mtx: reading 2 entries of a 2147483647 x 3 matrix would need 34.4 GB, the limit is .*; "
        r'format="coo" does without pointers to rows, or pass max_bytes=',
    ):
        ds.read(path)
    A = ds.read(path, format="coo")
    assert A.row.tolist() == [6, 2147483646] and A.col.tolist() == [2, 0] and A.values.tolist() == [2, 1.5]
    path = text(tmp_path, market("array real general", "2147483647 0\n"), "empty.mtx")
    for format in ("csr", "hm"):
        with pytest.raises(MemoryError, match=r"^empty.mtx: .* the limit is .* max_bytes="):
            ds.read(path, format=format)
    assert ds.read(path, format="coo").shape == (2147483647, 0)


def test_wide_archives(tmp_path):
    path = tmp_path / "wide.npz"
    sparse.save_npz(path, sparse.dia_array((np.ones((1, 1)), [0]), shape=(2**28, 2**28)))
    assert path.stat().st_size < 2000
    with pytest.raises(
        MemoryError, match=r"^wide.npz: dia_array: 1 diagonal .* would need 2.1 GB, the limit is 256 MB"
    ):
        ds.read(path)
    tracemalloc.start()
    assert ds.read(path, format="coo").nnz == 1
    assert tracemalloc.get_traced_memory()[1] < 10**6
    tracemalloc.stop()
    sparse.save_npz(path, sparse.dia_array((np.ones((1, 3)), [0]), shape=(2**28, 3)))
    assert ds.read(path, format="hm").nbytes < 100
    a = sparse.coo_array((np.array([1.0, 2, 4]), ([2**30, 5, 2**30], [1, 2, 1])), shape=(2**31 - 1, 3))
    sparse.save_npz(path, a)
    A = ds.read(path)
    assert A.row.tolist() == [5, 2**30] and A.values.tolist() == [2, 5]
    for format in ("csr", "hm"):
        with pytest.raises(MemoryError, match=r"^wide.npz: .* would need .* the limit is 256 MB"):
            ds.read(path, format=format)


def test_archives_that_hold_much(tmp_path):
    path = tmp_path / "zeros.npz"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as file:
        np.savez(
            tmp_path / "a.npz", format=b"diagsparse.hm", version=1, shape=(2**25, 2**25), offsets=[0], starts=[0, 2**25]
        )
        with zipfile.ZipFile(tmp_path / "a.npz") as other:
            for info in other.infolist():
                file.writestr(info.filename, other.read(info))
        with file.open("values.npy", "w") as member:
            np.lib.format.write_array_header_1_0(member, {"descr": "<f8", "fortran_order": False, "shape": (2**25,)})
            for _ in range(256):
                member.write(bytes(2**20))
    with pytest.raises(MemoryError, match=r"^zeros.npz: the arrays in the file would need 268 MB, the limit is 256 MB"):
        ds.read(path)
    assert ds.read(path, max_bytes=2**29).shape == (2**25, 2**25)


LONG = 2**26
FLOODS = [  # header and entries of a file, and what is said about it
    ([(b"x", LONG)], "line 1: expected lines below 524288 bytes"),
    ([(market("coordinate real general", "%").encode(), 1), (b"x", LONG)], "line 2: expected lines below 524288"),
    ([(market("coordinate real general", "").encode(), 1), (b"%\n", LONG // 2)], "line 524.*: expected lines below"),
    ([(market("coordinate real general", "5 5 1\n1 1 1").encode(), 1), (b"0", LONG)], "line 3: expected lines below"),
    ([(market("coordinate real general", "5 5 1\n1 1 1").encode(), 1), (b" ", LONG)], "line 3: expected lines below"),
    (
        [(market("coordinate real general", "5 5 1\n1 1 1\n").encode(), 1), (b"\n", LONG), (b"x", 1)],
        "line 67108868: expected 1",
    ),
    (
        [(market("coordinate real general", "5 5 1\n1 1 1\n").encode(), 1), (b"1 1 1\n", LONG // 6)],
        "line 4: expected 1",
    ),
]


@pytest.mark.parametrize(("parts", "message"), FLOODS)
def test_floods(tmp_path, parts, message):
    path = packed(tmp_path, *parts)
    tracemalloc.start()
    with pytest.raises(ValueError, match=f"^bomb.mtx.gz: {message}"):
        ds.read(path)
    assert tracemalloc.get_traced_memory()[1] < 2**24
    tracemalloc.stop()


@pytest.mark.parametrize("library", LIBRARIES)
def test_empty_matrices(tmp_path, library):
    """Both libraries end the process on some of them."""
    pytest.importorskip(library)
    done = python(f"""
        from importlib import import_module
        from itertools import product
        from pathlib import Path
        import gzip, warnings
        import diagsparse as ds
        from diagsparse._files import matrix_market
        warnings.simplefilter("ignore", ds.ConversionWarning)
        module = import_module("{library}")
        matrix_market._library = lambda: module
        fields = "real", "double", "integer", "unsigned-integer", "complex", "pattern"
        symmetries = "general", "symmetric", "skew-symmetric", "hermitian"
        count = 0
        for layout, field, symmetry in product(("coordinate", "array"), fields, symmetries):
            if (layout, field) == ("array", "pattern") or (field, symmetry) == ("unsigned-integer", "skew-symmetric"):
                continue
            for m, n in ((0, 0), (0, 3), (3, 0), (3, 3), (1, 1)):
                if (m != n and symmetry != "general") or (layout == "array" and m * n and symmetry != "skew-symmetric"):
                    continue
                body = "1 0\\n" * 3 if field == "complex" else "1\\n" * 3
                body = body if layout == "array" and m == n == 3 else ""
                sizes = f"{{m}} {{n}} 0" if layout == "coordinate" else f"{{m}} {{n}}"
                text = f"%%MatrixMarket matrix {{layout}} {{field}} {{symmetry}}\\n{{sizes}}\\n{{body}}".encode()
                path = Path({str(tmp_path)!r}) / "a.mtx"
                path.write_bytes(text)
                path.with_name("a.mtx.gz").write_bytes(gzip.compress(text))
                for path, format in product((path, path.with_name("a.mtx.gz")), ("csr", "coo", "hm")):
                    A = ds.read(path, format=format)
                    assert A.shape == (m, n) and A.format == format and A.nnz == 6 * bool(body), (text, A)
                    assert A.dtype == ("complex128" if field == "complex" else "float64"), text
                    count += 1
        print(count)
    """)
    assert int(done) > 500


def test_max_bytes_is_a_number_of_bytes(tmp_path):
    path = text(tmp_path, market("coordinate real general", "2 2 1\n1 1 1\n"), "a.mtx")
    for wrong in ("8G", True, 1j):
        with pytest.raises(TypeError, match=r"read: max_bytes=.*: expected a number of bytes or None"):
            ds.read(path, max_bytes=wrong)
    for wrong in (-1, float("nan")):
        with pytest.raises(ValueError, match=r"read: max_bytes=.*: expected 0 bytes or more"):
            ds.read(path, max_bytes=wrong)
    assert ds.read(path, max_bytes=1e6).nnz == ds.read(path, max_bytes=float("inf")).nnz == 1


def test_the_machine_may_have_less(tmp_path, monkeypatch):
    path = text(tmp_path, market("coordinate real general", "2 2 1\n1 1 1\n"), "a.mtx")
    monkeypatch.setattr(matrix_market, "_library", lambda: pytest.fail("the file was read"))
    monkeypatch.setattr("diagsparse._backends.memory.available_bytes", lambda: 50)
    with pytest.raises(
        MemoryError, match=r"^a.mtx: reading 1 entries of a 2 x 2 matrix would need 80 B, the limit is 50 B"
    ):
        ds.read(path)
