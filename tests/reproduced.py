"""Results whose bits `determinism.py` compares: each operation with every format and every kernel of it.

``rows(module)`` names them, from the library's own tables of kernels, so a new format or kernel is there by itself.
``digests(row, device)`` computes one, with new matrices.
"""

import hashlib
import sys
from collections.abc import Iterator
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from cases import DIAGONAL, DTYPES, STORING_16_BITS, matrix, random, rng_of, to_device

import diagsparse as ds
from diagsparse._products import device_methods, host_factors


class Row(NamedTuple):
    """An operation with a format and a kernel, or a method; "" if there is only one way to compute it."""

    operation: str
    format: str
    kernel: str


# ---- Matrices: with enough rows for several threads, and with sums whose order matters ------------------------------
def of_diagonals(n: int, offsets: Any, dtype: str) -> sp.csr_array:
    """Return a matrix with these diagonals, of random values."""
    values = [random(n - abs(k), dtype, "determinism", k) for k in offsets]
    return sp.csr_array(sp.diags_array(values, offsets=list(offsets), shape=(n, n), dtype=dtype))


def irregular(n: int, dtype: str) -> sp.csr_array:
    """Return a matrix whose rows have from 1 to 300 entries, in any columns."""
    rng = rng_of("determinism", n)
    lengths = np.minimum(rng.geometric(0.02, n), 300)
    rows = np.repeat(np.arange(n), lengths)
    return sp.csr_array((random(len(rows), dtype, "rows"), (rows, rng.integers(0, n, len(rows)))), shape=(n, n))


FEW = (100, -16_000, 28_000)  # of 40,000 rows
DENSER = {  # rows, diagonals: a dense matrix, bands, several of them, scattered diagonals
    300: range(-299, 300),
    1400: range(-20, 21),
    1500: range(-80, 81),
    1600: [k + at for at in (-600, 0, 600) for k in range(-9, 10)],
    1700: rng_of("scattered").choice(np.arange(-1500, 1500), 200, replace=False).tolist(),
}
LAYOUTS: dict[str, list[dict[str, Any]]] = {  # other layouts of a format than its default
    **{format: [{"symmetry": "symmetric"}] for format in (*DIAGONAL, "ellcsr", "mdia")},
    "ell": [{"row_lengths": True, "column_bits": 16}],
    "sell": [{"sigma": 64, "row_lengths": True}],
}


@cache
def _given(operation: str, diagonal: bool, dtype: str) -> tuple[sp.csr_array, ...]:
    """Return the matrices of an operation."""
    if operation == "A @ B":
        if diagonal:
            return of_diagonals(40_000, FEW, dtype), *(of_diagonals(n, ks, dtype) for n, ks in DENSER.items())
        return of_diagonals(40_000, FEW, dtype), irregular(1500, dtype)
    if operation == "chain":
        return of_diagonals(20_000, range(-3, 4), dtype), matrix("big 20000", dtype)
    return matrix("big 20000", dtype), *[irregular(3000, dtype)] * (not diagonal)


def matrices(row: Row, dtype: str, device: str) -> Iterator[Any]:
    """Yield new matrices in the format of a row."""
    plain, narrow = ("float32", dtype) if dtype in ("float16", "bfloat16") else (dtype, None)
    for a in _given(row.operation, row.format in (*DIAGONAL, "mdia"), plain):
        A = getattr(ds, f"{row.format}_array")(a, device=device)
        yield A if narrow is None else A.astype(narrow)
    symmetric = of_diagonals(20_000, (-3, -1, 0, 900), plain)
    for options in LAYOUTS.get(row.format, []) * (row.operation in ("A @ x", "A @ X", "A.T @ x") and narrow is None):
        A = getattr(ds, f"{row.format}_array")(sp.csr_array(symmetric + symmetric.T), **options)
        yield A.to(device)


def vector(n: int, A: Any, columns: int | None = None, order: str = "C", shift: int = 0) -> Any:
    """Return an operand of A on its device; on the CPU, `shift` elements behind the start of its memory."""
    dtype = np.dtype("float32") if A.dtype.itemsize == 2 else A.dtype
    shape = (n,) if columns is None else (n, columns)
    x = np.asarray(random(shape, dtype, "x"), order=order)
    if A.device != "cpu":
        return to_device(x, A.device)
    moved = np.ndarray(shape, x.dtype, np.empty(x.nbytes + shift * x.itemsize, "u1"), shift * x.itemsize, order=order)
    moved[...] = x
    return moved


# ---- Operations: each yields results of a matrix A, with the kernel of the row --------------------------------------
def times_vector(row: Row, A: Any, shift: int) -> Iterator[Any]:
    yield A.matvec(vector(A.shape[1], A, shift=shift), kernel=row.kernel)
    if A.dtype.itemsize > 2:
        yield A.conj().matvec(vector(A.shape[1], A, shift=shift), kernel=row.kernel)


def times_block(row: Row, A: Any, shift: int) -> Iterator[Any]:
    for columns, order in ((2, "C"), (7, "F"), (33, "C"), (33, "F")):
        yield A.matvec(vector(A.shape[1], A, columns, order, shift), kernel=row.kernel)


def transposed(row: Row, A: Any, shift: int) -> Iterator[Any]:
    yield A.T.matvec(vector(A.shape[0], A, shift=shift), kernel=row.kernel)
    yield A.T.matvec(vector(A.shape[0], A, 5, shift=shift), kernel=row.kernel)


def times_matrix(row: Row, A: Any, shift: int) -> Iterator[Any]:
    for left in (A, A.T):
        plan = ds.plan_matmul(left, A, kernel=row.kernel)
        if plan.kernel == row.kernel:  # and not another one, which the row of that one is about
            yield plan()


def chain(row: Row, A: Any, shift: int) -> Iterator[Any]:
    x = vector(A.shape[0], A, shift=shift)
    yield ds.power_multiply(A, x, 5, kernel=row.kernel)
    yield ds.chebyshev_multiply(A, x, [1, 0.5, 0.25, 0.125], domain=(-20, 20), kernel=row.kernel)


def sums_of_matrices(row: Row, A: Any, shift: int) -> Iterator[Any]:
    yield from (A + 3 * A, A - A.T, A.multiply(A))


def totals(row: Row, A: Any, shift: int) -> Iterator[Any]:
    yield from (A.sum(), A.sum(axis=0), A.sum(axis=1), A.trace(), ds.norm(A), ds.norm(A, 1))


def sampled(row: Row, A: Any, shift: int) -> Iterator[Any]:
    for columns in (None, 5):
        yield ds.sampled_product(A, vector(A.shape[0], A, columns, shift=shift), vector(A.shape[1], A, columns))


def combination(row: Row, A: Any, shift: int) -> Iterator[Any]:
    yield ds.linear_combination([A, A.T, A])(0.3, -1.7, 2.1)


def batch(row: Row, A: Any, shift: int) -> Iterator[Any]:
    members = ds.batch_array([A, 3 * A, A])
    yield members @ vector(A.shape[1], A, shift=shift)
    yield members.T @ vector(A.shape[0], A, shift=shift)


def triangles(row: Row, A: Any, shift: int) -> Iterator[Any]:
    easy = A + ds.eye(A.shape[0], k=0, dtype=A.dtype, format=row.format, device=A.device) * 40
    b = vector(A.shape[0], A, shift=shift)
    yield ds.solve_triangular(easy, b)
    yield ds.ilu0(easy).solve(b)


def factors(row: Row, A: Any, shift: int) -> Iterator[Any]:
    """Solve with each method, for a matrix that suits it."""
    n, offsets = {
        "diagonal": (3000, [0]), "triangular": (3000, [0, -2, -900]), "cholesky": (3000, range(-4, 5)),
        "cyclic": (3000, [-2999, -1, 0, 1, 2999]), "dense": (300, range(-60, 61)), "qr": (200, range(-20, 21)),
        "tridiagonal": (3000, [-1, 0, 1]), "pentadiagonal": (3000, [-2, -1, 0, 1, 2]),
    }.get(row.kernel, (3000, range(-4, 5)))  # fmt: skip
    a = of_diagonals(n, offsets, A.dtype.name)
    a = (a + a.conj().T if row.kernel == "cholesky" else a) + 40 * sp.eye_array(n)
    if row.kernel == "woodbury":
        a = sp.csr_array(a) + sp.csr_array((np.ones(3), ([5, 9, 2000], [2900, 1500, 7])), shape=(n, n))
    B = getattr(ds, f"{'qband' if row.kernel == 'woodbury' else row.format}_array")(a, dtype=A.dtype, device=A.device)
    yield ds.factorized(B, method=row.kernel).solve(vector(n, B, shift=shift))


def grids(row: Row, A: Any, shift: int) -> Iterator[Any]:
    if A.dtype.kind == "f":
        a = ds.gallery.stencil(5, (127, 127), dtype=A.dtype.name)
        B = getattr(ds, f"{row.format}_array")(a, device=A.device)
        yield ds.multigrid(B, (127, 127)) @ vector(127 * 127, B, shift=shift)


def evolution(row: Row, A: Any, shift: int) -> Iterator[Any]:
    a = of_diagonals(20_000, range(4), A.dtype.name)
    H = getattr(ds, f"{row.format}_array")(sp.csr_array(a + a.conj().T), device=A.device)
    x = vector(20_000, H, shift=shift)
    yield ds.evolve(H, x / 100, 0.7, method=row.kernel).final


KERNELS = {  # operation: its name in the library's tables, and what computes it
    "A @ x": ("matvec", times_vector),
    "A @ X": ("matvec", times_block),
    "A.T @ x": ("matvec", transposed),
    "A @ B": ("matmul", times_matrix),
    "chain": ("chain", chain),
}
SAMPLED = "dia", "hm", "cdm", "csr", "csc", "mdia", "bmsparse"
OTHERS: dict[str, Any] = {  # operation: its formats, its methods, and what computes it
    "A + B": (ds.formats(), ("",), sums_of_matrices),
    "sums and norms": (ds.formats(), ("",), totals),
    "sampled_product": (SAMPLED, ("",), sampled),
    "linear_combination": (("dia", "hm", "cdm", "mdia", "csr", "csc", "coo"), ("",), combination),
    "batch @ x": (DIAGONAL, ("",), batch),
    "solve_triangular, ilu0": (("hm", "csr"), ("",), triangles),
    "factorized": (("hm",), None, factors),
    "multigrid": (("hm",), ("",), grids),
    "evolve": (("hm", "csr"), ("chebyshev", "krylov", "taylor"), evolution),
}


def rows(module: Any) -> list[Row]:
    """Return all rows of a native module; of a GPU's, this needs no GPU."""
    found = []
    for operation, (name, _) in KERNELS.items():
        for format in ds.formats():
            types = DTYPES + ("float16", "bfloat16") * (format in STORING_16_BITS)
            kernels = dict.fromkeys(kernel for dtype in types for kernel in module.kernels(format, dtype)[name])
            if name == "matmul" and format != "csr" and [*kernels] == module.kernels("csr")[name]:
                continue  # multiplies as csr
            if operation == "A.T @ x" and ds.array(np.eye(2), format).T.format != format:
                continue  # the transpose of csr is a matrix in csc, whose rows these are
            found += [Row(operation, format, kernel) for kernel in kernels]
    solvers = device_methods if hasattr(module, "device_count") else host_factors
    for operation, (formats, methods, _) in OTHERS.items():
        found += [Row(operation, format, method) for format in formats for method in methods or solvers.METHODS]
    return found


def digests(row: Row, device: str, calls: int = 1, dtypes: tuple[str, ...] = DTYPES) -> list[str]:
    """Return digests of `calls` results with the same matrices, "" if the row has no result on this device.

    Types that a kernel or an operation does not support are left out.
    """
    name, compute = KERNELS[row.operation] if row.operation in KERNELS else ("", OTHERS[row.operation][2])
    hashes, some = [hashlib.sha256() for _ in range(calls)], False
    for dtype in dtypes + ("float16", "bfloat16") * (row.operation == "A @ x" and row.format in STORING_16_BITS):
        try:
            for A in matrices(row, dtype, device):
                if name and row.kernel not in A.kernels(name):
                    continue
                for call, one in enumerate(hashes):
                    for result in compute(row, A, shift=call):
                        one.update(_bytes(result))
                        some = True
        except ImportError as error:  # of a library that a method needs
            print(f"{' '.join(row)} {dtype} on {device}: {error!r}", file=sys.stderr)
    return [one.hexdigest()[:16] if some else "" for one in hashes]


def _bytes(result: Any) -> bytes:
    if not ds.issparse(result):
        return np.asarray(result.get() if hasattr(result, "get") else result).tobytes()
    parts = result.to("cpu").parts()
    return b"".join(np.ascontiguousarray(parts[name]).tobytes() for name in sorted(parts))
