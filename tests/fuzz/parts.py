"""Constructors with hostile parts: refused with a reason, or a sound matrix."""

from typing import Any

import numpy as np
import scipy.sparse as sp

import diagsparse as ds
from fuzz import damage, surviving
from fuzz.arrays import NARROW, VALUE, numbers
from fuzz.case import Case as Case
from fuzz.matrices import as_scipy
from fuzz.surviving import survive

BLOCK = 50  # cases per child process
LABELS = {"dia": "offsets", "hm": "offsets", "cdm": "rows"}
LAYOUTS: dict[str, list[dict[str, Any]]] = {  # of formats with parts that may be missing
    "ell": [{"row_lengths": True}, {"column_bits": 8}, {"column_bits": 16, "row_lengths": True}],
    "sell": [{"sigma": 8}, {"row_lengths": True, "slice_height": 2}, {"column_bits": 8, "sigma": 4}],
    "ellcsr": [
        {"column_bits": 8}, {"column_bits": 16, "boundary_column": 3}, {"symmetry": "symmetric"},
        {"symmetry": "hermitian", "boundary_column": 4}, {"symmetry": "symmetric", "column_bits": 16},
    ],
    "hyb": [{"width": 2}],
    "mdia": [{}, {"symmetry": "symmetric"}, {"symmetry": "hermitian"}, {"palette": True}],
}  # fmt: skip


def prepare(plan: Any) -> None:
    """Nothing: the children have the library from here."""


def enter(plan: Any) -> None:
    """Prepare a child."""
    surviving.enter(plan)


def run(case: Case) -> None:
    """Make one matrix of damaged parts."""
    build = case.weighted({diagonals: 4, entries: 4, batches: 1, scipys: 2})
    case.checks(f"parts.{build.__name__}")
    build(case)


def diagonals(case: Case) -> None:
    """(values, labels) of a diagonal format, packed or not."""
    A = good(case, case.pick(list(LABELS)))
    stored = A.parts()
    options: dict[str, Any] = {"symmetry": A.symmetry, "period": A.period}
    if A.format == "dia" and case.chance(0.8):
        options["align"] = case.pick(["row", "row", "column"])
    given: list[Any] = [stored["values"].copy(), stored[LABELS[A.format]].copy(), A.shape]
    for _ in range(case.pick([1, 1, 2])):
        which = case.between(0, 3)
        if which < 2 and isinstance(given[which], np.ndarray):
            given[which] = damage.array(case, given[which])
        elif which == 2 and isinstance(given[2], tuple):
            given[2] = damage.shape(case, A.shape)
        else:
            name = case.pick(list(options))
            options[name] = case.pick([*damage.EXTENTS, "symmetric", "hermitian", "auto", "row", 3])
            case.note("option", name, repr(options[name]))
    case.note(f"{A.format}: {shown(given)} {options}")
    cls, copy = getattr(ds, f"{A.format}_array"), case.chance(0.5)
    dtype = case.pick([None, None, None, *VALUE, *NARROW, "int32", "O", "nonsense"])
    parts = (given[0], given[1]) if case.chance(0.97) else tuple(given)
    where = device(case)
    survive(case, lambda: cls(parts, shape=given[2], dtype=dtype, copy=copy, device=where, **options))


def entries(case: Case) -> None:
    """The parts of formats of index arrays, those of csr, csc and coo as SciPy has them, in both of the ways."""
    A = good(case, case.pick([f for f in ds.formats() if f not in LABELS]))
    stored = A.parts()
    given = [
        part if part is None else part.copy()
        for part in map(stored.get, ("values", *A._format.structure, *A._format.optional))
    ]
    while given[-1] is None:
        del given[-1]
    shape = A.shape
    for _ in range(case.pick([1, 1, 2])):
        which = case.between(0, len(given))
        if which < len(given) and given[which] is None:
            counted = np.arange(min(np.size(given[0]), 1 << 16))  # damaged values may repeat one more often
            given[which] = case.pick([given[0], counted, np.array([case.between(-1, 12)])])
        elif which < len(given) and isinstance(given[which], np.ndarray):
            given[which] = damage.array(case, given[which])
        else:
            shape = damage.shape(case, A.shape)
    case.note(f"{A.format}: {shown(given)} shape {shape!r}")
    parts = (given[0], tuple(given[1:])) if A.format == "coo" or (len(given) > 2 and case.chance(0.1)) else tuple(given)
    dtype, copy = case.pick([None, None, None, *VALUE, "float16", "int32"]), case.chance(0.5)
    where = device(case)
    survive(case, lambda: getattr(ds, f"{A.format}_array")(parts, shape=shape, dtype=dtype, copy=copy, device=where))


def scipys(case: Case) -> None:
    """SciPy's arrays that were written to after SciPy had checked them."""
    format = case.pick(["csr", "csc", "coo", "dia", "bsr"])
    a = as_scipy(good(case, "csr"), format).copy()
    name = case.pick({"coo": ["data", "coords"], "dia": ["data", "offsets"]}.get(format, ["data", "indices", "indptr"]))
    if name == "coords":
        a.coords = tuple(damage.written(case, index) if case.chance(0.6) else index for index in a.coords)
    else:
        setattr(a, name, damage.written(case, getattr(a, name)))
    case.note(f"{name} of SciPy's {format}")
    target = case.pick(ds.formats())
    where, any_format = device(case), case.chance(0.5)
    survive(case, lambda: ds.array(a, None if any_format else target, device=where))


def batches(case: Case) -> None:
    """The values of a batch."""
    A = good(case, case.pick(["dia", "hm", "cdm"]))
    like = A.unpacked()
    count = case.between(0, 3)
    values = damage.array(case, np.array([like.values] * count, like.dtype).reshape(count, *like.values.shape))
    like = case.pick([like] * 8 + [A, A.T, None])
    case.note(f"batch: {shown([values])} like {like!r}")
    survive(case, lambda: ds.batch_array(values, like))


def device(case: Case) -> str | None:
    """Return where the matrix is to be built: on the device of the run, or on the CPU, from which it moves there."""
    return case.device if case.device != "cpu" and case.chance(0.8) else None


def good(case: Case, format: str) -> Any:
    """Return a small matrix of a format; one by diagonals may be packed."""
    m = case.between(0, 12)
    n = m if format == "cdm" or case.chance(0.5) else case.between(0, 12)
    dtype = case.pick(VALUE)
    mask = np.isin(np.subtract.outer(np.arange(m), np.arange(n)), case.some(range(1 - n, m), 4))
    dense = np.where(mask, numbers(case, (m, n), dtype), 0).astype(dtype)
    options = {}
    if format not in LABELS and case.chance(0.5):
        options = case.pick(LAYOUTS.get(format, [{}]))
        if "symmetry" in options:
            dense = np.tril(dense[: min(m, n), : min(m, n)])
            dense = dense + (dense.conj().T if options["symmetry"] == "hermitian" else dense.T)
    if format in LABELS and case.chance(0.3):
        if m == n and case.chance(0.6):
            dense = dense + dense.T
            options["symmetry"] = "symmetric"
        elif case.chance(0.5):
            dense = sum((case.between(1, 9) * np.eye(m, n, k, dtype) for k in (0, 2, -1)), np.zeros((m, n), dtype))
            options["period"] = case.pick([1, 2])
    A = getattr(ds, f"{format}_array")(dense if case.chance(0.5) else sp.csr_array(dense), **options)
    packs = bool(options) and format in LABELS
    narrow = (packs or format in ("bmsparse", "mdia")) and case.chance(0.3) and dtype.kind == "f"
    return A.astype(case.pick(NARROW)) if narrow else A


def shown(parts: list[Any]) -> str:
    """Return what parts look like, in a line."""

    def one(x: Any) -> str:
        if not isinstance(x, np.ndarray):
            return repr(x)
        try:
            text = np.array2string(x, threshold=24, edgeitems=3, max_line_width=10**6) if x.size < 10**6 else "..."
        except Exception:  # text of bytes that are none
            text = "..."
        return f"{x.dtype}{x.shape} {text}".replace("\n", "")

    return ", ".join(map(one, parts))
