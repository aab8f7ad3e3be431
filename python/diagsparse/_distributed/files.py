"""Saving distributed matrices: a folder with one file of rows per process, readable with any number of processes."""

from __future__ import annotations

import json
import os
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from ..io import read, write
from . import columns
from .build import assembled
from .collective import communicator, same, together
from .matrix import DistributedArray, require_distributed
from .ranges import checked_partition

_INDEX, _VERSION = "distributed.json", 1


def save(path: str | os.PathLike[str], D: DistributedArray) -> None:
    """Save a distributed matrix: every process writes its rows to a file of a folder.

    Parameters
    ----------
    path : str or path
        A folder that all processes see; created if it is missing. Files of an earlier matrix in it are replaced.
    D : DistributedArray
        The matrix.

    Raises
    ------
    OSError, ValueError
        On all processes, if one of them cannot write.

    Notes
    -----
    The files are NumPy archives (`.npz`), each of which `diagsparse.read` can read, too. Every process has to call
    this.

    Examples
    --------
    >>> import tempfile
    >>> from diagsparse import distributed, gallery
    >>> D = distributed.from_global(gallery.tridiagonal(10))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     distributed.save(folder, D)
    ...     E = distributed.load(folder)
    >>> E.shape, E.nnz
    ((10, 10), 28)
    """
    require_distributed(D, "save", square=False)
    folder, comm = Path(path), D.comm
    same(comm, str(folder), "distributed.save: path")

    def prepare() -> None:
        folder.mkdir(parents=True, exist_ok=True)
        if comm.rank == 0:
            (folder / _INDEX).unlink(missing_ok=True)  # without it, the files of two matrices cannot be mixed up

    together(comm, prepare)
    local = D._plan.local()
    together(comm, lambda: write(folder / _name(comm.rank), local))

    def index() -> None:
        if comm.rank == 0:
            text = {"version": _VERSION, "shape": D.shape, "format": D.format, "borders": D._rows.borders.tolist()}
            (folder / _INDEX).write_text(json.dumps(text))
            for old in folder.glob("rows-*.npz"):
                if old.name not in {_name(p) for p in range(comm.size)}:
                    old.unlink()

    together(comm, index)


def load(
    path: str | os.PathLike[str], *, comm: Any = None, row_ranges: Any = None, device: str | None = None,
    engine: str | None = None,
) -> DistributedArray:  # fmt: skip
    """Load a matrix saved by `save`, with any number of processes.

    Parameters
    ----------
    path : str or path
        The folder.
    comm, row_ranges, device, engine
        As for `from_rows`.

    Returns
    -------
    DistributedArray

    Raises
    ------
    OSError, ValueError
        On all processes, if one of them cannot read its rows.

    Notes
    -----
    Each process reads the files that contain some of its rows. If a file contains many others, it needs memory for
    these, too, while it reads. Every process has to call this.
    """
    who, comm, folder = "distributed.load", communicator(comm), Path(path)
    index = together(comm, lambda: _read_index(folder / _INDEX, who))
    rows = together(comm, lambda: checked_partition(row_ranges, index["shape"][0], comm.size, who))
    first, last = rows.range(comm.rank)

    def own_rows() -> Any:
        borders, n = index["borders"], index["shape"][1]
        parts: list[tuple[int, Any]] = []
        for p, (a, b) in enumerate(pairwise(borders)):
            low, high = max(a, first), min(b, last)
            if low < high or (not parts and p == len(borders) - 2):
                low, high = min(low, b), max(min(low, b), high)
                whole = columns.local_matrix(read(folder / _name(p)))
                if (whole.format, whole.shape) != (index["format"], (b - a, n)):
                    raise ValueError(
                        f"{who}: {folder / _name(p)} has a {whole.shape[0]} x {whole.shape[1]} {whole.format}_array, "
                        f"expected a {b - a} x {n} {index['format']}_array"
                    )
                parts.append((low - first, columns.components(columns.rows_of(whole, low - a, high - a))))
        found = []
        for blocks in zip(*(block for _, block in parts), strict=True):
            placed = [columns.Placed(one, row, np.asarray) for (row, _), one in zip(parts, blocks, strict=True)]
            found.append(columns.put_together(placed, (last - first, n)))
        return columns.composed(index["format"], found)

    same(comm, index["borders"], f"{who}: the ranges of rows in {folder}")
    return assembled(together(comm, own_rows), rows, index["shape"][1], comm, who, device, engine)


def _read_index(path: Path, who: str) -> dict[str, Any]:
    try:
        index = json.loads(path.read_text())
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{who}: {path}: {error}") from None
    version = index.get("version") if isinstance(index, dict) else None
    if version != _VERSION:
        raise ValueError(f"{who}: {path} has version {version}, expected {_VERSION}")
    shape, borders = index.get("shape"), index.get("borders")
    valid = _are_counts(shape) and _are_counts(borders) and len(shape) == 2
    if not valid or borders != sorted([0, *borders[1:-1], shape[0]]):
        raise ValueError(
            f"{who}: {path} has shape {shape!s:.60} and borders {borders!s:.60}, expected the numbers of rows and "
            "columns, and ascending rows from 0 to the number of rows"
        )
    return {"format": None, **index}


def _are_counts(values: Any) -> bool:
    """Whether these are two or more integers from 0 that a 64-bit integer can hold."""
    return isinstance(values, list) and len(values) > 1 and all(type(one) is int and 0 <= one < 2**63 for one in values)


def _name(process: int) -> str:
    return f"rows-{process:05d}.npz"
