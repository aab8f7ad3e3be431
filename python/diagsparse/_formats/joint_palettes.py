"""The union of masked diagonals with palettes: joint codes, so that a linear combination only computes tables.

A diagonal has a table in the union if it has one in every term that stores it, and the terms together have at most 256
different tuples of values there. A code then stands for such a tuple, and the table of each term has its element of the
tuple, 0 where the term stores nothing.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from .._backends import memory
from .._backends.backend import CPU
from .._backends.types import real_type
from .._matrix import devices
from .._matrix.convert import unpacked, widen
from .._matrix.sparse_array import SparseArray
from .._matrix.union import Run, Union
from . import unions

_ROWS = 32  # of a block
_MOST_COLORS = 256  # values of a table
_TEMPORARY = 32  # bytes for each row, while the codes of a diagonal are computed


class _Diagonal(NamedTuple):
    """A diagonal of a term, in host memory. Without a table, `table` is empty."""

    mask: np.ndarray
    table: np.ndarray
    codes: np.ndarray  # words of each block


class _Coded(NamedTuple):
    """A diagonal of the union: for each color, the position in the table of each term; and the words of its codes."""

    colors: np.ndarray
    words: np.ndarray


def united(format: Any, terms: list[SparseArray]) -> Union:
    """Return the union of masked diagonals. It stores one triangle if all terms do, with the same symmetry."""
    terms = [t.copy() if t._op else t for t in map(widen, terms)]
    if len({t._matrix.symmetry for t in terms}) > 1:
        terms = [unpacked(t) if t._matrix.symmetry else t for t in terms]
    return (_with_palette if any(t._matrix.palette for t in terms) else unions.of_values)(format, terms)


def _with_palette(format: Any, terms: list[SparseArray]) -> Union:
    """Return the union of masked diagonals, some of which have a palette."""
    first, backend = terms[0], terms[0]._backend
    (rows, cols), real = first.shape, real_type(first._dtype)
    every = [_diagonals(t) for t in terms]
    offsets = np.unique(np.concatenate([list(own) for own in every]).astype(np.int64))
    blocks = -(-rows // _ROWS)
    nbytes = 4 * blocks * (len(offsets) + sum(map(len, every))) + _TEMPORARY * _ROWS * blocks
    memory.require_free(nbytes, "linear_combination: the masks and codes of the union")
    owners = [{k: own[offset] for k, own in enumerate(every) if offset in own} for offset in offsets.tolist()]
    mask = np.zeros((blocks, len(offsets)), np.uint32)
    for column, own in zip(mask.T, owners, strict=True):
        column[:] = np.bitwise_or.reduce([diagonal.mask for diagonal in own.values()])
    coded = [_joint(list(own.values()), column) for column, own in zip(mask.T, owners, strict=True)]
    table_indptr = np.cumsum([0, *(0 if c is None else len(c.colors) for c in coded)])
    stored, count = [k for k, c in zip(offsets.tolist(), coded, strict=True) if c is None], int(table_indptr[-1])
    rest = unions.of_values(format, [_restricted(format, t, stored) for t in terms])
    parts = {
        "offsets": offsets,
        "mask": mask,
        "block_indptr": count + backend.host(rest.matrix._matrix.parts()["block_indptr"]),
        "table_indptr": table_indptr,
        "codes": np.concatenate([np.zeros((blocks, 0), np.uint32), *(c.words for c in coded if c is not None)], axis=1),
    }
    if "mirrored" in first._matrix.parts():
        parts["mirrored"] = backend.host(first._matrix.parts()["mirrored"])
    tail = rest.matrix._matrix.values.size
    structure = [(name, devices.copied_array(np.ascontiguousarray(part), CPU, backend)) for name, part in parts.items()]
    zeros = devices.copied_array(np.zeros(count + tail, real), CPU, backend)
    matrix = SparseArray._wrap(format.from_component_arrays(backend, (rows, cols), zeros, structure))
    # A term without values that are stored one by one has only tables.
    values = [
        _joined(backend, _tables(k, t._dtype, owners, coded), after)
        for k, (t, after) in enumerate(zip(terms, rest.values, strict=True))
    ]
    everywhere = [(0, k) for k in range(len(terms))]
    runs = [Run(0, count, everywhere), Run(count, tail, [(count, k) for run in rest.runs for _, k in run.pieces])]
    return Union(matrix, values, [run for run in runs if run.length])


def _diagonals(a: SparseArray) -> dict[int, _Diagonal]:
    """Return the diagonals of a matrix by their offsets, with their masks, tables and codes in host memory."""
    host, parts = a._backend.host, a._matrix.parts()
    offsets, mask = host(parts["offsets"]), host(parts["mask"])
    if not a._matrix.palette:
        nothing = np.zeros((len(mask), 0), np.uint32)
        return {k: _Diagonal(mask[:, d], np.zeros(0, a._dtype), nothing) for d, k in enumerate(offsets.tolist())}
    table_indptr, codes = host(parts["table_indptr"]), host(parts["codes"])
    tables = host(parts["values"][: int(table_indptr[-1])])
    found, word = {}, 0
    for d, (first, last) in enumerate(pairwise(table_indptr.tolist())):
        bits = _bits(last - first)
        found[int(offsets[d])] = _Diagonal(mask[:, d], tables[first:last], codes[:, word : word + bits])
        word += bits
    return found


def _tables(k: int, dtype: np.dtype, owners: list[dict[int, _Diagonal]], coded: list[_Coded | None]) -> np.ndarray:
    """Return the tables of term k on all diagonals of the union that have one."""
    tables = [np.zeros(0, dtype)]
    for own, joint in zip(owners, coded, strict=True):
        if joint is not None and k in own:
            with_zero = np.append(own[k].table, dtype.type(0))  # where the term stores nothing
            tables.append(with_zero[joint.colors[:, list(own).index(k)]])
        elif joint is not None:
            tables.append(np.zeros(len(joint.colors), dtype))
    return np.concatenate(tables)


def _joint(own: list[_Diagonal], mask: np.ndarray) -> _Coded | None:
    """Return the joint codes of a diagonal; None if its values are stored one by one."""
    if not all(len(d.table) for d in own):
        return None
    if len(own) == 1:
        return _Coded(np.arange(len(own[0].table))[:, None], own[0].codes)
    if all(len(d.table) <= 2 for d in own):
        return _joint_of_masks(own, mask)
    present = _unpacked(mask, 1) > 0
    colors, codes = np.zeros((1, 0), np.intp), np.zeros(len(present), np.int32)
    for d in own:
        size = len(d.table)
        codes *= size + 1
        codes += np.where(_unpacked(d.mask, 1) > 0, _unpacked(d.codes, _bits(size)), size)
        codes[~present] = 0
        used = np.bincount(codes[present], minlength=len(colors) * (size + 1)) > 0
        if used.sum() > _MOST_COLORS:
            return None
        color, last = np.divmod(np.flatnonzero(used), size + 1)
        colors = np.column_stack([colors[color], last])
        codes = (np.cumsum(used, dtype=np.int32) - 1)[codes]
        codes[~present] = 0
    return _Coded(colors, _packed(codes.astype(np.uint8), len(colors)))


def _joint_of_masks(own: list[_Diagonal], mask: np.ndarray) -> _Coded | None:
    """Return the same for tables of one and two values: 32 rows at a time, since their codes are masks."""
    found: list[tuple[list[int], np.ndarray]] = [([], mask)]
    for d in own:
        second = d.codes[:, 0] if len(d.table) == 2 else np.uint32(0)
        parts = [d.mask & ~second, d.mask & second][: len(d.table)] + [~d.mask]
        split = (([*color, k], rows & part) for color, rows in found for k, part in enumerate(parts))
        found = [(color, rows) for color, rows in split if rows.any()]
    if not 0 < len(found) <= _MOST_COLORS:
        return None
    colors = np.array([color for color, _ in found])
    if len(found) <= 2:
        return _Coded(colors, np.stack([rows for _, rows in found[1:]], axis=1) if found[1:] else own[0].codes[:, :0])
    codes = sum(k * _unpacked(rows, 1) for k, (_, rows) in enumerate(found[1:], 1))
    return _Coded(colors, _packed(np.asarray(codes, np.uint8), len(found)))


def _restricted(format: Any, a: SparseArray, offsets: list[int]) -> SparseArray:
    """Return the elements on these diagonals, with a value for each of them; the other diagonals are empty."""
    parts = a._matrix.parts()
    if not a._matrix.palette:
        return a  # all of them
    mask = a._backend.host(parts["mask"]) * np.isin(a._backend.host(parts["offsets"]), offsets).astype(np.uint32)
    structure = [(name, parts[name]) for name in format.names(parts) if name != "mask"]
    structure.append(("mask", devices.copied_array(mask, CPU, a._backend)))
    matrix = format.from_component_arrays(a._backend, a.shape, parts["values"], structure)
    return format.without_palette(a._wrap(matrix))


def _joined(backend: Any, first: np.ndarray, second: Any) -> Any:
    """Return two vectors one after the other on the device."""
    if backend is CPU:
        return np.concatenate([first, second])
    result = backend.core.empty((len(first) + second.size,), first.dtype.name, backend.index)
    for part, at in ((backend.core.from_host(first, backend.index), 0), (second, len(first))):
        if part.size:
            result[at : at + part.size].assign(part)
    return result


def _bits(colors: int) -> int:
    """Return how many bits a code into a table of this size has."""
    return 0 if colors <= 1 else 1 if colors == 2 else 2 if colors <= 4 else 4 if colors <= 16 else 8


def _unpacked(words: np.ndarray, bits: int) -> np.ndarray:
    """Return the codes of each row from words, of which each block of rows has `bits`."""
    if bits == 0:
        return np.zeros(1, np.uint8)
    octets = np.ascontiguousarray(words).astype("<u4", copy=False).view(np.uint8).ravel()
    shifts = (bits * np.arange(8 // bits)).astype(np.uint8)
    return ((octets[:, None] >> shifts) & np.uint8((1 << bits) - 1)).ravel()


def _packed(codes: np.ndarray, colors: int) -> np.ndarray:
    """Return the words of the codes of each row, of which there are so many."""
    bits = _bits(colors)
    if bits == 0:
        return np.zeros((len(codes) // _ROWS, 0), np.uint32)
    shifts = (bits * np.arange(8 // bits)).astype(np.uint8)
    octets = np.bitwise_or.reduce(codes.reshape(-1, 8 // bits) << shifts, axis=1)
    return octets.view("<u4").reshape(-1, bits)
