"""What tests iterate over: kernels, formats, and small matrices of every structure as canonical `csr_array`s.

``matrix(name, dtype)`` returns one with seeded random values; ``SMALL`` are the names of those that a test
may loop over freely, ``BIG`` the ones that cross blocks of rows, groups of diagonals and threads.
"""

import os
import re
import zlib
from contextlib import contextmanager
from functools import cache

import numpy as np
import pytest
import scipy.sparse as sp

import diagsparse as ds

NO_CUDA = "no CUDA device answers (diagsparse.cuda_available() is False)"
# A slow build may be tested with some of them: all are instances of the same templates.
DTYPES = tuple(os.environ.get("DIAGSPARSE_TEST_DTYPES", "float32 float64 complex64 complex128").split())


def at_night(values, *, before):
    """Return values for `pytest.mark.parametrize`, of which only those in `before` are tested before the night."""
    return [value if value in before else pytest.param(value, marks=pytest.mark.nightly) for value in values]


EACH_DTYPE = pytest.mark.parametrize("dtype", at_night(DTYPES, before=("float64", "complex64")))
DIAGONAL = tuple(f for f in ds.formats() if getattr(ds, f"{f}_array")._format.family == "diagonals")
EACH_DIAGONAL = pytest.mark.parametrize("format", DIAGONAL)
NOT_DIAGONAL = tuple(f for f in ds.formats() if f not in DIAGONAL)
STORING_16_BITS = tuple(f for f in ds.formats() if getattr(ds, f"{f}_array")._format.narrow)
VIEWS = {"N": lambda A: A, "T": lambda A: A.T, "C": lambda A: A.conj(), "H": lambda A: A.H}
BLOCK_ROWS = 8192  # about the most rows that a task of the CPU kernels processes; BIG crosses it


def band(m, n, offsets):
    """Return the structure of these full diagonals: rows and columns."""
    pairs = [(i, i + k) for k in sorted(offsets) for i in range(max(0, -k), min(m, n - k))]
    rows, columns = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
    return (m, n), rows, columns


def entries(m, n, keep):
    """Return the structure where ``keep(i, j)`` holds, for arrays of all rows and columns."""
    i, j = np.indices((m, n)).reshape(2, -1)
    chosen = np.broadcast_to(keep(i, j), i.shape)
    return (m, n), i[chosen], j[chosen]


def structure_of(a):
    """Return the structure of a SciPy array."""
    a = sp.coo_array(a)
    return a.shape, *a.coords


STRUCTURES = {
    "0x0": lambda: band(0, 0, []),
    "0x5": lambda: band(0, 5, []),
    "5x0": lambda: band(5, 0, []),
    "1x1": lambda: band(1, 1, [0]),
    "1x7": lambda: band(1, 7, [0, 2, 6]),
    "7x1": lambda: band(7, 1, [-5, -1, 0]),
    "nothing stored": lambda: band(6, 6, []),
    "nothing stored, wide": lambda: band(4, 9, []),
    "dense 9": lambda: entries(9, 9, lambda i, j: True),
    "dense 8 x 13": lambda: entries(8, 13, lambda i, j: True),
    "dense 40": lambda: entries(40, 40, lambda i, j: True),
    "diagonal 17": lambda: band(17, 17, [0]),
    "superdiagonal only": lambda: band(12, 12, [3]),
    "subdiagonal only": lambda: band(12, 12, [-4]),
    "one entry": lambda: entries(9, 9, lambda i, j: (i == 8) & (j == 0)),
    **{f"banded {n}": lambda n=n: band(n, n, range(-2, 4)) for n in (7, 8, 9, 63, 64, 65, 127, 200)},
    "tridiagonal 65": lambda: band(65, 65, [-1, 0, 1]),
    "corners 65": lambda: band(65, 65, [-64, -63, 63, 64]),
    "random diagonals 127": lambda: structure_of(ds.gallery.random_diagonals(127, 20, reach=0.8, seed=1)),
    "random diagonals 1000": lambda: structure_of(ds.gallery.random_diagonals(1000, 15, seed=2)),
    "periodic stencil": lambda: structure_of(ds.gallery.stencil(5, (6, 7), periodic=True)),
    "stencil 27": lambda: structure_of(ds.gallery.stencil(27, (4, 3, 5))),
    "arrow 33": lambda: structure_of(ds.gallery.arrow(33)),
    "hessenberg 31": lambda: band(31, 31, range(-1, 31)),
    "lower 32": lambda: band(32, 32, range(-31, 1)),
    "upper 33": lambda: band(33, 33, range(33)),
    "wide 20 x 70": lambda: band(20, 70, [-19, -3, 0, 1, 49, 50, 60, 69]),
    "tall 70 x 20": lambda: band(70, 20, [-69, -55, -50, -49, -2, 0, 3, 19]),
    "empty rows": lambda: entries(24, 30, lambda i, j: (i % 3 == 0) & ((i + j) % 5 == 0)),
    "scattered": lambda: entries(50, 50, lambda i, j: (7 * i + 11 * j * j) % 23 == 0),
    "explicit zeros": lambda: band(21, 21, [-5, 0, 1]),
}
SMALL = tuple(STRUCTURES)
MEDIUM = ("0x0", "0x5", "5x0", "1x7", "7x1", "nothing stored", "dense 9", "banded 64", "banded 65", "corners 65",
          "random diagonals 127", "wide 20 x 70", "tall 70 x 20", "empty rows", "explicit zeros")  # fmt: skip
_BIG = (-19999, -9000, -8193, -8192, -300, -2, -1, 0, 1, 2, 3, 64, 500, 8191, 9000, 12345, 19990)
STRUCTURES["big 20000"] = lambda: structure_of(sp.diags_array([np.ones(20000 - abs(k)) for k in _BIG], offsets=_BIG))
BIG = ("big 20000",)


def rng_of(*key):
    """Return a generator seeded by these words."""
    return np.random.default_rng(zlib.crc32(repr(key).encode()))


def random(size, dtype, *key):
    """Return random values of modulus at most sqrt(2), none of them tiny, the same ones for the same key."""
    rng, dtype = rng_of(size, *key), np.dtype(dtype)
    values = rng.choice([-1, 1], size) * rng.uniform(0.1, 1, size)
    if dtype.kind == "c":
        values = values + 1j * rng.choice([-1, 1], size) * rng.uniform(0.1, 1, size)
    return values.astype(dtype)


@cache
def matrix(name, dtype="float64"):
    """Return a matrix of the gallery as a canonical SciPy `csr_array`; do not write to it."""
    shape, rows, columns = STRUCTURES[name]()
    values = random(len(rows), dtype, name)
    if name == "explicit zeros":
        values[::3] = 0
        values[:16] = 0  # a whole diagonal of them
    result = sp.csr_array((values, (rows.astype(np.int32), columns.astype(np.int32))), shape=shape)
    result.sum_duplicates()
    for array in (result.data, result.indices, result.indptr):
        array.flags.writeable = False
    return result


def partner(name, dtype):
    """Return a matrix of the shape of `matrix(name)`, on a structure that overlaps in part."""
    m, n = matrix(name).shape
    rows, columns = np.nonzero(np.isin(np.arange(n)[None, :] - np.arange(m)[:, None], [-7, -1, 0, 2, 5, n - 1]))
    return sp.csr_array((random(len(rows), dtype, name, "partner"), (rows, columns)), shape=(m, n))


def fits(format, shape):
    """Whether a format can hold this shape."""
    return format != "cdm" or shape[0] == shape[1]


@cache
def ours(name, format, dtype="float64", device="cpu"):
    """Return a matrix of the gallery in one of our formats; do not write to it."""
    return ds.array(matrix(name, dtype), format, device=device)


def on_gpu(name, format, dtype="float64"):
    """Return a matrix of the gallery on the GPU."""
    return ours(name, format, dtype, "cuda")


def holding(format, names):
    """Return those of these cases that the format can hold."""
    return [name for name in names if fits(format, matrix(name).shape)]


def pairs(first, second):
    """Return a parametrization over pairs of formats: each with itself, and with csr and hm on either side."""
    formats = ds.formats()
    common = [pair for f in formats for c in ("csr", "hm") for pair in ((f, c), (c, f))]
    return pytest.mark.parametrize((first, second), sorted({*((f, f) for f in formats), *common}))


@cache
def multiplies_itself(format):
    """Whether a format has kernels of its own for sparse products; the others multiply as csr."""
    A = ds.array(sp.eye_array(2), format)
    try:
        A._core.plan_matmul(A._matrix, 0, A._matrix, 0, format, "")
    except ValueError:
        return False
    return True


# The formats with products of their own, and two of those that multiply as csr: its transpose, and one that pads rows.
MULTIPLYING = tuple(f for f in ds.formats() if f in ("csc", "sell") or multiplies_itself(f))


def cells(operation, formats=None, devices=("cpu", "cuda")):
    """Return (device, format, kernel) for every kernel that there is, for `pytest.mark.parametrize`.

    Where formats share a kernel it is there once: sparse products of the formats that multiply as csr, and the "steps"
    of a chain, which are products with a vector.
    """
    own = {"matvec": lambda format: True, "matmul": multiplies_itself, "chain": ("csr", *DIAGONAL).__contains__}
    found = []
    for format in filter(own[operation], formats or ds.formats()):
        here = ds.array(sp.eye_array(2), format)
        if "cpu" in devices:
            found += [
                pytest.param("cpu", format, kernel, id=f"{format}-{kernel}") for kernel in here.kernels(operation)
            ]
        marks = [pytest.mark.gpu]
        if ds.cuda_available():
            kernels = here.to("cuda").kernels(operation)
        else:
            kernels, marks = [None], [*marks, pytest.mark.skip(reason=NO_CUDA)]
        if "cuda" in devices:
            found += [pytest.param("cuda", format, k, id=f"cuda-{format}-{k}", marks=marks) for k in kernels]
    return pytest.mark.parametrize("device, format, kernel", found)


def make(format, arg, **options):
    """Return ``ds.<format>_array(arg, **options)``; parts of `dia` are aligned by row where nothing else is said."""
    if format == "dia" and isinstance(arg, tuple) and not all(isinstance(n, int) for n in arg):
        options.setdefault("align", "row")
    return getattr(ds, f"{format}_array")(arg, **options)


def raises(kind, *words):
    """Expect an exception whose message holds all of these words."""
    return pytest.raises(kind, match="".join(f"(?=[\\s\\S]*{re.escape(str(word))})" for word in words) or None)


@contextmanager
def case(what):
    """Say which case of a loop it was that raised."""
    try:
        yield
    except Exception as error:
        error.add_note(f"in the case: {what}")
        raise


def refused(run, *words):
    """Expect one of the errors for bad input, and these words in its message."""
    with raises((ValueError, TypeError, MemoryError), *words):
        run()


def kernel_of(A, kernel, operation="matvec"):
    """Return this kernel where A's format has it, else its default: `A.T` of csr is csc, with kernels of its own."""
    return kernel if kernel in A.kernels(operation) else None


def to_device(x, device):
    """Return a dense operand on a device, in CuPy's arrays; their bytes are always in the machine's own order."""
    if device == "cpu":
        return x
    from libraries import load

    return load("cupy").asarray(x.astype(x.dtype.newbyteorder("="), copy=False))


def to_host(y):
    """Return a dense result as a NumPy array."""
    return y if isinstance(y, np.ndarray) else y.get()


def matvec(V, x, kernel, device):
    """Return the product of V and a NumPy array by this kernel, where V's format has it, as a NumPy array."""
    return to_host(V.matvec(to_device(x, device), kernel=kernel_of(V, kernel)))


def host(parts):
    """Return the parts of a matrix as NumPy arrays."""
    return {name: to_host(part) for name, part in parts.items()}
