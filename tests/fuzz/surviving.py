"""What hostile input may lead to: a refusal of a few kinds, or a matrix that is sound."""

import pickle
import resource
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from cases import host
from formats import decode
from oracle import long

import diagsparse as ds
from fuzz.arrays import widened
from fuzz.case import Case
from fuzz.watching import SANITIZED

REFUSALS = ValueError, TypeError, MemoryError
MEMORY = 1 << 30  # bytes that a case may allocate in addition to what the process holds


def enter(plan: Any) -> None:
    """Prepare a child: little memory, so that an invented size is refused; warnings are not what is tested."""
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    if not SANITIZED and plan.device == "cpu":  # their shadow memory and CUDA need terabytes of addresses
        taken = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (taken + MEMORY, taken + MEMORY))


def survive(case: Case, make: Callable[[], Any]) -> Any:
    """Return what this makes if it is sound, or None if it refuses by one of the documented errors with a reason."""
    try:
        A = make()
        assert isinstance(A, ds.batch_array) or ds.issparse(A), f"got {type(A).__name__}"
        if A.device != case.device:
            A = A.to(case.device)
    except REFUSALS as error:
        assert str(error).strip(), f"{type(error).__name__} without a reason"
        assert not str(error).startswith(("Unable to allocate", "std::")), f"memory was taken before a refusal: {error}"
        case.outcome = f"{type(error).__name__}: {error}"
        return None
    case.outcome = f"{A.format} {sorted(A._matrix.parts())}"
    if isinstance(A, ds.batch_array):
        require_sound_batch(case, A)
    else:
        case.outcome += f" {A._packed} {A.nnz > 0}"
        require_sound(case, A)
    return A


def require_sound(case: Case, A: Any) -> None:
    """Raise unless the structure of a matrix holds, and products with it are SciPy's."""
    m, n = A.shape
    assert min(m, n, A.nbytes, A.nnz) >= 0 and repr(A), f"{m} x {n}, {A.nbytes} bytes, {A.nnz} stored"
    if max(m, n) > 1 << 16 or A.nnz > 1 << 20:
        return  # valid or not, it would be too slow
    s = A.to_scipy("csr")
    s.check_format(full_check=True)
    assert s.has_canonical_format and s.shape == (m, n), f"not canonical: {A!r}"
    if A._format.family != "diagonals":
        require_entries(A)
    x = np.linspace(-1, 1, n)
    X = np.stack([x, x[::-1]], axis=1)
    kernels = A.kernels("matvec")
    for kernel in kernels if A.device == "cpu" else [case.pick(kernels)]:
        close(A.matvec(x, kernel=kernel), s, x)
    close(A @ X, s, X)
    close(A.T @ np.linspace(1, 2, m), s.T, np.linspace(1, 2, m))
    close(A.copy() @ x, s, x)
    if max(m, n) > 200:
        return
    dense = s.toarray()
    for result in (A, A.asformat("hm"), A.asformat("coo")):
        assert result.shape == (m, n), f"shape {result.shape}, expected {(m, n)}"
        assert np.array_equal(result.toarray().astype(s.dtype), dense, equal_nan=True), f"{result!r}: values differ"
    if not A._packed and not A._op:
        decoded = decode(A.format, host(A.parts()), A.shape)
        require_same(decoded.astype(s.dtype), dense, f"{A!r}, decoded from its arrays")
    close((A @ A.T).toarray(), s, s.T.toarray())
    if A.device == "cpu" and case.chance(0.2):
        require_round_trips(case, A)


def require_round_trips(case: Case, A: Any) -> None:
    """Raise unless files and pickles of a matrix give the same matrix: arrays and packing, or, as text, its values."""
    path = case.folder / "again.npz"
    ds.write(path, A)
    stored = A.copy() if A._op else A
    for again in (pickle.loads(pickle.dumps(stored)), ds.read(path)):
        assert repr(again) == repr(stored), f"{again!r}, expected {stored!r}"
        pairs = {name: (part, again.parts()[name]) for name, part in stored.parts().items()}
        if A.format == "dia":  # of which SciPy's files have neither the padding nor the order
            pairs = {"elements": (stored.toarray(), again.toarray())}
        for name, (one, other) in pairs.items():
            assert one.tobytes() == other.tobytes(), f"{name} of {stored!r} differs when it is read again"
    path = case.folder / "again.mtx"
    ds.write(path, A)
    dtype = widened(A.dtype)
    require_same(ds.read(path, dtype=dtype).toarray(), A.toarray().astype(dtype), f"{A!r}, read from text")


def require_same(got: np.ndarray, expected: np.ndarray, what: str) -> None:
    """Raise unless two arrays have the same numbers, with NaN at the same positions."""
    assert got.shape == expected.shape, f"{what}: shape {got.shape}, expected {expected.shape}"
    assert np.array_equal(got, expected, equal_nan=True), f"{what}: values differ"


def require_entries(A: Any) -> None:
    """Raise unless the indices of a format of index arrays lie inside it."""
    parts, shape = host(A._matrix.parts()), (A._matrix.rows, A._matrix.cols)
    least = -1 if parts["values"].ndim == 2 else 0  # -1: of padding
    for name, index in parts.items():
        if name in ("row", "col", "indices"):
            axis = 0 if name == "row" or A.format == "csc" else 1
            assert index.shape == parts["values"].shape, f"{name} has {index.shape} elements"
            if index.dtype.kind == "u":  # short columns: -1 is the largest number, and others count from bases
                index = np.where(index == np.iinfo(index.dtype).max, -1, index.astype(int))
                index = index[index < 0] if "bases" in parts else index
            assert not index.size or (index.min() >= least and index.max() < shape[axis]), f"{name} outside {shape}"


def close(y: np.ndarray, s: Any, x: np.ndarray) -> None:
    """Raise unless y is s x, of a vector or a matrix x, wherever no sum of absolute values comes near an overflow."""
    assert y.shape == (s.shape[0], *x.shape[1:]), f"shape {y.shape}, expected {(s.shape[0], *x.shape[1:])}"
    if not np.isfinite(s.data).all():
        return
    a, info = long(sp.csr_array(s)), np.finfo(y.dtype)
    size = abs(a) @ abs(long(x))
    wrong = ~(abs(long(y) - a @ long(x)) <= 1e3 * float(info.eps) * size + float(info.tiny))
    assert not np.any(wrong & (size < info.max / 4)), "a product differs from SciPy's"


def require_sound_batch(case: Case, b: Any) -> None:
    """Raise unless the products of a batch are those of its members."""
    x = np.linspace(-1, 1, b.shape[1])
    Y = b @ x
    assert Y.shape == (b.count, b.shape[0])
    for A, y in zip(b, Y, strict=True):
        require_sound(case, A)
        close(y, A.to_scipy("csr"), x)
        same = b.device != "cpu" or np.array_equal(y, A @ x, equal_nan=True)  # other kernels on a GPU
        assert same, "a row of a batch differs from its member"
