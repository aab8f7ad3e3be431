"""Fetching the papers' matrices, from a small server on this machine: checked, resumed, and refused where wrong."""

import http.server
import io
import socketserver
import tarfile
import threading

import pytest

import diagsparse as ds
from benchmarks import fetch_matrices

ROWS = 30  # of the matrices here; the right ones would take long


def mtx(rows=ROWS, announced=None, header="%%MatrixMarket matrix coordinate real general"):
    lines = [f"{i + 1} {i + 1} {i + 0.5}" for i in range(rows)]
    return "\n".join([header, "% a comment", "", f"{rows} {rows} {announced or rows}", *lines]).encode()


def packed(name, content):
    """Return an archive as the collection has them: the matrix among other files, in a folder."""
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w:gz") as tar:
        for path, data in ((f"{name}/{name}_b.mtx", b"none"), (f"{name}/{name}.mtx", content)):
            member = tarfile.TarInfo(path)
            member.size = len(data)
            tar.addfile(member, io.BytesIO(data))
    return file.getvalue()


class Site(socketserver.ThreadingTCPServer):
    """A server of `files`; it breaks off the first answers, after so many bytes as `breaks` says."""

    daemon_threads = True

    def __init__(self):
        self.files, self.breaks, self.asked = {}, [], []
        super().__init__(("127.0.0.1", 0), Handler)


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        asked = self.headers.get("Range")
        self.server.asked.append((self.path, asked))
        if (content := self.server.files.get(self.path)) is None:
            return self.send_error(404)
        start = int(asked.removeprefix("bytes=").rstrip("-")) if asked else 0
        if start >= len(content):
            return self.send_error(416)
        self.send_response(206 if asked else 200)
        self.send_header("Content-Length", len(content) - start)
        self.end_headers()
        end = start + self.server.breaks.pop(0) if self.server.breaks else len(content)
        self.wfile.write(content[start:end])

    def log_message(self, *args):
        pass


@pytest.fixture
def site(monkeypatch):
    monkeypatch.setattr(fetch_matrices, "ROWS", dict.fromkeys(fetch_matrices.ROWS, ROWS))
    monkeypatch.setenv("no_proxy", "*")
    with Site() as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        for name, group in fetch_matrices.GROUPS.items():
            server.files[f"/MM/{group}/{name}.tar.gz"] = packed(name, mtx())
        yield server
        server.shutdown()


def fetch(site, folder, *names):
    return fetch_matrices.main([str(folder), *names, "--site", f"http://127.0.0.1:{site.server_address[1]}"])


def test_all_matrices_of_the_tables_are_known():
    assert set(fetch_matrices.GROUPS) == set(fetch_matrices.ROWS)


def test_matrices_come_checked_and_once(site, tmp_path, capsys):
    folder = tmp_path / "matrices"
    assert fetch(site, folder, "epb1", "hcircuit") == 0
    assert sorted(path.name for path in folder.iterdir()) == ["epb1.mtx", "hcircuit.mtx"]
    assert (folder / "epb1.mtx").read_bytes() == mtx()
    assert "epb1: 30 x 30, 30 entries" in capsys.readouterr().out
    pytest.importorskip("fast_matrix_market")
    assert ds.read(folder / "epb1.mtx").shape == (ROWS, ROWS)
    assert fetch(site, folder, "epb1", "hcircuit") == 0 and len(site.asked) == 2
    assert "epb1: is there" in capsys.readouterr().out


def test_all_are_fetched_by_default(site, tmp_path):
    assert fetch(site, tmp_path) == 0
    assert {path.stem for path in tmp_path.iterdir()} == set(fetch_matrices.GROUPS)


def test_a_download_that_broke_off_goes_on(site, tmp_path, capsys):
    site.breaks = [50, 20]
    for bytes_there in (50, 70):
        assert fetch(site, tmp_path, "epb1", "fv1") == 1
        assert (tmp_path / "epb1.tar.gz.part").stat().st_size == bytes_there
        assert "epb1: cannot read http" in (message := capsys.readouterr().err) and "goes on from here" in message
    assert fetch(site, tmp_path, "epb1") == 0
    assert [asked for _, asked in site.asked] == [None, "bytes=50-", "bytes=70-"]
    assert [path.name for path in tmp_path.iterdir()] == ["epb1.mtx"]


def test_an_archive_that_is_whole_is_not_fetched_again(site, tmp_path):
    (tmp_path / "epb1.tar.gz.part").write_bytes(packed("epb1", mtx()))
    assert fetch(site, tmp_path, "epb1") == 0 and (tmp_path / "epb1.mtx").exists()


@pytest.mark.parametrize(
    "content, message",
    [
        (packed("epb1", mtx(ROWS + 1)), "expected 30 rows and columns, got the line b'31 31 31"),
        (packed("epb1", mtx(announced=ROWS + 1)), "31 entries are announced, 30 are there"),
        (packed("epb1", mtx().partition(b"30 30 30")[0] + b"30 30 30\n"), "30 entries are announced, 0 are there"),
        (packed("epb1", mtx(header="%%MatrixMarket matrix array real general")), "no Matrix Market header"),
        (packed("epb1", b"%%MatrixMarket matrix coordinate real general\nrows"), "expected 30 rows and columns"),
        (packed("fv1", mtx()), "no archive with epb1/epb1.mtx"),
        (b"<html>Sorry</html>", "no archive with epb1/epb1.mtx"),
        (packed("epb1", mtx())[:-40], "no archive with epb1/epb1.mtx"),
    ],
)
def test_a_wrong_download_is_refused_and_deleted(site, tmp_path, capsys, content, message):
    site.files["/MM/Averous/epb1.tar.gz"] = content
    assert fetch(site, tmp_path, "epb1", "fv1") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["fv1.mtx"]  # the others come all the same
    assert message in capsys.readouterr().err


def test_a_matrix_that_is_not_there(site, tmp_path, capsys):
    del site.files["/MM/Averous/epb1.tar.gz"]
    assert fetch(site, tmp_path, "epb1", "fv1") == 1
    assert "/MM/Averous/epb1.tar.gz: 404" in capsys.readouterr().err and (tmp_path / "fv1.mtx").exists()


def test_without_a_network(site, tmp_path, capsys):
    site.server_close()
    site.shutdown()
    assert fetch(site, tmp_path, "epb1", "fv1") == 1
    message = capsys.readouterr().err
    assert "epb1: cannot read http://127.0.0.1" in message and "refused" in message and "fv1" not in message


def test_names_that_nobody_knows(tmp_path, capsys):
    with pytest.raises(SystemExit, match="2"):
        fetch_matrices.main([str(tmp_path), "epb2"])
    assert "no matrix epb2; there are fv1" in capsys.readouterr().err
