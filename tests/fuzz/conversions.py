"""From format to format, dtype to dtype, to files and pickles and back: the values stay, copies are copies."""

import copy
import io
import pickle
from typing import Any

import numpy as np
import scipy.sparse as sp
from cases import VIEWS, fits, host
from formats import decode

import diagsparse as ds
from fuzz.arrays import NARROW, VALUE, arranged, numbers, widened
from fuzz.case import Case
from fuzz.checks import refused, require_equal, same, shared
from fuzz.matrices import DIAGONAL, STORING_16_BITS, Drawn, as_scipy, draw


def formats(case: Case) -> None:
    """`asformat`, the constructors and ``to<format>()``."""
    drawn = draw(case, large=0.02, special=True)
    A, format = drawn.A, case.pick(ds.formats())
    way = case.pick(["asformat", "asformat with copy", "constructor", "to", "array"])
    case.note(way, format)
    calls = {
        "asformat": lambda: A.asformat(format),
        "asformat with copy": lambda: A.asformat(format, copy=True),
        "constructor": lambda: getattr(ds, f"{format}_array")(A, copy=True),
        "to": lambda: getattr(A, f"to{format}")(),
        "array": lambda: ds.array(A, format),
    }
    if not fits(format, A.shape):
        return refused(ValueError, calls[way], "cdm_array is for square matrices")
    result = calls[way]()
    same(result, drawn.exact, format, widened(A.dtype) if format != A.format else A.dtype)
    if way in ("asformat with copy", "constructor"):
        assert not shared(result, A), f"{way}: {shared(result, A)} are those of the origin"
    if not drawn.large and result.shape != (0, 0) and case.chance(0.1) and not result._packed and not result._op:
        require_equal(decode(format, host(result.parts()), result.shape), drawn.exact)
    if case.chance(0.2) and not drawn.large and not A._packed and not result._op:
        report = ds.memory_report(A)
        assert report[format] >= result.nbytes, f"forecast {report[format]}, got {result.nbytes}"
    drawn.require_unchanged()


def copies(case: Case) -> None:
    """A copy is equal, plain, and shares no memory."""
    drawn = draw(case, large=0.02, special=True)
    A = drawn.A
    ways = {
        "copy": A.copy,
        "copy.copy": lambda: copy.copy(A),
        "copy.deepcopy": lambda: copy.deepcopy(A),
        "conj": lambda: A.conj(copy=True).conj(),
        "transpose": lambda: A.transpose(copy=True).T,
        "plus 0": lambda: A + 0,
        "times 1": lambda: A * 1,
    }
    way = case.pick(list(ways))
    case.note(way)
    result = ways[way]()
    with np.errstate(all="ignore"):  # NumPy's product of a complex infinity and 1 holds a NaN
        same(result, drawn.exact * 1 if way == "times 1" else drawn.exact, dtype=A.dtype)
    parts = set(shared(result, A)) - ({"indices", "indptr", "row", "col"} if way == "times 1" else set())
    assert not parts, f"{parts} are those of the origin"
    if result._matrix.values.size and not result._op:
        result.values = 0
    drawn.require_unchanged()


def dtypes(case: Case) -> None:
    """`astype`."""
    drawn = draw(case, large=0.02, special=True)
    A, wanted = drawn.A, case.pick([*VALUE, *NARROW, np.dtype("int64"), np.dtype("longdouble")])
    case.note("astype", wanted)
    narrow = wanted in NARROW and A.format in STORING_16_BITS
    lossy = drawn.exact.dtype.kind == "c" and wanted.kind != "c"
    if lossy or not (wanted in VALUE or narrow):
        return refused(TypeError, lambda: A.astype(wanted), f"{A.dtype} to {wanted}")
    result = A.astype(wanted, copy=case.chance(0.5))
    with np.errstate(all="ignore"):
        exact = drawn.exact.astype(wanted) if wanted not in NARROW else None
        if exact is None and not drawn.large:
            exact = drawn.exact.astype(wanted).astype(np.float32)
    if exact is not None:
        same(result, exact, A.format, wanted)
    drawn.require_unchanged()


def to_dense(case: Case) -> None:
    """`toarray`, with an order or into an array that is anywhere in memory."""
    drawn = draw(case, special=True)
    A, out = drawn.A, None
    if case.chance(0.5):
        out = arranged(case, numbers(case, A.shape, A.dtype), ("C", "F", "steps", "window", "misaligned"))
        got = case.pick([A.toarray, A.todense])(out=out.array)
        assert got is out.array, "out was not returned"
        out.require_unchanged("out", around=True)
    else:
        order = case.pick([None, "C", "F"])
        got = A.toarray(order)
        assert got.flags.f_contiguous if order == "F" else got.flags.c_contiguous
    assert got.dtype == A.dtype, f"dtype {got.dtype}, expected {A.dtype}"
    require_equal(got.astype(drawn.exact.dtype), drawn.exact)
    drawn.require_unchanged()


def to_scipy(case: Case) -> None:
    """To SciPy in each of its formats, and back."""
    drawn = draw(case, large=0.02, special=True)
    format = case.pick([None, "csr", "csc", "coo", "dia", "lil"])
    case.note("to_scipy", format)
    result = as_scipy(drawn.A, format)
    assert result.shape == drawn.shape and result.dtype == drawn.exact.dtype, f"{result.dtype} {result.shape}"
    if drawn.large:
        assert not (sp.csr_array(result) != drawn.exact).nnz, "values differ"
    else:
        require_equal(result.toarray(), drawn.exact)
    back = [f for f in ds.formats() if fits(f, drawn.shape)]
    same(getattr(ds, f"{case.pick(back)}_array")(result), drawn.exact)
    drawn.require_unchanged()


def pickled(case: Case) -> None:
    """Through `pickle`: the same view of the same layout."""
    drawn = draw(case, large=0.02, special=True)
    result = pickle.loads(pickle.dumps(drawn.A, case.between(0 if drawn.A.dtype not in NARROW else 2, 5)))
    same(result, drawn.exact, drawn.A.format, drawn.A.dtype)
    assert (result._op, result.nbytes) == (drawn.A._op, drawn.A.nbytes)
    _require_same_packing(result, drawn.A)
    drawn.require_unchanged()


def files(case: Case) -> None:
    """Through a file."""
    drawn = draw(case, large=0.005, special=True)
    suffix = case.pick([".npz", ".npz", ".mtx", ".mtx.gz"])
    case.note("through", suffix)
    path = case.folder / f"a{suffix}"
    ds.write(path, drawn.A)
    result = ds.read(path)
    if suffix != ".npz":  # the decimals are the shortest that give the same bits back
        assert result.dtype == (np.complex128 if drawn.exact.dtype.kind == "c" else np.float64), result.dtype
        same(result.astype(drawn.exact.dtype), drawn.exact, "csr")
    else:
        same(result, drawn.exact, drawn.A.format, drawn.A.dtype)
        _require_same_packing(result, drawn.A)
    drawn.require_unchanged()


def _require_same_packing(result: Any, A: Any) -> None:
    if A.format in DIAGONAL:
        assert (result.symmetry, result.period) == (A.symmetry, A.period), f"packing of {result!r}"


def packings(case: Case) -> None:
    """Packing: options that the values allow are applied, others are refused."""
    drawn = draw(case, formats=DIAGONAL if case.chance(0.7) else None)
    A, exact = drawn.A, drawn.exact
    symmetry, period = case.pick([None, "symmetric", "hermitian"]), case.pick([None, 1, 2, 5])
    format = case.pick([f for f in DIAGONAL if fits(f, A.shape)])
    case.note(f"{format}, symmetry {symmetry}, period {period}")
    mirrored = symmetry is None or (
        exact.shape[0] == exact.shape[1]
        and np.array_equal(exact, exact.conj().T if symmetry == "hermitian" else exact.T)
    )
    repeating = period is None or all(
        np.array_equal(d[period:], d[:-period])
        for k in range(1 - A.shape[0], A.shape[1])
        if len(d := exact.diagonal(k)) > period
    )

    def call() -> Any:
        return A.asformat(format, symmetry=symmetry, period=period)

    if not (mirrored and repeating):
        return refused(ValueError, call, "the values do not allow it")
    result = call()
    same(result, exact, format)
    assert (result.symmetry, result.period) == (symmetry, period)
    same(result.unpacked(), exact, format, exact.dtype)
    drawn.require_unchanged()


def views(case: Case) -> None:
    """Views of views."""
    drawn = draw(case, special=True)
    A, exact = drawn.A, drawn.exact
    for op in case.pick(["TT", "CC", "HH", "TC", "HT", "CHT", "TTH"]):
        A = VIEWS[op](A)
        exact = exact.T if op in "TH" else exact
        exact = exact.conj() if op in "CH" else exact
    same(A, exact)
    same(A.copy(), exact)
    same(A.H.conj().T, exact)
    with io.StringIO() as text:
        print(repr(A), A._repr_html_(), file=text)
    drawn.require_unchanged()


def values(case: Case) -> None:
    """Written values are those of the matrix, of its views, and of a plan of diagonals."""
    drawn: Drawn = draw(case, plain=True, dtype=case.pick(VALUE))
    A = drawn.A.copy()
    T, plan = A.T, ds.plan_matmul(A, A.T) if A.format in DIAGONAL else None
    factor = case.pick([2, -1, 0])
    A.values = case.pick([A._backend.host(A.values) * factor, 0]) if factor else 0
    same(A, drawn.exact * factor if A.count_nonzero() else drawn.exact * 0)
    same(T, A.toarray().T)
    assert plan is None or np.array_equal(plan().toarray(), (A @ A.T).toarray()), "the plan has the old values"
    drawn.require_unchanged()


CHECKS = {formats: 3, copies: 1.5, dtypes: 1, to_dense: 1, to_scipy: 1.5, pickled: 1, files: 0.7, packings: 1.5,
          views: 0.5, values: 0.5}  # fmt: skip
