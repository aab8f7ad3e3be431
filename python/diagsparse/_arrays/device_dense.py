"""Dense operands of a matrix on a GPU: arrays of CuPy, PyTorch, JAX and NumPy, and `DeviceArray`s.

For an operand on the GPU the result stays there, as an array of the operand's library. An operand on the host is
copied, and the result is a NumPy array. With out= and without a conversion, nothing is allocated and no call
synchronizes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from typing import Any

import numpy as np

from .._backends.backend import Backend
from .._backends.types import VALUE_TYPES, chain_dtype, check_scalars, product_dtypes
from . import device_arrays, host_dense, owners, streams, tensors

_KNOWN = (*VALUE_TYPES, np.dtype(np.int32), np.dtype(np.int64))  # types that DeviceArray converts


def has_unit_stride(a: Any, axis: int) -> bool:
    """Whether elements are contiguous along `axis`, and the other stride is a multiple of the item size."""
    if a.ptr % a.itemsize:
        return False
    if a.ndim == 1:
        return a.strides[0] == a.itemsize or a.size <= 1
    return a.strides[axis] == a.itemsize and a.strides[1 - axis] % a.itemsize == 0


def _axis(a: Any) -> int:
    """Return the axis along which the kernel traverses `a`: 1 for C order, 0 for F order and single columns."""
    return 0 if a.ndim == 1 or a.shape[1] == 1 or (not has_unit_stride(a, 1) and has_unit_stride(a, 0)) else 1


def gather(core: Any, a: Any, axis: int) -> Any:
    """Return a copy that is contiguous along `axis`."""
    created = core.empty(a.shape, a.dtype.name, a.device, "C" if axis else "F")
    created.assign(a)
    return created


def zeros(core: Any, a: Any) -> Any:
    """Return zeros with the shape and dtype of `a`."""
    created = core.empty(a.shape, a.dtype.name, a.device, "C")
    created.fill(0)
    return created


class Product:
    """A product of a matrix on a GPU with a dense operand."""

    def __init__(
        self, a: Any, op: int, shape: tuple[int, int], alpha: Any, beta: Any, kernel: str | None, who: str
    ) -> None:
        self.a, self.op, self.shape = a, op, shape
        self.alpha, self.beta, self.kernel, self.who = alpha, beta, kernel or "", who
        self.backend = a._backend
        self.launched: tuple[Any, Any] | None = None  # the kernel's operands
        self.empty: Callable[[], Any] | None = None  # how the result was allocated

    def dtypes(self, shape: tuple[int, ...], given: np.dtype) -> tuple[np.dtype, np.dtype]:
        """Check the shape and dtype of x; return the dtype that it is converted to, and that of the result."""
        host_dense.check_operand(shape, self.shape, self.who)
        wanted, result = product_dtypes(self.a.dtype, given)
        check_scalars(result, self.alpha, self.beta, self.who)
        return wanted, result

    def run(self, x: Any, target: Any, allocate: Callable[[str], Any]) -> None:
        """Write the product to `target`, a `DeviceArray`, or to the array that ``allocate(order)`` returns."""
        core = self.backend.core
        if target is None:
            if self.beta != 0:
                raise ValueError(f"{self.who}: beta={self.beta} scales out, but no out was given")
            axis = _axis(x)
            y = allocate("C" if x.ndim == 1 or axis or has_unit_stride(x, 1) else "F")
            axis = _axis(y) if y.size and x.ndim == 2 and y.shape[1] > 1 else axis
        else:
            y, axis = target, _axis(target)
            if not has_unit_stride(y, axis) or host_dense.overlaps_itself(y):
                y = gather(core, y, axis)
            if core.overlap(target, x):
                x = gather(core, x, axis)
        x = x if has_unit_stride(x, axis) else gather(core, x, axis)
        core.matvec(self.a._matrix, self.op, x, y, self.alpha, self.beta, self.kernel)
        self.launched = x, y
        if target is not None and y is not target:
            host_dense.refuse_part_of(self.a._matrix.values, target, self.who, core)
            target.assign(y)

    def result_shape(self, x: Any) -> tuple[int, ...]:
        return (self.shape[0], *x.shape[1:])

    def output(self, out: Any, x: Any, dtype: np.dtype, host: str = "") -> Any:
        """Return out= as a `DeviceArray`; raise if it cannot hold the result."""
        owner = owners.owner_of(out)
        if owner is None or owner is owners.Jax:
            kind = f"{type(out).__name__}, which is immutable" if owner else type(out).__name__
            raise TypeError(f"{self.who}: out is {kind}; expected {host}an array on {self.backend.name}")
        host_dense.check_output(tuple(out.shape), owner.dtype(out), self.result_shape(x), dtype, self.who)
        view = owner.view(self.backend.core, out, self.backend.index)
        owners.same_device(view, self.backend, self.who, "out")
        return view


class _Chain(Product):
    """A chain of products, for which x is converted to the result's dtype and columns are contiguous."""

    def __init__(self, a: Any, recurrence: Any, is_complex: bool, kernel: str | None, who: str) -> None:
        super().__init__(a, a._op, a.shape, 1, 0, kernel, who)
        self.recurrence, self.is_complex = recurrence, is_complex

    def dtypes(self, shape: tuple[int, ...], given: np.dtype) -> tuple[np.dtype, np.dtype]:
        host_dense.check_operand(shape, self.shape, self.who)
        result = chain_dtype(self.a.dtype, given, self.is_complex)
        return result, result

    def run(self, x: Any, target: Any, allocate: Callable[[str], Any]) -> None:
        core = self.backend.core
        if target is None:
            target = allocate("C" if x.ndim == 1 or _axis(x) else "F")
        if not x.size:
            return
        fits = has_unit_stride(target, 0) and not host_dense.overlaps_itself(target)
        y = target if fits else core.empty(target.shape, target.dtype.name, target.device, "F")
        if not has_unit_stride(x, 0) or core.overlap(y, x):
            x = gather(core, x, 0)
        core.chain(self.a._matrix, self.op, self.recurrence, x, y, self.kernel)
        if y is not target:
            host_dense.refuse_part_of(self.a._matrix.values, target, self.who, core)
            target.assign(y)


def chain(
    a: Any, recurrence: Any, is_complex: bool, x: Any, out: Any, kernel: str | None, who: str, stream: Any
) -> Any:
    """Return the sum of a recurrence in a matrix on a GPU that starts with x; `is_complex`: its factors are."""
    return multiply(_Chain(a, recurrence, is_complex, kernel, who), x, out, stream)


def multiply(task: Product, x: Any, out: Any, stream: Any) -> Any:
    """Run a product, or a chain of products, in the stream of its operands."""
    owner = owners.owner_of(x)
    leader = owner or owners.owner_of(out)  # the library whose current stream is used
    with in_stream(leader, task.backend.index, stream):
        return _from_device(task, owner, x, out) if owner else _from_host(task, x, out)


def in_stream(leader: type[owners.AnyLibrary] | None, device: int, stream: Any) -> AbstractContextManager[None]:
    """Return a context in which work runs in a stream: the user's, or by default the current one of a library."""
    if stream is not None:
        return _in_stream(leader or owners.AnyLibrary, device, stream)
    getter = leader.stream_getter() if leader else None
    return streams.using(getter(device) if getter else None)


@contextmanager
def _in_stream(leader: type[owners.AnyLibrary], device: int, stream: Any) -> Iterator[None]:
    with streams.using(stream), leader.stream_context(device, streams.pointer(stream)):
        yield


def operand(a: Any, x: Any) -> Any:
    """Return a dense operand with a shape and a transpose: a NumPy array, a tensor, or an array on a GPU."""
    owner = owners.owner_of(x)
    if owner is None and tensors.is_tensor(x):
        return x
    if owner is None:
        return host_dense.as_numpy(x, "matmul")
    owners.refuse_gpu_array(x, a._backend, "matmul")
    return owner.view(a._backend.core, x, a._backend.index) if owner is owners.AnyLibrary else x


def write(backend: Backend, values: Any, new: Any, name: str = "values") -> None:
    """Write a scalar or an array, on any device, to the values of a matrix."""
    owner = owners.owner_of(new)
    given = host_dense.as_numpy(new, name) if owner is None else new
    dtype, shape = (given.dtype if owner is None else owner.dtype(new)), tuple(given.shape)
    if dtype.kind == "c" and values.dtype.kind != "c":
        raise TypeError(f"{name}: got {dtype} for {values.dtype} values; the imaginary parts would be lost")
    if not _broadcasts(shape, tuple(values.shape)):
        raise ValueError(f"{name}: got shape {shape}, expected a number or shape {tuple(values.shape)}")
    if isinstance(values, np.ndarray):
        values[...] = new
        return
    if owner is not None:
        values.assign(owner.view(backend.core, new, backend.index))
    elif np.ndim(new) == 0:
        values.fill(new)
    else:
        values.set(np.ascontiguousarray(np.broadcast_to(new, values.shape), values.dtype))


def _broadcasts(shape: tuple[int, ...], target: tuple[int, ...]) -> bool:
    """Whether an array of this shape can be assigned to an array of shape `target`."""
    extra_offsets = len(shape) - len(target)
    if extra_offsets > 0 and set(shape[:extra_offsets]) <= {1}:  # as NumPy does
        shape = shape[extra_offsets:]
    try:
        return np.broadcast_shapes(shape, target) == target
    except ValueError:
        return False


def _from_device(task: Product, owner: type[owners.AnyLibrary], x: Any, out: Any) -> Any:
    """Multiply an array on the GPU."""
    core, backend = task.backend.core, task.backend
    if owner is owners.AnyLibrary:
        x = owner.view(core, x, backend.index)
    given = owner.dtype(x)
    wanted, result = task.dtypes(tuple(x.shape), given)
    view = owner.view(core, x if given in _KNOWN else owner.cast(x, wanted), backend.index)
    owners.same_device(view, backend, task.who, "x")
    if view.dtype != wanted:
        view = view.astype(wanted)
    created = None

    def allocate(order: str) -> Any:
        nonlocal created
        task.empty = partial(owner.empty, backend, task.result_shape(view), result, owner.order or order)
        created = task.empty()
        return owner.view(core, created, backend.index) if owner is not owners.Jax else created

    task.run(view, None if out is None else task.output(out, view, result), allocate)
    owner.finish(backend)
    return owner.to_library(backend, created) if out is None else out


def _from_host(task: Product, x: Any, out: Any) -> Any:
    """Multiply an array_like on the host: copy it to the GPU, and the result back unless out= is on the GPU."""
    backend, x = task.backend, host_dense.as_numpy(x, task.who)
    wanted, result = task.dtypes(x.shape, x.dtype)
    shape = task.result_shape(x)
    on_host = out is None or isinstance(out, np.ndarray)
    if out is not None and on_host:
        host_dense.check_output(out.shape, out.dtype, shape, result, task.who)
        host_dense.check_writeable(out, task.who)
    view = device_arrays.upload(backend, x.astype(wanted, copy=False))
    created = None

    def allocate(order: str) -> Any:
        nonlocal created
        created = backend.core.empty(shape, result.name, backend.index, order)
        return created

    if not on_host:
        task.run(view, task.output(out, view, result, "a NumPy array or "), allocate)
        return out
    if out is None or task.beta == 0:
        task.beta = task.beta if out is None else 0
        task.run(view, None, allocate)
    else:
        created = device_arrays.upload(backend, out)
        task.run(view, created, allocate)
    if out is None:
        return device_arrays.download(created)
    out[...] = device_arrays.download(created)
    return out
