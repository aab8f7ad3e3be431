"""Which format, and with which options: `recommend` tells, and `array` builds it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from numbers import Integral
from typing import Any

import numpy as np

from ._advice import offers
from ._advice.candidate import Candidate
from ._advice.candidates import Candidates, as_rows, given_matrix, seconds_to_rows
from ._advice.machine import machine
from ._advice.reasons import reason
from ._advice.recommendation import TIE, Recommendation
from ._advice.tuning import tuned
from ._matrix.base import is_scipys
from ._matrix.operands import is_sparse
from ._matrix.registry import COMMON, FORMATS, default_format, format_named, storing_16_bits
from ._matrix.sparse_array import SparseArray
from ._places import memory
from ._places.backend import CPU, Place, place
from ._places.types import is_narrow, named_dtype
from ._study.titles import TITLES

__all__ = ["Recommendation", "array", "recommend"]

OPS = tuple(TITLES)  #: that advice is given for
_PRODUCTS, _LAST = 1000, 1 << 53
_CHANGES = 1 / TIE  # of the time as it is, that another layout has to stay under to be worth the change
_SAME = 1.05  # times the least time, within which fewer options decide


def recommend(
    A: Any,
    op: str = "matvec",
    *,
    device: str | None = None,
    products: int = _PRODUCTS,
    formats: Sequence[str] | None = None,
    tune: bool = False,
    narrow: bool = False,
    reorder: bool = False,
    max_bytes: int | None = None,
) -> Recommendation:
    """Tell in which format, and with which options, products with a matrix take the least time.

    Parameters
    ----------
    A : sparse matrix (ours, SciPy's or CuPy's) or dense 2-D array, shape (m, n)
        Integers and bools count as float64. Stored zeros count as what they cost.
    op : {"matvec", "matmul"}
        y = A x, or C = A A, which needs a square matrix.
    device : str, optional
        Where the products run; by default where A lies.
    products : int
        How many there are to be: one, those of a whole solver, ... The conversion has to pay within them.
    formats : list of str, optional
        Those that come into question, or one name; by default all of `diagsparse.formats()`. Where none of them pays,
        the matrix stays as it is.
    tune : bool
        Build the layouts that the model puts first, and measure them: about as long as 100 products.
    narrow : bool
        Also store values in fewer bytes, where that rounds none of them. The matrix then has another dtype; products
        with vectors of the old one stay in it.
    reorder : bool
        Also try the reverse Cuthill-McKee order, on the CPU. What is built then takes and gives vectors in A's own
        order all the same.
    max_bytes : int, optional
        Limit of a layout together with csr, of which it is made; by default what is free. What is there already stays.

    Returns
    -------
    Recommendation
        ``str()`` gives a table and the rule that decided. ``build()`` returns the matrix in the recommended layout.

    Raises
    ------
    TypeError, ValueError
        For what is no matrix of numbers, arguments that mean nothing, and matrices with 2^31 rows or columns, which csr
        does not hold: `array` leaves them as they are.
    MemoryError
        With the bytes, for a packed matrix that does not fit in full.
    CudaUnavailable
        For a device that cannot be used.

    Notes
    -----
    Times follow from a model: the bytes that a product moves, at the bandwidth of a usual machine, and the work that it
    does. Nothing is timed unless `tune` asks for it, and nothing is built but csr, unless `tune` or `reorder` do. Bytes
    are exact: they follow from counts over all column indices. Cache misses and branches are estimated from some
    thousand entries. Whether a large matrix is symmetric or repeats takes a pass over all values. On a CPU that takes
    one to ten products in csr for matrices of more than a million nonzeros, and about a millisecond for small ones; on
    a GPU some milliseconds. A SciPy matrix is checked before, and converted where it is no csr, which may take as long
    again.

    The same matrix gets the same advice every time, for the same number of threads. A layout with more options than
    another one has to be 5 % faster, and so has csr where diagonals are nearly full. One that has to be made has to be
    10 % faster than what is there. A tie (``ties``) takes up to 10 % longer.

    On a CPU, symmetry is found by sums of hashes, which are wrong for one matrix in 2^64. When the matrix is built,
    every entry is compared. If the sums were wrong, all entries are stored.

    Examples
    --------
    >>> import diagsparse as ds
    >>> A = ds.gallery.transverse_ising(16)
    >>> advice = ds.recommend(A)
    >>> advice.format
    'mdia'
    >>> advice.build()
    <mdia_array 65536 x 65536 float64: 33 diagonals from -32768 to 32768, 1114112 stored, 9.2 MB, cpu>
    """
    names = _formats(formats)
    count = _count(products)
    limit = None if max_bytes is None else memory.checked_limit(max_bytes, "recommend")
    given = given_matrix(A, "recommend")
    _check_op(op, given, "recommend")
    if op == "matmul" and (narrow or reorder):
        which = "narrow" if narrow else "reorder"
        raise ValueError(f"recommend: {which}=True is for products with vectors; C = A A would be another matrix")
    where = place(device, given._place)
    if reorder and where is not CPU:
        raise ValueError(f"recommend: reorder=True on {where.name}: expected the cpu, where vectors are permuted")
    csr = as_rows(given, where, "recommend")
    found = Candidates(csr, machine(where), op, before=seconds_to_rows(given, csr, given is not A))
    base, asked = found.as_it_is(A, given), formats is not None
    there = base if is_sparse(A) else None  # of a dense array there is no layout yet that it could stay in
    layouts = [*found.layouts(names, asked)]
    layouts += offers.narrower(found, names, asked) if narrow else []
    layouts += offers.in_order(found, names, asked) if reorder else []
    fitting, left_out = _that_fit(layouts, csr, limit)
    in_own_order = " in A's own order" * reorder
    why_not = {name: found.why_not(name) or found.too_large(name) for name in names} if asked else {}
    left_out |= {name: why + in_own_order for name, why in why_not.items() if why}
    ranked = _ranked(_beside(base, fitting), there, count)
    if tune:
        measured = tuned(ranked, base, found, count, limit)
        base = measured[0]
        ranked = _ranked(measured, base if there else None, count)
    best, all_fit = ranked[0], asked or not left_out
    return Recommendation(
        shape=csr.shape, dtype=str(csr.dtype), nnz=csr.nnz, op=op, products=count, device=where.name,
        threads=found.machine.threads, base=base, candidates=ranked, reason=reason(ranked, base, count, all_fit, asked),
        offers=[] if narrow or best.order else offers.told(found, best), left_out=left_out, _csr=csr,
    )  # fmt: skip


def array(
    arg: Any, format: str | None = None, *, op: str = "matvec", dtype: Any = None, device: str | None = None,
    **layout: Any,
) -> SparseArray:  # fmt: skip
    """Return `arg` as a matrix of this library: in the format that is named, or in the layout that suits it.

    Parameters
    ----------
    arg : sparse matrix (ours, SciPy's or CuPy's), dense 2-D array
        With a `format` whatever its class takes, such as the parts.
    format : str, optional
        One of `diagsparse.formats()`. By default the layout that `recommend` names for a thousand products, whatever
        `arg` is: a matrix of ours is converted, or returned itself where `recommend` says that it should stay. Where
        `recommend` would stay with a matrix of SciPy's or CuPy's, it is the best layout of ours.
    op : {"matvec", "matmul"}
        What is to be fast where no format is given: y = A x, or C = A A.
    dtype : dtype, optional
        Of the values; by default integers and bools become float64, with a `ConversionWarning`. 16-bit floats need a
        `format` that stores them.
    device : str, optional
        ``"cpu"``, ``"cuda"``, ``"cuda:1"``, ...; by default where `arg` lies.
    **layout
        Options of the format, as its class takes them: ``sigma=`` of sell, ``period=`` of dia, ``shape=`` of parts.

    Raises
    ------
    ValueError
        For a format or operation that there is not, and options that the matrix does not allow.
    TypeError
        For options that the format does not have, or without a format.
    MemoryError
        With the bytes, where it does not fit.

    Notes
    -----
    Without a format nothing is timed: the same matrix gets the same layout every time. It takes what `recommend` takes,
    and the conversion. What has no room in csr stays as it is, and so do matrices of ours with 16-bit values.

    Examples
    --------
    >>> import diagsparse as ds
    >>> ds.array(ds.gallery.heisenberg(14))
    <mdia_array 16384 x 16384 float64: 27 diagonals from -4096 to 4096, 122880 stored, 1.0 MB, cpu>
    >>> A = ds.array(ds.gallery.stencil(5, (1000, 1000)))
    >>> A
    <dia_array 1000000 x 1000000 float64: 5 diagonals from -1000 to 1000, period 1000, 4997998 stored, 40.0 KB, cpu>
    >>> ds.array(A) is A
    True
    >>> ds.array(ds.gallery.arrow(1000, seed=0), "sell", sigma=64).format
    'sell'
    """
    _check_op(op, None, "array")
    if format is not None:
        return format_named(format).array(arg, dtype=dtype, device=device, **layout)
    if layout:
        raise TypeError(f"array: {', '.join(layout)}: expected a format, of which these are options")
    ours = isinstance(arg, SparseArray)
    if ours:
        given = arg if dtype is None else arg.astype(dtype, copy=False)
    elif dtype is not None and is_narrow(named_dtype(dtype)):
        storing = storing_16_bits()
        raise TypeError(f"array: dtype {np.dtype(dtype).name}: give a format= that stores 16-bit floats: {storing}")
    else:
        given = _first(arg).array(arg, dtype=dtype, device=device)
    _check_op(op, given, "array")
    where = place(device, given._place)
    if (csr := _in_csr(given, where)) is None:
        return given.to(where.name)
    found = Candidates(csr, machine(where), op, before=seconds_to_rows(given, csr, not ours))
    base = found.as_it_is(given, given) if ours else None
    fitting, _ = _that_fit(found.layouts(list(FORMATS)), csr, None)
    layouts = _beside(base, fitting)
    if not layouts:  # nothing fits beside the csr that is there
        return csr
    made = _ranked(layouts, base, _PRODUCTS)[0].made_of(csr)
    assert isinstance(made, SparseArray)  # for nobody asked for another order
    return made


def _first(arg: Any) -> Any:
    """Return the format that a matrix which is not ours comes to first."""
    return default_format(arg.shape) if is_scipys(arg) else FORMATS[COMMON]


def _in_csr(given: SparseArray, where: Place) -> SparseArray | None:
    """Return a matrix in csr on the device of the products; None for 16-bit values and matrices too large for csr."""
    if is_narrow(given.dtype):  # csr would widen them
        return None
    try:
        FORMATS[COMMON].check_shape(given.shape, given._core)
    except ValueError:
        return None
    try:
        return as_rows(given, where, "array")
    except MemoryError:
        return None


def _check_op(op: Any, A: SparseArray | None, who: str) -> None:
    """Raise for an operation that there is not; for a matrix, where it is given."""
    if op not in OPS:
        raise ValueError(f"{who}: op={op!r}: expected {' or '.join(map(repr, OPS))}")
    if op == "matmul" and A is not None and A.shape[0] != A.shape[1]:
        raise ValueError(
            f'{who}: op="matmul" multiplies A by itself, expected a square one, got {A.shape[0]} x {A.shape[1]}'
        )


def _formats(given: Sequence[str] | None) -> list[str]:
    if given is not None and not isinstance(given, str | Sequence):
        raise TypeError(f"recommend: formats={given!r}: expected names of formats")
    names = [given] if isinstance(given, str) else list(FORMATS) if given is None else list(dict.fromkeys(given))
    if not names:
        raise ValueError("recommend: formats=[]: expected one name or more, or None for all")
    for name in names:
        format_named(name)
    return names


def _count(products: Any) -> int:
    if not isinstance(products, Integral) or isinstance(products, bool):
        raise TypeError(f"recommend: products={products!r}: expected a whole number")
    if not 1 <= int(products) <= _LAST:
        raise ValueError(f"recommend: products={products}: expected 1 to 2^53")
    return int(products)


def _that_fit(
    found: Iterable[Candidate], csr: SparseArray, limit: int | None
) -> tuple[list[Candidate], dict[str, str]]:
    """Return the layouts that fit into memory beside csr, and why the others do not."""
    fitting, out = [], {}
    free, where = cache(memory.available_bytes), csr._place
    for one in found:
        needed = one.nbytes + csr.nbytes * (one.format != COMMON)
        if memory.fits(needed, limit, where, free):
            fitting.append(one)
        else:
            there = f"{memory.human(free(where))} are free" if limit is None else "beyond max_bytes"
            out[one.name] = f"would take {memory.human(needed)} while it is made, {there}"
    return fitting, out


def _beside(base: Candidate | None, found: list[Candidate]) -> list[Candidate]:
    """Return layouts with the one that a matrix has, first."""
    return found if base is None else [base, *(one for one in found if one.name != base.name)]


def _ranked(found: list[Candidate], base: Candidate | None, products: int) -> list[Candidate]:
    """Return layouts by the time that all takes; first the one that is recommended.

    Of those that take as long it is one with few options, and of these one of diagonals, where they are nearly full.
    """
    by_time = sorted(found, key=lambda one: one.total(products))
    best = by_time[0].total(products)
    same = [one for one in by_time if one.total(products) <= _SAME * best]
    first = min(same, key=lambda one: (one.simple, not one.nearly_full, one.total(products)))
    if base is not None and first.total(products) > _CHANGES * base.total(products):
        first = base
    return [first, *(one for one in by_time if one is not first)]
