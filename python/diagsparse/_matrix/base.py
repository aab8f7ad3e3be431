"""The base of every matrix class: attributes, and products with dense operands.

On the way from ``A @ x`` to the loop three places decide: `SparseArray.matvec` here, ``find_matvec`` in
``src/cpp/core/kernels.cpp`` (the table of names), and the kernel in ``src/cpp/kernels``.
"""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import scipy.sparse as sp

from .._arrays import device_dense, owners, streams
from .._arrays.host_dense import as_numpy, check_operand, operands, refuse_part_of
from .._places.arguments import SYMMETRIES, check_kernel
from .._places.backend import CPU, Place, place_of
from .._places.types import check_scalars, product_dtypes
from . import numpy_functions
from .among_scipys import add_methods, join_scipy
from .family import Family
from .registry import FORMATS, FormatName

TRANSPOSED, CONJUGATED = 1, 2  # the bits of SparseArray._op
_ONE, _ZERO = 1, 0  # the factors of a plain product, which need no check
_CpuMatrix = CPU.core.Matrix


if TYPE_CHECKING:  # all methods, which lie above this module; SciPy, which has no types, would hide them
    from .._formats.methods import Methods as Base
else:

    class Base(Family, sp.sparray): ...


class SparseArray(Base):
    """What all formats share. `A.T`, `A.H` and `A.conj()` are views: no value moves.

    A matrix is one of SciPy's sparse arrays, too: ``scipy.sparse.issparse`` says so, and what takes one takes it.
    """

    format: ClassVar[str]
    ndim: ClassVar[int] = 2
    __array_priority__ = 11.0
    __array_ufunc__ = numpy_functions.apply  # NumPy leaves `x @ A`, `x * A` and `x += A` to us
    __array_function__ = numpy_functions.call
    __array__ = numpy_functions.as_object

    _place: Place = CPU  # where it lives; of the instance on a GPU, as is the module that works there
    _core: Any = CPU.core
    _matrix: Any  # the C++ matrix
    _op: int  # what this view does with it
    _packed: bool = False  # in fewer places, or in 16 bits: most take `unpacked`, products with vectors do not
    _format: ClassVar[str]  # the same as `format`, `_shape` and `_dtype` as their namesakes: for the paths that count
    _shape: tuple[int, int]
    _dtype: np.dtype

    shape = property(attrgetter("_shape"), doc="Rows and columns.")
    dtype = property(attrgetter("_dtype"), doc="Type of the values.")

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "format" in cls.__dict__:
            if cls.format in FORMATS:
                raise TypeError(f"format {cls.format!r} is that of {FORMATS[cls.format].__name__}")
            FORMATS[cls.format] = cls
            cls._family = cls._family or cls.format
            cls._format, cls.format = cls.format, FormatName(cls.format)  # type: ignore[assignment]
            add_methods(cls, SparseArray)

    def _settle(self, place: Place) -> None:
        """Remember where the matrix lives; the class says it for the CPU."""
        if place is not CPU:
            self._place, self._core = place, place.core

    @staticmethod
    def _wrap(matrix: Any, op: int = 0) -> SparseArray:
        """Return a view of a C++ matrix. The class follows from the matrix's format."""
        format, dtype, rows, cols, packed, symmetry = matrix.told
        self = object.__new__(FORMATS[format])
        self._matrix = matrix
        self._dtype = dtype
        if packed:
            self._packed, op = True, _turned(symmetry, op)
        self._op = op if dtype.kind == "c" else op & TRANSPOSED
        self._shape = (cols, rows) if op & TRANSPOSED else (rows, cols)
        if type(matrix) is not _CpuMatrix:
            self._settle(place_of(matrix))
        return self

    # ---- attributes -------------------------------------------------------------------------------
    @property
    def nnz(self) -> int:
        """Count of stored values that lie in the matrix, explicit zeros included."""
        return self._matrix.stored

    @property
    def size(self) -> int:
        """The same as `nnz`, as in SciPy."""
        return self.nnz

    @property
    def nbytes(self) -> int:
        """Bytes of all parts. A view shares the parts of its origin."""
        return self._matrix.nbytes

    @property
    def device(self) -> str:
        """Where the values live: ``"cpu"``, ``"cuda"``, ``"cuda:1"``, ..."""
        return self._place.name

    def parts(self) -> dict[str, Any]:
        """Return every array of the layout by name, zero-copy; `csr_array` and the others take them so, with a shape.

        The values may be written to. Everything else is read-only: kernels trust it, and other matrices may share it.
        On a GPU the values, and the indices of csr, csc and coo, are `DeviceArray`s: CuPy, PyTorch and JAX take them by
        ``from_dlpack`` (which copies what is read-only), ``.get()`` copies to NumPy. What describes diagonals is
        NumPy's everywhere.

        Raises
        ------
        ValueError
            For a view (`A.T`, `A.H`, `A.conj()`): it has no layout of its own; ``A.T.copy()`` makes one.
        """
        self._require_plain("parts")
        return self._matrix.parts()

    @property
    def values(self) -> Any:
        """The stored values, zero-copy; writing to them changes the matrix.

        On a GPU a `DeviceArray`, as in `parts`. ``A.values = new`` takes a scalar or an array everywhere; of a matrix
        in Hermitian storage the main diagonal has to stay real.
        """
        self._require_plain("values")
        return self._matrix.stored_values

    @values.setter
    def values(self, new: Any) -> None:
        self._require_plain("values")
        self._write(new, "values")

    def _write(self, new: Any, name: str) -> None:
        if SYMMETRIES[self._matrix.symmetry] == "hermitian":  # whose main diagonal has to stay real
            changed = self._matrix.values.copy()
            device_dense.write(self._place, changed, new, name)
            self._matrix.with_values(changed)  # raises
        device_dense.write(self._place, self._matrix.stored_values, new, name)

    def _require_plain(self, what: str) -> None:
        if self._op:
            view = {1: "transposed", 2: "conjugated", 3: "adjoint"}[self._op]
            raise ValueError(
                f"{what}: this {self.format}_array is a {view} view and has no parts of its own; .copy() it"
            )

    # ---- products with dense operands -------------------------------------------------------------
    def matvec(
        self,
        x: Any,
        *,
        out: Any = None,
        alpha: complex = 1,
        beta: complex = 0,
        kernel: str | None = None,
        stream: Any = None,
    ) -> Any:
        """Return ``alpha A x + beta out`` for a vector or a dense block.

        Parameters
        ----------
        x : array_like, shape (n,) or (n, k)
            C order, F order, or strided. For a matrix on a GPU also an array of CuPy, PyTorch or JAX there, or
            any other with ``__dlpack__`` or ``__cuda_array_interface__``; NumPy's is copied to it.
        out : array, shape (m,) or (m, k), optional
            Receives the result and is returned. It may be `x` itself. NumPy's, or on the GPU CuPy's, PyTorch's, ours.
        alpha, beta : scalar
            ``beta`` other than 0 needs `out`.
        kernel : str, optional
            A name from ``A.kernels("matvec")``; by default the first.
        stream : optional
            For a matrix on a GPU: a CuPy or PyTorch stream, an object with ``__cuda_stream__``, or a pointer. By
            default the current stream of the library that owns `x`.

        Returns
        -------
        array
            Of the library of `x`, of NumPy's result type of A and x, and in the order (C or F) of `x`. From a GPU
            it comes before the work is done, in the order of the stream; NumPy's result is waited for.

        Raises
        ------
        ValueError
            Shapes that do not fit, an unknown kernel, ``beta`` without `out`, an `out` that is part of A's values, `x`
            on another GPU than A, a `stream` for a matrix on the cpu.
        TypeError
            Values that are no numbers or are masked, `out` of another dtype, an array on a GPU beside a matrix on the
            cpu.

        Notes
        -----
        Reads A once: the cost is ``A.nbytes`` over the memory bandwidth. The bits of the result do
        not depend on the number of threads.

        `alpha` multiplies each sum when it is whole, and the sum of a row that stores nothing is 0: an infinite or
        undefined `alpha` gives NaN there, with every kernel. ``alpha=0`` does not spare infinities in A or x, which
        give NaN; ``beta=0`` does not read `out`.
        """
        return self._apply(self._op, self._shape, x, out, alpha, beta, kernel, "matvec", stream)

    def rmatvec(
        self,
        x: Any,
        *,
        out: Any = None,
        alpha: complex = 1,
        beta: complex = 0,
        kernel: str | None = None,
        stream: Any = None,
    ) -> Any:
        """Return ``alpha A.H x + beta out``: the adjoint, as of `scipy.sparse.linalg.LinearOperator`."""
        op = self._op ^ (TRANSPOSED | CONJUGATED)
        return self._apply(op, self._shape[::-1], x, out, alpha, beta, kernel, "rmatvec", stream)

    matmat, rmatmat = matvec, rmatvec

    def _apply(
        self,
        op: int,
        shape: tuple[int, int],
        x: Any,
        out: Any,
        alpha: complex,
        beta: complex,
        kernel: str | None,
        who: str,
        stream: Any,
    ) -> Any:
        if kernel is not None:
            check_kernel(kernel, who)
        if self._place is not CPU:
            return device_dense.product(self, op, shape, x, out, alpha, beta, kernel, who, stream)
        if stream is not None:
            streams.on(CPU, stream, who)  # raises
        if type(x) is not np.ndarray:
            owners.refuse_beside_cpu(x, CPU, who)
            x = as_numpy(x, who)
        if x.ndim not in (1, 2) or x.shape[0] != shape[1]:
            check_operand(x.shape, shape, who)  # raises
        if x.dtype is self._dtype and not self._packed:
            result = x.dtype
        else:
            wanted, result = product_dtypes(self._dtype, x.dtype)
            if x.dtype is not wanted:
                x = x.astype(wanted)
        if alpha is not _ONE or beta is not _ZERO:
            check_scalars(result, alpha, beta, who)
        x, y = operands(x, shape[0], result, out, beta, who)
        self._core.matvec(self._matrix, op, x, y, alpha, beta, kernel or "")
        if out is not None and y is not out:
            refuse_part_of(self._matrix.values, out, who, self._core)
            out[...] = y
            return out
        return y


def _turned(symmetry: int, op: int) -> int:
    """Return the bits of a view of a symmetric or Hermitian matrix without the one that transposes."""
    if symmetry == 0 or not op & TRANSPOSED:
        return op
    return op & CONJUGATED if symmetry == 1 else (op & CONJUGATED) ^ CONJUGATED


def issparse(x: Any) -> bool:
    """Whether `x` is one of this library's matrices."""
    return isinstance(x, SparseArray)


def is_scipys(x: Any) -> bool:
    """Whether `x` is a sparse matrix or array of SciPy's own."""
    return sp.issparse(x) and not isinstance(x, SparseArray)


join_scipy(SparseArray)
