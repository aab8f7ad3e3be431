"""Names of matrices, operations and rows in tables and pictures."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

PEERS = ("scipy", "mkl", "cusparse", "cupy")  #: libraries, which are named instead of a format in a comparison
TITLES = {"matvec": "y = A x", "matmul": "C = A A"}
_LIBRARIES = {"diagsparse": "", "scipy": "SciPy", "mkl": "MKL", "cupy": "CuPy"}


def matrix_name(path: str | os.PathLike[str]) -> str:
    """Return the name of a matrix: that of its file without the suffix."""
    return Path(path).name.removesuffix(".gz").removesuffix(".mtx").removesuffix(".npz")


def is_cusparse(kernel: str) -> bool:
    """Return whether a kernel calls cuSPARSE: ``cusparse``, ``cusparse_alg2``."""
    return kernel.startswith("cusparse")


def release(versions: dict[str, Any]) -> str:
    """Return ``diagsparse 0.1.0 (4124cc7)``: the measured version, and its commit if it is known.

    On a GPU, this is the commit of the CUDA module. If that of the CPU module differs, it is named as well.
    """
    commits = {"": versions.get("commit", "unknown"), "the CPU's module ": versions.get("cpu commit", "unknown")}
    named = [
        f"{whose}{commit[:7]}{', dirty' * commit.endswith('-dirty')}"
        for whose, commit in commits.items()
        if commit != "unknown"
    ]
    return f"diagsparse {versions['diagsparse']}" + (f" ({'; '.join(named)})" if named else "")


def library(row: dict[str, Any]) -> str:
    """Return the library and format of a row: ``SciPy dia``, ``MKL csr``, ``CuPy csr``; ``hm`` of diagsparse."""
    return f"{_LIBRARIES.get(row['library'], row['library'])} {row['format']}".lstrip()


def label(row: dict[str, Any], plain: bool = False) -> str:
    """Return the label of a row: ``hm``, ``hm planned``, ``SciPy dia``, ``MKL csr``."""
    special = {"planned, out=": " planned", "sequential": " sequential"}.get(row["kernel"], "")
    return f"{library(row)}{'' if plain else special}"
