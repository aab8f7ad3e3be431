"""The data of a matrix: the native matrix, and the kind of view of it.

`SparseArray` adds the methods, which are functions of the other modules of this folder. Their first argument is a
matrix of any class.
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

M = TypeVar("M", bound=Any)  # a matrix; type checkers infer that methods return its class
TRANSPOSED, CONJUGATED = 1, 2  # the bits of Base._op
_CpuMatrix = CPU.core.Matrix


if TYPE_CHECKING:  # SciPy is untyped: with its class as a base, type checkers would accept any attribute
    from .some_formats import SomeFormats as Parent
else:
    Parent = sp.sparray


class Base(Parent):
    """A view of a native matrix: as stored, transposed, conjugated, or both. Views share the values."""

    format: ClassVar[str]
    ndim: ClassVar[int] = 2

    _format: ClassVar[Any]  # the `Format` (`_formats/format.py`), which has everything that depends on the format
    _backend: Backend = CPU  # the device; on a GPU, this and `_core` are attributes of the instance
    _core: Any = CPU.core
    _matrix: Any  # the native matrix
    _op: int  # the bits of the view
    # Whether values are stored in 16 bits, or one for several elements. Products with dense operands read such a layout
    # directly, most other operations unpack the matrix first.
    _packed: bool = False
    _repeated: dict[tuple[int, str | None, bool], Any]  # on a GPU: see `_arrays/repeated_product.py`
    _shape: tuple[int, int]
    _dtype: np.dtype

    shape = property(attrgetter("_shape"), doc="Number of rows and of columns.")
    dtype = property(attrgetter("_dtype"), doc="Data type of the values.")

    @staticmethod
    def _wrap(matrix: Any, op: int = 0) -> Any:
        """Return a view of a native matrix, in the class of its format."""
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
        """Set the device if it is not the CPU, which is the default of the class."""
        if backend is not CPU:
            self._backend, self._core, self._repeated = backend, backend.core, {}

    @property
    def nnz(self) -> int:
        """Number of stored values, including explicit zeros but not padding."""
        return self._matrix.stored

    @property
    def size(self) -> int:
        """Number of stored values, the same as `nnz`."""
        return self.nnz

    @property
    def nbytes(self) -> int:
        """Bytes of all component arrays. A view shares the arrays of the matrix that it was taken from."""
        return self._matrix.nbytes

    @property
    def device(self) -> str:
        """The device of the values: ``"cpu"``, ``"cuda"``, ``"cuda:1"``, ..."""
        return self._backend.name

    def parts(self) -> dict[str, Any]:
        """Return the component arrays of the layout by name, without copying them.

        The constructor of the matrix's class accepts this dict together with ``shape=``. For packed matrices in dia, hm
        and cdm, it also needs their ``symmetry=`` and ``period=``, which these arrays do not contain.

        Returns
        -------
        dict
            The values may be written to. All other arrays are read-only, because kernels do not check them again and
            other matrices may share them. On a GPU the values, and the indices of csr, csc and coo, are each a
            `DeviceArray`: pass them to ``from_dlpack`` of CuPy, PyTorch or JAX (which copies read-only arrays), or copy
            them to NumPy with ``.get()``. The offsets of diagonals are NumPy arrays on every device.

        Raises
        ------
        ValueError
            For a view (`A.T`, `A.H`, `A.conj()`), which has no component arrays of its own; use ``A.T.copy()``.
        """
        require_plain(self, "parts")
        return self._matrix.parts()

    @property
    def values(self) -> Any:
        """The stored values, not copied; writing to them changes the matrix.

        On a GPU they are a `DeviceArray`, see `parts`. On every device, a scalar or an array can be assigned:
        ``A.values = new``. The main diagonal of a matrix in Hermitian storage has to stay real.
        """
        require_plain(self, "values")
        return self._matrix.stored_values

    @values.setter
    def values(self, new: Any) -> None:
        require_plain(self, "values")
        write_values(self, new, "values")


def _without_transpose(symmetry: int, op: int) -> int:
    """Return the bits of a view without the transpose, which for symmetric and Hermitian storage is redundant."""
    if symmetry == 0 or not op & TRANSPOSED:
        return op
    return op & CONJUGATED if symmetry == 1 else (op & CONJUGATED) ^ CONJUGATED


def require_plain(a: Any, what: str) -> None:
    """Raise ValueError for a view that is transposed or conjugated: it has no component arrays of its own."""
    if a._op:
        view = {1: "transposed", 2: "conjugated", 3: "adjoint"}[a._op]
        raise ValueError(
            f"{what}: this {a.format}_array is a {view} view and has no component arrays of its own; use .copy()"
        )


def write_values(a: Any, new: Any, name: str) -> None:
    """Write a scalar or an array to the stored values."""
    if SYMMETRIES[a._matrix.symmetry] == "hermitian":  # the main diagonal has to stay real
        changed = a._matrix.values.copy()
        device_dense.write(a._backend, changed, new, name)
        a._matrix.with_values(changed)  # raises
    device_dense.write(a._backend, a._matrix.stored_values, new, name)


def issparse(x: Any) -> bool:
    """Whether `x` is a matrix of this library.

    Examples
    --------
    >>> import scipy.sparse as sp, diagsparse as ds
    >>> ds.issparse(ds.eye(3)), ds.issparse(sp.eye_array(3)), sp.issparse(ds.eye(3))
    (True, False, True)
    """
    return isinstance(x, Base)


def is_from_scipy(x: Any) -> bool:
    """Whether `x` is a sparse matrix or array of SciPy."""
    return sp.issparse(x) and not isinstance(x, Base)
