"""What a first use costs: the import of diagsparse, and the first matrix of a process, each in a new process."""

from __future__ import annotations

import json
import subprocess
import sys
from statistics import median
from typing import Any

IMPORT_LIMIT = 0.12  #: seconds for `import diagsparse`, in addition to those of NumPy and SciPy
PRODUCTS = 3.0  #: products with SciPy's csr in which `ds.array(S)` should be done

_IMPORTS = """
import json, time
start = time.perf_counter()
import numpy, scipy.sparse
theirs = time.perf_counter()
import diagsparse
print(json.dumps([theirs - start, time.perf_counter() - theirs]))
"""
_FIRST = """
import json, sys, time
import numpy as np, scipy.sparse as sp
import diagsparse as ds
ds.set_num_threads(int(sys.argv[1]))
side = int(sys.argv[2])
S = sp.csr_array(ds.gallery.stencil(5, (side, side)))
S.data *= np.random.default_rng(0).uniform(1, 2, S.nnz)  # neither symmetric nor periodic
x = np.ones(S.shape[1])
times = []
for call in (lambda: ds.array, lambda: ds.array(S), lambda: ds.array(S), *[lambda: S @ x] * 20):
    start = time.perf_counter()
    result = call()
    times.append(time.perf_counter() - start)
A = ds.array(S)
name, first, later, *products = times
print(json.dumps([name, first, later, min(products), bool(np.allclose(A @ x, S @ x)), S.shape[0]]))
"""


def _in_new_processes(code: str, *arguments: int, runs: int) -> list[Any]:
    """Return the median of each number that these processes print, one process after the other."""
    command = [sys.executable, "-c", code, *map(str, arguments)]
    printed = [json.loads(subprocess.run(command, capture_output=True, check=True).stdout) for _ in range(runs)]
    return [median(numbers) for numbers in zip(*printed, strict=True)]


def import_times(quick: bool) -> dict[str, Any]:
    """Return the row of the import, next to those of NumPy and ``scipy.sparse``."""
    theirs, ours = _in_new_processes(_IMPORTS, runs=1 if quick else 9)
    return _row("import diagsparse", "", 0, ours, theirs, None, IMPORT_LIMIT, True)


def first_matrix(quick: bool) -> dict[str, Any]:
    """Return the row of the first `ds.array(S)` of a process, next to a product of SciPy's csr."""
    threads, side = 2, 32 if quick else 447  # 10^6 nonzeros
    _, first, _, product, right, n = _in_new_processes(_FIRST, threads, side, runs=1 if quick else 5)
    return _row("ds.array(S), the first", "csr", int(n), first, product, first / product, PRODUCTS, bool(right))


def _row(
    what: str, format: str, n: int, seconds: float, scipy: float, ratio: float | None, limit: float, ok: bool
) -> dict[str, Any]:
    return {
        "group": "first use", "what": what, "format": format, "n": n, "seconds": seconds, "scipy": scipy,
        "ratio": ratio, "limit": limit, "ok": ok,
    }  # fmt: skip
