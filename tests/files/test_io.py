"""Files: round trips of every format, SciPy's files, what Matrix Market text means; test_io_damaged.py has the rest."""

import logging
import os
import stat
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from market_files import LIBRARIES, text
from scipy import sparse

import diagsparse as ds
from diagsparse import gallery
from diagsparse._files import matrix_market

DTYPES = [np.float32, np.float64, np.complex64, np.complex128]
SUFFIXES = [".mtx", ".mtx.gz", ".npz"]


@pytest.fixture(params=LIBRARIES)
def library(request, monkeypatch):
    """Both libraries that can parse the text."""
    module = pytest.importorskip(request.param)
    monkeypatch.setattr(matrix_market, "_library", lambda: module)
    return module


def same(a, b):
    return a.dtype == b.dtype and np.array_equal(a.toarray(), b.toarray())


# ---- Round trips -----------------------------------------------------------------------------------------------------


@pytest.mark.quick
@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("format", ds.formats())
def test_every_format_and_dtype(tmp_path, format, suffix):
    for dtype in DTYPES:
        A = ds.array(gallery.banded(20, 3, 2, dtype=dtype, seed=1), format)
        ds.write(tmp_path / f"a{suffix}", A)
        B = ds.read(tmp_path / f"a{suffix}", dtype=dtype)
        assert B.format == (format if suffix == ".npz" else "csr")
        assert same(A, B), dtype
        if suffix == ".npz":
            assert ds.read(tmp_path / "a.npz").dtype == dtype
            for name, part in A.parts().items():
                assert np.array_equal(part, B.parts()[name]), name
        assert [path.name for path in tmp_path.iterdir()] == [f"a{suffix}"]


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("format", ds.formats())
def test_every_shape(tmp_path, format, suffix):
    for shape in [(0, 0), (1, 1)] + [(0, 3), (4, 0), (3, 7), (7, 3)] * (format != "cdm"):
        A = ds.array(np.arange(shape[0] * shape[1], dtype=float).reshape(shape) - 3, format)
        ds.write(str(tmp_path / f"a{suffix}"), A)
        B = ds.read(str(tmp_path / f"a{suffix}"), format=format)
        assert B.shape == shape and B.format == format and same(A, B), shape


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("format", ds.formats())
def test_views(tmp_path, format, suffix):
    A = ds.array(gallery.banded(9, 3, 1, dtype=complex, seed=1), format)
    for view in (A.T, A.H, A.conj()):
        ds.write(tmp_path / f"a{suffix}", view)
        assert same(view, ds.read(tmp_path / f"a{suffix}"))


@pytest.mark.parametrize("format", ["dia", "csr", "csc", "coo"])
def test_scipy_reads_our_archives(tmp_path, format):
    A = ds.array(gallery.stencil(5, 6), format)
    ds.write(tmp_path / "a.npz", A)
    B = sparse.load_npz(tmp_path / "a.npz")
    assert B.format == format and same(A, B)


@pytest.mark.parametrize("container", ["dia", "csr", "csc", "coo", "bsr", "lil"])
@pytest.mark.parametrize("kind", [sparse.csr_array, sparse.csr_matrix])
@pytest.mark.parametrize("suffix", SUFFIXES)
def test_scipy_matrices(tmp_path, suffix, kind, container):
    A = kind(gallery.banded(12, 1, 2, seed=0)).asformat(container)
    ds.write(tmp_path / f"a{suffix}", A)
    B = ds.read(tmp_path / f"a{suffix}")
    assert same(A, B)
    assert B.format == (container if suffix == ".npz" and container in ds.formats() else "csr")


def test_archives_of_scipy(tmp_path):
    for compressed in (True, False):
        sparse.save_npz(tmp_path / "a.npz", sparse.csc_matrix(np.eye(3)), compressed=compressed)
        assert ds.read(tmp_path / "a.npz").format == "csc"
        assert ds.read(tmp_path / "a.npz", format="hm").format == "hm"


def test_values_are_bitwise_unchanged(tmp_path, library):
    values = np.array([np.pi, 1e-310, -0.0, 1e308, 1 / 3, np.nan, np.inf, -np.inf, 5e-324])
    A = ds.csr_array(sparse.csr_array(np.diag(np.ones(9))))
    A.values[:] = values
    ds.write(tmp_path / "a.mtx", A)
    assert np.array_equal(ds.read(tmp_path / "a.mtx").values, values, equal_nan=True)
    with np.errstate(over="ignore", under="ignore"):
        A = A.astype(np.float32)
    ds.write(tmp_path / "b.mtx", A)
    assert np.array_equal(ds.read(tmp_path / "b.mtx", dtype=np.float32).values, A.values, equal_nan=True)


def test_writing_is_repeatable_and_replaces(tmp_path):
    A = gallery.stencil(5, 10)
    for name in ("a.mtx.gz", "a.npz"):
        ds.write(tmp_path / name, A)
        first = (tmp_path / name).read_bytes()
        ds.write(tmp_path / name, A)
        assert (tmp_path / name).read_bytes() == first or name == "a.npz"
    assert len(list(tmp_path.iterdir())) == 2


# ---- What Matrix Market text means -----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["a.mtx", "a.mtx.gz", "A.MTX"])
@pytest.mark.parametrize(
    ("header", "body", "expected"),
    [
        ("coordinate real general", "2 3 2\n1 1 1.5\n2 3 -2", [[1.5, 0, 0], [0, 0, -2]]),
        ("coordinate real general", "% a comment\n\n2 2 2\n\n1 1 1\n\n2 2 4\n\n", [[1, 0], [0, 4]]),
        ("coordinate real general", "2 2 3\r\n1 1 1\r\n1 1 2\r\n2 2 4\r", [[3, 0], [0, 4]]),
        ("coordinate integer symmetric", "2 2 2\n1 1 3\n2 1 4\n", [[3, 4], [4, 0]]),
        ("coordinate real skew-symmetric", "2 2 1\n2 1 4\n", [[0, -4], [4, 0]]),
        ("coordinate pattern general", "2 2 1\n2 1\n", [[0, 0], [1, 0]]),
        ("coordinate complex hermitian", "2 2 2\n1 1 3 0\n2 1 4 5\n", [[3, 4 - 5j], [4 + 5j, 0]]),
        ("array real general", "2 2\n1\n2\n3\n4\n", [[1, 3], [2, 4]]),
        ("array integer symmetric", "2 2\n1\n2\n3\n", [[1, 2], [2, 3]]),
        ("coordinate real general", "0 3 0\n", np.zeros((0, 3))),
    ],
)
@pytest.mark.filterwarnings("ignore::diagsparse.ConversionWarning")
def test_matrix_market(tmp_path, library, header, body, expected, name):
    A = ds.read(text(tmp_path, f"%%MatrixMarket matrix {header}\n{body}", name))
    assert A.format == "csr" and A.dtype == (np.complex128 if "complex" in header else np.float64)
    assert np.array_equal(A.toarray(), expected)


def test_explicit_zeros_stay(tmp_path, library):
    path = text(tmp_path, "%%MatrixMarket matrix coordinate real general\n2 2 2\n1 1 0\n2 2 1\n")
    A = ds.read(path)
    assert A.nnz == 2
    ds.write(tmp_path / "a.mtx", A)
    assert ds.read(tmp_path / "a.mtx").nnz == 2


def test_dtype_and_format(tmp_path, caplog):
    path = text(tmp_path, "%%MatrixMarket matrix coordinate integer general\n2 2 1\n1 1 3\n", "count.mtx")
    with (
        caplog.at_level(logging.INFO, "diagsparse"),
        pytest.warns(ds.ConversionWarning, match="count.mtx: int64 values become float64"),
    ):
        assert ds.read(path).dtype == np.float64
    assert "count.mtx: reading with" in caplog.text
    assert ds.read(path, dtype=np.float32).dtype == np.float32
    path = text(tmp_path, "%%MatrixMarket matrix coordinate pattern general\n2 2 1\n1 1\n", "graph.mtx")
    with caplog.at_level(logging.INFO, "diagsparse"):
        A = ds.read(path, dtype=np.complex64, format="dia")
    assert "graph.mtx: pattern entries become float64 ones" in caplog.text
    assert A.dtype == np.complex64 and A.format == "dia"
    ds.write(tmp_path / "c.mtx", gallery.tridiagonal(3, dtype=complex))
    with pytest.raises(TypeError, match="complex128 values do not fit float64"):
        ds.read(tmp_path / "c.mtx", dtype=float)
    with pytest.raises(TypeError, match="dtype int64: expected float32"):
        ds.read(tmp_path / "c.mtx", dtype=int)
    assert ds.read(path, dtype="float16", format="hm").dtype == np.float16
    with pytest.raises(TypeError, match=r"ell_array.*float16"):
        ds.read(path, dtype="float16", format="ell")
    with pytest.raises(ValueError, match='no format "best"'):
        ds.read(tmp_path / "c.mtx", format="best")


@pytest.mark.filterwarnings("ignore::diagsparse.ConversionWarning")
def test_integers_in_archives(tmp_path):
    for dtype in (bool, np.int8, np.uint64):
        sparse.save_npz(tmp_path / "a.npz", sparse.csr_array(np.eye(3, dtype=dtype)))
        assert same(ds.read(tmp_path / "a.npz"), sparse.csr_array(np.eye(3)))
        ds.write(tmp_path / "a.mtx", sparse.csr_array(np.eye(3, dtype=dtype)))
        assert same(ds.read(tmp_path / "a.mtx"), sparse.csr_array(np.eye(3)))


# ---- Mistakes --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_missing_files(tmp_path, suffix):
    with pytest.raises(FileNotFoundError):
        ds.read(tmp_path / f"nothing{suffix}")
    with pytest.raises(FileNotFoundError) as caught:
        ds.write(tmp_path / "nowhere" / f"a{suffix}", gallery.tridiagonal(3))
    assert caught.value.filename == str(tmp_path / "nowhere")


def test_other_suffixes(tmp_path):
    for name in ("a.txt", "a.mtx.bz2", "a", "mtx"):
        with pytest.raises(ValueError, match=rf"read: {name}: unknown suffix, expected .mtx, .mtx.gz or .npz"):
            ds.read(tmp_path / name)
        with pytest.raises(ValueError, match=r"write: .* unknown suffix"):
            ds.write(tmp_path / name, gallery.tridiagonal(3))


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_errors_leave_the_old_file(tmp_path, suffix, monkeypatch):
    path = tmp_path / f"a{suffix}"
    with pytest.raises(TypeError, match="write: A is a ndarray, expected a diagsparse matrix or a SciPy sparse array"):
        ds.write(path, np.eye(3))
    assert not list(tmp_path.iterdir())
    ds.write(path, gallery.tridiagonal(3))

    def fail(*args, **options):
        raise OSError("the disk is full")

    monkeypatch.setattr(matrix_market, "_library", fail)
    monkeypatch.setattr(sparse, "save_npz", fail)
    with pytest.raises(OSError, match="the disk is full"):
        ds.write(path, gallery.tridiagonal(4))
    monkeypatch.undo()
    assert [found.name for found in tmp_path.iterdir()] == [path.name]
    assert ds.read(path).shape == (3, 3)


@pytest.mark.parametrize("suffix", [".mtx", ".mtx.gz", ".npz"])
def test_complex_matrices_without_entries_stay_complex(tmp_path, suffix):
    ds.write(tmp_path / f"a{suffix}", ds.csr_array((4, 3), dtype="complex128"))
    assert ds.read(tmp_path / f"a{suffix}").dtype == np.complex128


# ---- What is replaced ------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("suffix", SUFFIXES)
def test_permissions_of_a_replaced_file_stay(tmp_path, suffix):
    path = tmp_path / f"private{suffix}"
    for mode in (0o600, 0o640, 0o444):
        path.write_bytes(b"")
        path.chmod(mode)
        ds.write(path, gallery.tridiagonal(4))
        assert stat.S_IMODE(path.stat().st_mode) == mode and ds.read(path).shape == (4, 4)
        path.unlink()
    plain = tmp_path / "plain"
    plain.write_bytes(b"")
    ds.write(path, gallery.tridiagonal(4))
    assert path.stat().st_mode == plain.stat().st_mode  # a new file has the default permissions


def test_links_stay_and_their_target_is_replaced(tmp_path):
    (tmp_path / "there").mkdir()
    target, link, chain = tmp_path / "there" / "matrix.npz", tmp_path / "link.npz", tmp_path / "chain.npz"
    link.symlink_to("there/matrix.npz")  # which does not exist yet
    chain.symlink_to(link)
    for n in (3, 5):
        ds.write(chain, gallery.tridiagonal(n))
        assert link.is_symlink() and chain.is_symlink() and not target.is_symlink()
        assert ds.read(target).shape == ds.read(chain).shape == (n, n)
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["chain.npz", "link.npz", "matrix.npz", "there"]


def test_names_as_long_as_the_file_system_takes(tmp_path):
    path = tmp_path / ("m" * 251 + ".npz")
    ds.write(path, gallery.tridiagonal(4))
    assert ds.read(path).shape == (4, 4)


def test_a_pipe_is_written_to(tmp_path):
    path = tmp_path / "pipe.mtx"
    os.mkfifo(path)
    with ThreadPoolExecutor() as pool:
        written = pool.submit(ds.write, path, gallery.tridiagonal(4))
        text = path.read_text()
        written.result()
    assert text.startswith("%%MatrixMarket") and stat.S_ISFIFO(path.stat().st_mode)


def test_errors_of_write_begin_with_write_and_the_file(tmp_path):
    huge = ds.hm_array((np.ones(1), [2**40 - 1]), shape=(5, 2**40))
    broken = sparse.csr_array(np.eye(3))
    broken.indices[1] = 7
    for suffix in ("npz", "mtx", "mtx.gz"):
        path = tmp_path / f"matrix.{suffix}"
        for A, kind, words in (
            (sparse.coo_array(np.ones(3)), ValueError, "got shape"),
            (broken, ValueError, r"indices\[1\] is 7, expected 0 to 2"),
            (huge, ValueError, r"csr_array: 5 x 1099511627776"),
        ):
            if A is huge and suffix == "npz":
                continue
            with pytest.raises(kind, match=rf"^write: matrix\.{suffix}: .*{words}"):
                ds.write(path, A)
            assert not list(tmp_path.iterdir())
    for call in (lambda: ds.write(3, sparse.eye_array(3)), lambda: ds.read(None)):
        with pytest.raises(TypeError, match=r"(write|read): path is (3|None), expected a str or a path"):
            call()
