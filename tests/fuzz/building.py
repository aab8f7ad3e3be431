"""Matrices built of diagonals and of others: `diags`, `eye`, `hstack`, `vstack`, `block_diag`, `kron`; norms."""

from typing import Any

import numpy as np
import scipy.sparse as sp
from cases import fits
from oracle import long

import diagsparse as ds
from fuzz.arrays import NARROW, VALUE, numbers
from fuzz.case import Case
from fuzz.checks import close, refused, same
from fuzz.matrices import Drawn, draw, extents


def format_for(case: Case, shape: tuple[int, int]) -> str | None:
    """Return a format that holds this shape, or None."""
    return case.pick([None, *(format for format in ds.formats() if fits(format, shape))])


def diags(case: Case) -> None:
    """`diags` of a dict, of lists, and of SciPy's data; `eye`."""
    shape, dtype = extents(case), case.pick(VALUE)
    m, n = shape
    format, device = format_for(case, shape), case.device
    if case.chance(0.3):
        k = case.between(-m - 1, n + 1)
        case.note("eye", shape, k, format)
        return same(ds.eye(m, n, k, dtype, format, device=device), np.eye(m, n, k, dtype), format or "hm", dtype)
    ks = case.some(range(1 - m, n) if m * n else [], 6)
    values = [numbers(case, len(np.empty(shape).diagonal(k)), dtype) for k in ks]
    exact = sum((_on(shape, v, k) for v, k in zip(values, ks, strict=True)), np.zeros(shape, dtype))
    way = case.pick(["dict", "lists", "data"] if ks else ["dict"])
    case.note("diags by", way, ks, format)
    options: dict[str, Any] = {"shape": shape, "format": format, "device": device, "dtype": dtype}
    if way == "dict":
        result = ds.diags(dict(zip(ks, values, strict=True)), **options)
    elif way == "lists":
        result = ds.diags(values, ks, **options)
    else:
        data = sp.dia_array(sp.diags_array(values, offsets=ks, shape=shape))
        result = ds.diags(data.data, data.offsets, **options)
    same(result, exact, format or "hm", dtype)
    if ks:
        refused(ValueError, lambda: ds.diags([*values, values[0]], [*ks, ks[0]], **options), "an offset twice")
    refused(ValueError, lambda: ds.diags({n: 1.0}, **options), "a diagonal outside")


def _on(shape: tuple[int, int], values: np.ndarray, k: int) -> np.ndarray:
    """Return a dense matrix with one diagonal."""
    result = np.zeros(shape, values.dtype)
    i = np.arange(len(values))
    result[i + max(0, -k), i + max(0, k)] = values
    return result


def joined(case: Case) -> None:
    """`hstack`, `vstack` and `block_diag` of our matrices, SciPy's and dense ones."""
    if case.device != "cpu":
        return  # blocks are read on the host
    name = case.pick(["hstack", "vstack", "block_diag"])
    first = draw(case)
    m, n = first.shape
    shapes = {"hstack": lambda: (m, case.between(0, 20)), "vstack": lambda: (case.between(0, 20), n),
              "block_diag": lambda: extents(case)}  # fmt: skip
    blocks = [first, *(draw(case, shape=shapes[name]()) for _ in range(case.between(0, 2)))]
    given = [case.pick([b.A, b.A, b.A, sp.csr_array(b.exact), b.exact]) for b in blocks]
    exact = {"hstack": np.hstack, "vstack": np.vstack, "block_diag": _block_diag}[name]([b.exact for b in blocks])
    format = format_for(case, exact.shape)
    case.note(name, [type(block).__name__ for block in given], format)
    if not any(ds.issparse(block) and block.dtype in NARROW for block in given):
        result = getattr(ds, name)(given, format)
        same(result, exact, format, exact.dtype)
    else:
        same(getattr(ds, name)(given, format), exact, format)
    if name != "block_diag":
        wrong = np.zeros((m + 1, n + 1))
        refused(ValueError, lambda: getattr(ds, name)([first.A, wrong]), "blocks that do not fit")
    for block in blocks:
        block.require_unchanged()


def _block_diag(blocks: list[np.ndarray]) -> np.ndarray:
    """Return dense blocks along the main diagonal; SciPy confuses one without columns with one without rows."""
    shapes = np.array([block.shape for block in blocks])
    result, (row, col) = np.zeros(shapes.sum(axis=0), np.result_type(*blocks)), (0, 0)
    for block in blocks:
        result[row : row + block.shape[0], col : col + block.shape[1]] = block
        row, col = row + block.shape[0], col + block.shape[1]
    return result


def small(case: Case) -> Drawn:
    """Return a matrix with few elements."""
    return draw(case, shape=(case.between(0, 9), case.between(0, 9)))


def kron(case: Case) -> None:
    """`kron`, in a format that was asked for or in the one that it chooses."""
    if case.device != "cpu":
        return
    a, b = small(case), small(case)
    shape = a.shape[0] * b.shape[0], a.shape[1] * b.shape[1]
    format = format_for(case, shape)
    case.note("kron, format", format)
    result, ref = ds.kron(a.A, b.A, format), np.kron(long(a.exact), long(b.exact))
    close(result, ref, abs(ref), 2, np.result_type(a.exact, b.exact))
    assert format is None or result.format == format
    a.require_unchanged()
    b.require_unchanged()


def norms(case: Case) -> None:
    """`norm`, of every order that there is."""
    drawn = draw(case, large=0.02)
    order = case.pick([None, "fro", 1, -1, np.inf, -np.inf])
    case.note("norm", order)
    size = abs(long(drawn.exact)).sum(axis=None) if not drawn.large else abs(drawn.exact).sum()
    absolute = abs(long(drawn.exact))
    if order in (None, "fro"):
        ref = np.sqrt((absolute.multiply(absolute) if drawn.large else absolute**2).sum())
    elif 0 in drawn.shape:
        return drawn.require_unchanged()
    else:
        sums = np.asarray(absolute.sum(axis=0 if order in (1, -1) else 1))
        ref = sums.max() if order > 0 else sums.min()
    close(np.asarray(ds.norm(drawn.A, order), drawn.exact.real.dtype), np.asarray(ref), np.asarray(size),
          sum(drawn.shape))  # fmt: skip
    refused(ValueError, lambda: ds.norm(drawn.A, 2), "the 2-norm")
    drawn.require_unchanged()


CHECKS: dict[Any, float] = {diags: 2, joined: 2, kron: 2, norms: 1}
