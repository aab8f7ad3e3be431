"""Vectors and blocks of vectors whose rows are distributed over processes."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._backends.arguments import integer
from .._backends.backend import get_backend
from .._matrix.protocols import not_pickled
from . import collective
from .arrays import current, host, module_of
from .ranges import Partition, checked_partition
from .reductions import DOT, SUM, tree_sum


class Vector(np.lib.mixins.NDArrayOperatorsMixin):
    """A vector, or a block of vectors, of which every process has some rows; created by `vector`.

    Arithmetic and NumPy's element-wise functions work with scalars and with other vectors that are distributed in the
    same way: ``2 * x + y``, ``np.exp(x)``, ``x += y``. They do not communicate.

    Attributes
    ----------
    local : ndarray, shape (r,) or (r, k)
        The rows of this process.
    comm : mpi4py communicator
        The processes; see `DistributedArray`.
    device : str
        Where the rows of this process are; on a GPU, `local` is an array of CuPy, and calculations with it need that
        GPU as CuPy's current one.
    """

    def __init__(self, local: Any, rows: Partition, comm: Any, device: str = "cpu") -> None:
        self._local, self._rows, self.comm, self.device = local, rows, comm, device

    @property
    def local(self) -> Any:
        """The rows of this process; changing them changes the vector."""
        return self._local

    @local.setter
    def local(self, values: Any) -> None:
        if values is not self._local and (shape := np.shape(values)) != self._local.shape:
            raise ValueError(f"local: an array of shape {shape}, expected {self._local.shape}")
        self._local = values

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the whole vector, (n,) or (n, k)."""
        return (self._rows.rows, *self.local.shape[1:])

    @property
    def dtype(self) -> np.dtype:
        """Type of the elements."""
        return self.local.dtype

    @property
    def row_range(self) -> tuple[int, int]:
        """The rows ``(first, last)`` of this process."""
        return self._rows.range(self.comm.rank)

    def copy(self) -> Vector:
        """Return a copy."""
        with current(self.device):
            return Vector(self.local.copy(), self._rows, self.comm, self.device)

    def __deepcopy__(self, memo: Any) -> Vector:
        return self.copy()

    __reduce__ = not_pickled("{self!r} cannot be pickled, because it belongs to running processes; use x.gather()")

    def __bool__(self) -> bool:
        raise ValueError(f"the truth value of {self!r} is ambiguous, as that of an array")

    def gather(self, root: int | None = 0) -> Any:
        """Return the whole vector on process `root`, and None on the others; on all of them if `root` is None.

        The result is an array of NumPy. Every process has to call this.
        """
        root = collective.checked_root(self.comm, root, "gather")
        local = np.ascontiguousarray(host(self.local))
        parts = self.comm.allgather(local) if root is None else self.comm.gather(local, root)
        return None if parts is None else np.concatenate(parts)

    def __len__(self) -> int:
        return self._rows.rows

    def __repr__(self) -> str:
        first, last = self.row_range
        shape = " x ".join(map(str, self.shape))
        return f"<vector {shape} {self.dtype}: rows {first} to {last}, process {self.comm.rank} of {self.comm.size}>"

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        raise TypeError(f"{self!r} is no array; use x.local for the rows of this process, or x.gather()")

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, out: Any = None, **kwargs: Any) -> Any:
        if method != "__call__" or ufunc.signature is not None:
            return NotImplemented
        given = [*inputs, *(out or ())]
        for one in given:
            if isinstance(one, Vector):
                self._check_same(one, ufunc.__name__)
                if one.local.ndim != self.local.ndim:
                    raise ValueError(f"{ufunc.__name__}: a vector and a block, of shapes {self.shape} and {one.shape}")
            elif np.ndim(one) != 0:
                raise TypeError(
                    f"{ufunc.__name__}: an array of shape {np.shape(one)} with {self!r}: expected a scalar or a "
                    "distributed vector"
                )
        if out is not None:
            kwargs["out"] = tuple(one.local if isinstance(one, Vector) else one for one in out)
        with current(self.device):
            found = ufunc(*(one.local if isinstance(one, Vector) else one for one in inputs), **kwargs)
        if out is not None:
            return out[0] if len(out) == 1 else out
        wrap = lambda local: Vector(local, self._rows, self.comm, self.device)  # noqa: E731
        return tuple(map(wrap, found)) if isinstance(found, tuple) else wrap(found)

    def _check_same(self, other: Vector, who: str) -> None:
        if other._rows != self._rows or other.comm.size != self.comm.size:
            raise ValueError(f"{who}: vectors of {self.shape} and {other.shape} rows with different ranges of rows")
        if other.device != self.device:
            raise TypeError(f"{who}: vectors on {self.device} and {other.device}, expected the same device")


def vector(
    like: Any, fill: Any = 0, *, comm: Any = None, dtype: Any = None, row_ranges: Any = None,
    device: str | None = None,
) -> Vector:  # fmt: skip
    """Return a distributed vector.

    Parameters
    ----------
    like : DistributedArray, Vector or int
        The matrix that is going to multiply the vector, a vector with the same rows, or the number of rows.
    fill : scalar or callable
        The value of all elements, or ``fill(first, last)``, which returns the rows first to last - 1 as an array of
        shape (last - first,) or (last - first, k).
    comm : mpi4py communicator, optional
        The processes, if `like` is a number; by default all of them.
    dtype : dtype, optional
        By default that of the matrix for a number, and that of its result for a function; integers become float64.
    row_ranges : sequence of (int, int), optional
        The rows ``(first, last)`` of each process, if `like` is a number; by default equal numbers.
    device : str, optional
        ``"cpu"``, ``"cuda"``, ``"cuda:1"``, ...; by default that of `like`.

    Returns
    -------
    Vector

    Raises
    ------
    ValueError, TypeError
        On all processes, if `fill` raises on one of them or returns another number of rows, or for ranges that are not
        contiguous.

    Examples
    --------
    >>> import numpy as np
    >>> from diagsparse import distributed
    >>> x = distributed.vector(10, 1.0)
    >>> float(distributed.sum(x))
    10.0
    >>> y = distributed.vector(x, lambda first, last: np.arange(first, last))
    >>> (x + 2 * y).gather()
    array([ 1.,  3.,  5.,  7.,  9., 11., 13., 15., 17., 19.])
    """
    who = "distributed.vector"
    rows, own = getattr(like, "_cols", getattr(like, "_rows", None)), getattr(like, "comm", None)
    comm = collective.communicator(own if comm is None else comm)
    if rows is not None and row_ranges is not None:
        raise ValueError(f"{who}: row_ranges and like={like!r}, which has ranges of rows already")
    wanted = getattr(like, "device", "cpu") if device is None else device
    device, xp = collective.together(comm, lambda: _place(wanted))
    if rows is None:
        n = collective.together(comm, lambda: integer(like, f"{who}: like"))
        rows = collective.together(comm, lambda: checked_partition(row_ranges, n, comm.size, who))
        collective.same(comm, rows.borders.tolist(), f"{who}: row_ranges")
    first, last = rows.range(comm.rank)

    def filled() -> Any:
        if not callable(fill):
            if np.ndim(fill) or np.asarray(fill).dtype.kind not in "biufc":
                raise TypeError(f"{who}: fill is {fill!r}, expected a number or a function")
            if dtype is not None:
                return np.full(last - first, fill, dtype)
            kind = getattr(like, "dtype", None) or np.result_type(np.asarray(fill), np.float32)
            return np.full(last - first, fill, np.result_type(kind, np.min_scalar_type(fill)))
        local = np.array(fill(first, last), dtype)
        if local.ndim not in (1, 2) or len(local) != last - first:
            raise ValueError(f"{who}: fill({first}, {last}) has shape {local.shape}, expected {last - first} rows")
        if local.dtype.kind not in "biufc":
            raise TypeError(f"{who}: fill({first}, {last}) is an array of {local.dtype}, expected numbers")
        return local if local.dtype.kind in "fc" or dtype is not None else local.astype(float)

    local = collective.together(comm, filled)
    kinds = comm.allgather((local.dtype, local.shape[1:], len(local)))
    kinds = [one for one in kinds if one[2]] or kinds[:1]  # processes without rows follow the others
    shapes = {shape for _, shape, _ in kinds}
    if len(shapes) > 1:
        raise ValueError(f"{who}: fill returned blocks of shapes {[shape for _, shape, _ in kinds]} per row")
    local = local.astype(np.result_type(*(kind for kind, _, _ in kinds)), copy=False).reshape(
        last - first, *shapes.pop()
    )
    with current(device):
        return Vector(xp.asarray(local), rows, comm, device)


def _place(device: str) -> tuple[str, Any]:
    """Return the name of a device and the library of the arrays there."""
    name = get_backend(device).name
    return name, module_of(name)


def dot(x: Vector, y: Vector) -> Any:
    """Return the inner product ``sum(conj(x) * y)`` of distributed vectors, on every process.

    Parameters
    ----------
    x, y : Vector, shape (n,) or (n, k)
        Distributed in the same way. Blocks give k products, of column with column.

    Returns
    -------
    scalar or ndarray of shape (k,)

    Raises
    ------
    ValueError, TypeError
        If the shapes, the ranges of rows or the devices differ, or an operand is no distributed vector.

    Notes
    -----
    The result has the same bits for any number of processes: the terms of blocks of 8192 rows are added up first, and
    the sums of the blocks pairwise, in an order that does not depend on who has the rows. Every process has to call
    this, and receives the sums of all others.

    Examples
    --------
    >>> from diagsparse import distributed
    >>> x = distributed.vector(4, lambda first, last: range(first, last))
    >>> float(distributed.dot(x, x))
    14.0
    """
    for one in (x, y):
        _require_vector(one, "distributed.dot")
    x._check_same(y, "distributed.dot")
    if x.shape != y.shape:
        raise ValueError(f"distributed.dot: shapes {x.shape} and {y.shape}, expected equal ones")
    return tree_sum(x.comm, x._rows, DOT, x.local, y.local, device=x.device)


def norm(x: Vector) -> Any:
    """Return the Euclidean norm of a distributed vector, or of each column of a block, on every process.

    It has the same bits for any number of processes. It is the square root of `dot`, so it overflows where that does.
    Every process has to call this.
    """
    _require_vector(x, "distributed.norm")
    return np.sqrt(dot(x, x).real)


def sum(x: Vector) -> Any:
    """Return the sum of the elements of a distributed vector, or of each column of a block, on every process.

    It has the same bits for any number of processes; see `dot`. Every process has to call this.
    """
    _require_vector(x, "distributed.sum")
    return tree_sum(x.comm, x._rows, SUM, x.local, device=x.device)


def _require_vector(x: Any, who: str) -> None:
    if not isinstance(x, Vector):
        raise TypeError(f"{who}: {type(x).__name__}, expected a distributed vector; see distributed.vector")
