"""The data of a matrix: the native matrix, and the view of it that this one is.

`SparseArray` adds what a matrix does. The functions that it binds lie between the two, and take a matrix of any class
as their first argument.
"""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import numpy as np
import scipy.sparse as sp

from .._arrays import device_dense
from .._backends.arguments import SYMMETRIES
from .._backends.backend import CPU, Backend, backend_of
from .registry import FORMATS

M = TypeVar("M", bound=Any)  # a matrix: for type checkers the results of its methods have its class
TRANSPOSED, CONJUGATED = 1, 2  # the bits of Base._op
_CpuMatrix = CPU.core.Matrix


if TYPE_CHECKING:  # SciPy has no types: it would hide from type checkers what a matrix does not have
    from .some_formats import SomeFormats as Parent
else:
    Parent = sp.sparray


class Base(Parent):
    """A view of a native matrix: as it is stored, transposed, conjugated, or both. No view moves a value."""

    format: ClassVar[str]
    ndim: ClassVar[int] = 2

    _format: ClassVar[Any]  # what depends on the format: a `Format`, in `_formats/format.py`
    _backend: Backend = CPU  # the device; an attribute of the instance on a GPU, as is the module that works there
    _core: Any = CPU.core
    _matrix: Any  # the native matrix
    _op: int  # the bits of the view
    _packed: bool = (
        False  # in fewer values or in 16 bits: most operations take `unpacked`, products with vectors do not
    )
    _shape: tuple[int, int]
    _dtype: np.dtype

    shape = property(attrgetter("_shape"), doc="Rows and columns.")
    dtype = property(attrgetter("_dtype"), doc="Type of the values.")

    @staticmethod
    def _wrap(matrix: Any, op: int = 0) -> Any:
        """Return a view of a native matrix. The class follows from its format."""
        format, dtype, rows, cols, packed, symmetry = matrix.description
        self = object.__new__(FORMATS[format].array)
        self._matrix = matrix
        self._dtype = dtype
        if packed:
            self._packed, op = True, _without_transpose(symmetry, op)
        self._op = op if dtype.kind == "c" else op & TRANSPOSED
        self._shape = (cols, rows) if op & TRANSPOSED else (rows, cols)
        if type(matrix) is not _CpuMatrix:
            self._set_backend(backend_of(matrix))
        return self

    def _set_backend(self, backend: Backend) -> None:
        """Set the device; the class has that of the CPU."""
        if backend is not CPU:
            self._backend, self._core = backend, backend.core

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
        return self._backend.name

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
        require_plain(self, "parts")
        return self._matrix.parts()

    @property
    def values(self) -> Any:
        """The stored values, zero-copy; writing to them changes the matrix.

        On a GPU a `DeviceArray`, as in `parts`. ``A.values = new`` takes a scalar or an array everywhere; of a matrix
        in Hermitian storage the main diagonal has to stay real.
        """
        require_plain(self, "values")
        return self._matrix.stored_values

    @values.setter
    def values(self, new: Any) -> None:
        require_plain(self, "values")
        write_values(self, new, "values")


def _without_transpose(symmetry: int, op: int) -> int:
    """Return the bits of a view of a symmetric or Hermitian matrix without the one that transposes."""
    if symmetry == 0 or not op & TRANSPOSED:
        return op
    return op & CONJUGATED if symmetry == 1 else (op & CONJUGATED) ^ CONJUGATED


def require_plain(a: Any, what: str) -> None:
    """Raise ValueError for a view that is transposed or conjugated: it has no component arrays of its own."""
    if a._op:
        view = {1: "transposed", 2: "conjugated", 3: "adjoint"}[a._op]
        raise ValueError(f"{what}: this {a.format}_array is a {view} view and has no parts of its own; .copy() it")


def write_values(a: Any, new: Any, name: str) -> None:
    """Write a number or an array to the stored values."""
    if SYMMETRIES[a._matrix.symmetry] == "hermitian":  # whose main diagonal has to stay real
        changed = a._matrix.values.copy()
        device_dense.write(a._backend, changed, new, name)
        a._matrix.with_values(changed)  # raises
    device_dense.write(a._backend, a._matrix.stored_values, new, name)


def issparse(x: Any) -> bool:
    """Whether `x` is one of this library's matrices."""
    return isinstance(x, Base)


def is_from_scipy(x: Any) -> bool:
    """Whether `x` is a sparse matrix or array of SciPy's own."""
    return sp.issparse(x) and not isinstance(x, Base)
