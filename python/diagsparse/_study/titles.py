"""What tables and pictures call matrices, operations and rows."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

PEERS = ("scipy", "mkl", "cusparse", "cupy")  #: libraries, as rows of a comparison name them in the place of a format
TITLES = {"matvec": "y = A x", "matmul": "C = A A"}


def matrix_name(path: str | os.PathLike[str]) -> str:
    """Return the name of the matrix in a file: that of the file without its suffix."""
    return Path(path).name.removesuffix(".gz").removesuffix(".mtx").removesuffix(".npz")


def is_cusparse(kernel: str) -> bool:
    """Return whether a kernel of ours is a product of cuSPARSE's: ``cusparse``, ``cusparse_alg2``."""
    return kernel.startswith("cusparse")


def release(versions: dict[str, Any]) -> str:
    """Return ``diagsparse 0.1.0 (4124cc7)``: the version that was measured, and its commit where that is known.

    On a GPU it is the commit of the module for GPUs. If the module for the CPU is of another one, that is named, too.
    """
    commits = {"": versions.get("commit", "unknown"), "the CPU's module ": versions.get("cpu commit", "unknown")}
    told = [
        f"{whose}{commit[:7]}{', dirty' * commit.endswith('-dirty')}"
        for whose, commit in commits.items()
        if commit != "unknown"
    ]
    return f"diagsparse {versions['diagsparse']}" + (f" ({'; '.join(told)})" if told else "")


def label(row: dict[str, Any], plain: bool = False) -> str:
    """Return ``hm``, ``hm planned``, ``SciPy dia``, ``MKL csr``: the column of a row."""
    library = {"diagsparse": "", "scipy": "SciPy ", "mkl": "MKL "}[row["library"]]
    special = {"planned, out=": " planned", "sequential": " sequential"}.get(row["kernel"], "")
    return f"{library}{row['format']}{'' if plain else special}"
