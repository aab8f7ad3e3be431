"""Linear combinations of matrices whose coefficients change, in one structure that is computed once."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Number
from typing import Any

import numpy as np

from .._arrays import new, owners, streams
from .._backends import memory
from .._backends.arguments import SYMMETRIES
from .._backends.types import complex_type, plain_number, real_type, require_float64
from .._matrix.convert import convert, widen
from .._matrix.operands import check_same_device, home_of, require_sparse
from .._matrix.protocols import not_pickled
from .._matrix.registry import COMMON, FORMATS, format_named
from .._matrix.sparse_array import SparseArray
from .._show import display

_WHO = "linear_combination"


def linear_combination(matrices: Sequence[Any], *, format: str | None = None) -> LinearCombination:
    """Return an object K that computes ``c0 A0 + c1 A1 + ...`` for any coefficients: ``K(c0, c1, ...)``.

    Use it for a sum whose coefficients change many times, such as ``H(t) = H0 + f(t) H1``: the structure of the sum is
    computed once, and each call only fills in values.

    Parameters
    ----------
    matrices : sequence of sparse matrices, shape (m, n)
        Ours or SciPy's, on one device. Their values are copied.
    format : {"dia", "hm", "cdm", "mdia", "csr", "csc", "coo"}, optional
        The format of the sum. By default mdia if one of the matrices is in mdia; that of the first one if all of them
        are in dia, hm or cdm; that of all if it is csc or coo; otherwise csr.

    Returns
    -------
    LinearCombination
        Call it with as many coefficients as there are matrices.

    Raises
    ------
    TypeError
        If `matrices` is not a sequence of sparse matrices.
    ValueError
        If there are none, they differ in shape, are on different devices, or the format is none of these.
    MemoryError
        If the values of all terms in the structure of the sum do not fit.

    Notes
    -----
    In dia, hm and cdm, the values of each matrix are stored for its own diagonals, and a call costs one pass over them
    and over the values of the sum. In csr, csc, coo, and mdia without palettes, they are stored for all elements of the
    sum. In mdia with palettes, the terms get joint codes, and a call only computes the tables,
    a few numbers for each diagonal; where the terms together have more than 256 different tuples of values on a
    diagonal, or one of them stores them one by one, so does the sum.

    The precision is that of the most precise matrix. Values in float16 and bfloat16 become float32. Elements that
    cancel remain stored. One triangle is stored only in mdia, and if all matrices have the same symmetry; otherwise
    matrices are unpacked.

    Examples
    --------
    >>> import diagsparse as ds
    >>> H0, H1 = ds.gallery.heisenberg(10, format="mdia"), ds.gallery.transverse_ising(10, format="mdia")
    >>> K = ds.linear_combination([H0, H1])
    >>> H = K(1.0, 0.5)
    >>> bool(abs(H - (H0 + 0.5 * H1)).max() < 1e-15)
    True
    >>> K(1.0, 2j).dtype
    dtype('complex128')
    """
    return LinearCombination(matrices, format)


class LinearCombination:
    """The sum of matrices with changing coefficients, as returned by `linear_combination`.

    ``K(c0, c1, ...)`` returns the sum with these coefficients. Without ``out=``, it is the same matrix in each call,
    whose values the next call overwrites. Coefficients are numbers, or for matrices on a GPU also 0-d arrays of CuPy,
    PyTorch or JAX there, which are read in the caller's stream without waiting for them. The sum is complex if one of
    the matrices or of the coefficients is of a complex type, in the precision of the matrices.

    Attributes
    ----------
    shape : (int, int)
    dtype : dtype
        Of the sum with real coefficients.
    terms : int
        The number of matrices, and of coefficients.
    format, device : str
    nbytes : int
        The bytes of the values of all terms, and of the matrices that were filled so far.
    """

    def __init__(self, matrices: Sequence[Any], format: str | None = None) -> None:
        if isinstance(matrices, (str, bytes)) or not isinstance(matrices, Sequence):
            given = type(matrices).__name__
            raise TypeError(f"{_WHO}: got {given}, expected a list of sparse matrices")
        if not matrices:
            raise ValueError(f"{_WHO}: got no matrices, expected one or more")
        home = home_of(*matrices)
        terms = [require_sparse(x, _WHO, f"matrix {k}", home) for k, x in enumerate(matrices)]
        for k, term in enumerate(terms[1:], 1):
            check_same_device(_WHO, terms[0], term, ("matrix 0", f"matrix {k}"))
            if term.shape != terms[0].shape:
                raise ValueError(
                    f"{_WHO}: matrix 0 is {display.operand(terms[0])}, and matrix {k} is {display.operand(term)}; "
                    "the shapes must agree"
                )
        name = _format_for(terms) if format is None else format_named(format).name
        wanted = FORMATS[name]
        if wanted.united is None:
            there = ", ".join(sorted(n for n, f in FORMATS.items() if f.united is not None))
            raise ValueError(f"{_WHO}: format={format!r}, expected one of {there}")
        matrix, values, runs = wanted.united([_in_precision(convert(t, name), terms) for t in terms])
        self._is_complex = any(v.dtype.kind == "c" for v in values)
        pieces = [piece for run in runs for piece in run.pieces]
        ends = np.cumsum([0, *(len(run.pieces) for run in runs)])
        lists = [(run.first, run.length, a, b) for run, a, b in zip(runs, ends[:-1], ends[1:], strict=True)]
        self._filler = matrix._core.LinearCombination(matrix._matrix, values, _integers(lists, 4), _integers(pieces, 2))
        self._real, self._backend, self._native = matrix.dtype, matrix._backend, matrix._matrix
        first = self._new(True) if self._is_complex else matrix
        self._native = first._matrix
        self._own = {self._is_complex: (first, first._matrix)}  # matrices that calls fill, real and complex, as created
        self.terms, self.shape, self.format, self.device = len(values), matrix.shape, matrix.format, matrix.device
        self.dtype = self._dtype(self._is_complex)
        self._text = display.text(matrix)[1:-1]

    def _dtype(self, is_complex: bool) -> np.dtype:
        return complex_type(self._real) if is_complex else self._real

    @property
    def nbytes(self) -> int:
        """Bytes of the values of all terms, and of the matrices that were filled so far."""
        return int(self._filler.nbytes) + sum(native.nbytes for _, native in self._own.values())

    def empty(self, dtype: Any = None) -> SparseArray:
        """Return a new matrix of zeros with the structure of the sum, for `out`.

        Parameters
        ----------
        dtype : dtype, optional
            ``K.dtype``, the default, or the complex type of the same precision.
        """
        wanted = self.dtype if dtype is None else np.dtype(dtype)
        if wanted not in (self.dtype, self._dtype(True)):
            raise ValueError(f"{_WHO}: dtype={wanted}, expected {self.dtype} or {self._dtype(True)}")
        return self._new(wanted.kind == "c")

    def _new(self, is_complex: bool) -> SparseArray:
        shape, dtype = self._native.values.shape, self._dtype(is_complex)
        nbytes = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
        memory.require_free(nbytes, f"{_WHO}: the values of the sum", self._backend)
        return SparseArray._wrap(self._native.with_values(new.zeros(self._backend, shape, dtype)))

    def __call__(self, *coefficients: Any, out: SparseArray | None = None, stream: Any = None) -> SparseArray:
        """Return ``c0 A0 + c1 A1 + ...``.

        Parameters
        ----------
        *coefficients : number, or array with one element
            One for each matrix. For matrices on a GPU also 0-d arrays of CuPy, PyTorch or JAX there, which are read in
            the caller's stream without waiting for them.
        out : sparse matrix, optional
            The matrix that is filled: one of ``K.empty(dtype)``, of an earlier call, or another one that shares its
            structure.
        stream : optional
            For matrices on a GPU, as in `SparseArray.matvec`.

        Returns
        -------
        sparse matrix
            `out`; by default the same matrix in each call, whose values the next call overwrites. It is complex if one
            of the matrices or of the coefficients is of a complex type, in the precision of the matrices.

        Raises
        ------
        TypeError
            For another number of coefficients, those that are not numbers, and arrays on a GPU if the matrices are not.
        ValueError
            If `out` has another structure or dtype, or a coefficient is complex and the matrices are stored as
            Hermitian, with one triangle.
        """
        if len(coefficients) != self.terms:
            raise TypeError(f"{_WHO}: got {len(coefficients)} coefficients for {self.terms} matrices")
        with streams.on(self._backend, stream, _WHO):
            return self._call([self._coefficient(c, k) for k, c in enumerate(coefficients)], out)

    def _call(self, given: list[tuple[Any, str]], out: Any) -> SparseArray:
        """Return the sum with these coefficients, filled in the current stream."""
        is_complex = self._is_complex or any(kind == "c" for _, kind in given)
        if SYMMETRIES[self._native.symmetry] == "hermitian" and any(kind == "c" for _, kind in given):
            raise ValueError(
                f"{_WHO}: a coefficient is complex, and the matrices are stored as Hermitian; unpack them: A.unpacked()"
            )
        if out is None:
            out = self._filled(is_complex)
        elif not isinstance(out, SparseArray) or out._op or out.dtype != self._dtype(is_complex):
            what = f"{out!r}" if isinstance(out, SparseArray) else type(out).__name__
            expected = f"expected a matrix of K.empty({self._dtype(is_complex).name!r})"
            raise ValueError(f"{_WHO}: out is {what}, {expected}")
        self._filler.fill(out._matrix, [c for c, _ in given])
        return out

    def _filled(self, is_complex: bool) -> SparseArray:
        """Return the matrix that calls without `out` fill."""
        matrix, native = self._own.get(is_complex, (None, None))
        if matrix is None or matrix._matrix is not native:  # an assignment to its values has discarded a palette
            matrix = self._new(is_complex)
            self._own[is_complex] = matrix, matrix._matrix
        return matrix

    def _coefficient(self, given: Any, k: int) -> tuple[Any, str]:
        """Return a coefficient as native code takes it, and the kind of its type."""
        if type(given) is float:
            return given, "f"
        if (owner := owners.owner_of(given)) is not None:
            owners.refuse_gpu_array(given, self._backend, _WHO, f"coefficient {k}")
            dtype = owner.dtype(given)
            if dtype.kind not in "iubfc" or int(np.prod(given.shape)) != 1:
                raise TypeError(f"{_WHO}: coefficient {k} is an array of shape {tuple(given.shape)} and dtype {dtype}")
            wanted = dtype if dtype.kind in "fc" and dtype.itemsize >= 4 else np.dtype(float)
            return owners.as_device_array(given, wanted, self._backend, _WHO, f"coefficient {k}"), dtype.kind
        if isinstance(given, np.ndarray) and given.size == 1:
            given = given.reshape(())[()]
        if not isinstance(given, Number):
            raise TypeError(f"{_WHO}: coefficient {k} is {given!r}, expected a number")
        require_float64(given, _WHO, f"coefficient {k}")
        if isinstance(given, (complex, np.complexfloating)):
            return complex(given), "c"
        return plain_number(given).real, "f"

    __reduce__ = not_pickled(
        "linear combinations cannot be pickled; pickle the matrices, and combine them again: "
        "diagsparse.linear_combination(matrices)"
    )

    def __repr__(self) -> str:
        return f"<linear combination of {self.terms} {'matrix' if self.terms == 1 else 'matrices'}: {self._text}>"


def _format_for(terms: list[SparseArray]) -> str:
    """Return the format of the sum if the user names none."""
    names = {t.format for t in terms}
    if "mdia" in names:
        return "mdia"
    if all(FORMATS[name].family == "diagonals" for name in names) or names in ({"csc"}, {"coo"}):
        return terms[0].format
    return COMMON


def _in_precision(a: SparseArray, terms: list[SparseArray]) -> SparseArray:
    """Return a matrix in the precision of the most precise one; real matrices stay real."""
    real = np.result_type(*(real_type(t.dtype) for t in terms))
    wanted = complex_type(real) if a.dtype.kind == "c" else real
    return widen(a).astype(wanted, copy=False)


def _integers(rows: list[Any], width: int) -> np.ndarray:
    return np.array(rows, np.int64).reshape(len(rows), width)
