"""The choice of a format and its options: `recommend` explains it, and `array` applies it."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal, overload

from ._advice import variants
from ._advice.arguments import OPS, check_op, check_reuse, format_names, product_count
from ._advice.candidates import Candidates, as_csr, csr_if_possible, given_matrix, seconds_to_csr
from ._advice.machine import machine
from ._advice.ranking import fitting_layouts, ranked_layouts, with_current
from ._advice.reasons import reason
from ._advice.recommendation import Recommendation
from ._advice.tuning import tuned
from ._backends import memory
from ._backends.backend import CPU, get_backend
from ._backends.types import is_narrow, named_dtype
from ._matrix.construct import first_format
from ._matrix.convert import convert
from ._matrix.operands import is_sparse
from ._matrix.registry import FORMATS, format_named, storing_16_bits
from ._matrix.sparse_array import SparseArray
from ._matrix.summary import has_full_diagonals
from ._products.batch import Batch

if TYPE_CHECKING:
    from ._solving.ranking import MethodCandidate
    from ._solving.recommendation import MethodRecommendation

__all__ = ["MethodCandidate", "MethodRecommendation", "Recommendation", "array", "recommend"]

_PRODUCTS = 1000
_FEW = 10_000  # nonzeros; with fewer, a product is so short that the choice takes longer than it could save


@overload
def recommend(A: Any, op: Literal["solve"], *, device: str | None = None) -> MethodRecommendation: ...


@overload
def recommend(
    A: Any, op: str = "matvec", *, device: str | None = None, products: int = _PRODUCTS, reuse: bool = True,
    formats: Sequence[str] | None = None, tune: bool = False, narrow: bool = False, reorder: bool = False,
    max_bytes: int | None = None,
) -> Recommendation: ...  # fmt: skip


def recommend(
    A: Any,
    op: str = "matvec",
    *,
    device: str | None = None,
    products: int = _PRODUCTS,
    reuse: bool = True,
    formats: Sequence[str] | None = None,
    tune: bool = False,
    narrow: bool = False,
    reorder: bool = False,
    max_bytes: int | None = None,
) -> Recommendation | MethodRecommendation:
    """Recommend the format and the options in which products with a matrix should be fastest, or a method to solve.

    Parameters
    ----------
    A : sparse matrix (of diagsparse, SciPy or CuPy) or dense 2-D array, shape (m, n); for "solve" also a batch
        Integers and bools count as float64. Explicit zeros count like other entries.
    op : {"matvec", "matmul", "solve"}
        The operation: y = A x; or C = A A or A x = b, which need a square matrix. For "solve", methods are compared
        instead of formats, and `device` is the only option.
    device : str, optional
        The device on which the products will run, or the systems are solved, by default that of A.
    products : int
        The number of products that will be computed. The conversion has to be worth it within this number.
    reuse : bool
        Whether the products follow each other directly, as in an iterative solver, so that the caches still contain
        some of A, x and y. False: the program reads other data between two products.
    formats : list of str, optional
        The formats to consider, or one name, by default all. If none is faster, the matrix should stay as it is.
    tune : bool
        Build and measure the layouts with the shortest predicted times. This takes about as long as 100 products.
    narrow : bool
        Also consider values with fewer bytes, provided that no value is rounded. This changes the dtype of the matrix.
        Products with vectors of the original dtype still have that dtype.
    reorder : bool
        Also consider the reverse Cuthill-McKee order, on the CPU. Products with the result still use vectors in the
        original order.
    max_bytes : int, optional
        Limit for the bytes of a layout together with csr, from which it is built, by default the free memory. The
        layout that the matrix has already is always allowed.

    Returns
    -------
    Recommendation or MethodRecommendation
        ``str()`` returns a table and the reason. ``build()`` returns the matrix in the recommended layout. For "solve",
        ``method`` is what `solve` tries first, and ``candidates`` are all methods with forecasts.

    Raises
    ------
    TypeError, ValueError
        If A is not a matrix of numbers, if an argument is invalid, or if the matrix has 2^31 or more rows or columns,
        which csr does not support (`array` leaves such a matrix as it is).
    MemoryError
        If A is packed and does not fit in memory in full. The message states the number of bytes.
    CudaUnavailable
        If the device cannot be used.

    Notes
    -----
    The times are predicted by a model, from the bytes that a product moves, the bandwidth of a typical machine, and the
    number of operations. Nothing is timed without `tune`, and no layout other than csr is built without `tune` or
    `reorder`. The numbers of bytes are exact: they follow from counts over all column indices, which are made only for
    formats that are fast enough by a sample of some thousand entries. On a CPU, a recommendation takes one to ten
    products in csr for matrices of a million nonzeros, and half a millisecond for small ones; on a GPU it takes some
    milliseconds. Checking a SciPy matrix, and converting one that is not in csr, may take equally long.

    With the same number of threads, the same matrix always gets the same recommendation. A layout with more options
    than another one has to be 5 % faster, and so does csr if the diagonals are nearly full, and otherwise any other
    format. A layout that has to be built has to be 10 % faster than the present one. ``ties`` take up to 10 % longer.

    On a CPU, symmetry is tested by sums of hashes, which are wrong for one matrix in 2^64. When the matrix is built,
    all entries are compared, and all of them are stored if the test was wrong.

    Examples
    --------
    >>> import diagsparse as ds
    >>> A = ds.gallery.transverse_ising(16)
    >>> advice = ds.recommend(A)
    >>> advice.format
    'mdia'
    >>> advice.build()
    <mdia_array 65536 x 65536 float64: 33 diagonals from -32768 to 32768, palette, 1114112 stored, 320 KB,
    cpu>
    >>> ds.recommend(ds.gallery.diffusion((500, 500)), "solve").method
    'multigrid'
    """
    if op == "solve":
        options = {"products": products != _PRODUCTS, "reuse": not reuse, "formats": formats is not None, "tune": tune,
                   "narrow": narrow, "reorder": reorder, "max_bytes": max_bytes is not None}  # fmt: skip
        if given_options := [name for name, given in options.items() if given]:
            raise ValueError(f'recommend: {", ".join(given_options)}: only for products, not for op="solve"')
        A = A if isinstance(A, Batch) else given_matrix(A, "recommend")
        check_op(op, A, "recommend")
        from ._solving.recommendation import recommended  # takes long to import, and products do not need it

        return recommended(A.to(get_backend(device, A._backend).name))
    if isinstance(A, Batch):
        raise TypeError(f'recommend: A is {A!r}; formats are for a matrix, such as A[0], and op="solve" for batches')
    names = format_names(formats)
    count = product_count(products)
    check_reuse(reuse)
    limit = None if max_bytes is None else memory.checked_limit(max_bytes, "recommend")
    given = given_matrix(A, "recommend")
    check_op(op, given, "recommend")
    if op == "matmul" and (narrow or reorder):
        which = "narrow" if narrow else "reorder"
        raise ValueError(f"recommend: {which}=True is for products with vectors; it would change the matrix C = A A")
    where = get_backend(device, given._backend)
    if reorder and where is not CPU:
        raise ValueError(f"recommend: reorder=True is available on the cpu only, got device {where.name}")
    csr = as_csr(given, where, "recommend")
    candidates = Candidates(csr, machine(where, reuse), op, seconds_to_csr=seconds_to_csr(given, csr, given is not A))
    current, requested = candidates.current(A, given), formats is not None
    default = current if is_sparse(A) else None  # a dense array cannot keep its layout
    layouts = [*candidates.layouts(names, requested)]
    layouts += variants.narrower(candidates, names, requested) if narrow else []
    layouts += variants.reordered_layouts(candidates, names, requested) if reorder else []
    fitting, left_out = fitting_layouts(layouts, csr, limit)
    original_order = " in the original order" * reorder
    why_not = {name: candidates.why_not(name) or candidates.too_large(name) for name in names} if requested else {}
    left_out |= {name: why + original_order for name, why in why_not.items() if why}
    ranked = ranked_layouts(with_current(current, fitting), default, count)
    if tune:
        measured = tuned(ranked, current, candidates, count, limit)
        current = measured[0]
        ranked = ranked_layouts(measured, current if default else None, count)
    best, all_fit = ranked[0], requested or not left_out
    return Recommendation(
        shape=csr.shape, dtype=candidates.dtype, nnz=csr.nnz, op=op, products=count, reuse=reuse, device=where.name,
        threads=candidates.machine.threads, current=current, candidates=ranked,
        reason=reason(ranked, current, count, all_fit, requested),
        hints=[] if narrow or best.order else variants.hints(candidates, best), left_out=left_out, _csr=csr,
    )  # fmt: skip


def array(
    arg: Any, format: str | None = None, *, op: str = "matvec", dtype: Any = None, device: str | None = None,
    copy: bool = False, **layout: Any,
) -> SparseArray:  # fmt: skip
    """Convert a matrix to diagsparse, in a given format or in the one that should be fastest.

    Parameters
    ----------
    arg : sparse matrix (of diagsparse, SciPy or CuPy) or dense 2-D array, shape (m, n)
        If a `format` is given, everything that the class of this format accepts, such as its component arrays.
    format : str, optional
        One of `diagsparse.formats()`. By default, the layout that `recommend` selects for a thousand products. A matrix
        of diagsparse is converted as well, or returned itself if `recommend` says that it should stay as it is. If
        `recommend` would leave a matrix of SciPy or CuPy as it is, the best layout of diagsparse is used. Other
        matrices with fewer than 10000 nonzeros are stored in csr, unless their diagonals are nearly full: then in dia,
        or in hm if the padding of dia would need more bytes than csr.
    op : {"matvec", "matmul"}
        The operation that should be fast if no format is given: y = A x, or C = A A.
    dtype : dtype, optional
        The dtype of the values. By default, integers and bools become float64, with a `ConversionWarning`. A dense
        array of 16-bit floats needs this argument: ``"float32"``, or ``"float16"`` or ``"bfloat16"`` together with a
        `format` that stores them, such as dia, hm, cdm, mdia and bmsparse.
    device : str, optional
        ``"cpu"``, ``"cuda"``, ``"cuda:1"``, ...; by default the device of `arg`.
    copy : bool
        Whether the values are copied in any case. By default, the result shares them with `arg` where its format stores
        the same values in the same order, such as csr and coosr for SciPy's csr: then ``A *= 2`` changes both.
    **layout
        Options of the format, such as ``sigma=`` for sell or ``period=`` for dia, and ``shape=`` if `arg` is a tuple of
        component arrays.

    Returns
    -------
    SparseArray
        A matrix of shape (m, n), in the class of its format.

    Raises
    ------
    ValueError
        If the format or operation does not exist, or the options are impossible for this matrix.
    TypeError
        If the format does not have one of the options, options are given without a format, or 16-bit floats without a
        dtype.
    MemoryError
        If the matrix does not fit in memory. The message states the number of bytes.

    Notes
    -----
    Without a format nothing is timed, so the same matrix always gets the same layout. The call takes as long as
    `recommend` and the conversion, and very little if there are few nonzeros. A matrix that cannot be converted
    to csr stays as it is, and so does a matrix of diagsparse with 16-bit values.

    Examples
    --------
    >>> import diagsparse as ds
    >>> ds.array(ds.gallery.heisenberg(14))
    <mdia_array 16384 x 16384 float64: 27 diagonals from -4096 to 4096, palette, 122880 stored, 68.4 KB,
    cpu>
    >>> A = ds.array(ds.gallery.stencil(5, (1000, 1000)))
    >>> A
    <dia_array 1000000 x 1000000 float64: 5 diagonals from -1000 to 1000, period 1000, 4997998 stored, 40.0 KB, cpu>
    >>> ds.array(A) is A
    True
    >>> ds.array(ds.gallery.arrow(1000, seed=0), "sell", sigma=64).format
    'sell'
    """
    if op not in OPS:
        check_op(op, None, "array")  # raises
    if format is not None:
        return format_named(format).array(arg, dtype=dtype, device=device, copy=copy, **layout)
    if layout:
        raise TypeError(f"array: {', '.join(layout)}: options of a format need format=")
    ours = isinstance(arg, SparseArray)
    if ours:
        given = arg if dtype is None and not copy else arg.astype(dtype or arg.dtype, copy=copy)
    elif dtype is not None and is_narrow(named_dtype(dtype)):
        name, storing = named_dtype(dtype).name, storing_16_bits()
        raise TypeError(f"array: dtype {name} needs a format= that supports 16-bit floats: {storing}")
    else:
        given = first_format(arg).array(arg, dtype=dtype, device=device, copy=copy)
    check_op(op, given, "array")
    if not ours and given.nnz < _FEW:
        return _by_rule(given)
    where = get_backend(device, given._backend)
    if (csr := csr_if_possible(given, where, "array")) is None:
        return given.to(where.name)
    candidates = Candidates(csr, machine(where), op, seconds_to_csr=seconds_to_csr(given, csr, not ours))
    current = candidates.current(given, given) if ours else None
    fitting, _ = fitting_layouts(candidates.layouts(list(FORMATS)), csr, None)
    layouts = with_current(current, fitting)
    if not layouts:  # nothing fits in addition to the csr matrix
        return csr
    built: SparseArray = ranked_layouts(layouts, current, _PRODUCTS)[0].build(csr)
    return built


def _by_rule(first: SparseArray) -> SparseArray:
    """Return a small matrix, given in its `first_format`, in dia or hm if its diagonals are nearly full."""
    if not has_full_diagonals(s := first._summary()):
        return first
    return convert(first, "dia" if FORMATS["dia"].nbytes(s) <= first.nbytes else "hm")


if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        if name in ("MethodCandidate", "MethodRecommendation"):
            return getattr(import_module("diagsparse._solving.recommendation"), name)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__})
