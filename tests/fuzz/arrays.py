"""Dense arrays: values, and every layout in which NumPy may store them."""

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np

from fuzz.case import Case

VALUE = tuple(map(np.dtype, ("float32", "float64", "complex64", "complex128")))
NARROW = (np.dtype("float16"), np.dtype(ml_dtypes.bfloat16))
OPERANDS = {  # dtypes of vectors and blocks, with their weights
    **dict.fromkeys(VALUE, 5),
    **dict.fromkeys(map(np.dtype, ("int64", "int32", "uint8", "bool")), 0.7),
    **dict.fromkeys(NARROW, 0.5),
    np.dtype("longdouble"): 0.2,  # refused, as are the next ones
    np.dtype("clongdouble"): 0.2,
    np.dtype("U3"): 0.1,
    np.dtype("M8[s]"): 0.1,
}
INPUTS = ("C", "C", "F", "steps", "window", "misaligned", "swapped", "read-only", "repeated")
OUTPUTS = ("C", "C", "F", "steps", "window", "misaligned")


def widened(dtype: np.dtype) -> np.dtype:
    """Return the type that values of this one are computed with."""
    return np.dtype(np.float32) if dtype in NARROW else dtype


def product_dtype(a: np.dtype, b: np.dtype) -> np.dtype | None:
    """Return NumPy's type of a product; None where the documentation refuses it."""
    a, b = widened(a), widened(b)
    if b.kind not in "iubfc":
        return None
    result = np.result_type(a, b)
    return result if result in VALUE else None


def numbers(case: Case, size: Any, dtype: np.dtype, style: str | None = None) -> np.ndarray:
    """Return random finite numbers, zeros among them."""
    if dtype.kind not in "iubfc" and dtype not in NARROW:
        return np.zeros(size, dtype)
    rng, style = case.rng, style or case.weighted({"quarters": 2, "uniform": 2, "wide": 1})

    def real() -> np.ndarray:
        if style == "quarters":
            return rng.integers(-8, 9, size) / 4
        result = rng.uniform(-1, 1, size)
        return result * 2.0 ** rng.integers(-12, 13, size) if style == "wide" else result

    if dtype.kind in "iub":
        return rng.integers(0 if dtype.kind == "u" else -5, 6, size).astype(dtype)
    return (real() + 1j * real() if dtype.kind == "c" else real()).astype(dtype)


class Arranged:
    """Values in an array that may be strided, misaligned or a window; memory around it must not change."""

    def __init__(self, base: np.ndarray, see: Callable[[np.ndarray], np.ndarray], values: np.ndarray) -> None:
        self.base, self._see, self.array = base, see, see(base)
        self.array[...] = values
        self._before = base.copy()

    def require_unchanged(self, what: str, around: bool = False) -> None:
        """Raise where it (or with `around` what is not in the array) differs from what it was."""
        now = self.base
        if around:
            now = now.copy()
            self._see(now)[...] = self._see(self._before)
        assert now.tobytes() == self._before.tobytes(), f"{what}: memory {'around it ' if around else ''}was written to"


def arranged(case: Case, values: np.ndarray, kinds: Any) -> Arranged:
    """Return `values` in an arrangement of one of these kinds."""
    kind = case.pick(kinds)
    if kind == "repeated" and (values.ndim != 2 or not values.shape[1]):
        kind = "C"
    case.note(f"{kind} {values.dtype} {values.shape}")
    shape, dtype = values.shape, values.dtype
    if kind in ("steps", "window"):
        return _inside(case, values, case.chance(0.5), (1,) if kind == "window" else (-3, -2, -1, 1, 2, 3))
    if kind == "misaligned":
        offset = case.between(1, max(1, dtype.itemsize - 1))
        order: Any = case.pick("CF")
        base = np.full(values.nbytes + dtype.itemsize + offset, 0xFF, np.uint8)
        return Arranged(base, lambda b: np.ndarray(shape, dtype, b, offset, order=order), values)
    if kind == "swapped":
        return Arranged(np.empty(shape, dtype.newbyteorder()), lambda b: b, values)
    if kind == "repeated":  # all columns are the first one, in the same memory
        base = values[:, :1].copy()
        result = Arranged(base, lambda b: b, base)
        result.array = np.broadcast_to(base, shape)
        return result
    result = Arranged(np.empty(shape, dtype, "F" if kind == "F" else "C"), lambda b: b, values)
    result.array.flags.writeable = kind != "read-only"
    return result


def _inside(case: Case, values: np.ndarray, fortran: bool, steps: tuple[int, ...]) -> Arranged:
    """Return `values` inside a larger array of values that are no numbers."""
    cuts, whole = [], []
    for extent in values.shape:
        step, before, after = case.pick(steps), case.between(0, 3), case.between(0, 3)
        whole.append(before + extent * abs(step) + after)
        cut = slice(before, before + extent * abs(step), abs(step))
        cuts.append((cut, slice(None, None, 1 if step > 0 else -1)))

    def see(base: np.ndarray) -> np.ndarray:
        return base[tuple(cut for cut, _ in cuts)][tuple(turn for _, turn in cuts)]

    raw = np.full(int(np.prod(whole)) * values.dtype.itemsize, 0xFF, np.uint8)
    return Arranged(np.ndarray(whole, values.dtype, raw, order="F" if fortran else "C"), see, values)
