"""Fetch the real matrices of the papers from the SuiteSparse collection: `python -m benchmarks.fetch_matrices FOLDER`.

If names follow the folder, only these matrices are fetched. Existing files are kept, and interrupted downloads are
resumed. Each file is validated before it is stored: its Matrix Market header, its shape and its number of entries. Then

    DIAGSPARSE_MATRICES=FOLDER python -m benchmarks tables-002

and tables-004 read them instead of generating stand-ins. All matrices together need about 2 GB.
"""

import argparse
import http.client
import os
import re
import sys
import tarfile
import urllib.error
import urllib.request
from collections.abc import Iterable
from pathlib import Path
from typing import IO, BinaryIO

from .papers import paper_002_matrices, paper_004_printed

SITE = "https://suitesparse-collection-website.herokuapp.com"
GROUPS = {
    "fv1": "Norris", "nasa2146": "Nasa", "epb1": "Averous", "af23560": "Bai", "crystm03": "Boeing",
    "denormal": "Castrillon", "pcrystk03": "Boeing", "windscreen": "Oberwolfach", "nemeth21": "Nemeth",
    "Sieber": "MathWorks", "Chebyshev3": "Muite", "matrix_9": "Schenk_IBMSDS", "PR02R": "Fluorem", "pwtk": "Boeing",
    "raefsky3": "Simon", "af_shell9": "Schenk_AFE", "heart1": "Norris", "trdheim": "DNVS", "cegb2802": "HB",
    "cryg10000": "Bai", "Goodwin_030": "Goodwin", "ted_A_unscaled": "Bindel", "Goodwin_095": "Goodwin",
    "hcircuit": "Hamm", "webbase-1M": "Williams", "t2em": "CEMW", "atmosmodd": "Bourchtein",
}  # fmt: skip
ROWS = {one.name: one.rows for table in paper_002_matrices.TABLES.values() for one in table} | {
    one.name: one.rows for one in paper_004_printed.TABLE
}  #: number of rows of each matrix; all of them are square
HEADER = re.compile(rb"%%MatrixMarket matrix coordinate (real|integer|complex|pattern) \w[\w-]*\s*$", re.IGNORECASE)
_CHUNK = 1 << 20  # bytes
_TIMEOUT = 60  # seconds


class NoMatrix(Exception):
    """The downloaded file is not the requested matrix."""


def fetch(names: Iterable[str], folder: Path, site: str = SITE) -> list[str]:
    """Download matrices to a folder and return the errors; stop when the connection is lost."""
    folder.mkdir(parents=True, exist_ok=True)
    wrong = []
    for name in names:
        path, url = folder / f"{name}.mtx", f"{site}/MM/{GROUPS[name]}/{name}.tar.gz"
        if path.exists():
            print(f"{name}: is there")
            continue
        archive = folder / f"{name}.tar.gz.part"
        try:
            download(url, archive)
            entries = unpack(archive, name, path)
        except NoMatrix as error:
            archive.unlink(missing_ok=True)  # resuming the download of a wrong file would be useless
            wrong.append(f"{name}: {url}: {error}")
        except urllib.error.HTTPError as error:
            wrong.append(f"{name}: {url}: {error.code} {error.reason}")
        except (OSError, http.client.HTTPException) as error:
            reason = getattr(error, "reason", error)
            return [*wrong, f"{name}: cannot read {url}: {reason}; the next run goes on from here"]
        else:
            archive.unlink()
            print(f"{name}: {ROWS[name]} x {ROWS[name]}, {entries} entries in the file")
    return wrong


def download(url: str, path: Path) -> None:
    """Download a URL to a file, or resume an incomplete download."""
    done = path.stat().st_size if path.exists() else 0
    request = urllib.request.Request(url, headers={"Range": f"bytes={done}-"} if done else {})
    try:
        answer = urllib.request.urlopen(request, timeout=_TIMEOUT)
    except urllib.error.HTTPError as error:
        if done and error.code == http.client.REQUESTED_RANGE_NOT_SATISFIABLE:  # the file was already complete
            return
        raise
    with answer, path.open("ab" if answer.status == http.client.PARTIAL_CONTENT else "wb") as file:
        expected = int(answer.headers.get("Content-Length") or 0)
        received = 0
        while chunk := answer.read(_CHUNK):
            file.write(chunk)
            received += len(chunk)
    if received < expected:
        raise ConnectionError(f"it broke off after {received} of {expected} bytes")


def unpack(archive: Path, name: str, path: Path) -> int:
    """Extract the matrix from its archive, validate it, and return its number of entries."""
    unchecked = path.with_suffix(".part")
    try:
        with tarfile.open(archive) as tar:
            member = tar.extractfile(f"{name}/{name}.mtx")
            if member is None:
                raise NoMatrix(f"{name}/{name}.mtx in it is no file")
            with member, unchecked.open("wb") as file:
                entries = _copied(member, file, ROWS[name])
    except (tarfile.TarError, EOFError, KeyError) as error:
        raise NoMatrix(f"no archive with {name}/{name}.mtx: {error}") from error
    except BaseException:
        unchecked.unlink(missing_ok=True)
        raise
    os.replace(unchecked, path)
    return entries


def _copied(source: IO[bytes], target: BinaryIO, rows: int) -> int:
    """Copy and validate a Matrix Market file, and return its number of entries."""
    header = source.readline()
    if not HEADER.match(header):
        raise NoMatrix(f"no Matrix Market header, but {header[:60]!r}")
    target.write(header)
    while (line := source.readline()).startswith(b"%") or line.isspace():
        target.write(line)
    target.write(line)
    try:
        shape = [int(word) for word in line.split()]
    except ValueError:
        shape = []
    if shape[:2] != [rows, rows] or len(shape) != 3:
        raise NoMatrix(f"expected {rows} rows and columns, got the line {line[:60]!r}")
    lines, last = 0, b"\n"
    while chunk := source.read(_CHUNK):
        target.write(chunk)
        lines += chunk.count(b"\n")
        last = chunk
    lines += bool(shape[2]) and not last.endswith(b"\n")
    if lines < shape[2]:
        raise NoMatrix(f"{shape[2]} entries are announced, {lines} are there")
    return shape[2]


def main(arguments: list[str] | None = None) -> int:
    """Fetch the matrices on the command line, and return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(GROUPS)}; by default all")
    parser.add_argument("--site", default=SITE, help="where the collection is")
    given = parser.parse_args(arguments)
    if unknown := set(given.names) - set(GROUPS):
        parser.error(f"no matrix {', '.join(sorted(unknown))}; there are {', '.join(GROUPS)}")
    wrong = fetch(given.names or GROUPS, given.folder, given.site)
    for what in wrong:
        print(f"fetch_matrices: {what}", file=sys.stderr)
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
