"""Damage to arrays, shapes and bytes."""

from typing import Any

import numpy as np

from fuzz.arrays import NARROW
from fuzz.case import Case

_LARGE = 2**31 - 1, 2**31, 2**40, 2**62, 2**63 - 1
EXTREMES = (-1, 0, 1, 2, 7, 2**15, 2**32, 2**53, *_LARGE, -(2**31) - 1, -(2**62), -(2**63))
_ODD = (
    2.0,
    2.5,
    float("nan"),
    float("inf"),
    True,
    None,
    "2",
    np.int64(3),
    np.uint64(2**63),
    np.float64(2),
    1j,
    [2],
    (),
    b"2",
)
EXTENTS = (-1, 0, 1, 2, 2**16, *_LARGE, 2**63, 2**64, -(2**63), *_ODD)
DTYPES = (
    *("int8", "uint8", "int16", "int32", "int64", "uint64", "bool", "float16", "float32", "float64", "longdouble"),
    *("complex64", "complex128", "clongdouble", "S3", "U2", "O", "M8[s]", "m8[s]", "V3", "f4,i8"),
)
_LISTS = [], [1, 2], [[1], [2, 3]], {}, {"a": 1}, (), range(3), slice(3)
NO_ARRAYS = (None, 1, 1.5, "text", b"bytes", *_LISTS, object(), Ellipsis, np.float64(2))
_HUGE = (2**40,), (2**40, 0)  # labels are read one by one: slow, but no hang


def array(case: Case, a: Any) -> Any:
    """Return this array with one thing about it changed; what is no array any more stays."""
    return _changed(case, a, [*_KINDS, "no array"])


def written(case: Case, a: np.ndarray) -> np.ndarray:
    """Return an array as one may be left after it was written to: of the same kind."""
    return _changed(case, a, ["element", "nudged", "bits", "size", "order"])


def _changed(case: Case, a: Any, kinds: list[str]) -> Any:
    kind = case.pick(kinds)
    if not isinstance(a, np.ndarray) or a.size > 1 << 16:  # it was changed before
        return a
    case.note("damage:", kind)
    if kind == "no array":
        return case.pick(NO_ARRAYS)
    try:
        return _KINDS[kind](case, np.array(a))
    except (ArithmeticError, IndexError, MemoryError, RuntimeError, TypeError, ValueError):  # it cannot be changed so
        return a


def _element(case: Case, a: np.ndarray) -> Any:
    flat = a.reshape(-1)
    for _ in range(case.between(1, 3)):
        if flat.size:
            value = case.pick(EXTREMES)
            if a.dtype.kind in "iu":
                info = np.iinfo(a.dtype)
                value = min(max(value, info.min), info.max)
            flat[case.between(0, flat.size - 1)] = value
    return a


def _nudged(case: Case, a: np.ndarray) -> Any:
    flat = a.reshape(-1)
    if flat.size:
        flat[case.between(0, flat.size - 1)] += case.pick([-1, 1])
    return a


def _bits(case: Case, a: np.ndarray) -> Any:
    raw = np.frombuffer(a.tobytes(), np.uint8).copy()
    if raw.size and not a.dtype.hasobject:
        raw[case.between(0, raw.size - 1)] ^= 1 << case.between(0, 7)
        return raw.view(a.dtype).reshape(a.shape)
    return a


def _size(case: Case, a: np.ndarray) -> Any:
    flat = a.reshape(-1)
    kind = case.pick(["shorter", "longer", "empty", "a row less", "a row more"])
    if kind == "a row less":
        return a[:-1]
    if kind == "a row more":
        return np.concatenate([a, a[:1]])
    return (
        flat[: case.between(0, flat.size)] if kind == "shorter" else flat[:0] if kind == "empty" else np.tile(flat, 2)
    )


def _dimensions(case: Case, a: np.ndarray) -> Any:
    return case.pick([
        lambda: a[np.newaxis], lambda: a[..., np.newaxis], lambda: a.reshape(-1), lambda: a.T, lambda: a.reshape(-1)[0],
        lambda: a.reshape(1, 1, -1), lambda: a.reshape(2, -1), lambda: a.reshape((1,) * 40 + a.shape),
        lambda: np.broadcast_to(a.reshape(-1)[:1], _HUGE[a.dtype.kind in "iu"]), lambda: np.zeros((0, 2**31), a.dtype),
    ])()  # fmt: skip


def _dtype(case: Case, a: np.ndarray) -> Any:
    wanted = case.pick([*DTYPES, *NARROW, a.dtype.newbyteorder()])
    with np.errstate(all="ignore"):
        if case.chance(0.3) and a.size and np.dtype(wanted).itemsize and not np.dtype(wanted).hasobject:
            return np.resize(np.frombuffer(a.tobytes(), np.uint8), a.size * np.dtype(wanted).itemsize).view(wanted)
        return a.astype(wanted)


def _order(case: Case, a: np.ndarray) -> Any:
    turns = [
        lambda: a[::-1],
        lambda: np.sort(a, axis=0),
        lambda: np.sort(a, axis=0)[::-1],
        lambda: a * 0,
        lambda: np.roll(a, 1),
        lambda: np.full_like(a, a.reshape(-1)[0]),
        lambda: case.rng.permutation(a),
    ]
    return case.pick(turns)()


def _memory(case: Case, a: np.ndarray) -> Any:
    if a.nbytes > 1 << 24 or max(a.shape, default=0) > 1 << 20:  # it repeats itself: a copy is slow
        return a
    kind = case.pick(["steps", "misaligned", "read-only", "records", "Fortran", "masked", "matrix", "subclass"])
    if kind == "steps":
        return np.repeat(a, 2, axis=0)[::2]
    if kind == "misaligned":
        raw = bytearray(a.nbytes + 1)
        result = np.ndarray(a.shape, a.dtype, raw, 1)
        result[...] = a
        return result
    if kind == "records":
        result = np.zeros(a.shape, np.dtype([("pad", "u1"), ("a", a.dtype)]))
        result["a"] = a
        return result["a"]
    if kind == "masked":
        return np.ma.masked_array(a, a == a.reshape(-1)[0])
    if kind == "matrix":
        return np.asmatrix(a)
    if kind == "subclass":
        return a.view(np.recarray)
    a.flags.writeable = kind != "read-only"
    return np.asfortranarray(a) if kind == "Fortran" else a


_KINDS = {
    "element": _element, "nudged": _nudged, "bits": _bits, "size": _size, "dimensions": _dimensions, "dtype": _dtype,
    "order": _order, "memory": _memory,
}  # fmt: skip


def shape(case: Case, given: tuple[int, int]) -> Any:
    """Return another shape, or something that is none."""
    kind = case.weighted({"extents": 4, "nudged": 3, "swapped": 1, "count": 1, "none": 1})
    case.note("damage: shape", kind)
    if kind == "extents":
        m, n = case.pick([*EXTENTS, *given]), case.pick([*EXTENTS, *given])
        return m, n
    if kind == "nudged":
        return given[0] + case.between(-2, 2), given[1] + case.between(-2, 2)
    if kind == "swapped":
        return given[::-1]
    return case.pick([given[:1], (*given, 1), (), given[0]]) if kind == "count" else case.pick(NO_ARRAYS)


def raw(case: Case, data: bytes) -> bytes:
    """Return bytes with some of them changed, cut out, doubled or moved."""
    result = bytearray(data)
    for _ in range(case.between(1, 3)):
        kind = case.weighted(
            {"bits": 4, "bytes": 2, "cut": 2, "splice": 1, "doubled": 1, "removed": 1, "filled": 1, "numbers": 2}
        )
        case.note("damage:", kind)
        at = case.between(0, max(0, len(result) - 1))
        length = min(len(result) - at, case.pick([1, 2, 4, 8, case.between(1, 64)]))
        if kind == "bits" and result:
            result[at] ^= 1 << case.between(0, 7)
        elif kind == "bytes" and result:
            result[at] = case.pick([0, 10, 32, 45, 48, 57, 127, 128, 255])
        elif kind == "cut":
            del result[at:]
        elif kind == "splice":
            other = case.between(0, max(0, len(result) - length))
            result[at : at + length] = result[other : other + length]
        elif kind == "doubled":
            result[at:at] = result[at : at + length]
        elif kind == "removed":
            del result[at : at + length]
        elif kind == "filled":
            result[at : at + length] = bytes([case.pick([0, 255])]) * length
        elif length in (2, 4, 8):
            number = case.pick([n for n in EXTREMES if -(1 << 8 * length - 1) <= n < 1 << 8 * length - 1])
            result[at : at + length] = number.to_bytes(length, "little", signed=True)
    return bytes(result)
