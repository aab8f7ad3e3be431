"""The class `quaternion_array`: what it is built from, its attributes, views and conversions."""

from __future__ import annotations

from math import hypot
from typing import Any

import numpy as np

from .._backends import memory
from .._backends.types import complex_type, real_type
from .._matrix.norms import norm
from .._matrix.operands import is_sparse
from .._matrix.stacking import hstack, vstack
from . import pairs
from .operators import Operators, size


class quaternion_array(Operators):
    """A sparse matrix of quaternions q0 + q1 i + q2 j + q3 k.

    It is stored as two complex matrices A and B that share one structure: Q = A + B j with A = Q0 + Q1 i and
    B = Q2 + Q3 i.

    Parameters
    ----------
    arg : sequence of matrices, array or quaternion_array
        Four real matrices Q0, Q1, Q2, Q3, or two complex ones A and B: of diagsparse, SciPy or NumPy, with the same
        shape. Or a real array of shape (m, n, 4), or an array of shape (m, n) of the package numpy-quaternion.
    format : str, optional
        One of `diagsparse.formats()`. By default the format of diagsparse's matrices if they have the same one, else
        hm or csr, whichever needs fewer bytes.
    dtype : dtype, optional
        The type of each component, float32 or float64. By default NumPy's result type; integers become float64 with a
        `ConversionWarning`.
    device : str, optional
        By default the device of diagsparse's matrices, else the CPU.

    Raises
    ------
    TypeError
        For anything else, complex values among four components, and other dtypes.
    ValueError
        For matrices of different shapes, and a format that does not exist or does not suit the shape.
    MemoryError
        If the matrix does not fit in memory.

    Notes
    -----
    A product with a vector reads A and B once, which is half of the bytes of the complex matrix of order 2 n that
    represents Q (`to_complex`).

    Examples
    --------
    >>> import numpy as np, diagsparse as ds
    >>> Q = ds.quaternion_array([ds.gallery.tridiagonal(3), 2 * ds.eye(3), np.zeros((3, 3)), np.zeros((3, 3))])
    >>> Q
    <quaternion_array 3 x 3 float64: hm, 3 diagonals from -1 to 1, 7 stored, 280 B, cpu>
    >>> x = np.zeros((3, 4))
    >>> x[0] = 0, 0, 1, 0          # j, 0, 0
    >>> Q @ x                      # (2 + 2i) j = 2j + 2k
    array([[ 0.,  0.,  2.,  2.],
           [ 0.,  0., -1.,  0.],
           [ 0.,  0.,  0.,  0.]])
    """

    def __init__(self, arg: Any, format: str | None = None, *, dtype: Any = None, device: str | None = None) -> None:
        if isinstance(arg, quaternion_array):
            arg = arg.pair
        self._pair = pairs.of(arg, format, dtype, device)

    # ---- attributes -------------------------------------------------------------------------------
    @property
    def pair(self) -> tuple[Any, Any]:
        """The complex matrices A and B of Q = A + B j, not copied: writing to their values changes Q."""
        return self._pair

    @property
    def dtype(self) -> np.dtype:
        """Data type of each component, float32 or float64."""
        return real_type(self._pair[0].dtype)

    @property
    def format(self) -> str:
        """Format of A and B."""
        return self._pair[0].format

    @property
    def device(self) -> str:
        """The device of the values: ``"cpu"``, ``"cuda"``, ``"cuda:1"``, ..."""
        return self._pair[0].device

    @property
    def nnz(self) -> int:
        """Number of stored quaternions, including zeros but not padding."""
        return self._pair[0].nnz

    @property
    def nbytes(self) -> int:
        """Bytes of the values of A and B, and of their common structure."""
        a, b = self._pair
        return a.nbytes + b._matrix.values.nbytes

    # ---- views and conversions --------------------------------------------------------------------
    @property
    def T(self) -> quaternion_array:
        """The transpose, a view. In general, ``(P @ Q).T`` differs from ``Q.T @ P.T``; see `H`."""
        a, b = self._pair
        return self._wrap((a.T, b.T))

    @property
    def H(self) -> quaternion_array:
        """The adjoint (conjugate transpose), A^H - B^T j. The values of B are copied; `rmatvec` copies nothing."""
        a, b = self._pair
        return self._wrap((a.H, -b.T))

    def conj(self) -> quaternion_array:
        """Return the conjugates q0 - q1 i - q2 j - q3 k of the elements. The values of B are copied."""
        a, b = self._pair
        return self._wrap((a.conj(), -b))

    def components(self) -> tuple[Any, Any, Any, Any]:
        """Return the four real matrices Q0, Q1, Q2 and Q3, in the format of Q, as copies."""
        a, b = self._pair
        return a.real, a.imag, b.real, b.imag

    def to_complex(self, format: str | None = None) -> Any:
        """Return the complex matrix [[A, B], [-conj(B), conj(A)]] of shape (2 m, 2 n), which represents Q.

        Sums, products and adjoints of these matrices represent those of the matrices of quaternions. The matrix has the
        format of Q, or that of `format`, and is on the same device.
        """
        a, b = (part.to("cpu") for part in self._pair)
        format = format or self.format
        return vstack([hstack([a, b]), hstack([-b.conj(), a.conj()])], format).to(self.device)

    def toarray(self) -> np.ndarray:
        """Return a real NumPy array of shape (m, n, 4)."""
        m, n = self.shape
        dtype = self._pair[0].dtype
        memory.require_free(3 * m * n * dtype.itemsize, f"toarray: a dense {m} x {n} x 4 array")
        result = np.empty((m, n, 2), dtype)
        for i, part in enumerate(self._pair):
            result[:, :, i] = part.toarray()
        return result.view(self.dtype)

    def norm(self) -> float:
        """Return the Frobenius norm: the root of the sum of the squares of all components."""
        a, b = self._pair
        return hypot(norm(a), norm(b))

    def to(self, device: str) -> quaternion_array:
        """Return the matrix on a device: itself if it is there already, else a copy."""
        pair = pairs.moved(self._pair, device)
        return self if pair is self._pair else self._wrap(pair)

    def asformat(self, format: str) -> quaternion_array:
        """Return the matrix in another format."""
        return self if format == self.format else quaternion_array(self, format, device=self.device)

    def astype(self, dtype: Any) -> quaternion_array:
        """Return a copy with components of this type, float32 or float64."""
        if np.dtype(dtype) not in (np.float32, np.float64):
            raise TypeError(f"astype: dtype is {np.dtype(dtype)}, expected float32 or float64")
        wanted = complex_type(dtype)
        return self._wrap(pairs.joined(*(part.astype(wanted) for part in self._pair)))

    def copy(self) -> quaternion_array:
        """Return an independent copy."""
        return self._wrap(pairs.joined(*(part.copy() for part in self._pair)))

    def __reduce__(self) -> tuple[Any, ...]:
        return _unpickle, tuple(part.to("cpu") for part in self._pair)

    __hash__ = None  # type: ignore[assignment]  # as of matrices

    def __eq__(self, other: Any) -> Any:
        """Raise TypeError: compare norms instead."""
        if isinstance(other, quaternion_array) or is_sparse(other):
            raise TypeError("quaternion_array: == is not defined; use (P - Q).norm(), or P.toarray() == Q.toarray()")
        return NotImplemented

    def __repr__(self) -> str:
        a = self._pair[0]
        what = f"{self.format}, {a._format.description(a)}{self.nnz} stored, {memory.human(self.nbytes)}"
        return f"<quaternion_array {size(self)} {self.dtype}: {what}, {self.device}>"


def _unpickle(a: Any, b: Any) -> quaternion_array:
    if not all(is_sparse(x) and not x._packed and x.dtype.kind == "c" for x in (a, b)) or a.shape != b.shape:
        raise ValueError(f"quaternion_array: a pickle has {a!r} and {b!r}, expected two complex matrices of one shape")
    return quaternion_array._wrap(pairs.joined(a, b))
