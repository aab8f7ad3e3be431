"""Random matrices of every format, and what they must be: dense, or for large ones SciPy's."""

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from cases import VIEWS
from formats import of as formats_of

import diagsparse as ds
from fuzz import arrays, layouts
from fuzz.arrays import NARROW, VALUE, numbers, widened
from fuzz.case import Case

DIAGONAL = tuple(f for f in ds.formats() if getattr(ds, f"{f}_array")._format.family == "diagonals")
STORING_16_BITS = (*DIAGONAL, "bmsparse", "mdia")
EXTENTS = (0, 1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65)


@dataclass
class Drawn:
    """A matrix of ours, and its exact values in the type that the check computes in."""

    A: Any
    exact: Any  # dense, or a csr_array of SciPy where it is large
    given: list[arrays.Arranged]  # the arrays it was built from

    def __post_init__(self) -> None:
        self._before = [part.copy() for part in self._parts()]

    @property
    def shape(self) -> tuple[int, int]:
        return self.exact.shape

    @property
    def large(self) -> bool:
        """Whether the exact matrix is SciPy's."""
        return sp.issparse(self.exact)

    def _parts(self) -> list[np.ndarray]:
        return [self.A._backend.host(part) for part in self.A._matrix.parts().values()]

    def require_unchanged(self) -> None:
        """Raise where an operation wrote to its operand."""
        for before, part in zip(self._before, self._parts(), strict=True):
            assert before.tobytes() == part.tobytes(), f"{self.A!r}: an operand was written to"
        for array in self.given:
            array.require_unchanged("the arrays of a matrix")


def extents(case: Case, square: bool = False) -> tuple[int, int]:
    """Return a small shape."""

    def one() -> int:
        return case.pick(EXTENTS) if case.chance(0.5) else case.between(1, case.pick([6, 20, 70]))

    m = one()
    return (m, m) if square or case.chance(0.4) else (m, one())


def structure(case: Case, shape: tuple[int, int]) -> np.ndarray:
    """Return where a matrix stores something."""
    m, n = shape
    kind = case.weighted({"diagonals": 4, "band": 3, "entries": 2, "dense": 1, "nothing": 0.5, "corners": 1})
    reach = layouts.reach(shape)
    if kind == "dense" or kind == "nothing" or not m * n:
        return np.full(shape, kind == "dense")
    if kind == "entries":
        return case.rng.random(shape) < case.pick([0.02, 0.1, 0.5])
    if kind == "band":
        low, high = case.between(-5, 1), case.between(-1, 5)
        return (low <= reach) & (reach <= high)
    chosen = [1 - m, 2 - m, n - 2, n - 1, 0] if kind == "corners" else range(1 - m, n)
    mask = np.isin(reach, case.some(chosen, 12))
    return mask & (case.rng.random(shape) < 0.8) if case.chance(0.2) else mask


def draw(
    case: Case,
    *,
    shape: tuple[int, int] | None = None,
    square: bool = False,
    formats: Any = None,
    dtype: Any = None,
    plain: bool = False,
    large: float = 0.0,
    special: bool = False,
) -> Drawn:
    """Return a random matrix.

    `plain`: neither packed nor a view; `large`: how often it has thousands of rows; `special`: some values of an
    unpacked one may be infinite or no numbers.
    """
    if large and shape is None and case.chance(large):
        return _large(case, square, formats, dtype)
    op = "N" if plain or case.chance(0.4) else case.pick("TCH")
    shape = shape or extents(case, square)
    shape = shape[::-1] if op in "TH" else shape  # of what the view is of
    result = None
    if not plain and formats is None and dtype is None and case.chance(0.25):
        result = _packed(case, shape)
    if result is None:
        dtype = dtype or case.pick(VALUE)
        mask = structure(case, shape)
        values = numbers(case, shape, dtype)
        if special and case.chance(0.2) and values.size:
            values.reshape(-1)[case.rng.integers(0, values.size, 3)] = case.pick([np.nan, np.inf, -np.inf])
        exact = np.where(mask, values, 0).astype(dtype)
        format = case.pick([f for f in formats or ds.formats() if f != "cdm" or shape[0] == shape[1]])
        if format == "ellcsr" and shape[0] == shape[1] and case.chance(0.3):  # of which one triangle may be stored
            below, mask = np.tril(exact), np.tril(mask) | np.tril(mask).T
            image = below.conj().T if case.chance(0.5) else below.T
            exact = np.where(np.tri(len(exact), dtype=bool), below, image)
        result = _built(case, format, exact, mask)
    return _viewed(case, result, op)


def _viewed(case: Case, drawn: Drawn, op: str) -> Drawn:
    """Return the matrix, or a view of it, on the device of the case."""
    A, exact = drawn.A, drawn.exact
    if case.device != "cpu":
        A = A.to(case.device)
    if op in "TH":
        exact = exact.T
    if op in "CH":
        exact = exact.conj()
    case.note(f"{op} of", repr(A).strip("<>"))
    return Drawn(VIEWS[op](A), exact, drawn.given)


def aligned(format: str) -> dict[str, str]:
    """Return the options for component arrays of ours."""
    return {"align": "row"} if format == "dia" else {}


def as_scipy(a: Any, format: str) -> Any:
    """Return a matrix, ours or SciPy's, in one of SciPy's formats; SciPy warns of many diagonals."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", sp.SparseEfficiencyWarning)
        return a.to_scipy(format) if ds.issparse(a) else a.asformat(format)


def _built(case: Case, format: str, exact: np.ndarray, mask: np.ndarray) -> Drawn:
    """Make a matrix of ours in one of the ways that there are."""
    cls, shape, given = getattr(ds, f"{format}_array"), exact.shape, []
    way = case.weighted({"parts": 4, "dense": 1, "scipy": 2, "ours": 1})
    case.note(f"{format} from {way}")
    if way == "dense":
        A = cls(exact.tolist() if case.chance(0.2) and exact.size else exact, dtype=exact.dtype)
    elif way == "scipy":
        a = sp.csr_array(layouts.compressed(exact, mask, False), shape=shape)
        A = cls(as_scipy(a, case.pick(["csr", "csc", "coo", "dia", "lil", "dok"])))
    elif way == "ours":
        others = [f for f in ds.formats() if f != "cdm" or shape[0] == shape[1]]
        A = cls(getattr(ds, f"{case.pick(others)}_array")(exact))
    else:
        (values, *rest), options = formats_of(format).draw(case, exact, mask)
        kinds = (
            arrays.INPUTS[:-1] if format in DIAGONAL else [k for k in arrays.INPUTS[:-1] if k != "swapped"]
        )  # as SciPy
        given = [arrays.arranged(case, values, kinds)]
        A = cls((given[0].array, *rest), shape=shape, copy=case.chance(0.3), **options)
    return Drawn(A, exact, given)


def _packed(case: Case, shape: tuple[int, int]) -> Drawn | None:
    """Return a symmetric, Hermitian or periodic matrix, or one with values in 16 bits."""
    dtype = case.pick([*VALUE, *NARROW, *NARROW])
    m, n = shape
    square = m == n
    if dtype in NARROW and case.chance(0.3):
        return _blocks(case, shape, dtype)
    symmetry = case.pick([None, "symmetric", "hermitian"] if square else [None])
    period = case.pick([None, 1, 2, 3, case.between(1, m + 3)])
    if not symmetry and not period and dtype not in NARROW:
        return None
    reach, i = layouts.reach(shape), np.arange(m)[:, np.newaxis]
    offsets = case.some(range(1 - m, n), 8)
    table = numbers(case, (m + n, period or max(m, 1)), widened(dtype), "quarters" if dtype in NARROW else None)
    exact = np.where(np.isin(reach, offsets), table[reach, i % table.shape[1]], 0) if m * n else np.zeros(shape)
    if symmetry:
        upper = np.triu(exact, 1)
        main = exact.diagonal().real if symmetry == "hermitian" else exact.diagonal()
        exact = upper + (upper.conj().T if symmetry == "hermitian" else upper.T) + np.diag(main)
    exact = exact.astype(widened(dtype))
    options = {"symmetry": symmetry, "period": period}
    options = {name: value for name, value in options.items() if value}
    format = case.pick(DIAGONAL if square else DIAGONAL[:2])
    case.note(f"{format} {dtype} packed {options}")
    cls = getattr(ds, f"{format}_array")
    A = cls(exact, dtype=dtype, **options)
    if case.chance(0.3):  # from its own parts
        stored = A.parts()
        A = cls(
            (stored["values"], stored[A._format.labels]),
            shape=shape,
            copy=case.chance(0.5),
            **options,
            **aligned(format),
        )
    return Drawn(A, exact, [])


def _blocks(case: Case, shape: tuple[int, int], dtype: np.dtype) -> Drawn:
    """Return blocks or masked diagonals with values in 16 bits."""
    wide = widened(dtype)
    exact = np.where(structure(case, shape), numbers(case, shape, wide, "quarters"), 0).astype(wide)
    format = case.pick(["bmsparse", "mdia"])
    case.note(f"{format} {dtype}")
    cls = getattr(ds, f"{format}_array")
    A = cls(exact, dtype=dtype)
    if case.chance(0.3):  # from its own parts
        A = cls(A.parts(), shape=shape, copy=case.chance(0.5))
    return Drawn(A, exact, [])


def _large(case: Case, square: bool, formats: Any, dtype: Any) -> Drawn:
    """Return a matrix that crosses blocks of rows and threads."""
    m = n = case.pick([2049, 8192, 8193, 16500, 33000, 70_001, 150_000])  # short columns end at 65536
    if not square and case.chance(0.3):
        n = case.between(1000, 34000)
    dtype = dtype or case.pick(VALUE)
    near = set(range(-3, 4))
    offsets = sorted({*case.some(near, 7), *case.some((-m + 1, -m // 2, -300, 40, 1000, n // 2, n - 1), 4), 0})
    diagonals = [numbers(case, max(0, min(m, n - k) - max(0, -k)), dtype, "uniform") for k in offsets]
    nonempty = [(k, d) for k, d in zip(offsets, diagonals, strict=True) if len(d)]
    exact = sp.csr_array(
        sp.diags_array([d for _, d in nonempty], offsets=[k for k, _ in nonempty], shape=(m, n), dtype=dtype),
        dtype=dtype,
    )
    format = case.pick([f for f in formats or ds.formats() if f != "cdm" or m == n])
    case.note("large", format)
    return _viewed(case, Drawn(ds.array(exact, format), exact, []), case.pick("NTCH"))
