"""Products and gradients of bands in JAX and PyTorch, compared with the products of diagsparse.

Bands of 3, 11 and 41 diagonals of order 10^6, in float64 and float32. A x by diagsparse, and by `diagsparse.jax` and
`diagsparse.torch` where these libraries are installed; and the value of |A x - b|^2 with its gradients with respect to
A and x. A call is compiled before it is timed. The gradients need at least three products: A x, its transpose, and the
gradient of A, which has as many elements as A. It takes about a minute. With --quick, the order is 1000.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from importlib.util import find_spec
from statistics import median
from time import perf_counter
from typing import Any

import numpy as np

from diagsparse import gallery
from diagsparse._backends.backend import CPU, Backend
from diagsparse._formats.dia import dia_array
from diagsparse._show import columns

from ..experiment import Experiment, NamedRow
from ..pictures import BLUE, GREEN, ORANGE, curves, label, legend, milliseconds, new_figure
from ..tables import Row, Tables, select, table, times
from ..timed_columns import Columns

COUNTS = (3, 11, 41)
LIBRARIES = {"jax": "JAX", "torch": "PyTorch"}
COLUMNS = Columns(ours=("diagsparse",), endings={" A x": "A x", " gradients": "gradients"})
_CALLS = 20  #: between two waits for the device

#: For each column a call, and a function that waits for its result on the device, and returns it.
Calls = dict[str, tuple[Callable[[], Any], Callable[[Any], Any]]]


def _rows(where: Backend, quick: bool) -> Iterator[NamedRow]:
    """Yield each band in both precisions.

    A row contains ``diagonals``, ``order``, ``dtype``, ``times`` and ``failed``, and ``error`` (relative to the largest
    element of a product or gradient).
    """
    for count in COUNTS:
        for dtype in ("float64", "float32"):
            order = 1000 if quick else 10**6
            yield f"band of {count}, {dtype}", partial(_run, order, count, dtype, 2 if quick else 5)


def _run(order: int, count: int, dtype: str, samples: int, where: Backend) -> Row:
    A = dia_array(gallery.banded(order, count // 2, count // 2, seed=0), dtype=dtype)
    draw = np.random.default_rng(1)
    x, b = (draw.uniform(-1, 1, order).astype(dtype) for _ in range(2))
    row: Row = {"diagonals": count, "order": order, "dtype": dtype, "times": {}, "failed": {}, "columns": {}}
    row["error"] = 0.0
    residual = A @ x - b
    expected = {"A x": residual + b, "gradients": 2 * (A.T @ residual)}
    for name, (call, wait) in _calls(A, x, b, where).items():
        row["columns"][name] = {"timed_on": where.name.partition(":")[0]}
        found = _fetched(wait(call()))
        correct = expected[COLUMNS.split(name)[0]]
        error = float(np.abs(found - correct).max() / np.abs(correct).max())
        row["error"] = max(row["error"], error)
        if error > 1e3 * np.finfo(dtype).eps:
            row["failed"][name] = f"wrong: relative error {error:.3g}"
        row["times"][name] = median(_seconds(call, wait) for _ in range(samples))
    return row


def _seconds(call: Callable[[], Any], wait: Callable[[Any], Any]) -> float:
    start = perf_counter()
    for _ in range(_CALLS):
        result = call()
    wait(result)
    return (perf_counter() - start) / _CALLS


def _calls(A: Any, x: np.ndarray, b: np.ndarray, where: Backend) -> Calls:
    """Return the calls of all libraries; those for gradients return that of x last."""
    given = x if where is CPU else where.core.from_host(x, where.index)
    calls: Calls = {"diagsparse A x": (partial(A.to(where.name).matvec, given), partial(_synchronized, where))}
    for library, create in (("jax", _jax), ("torch", _torch)):
        if find_spec(library):
            calls |= create(A, x, b, where)
    return calls


def _synchronized(where: Backend, result: Any) -> Any:
    if where is not CPU:
        where.core.synchronize(where.index)  # the default stream, in which PyTorch works, too
    return result


def _fetched(result: Any) -> np.ndarray:
    """Return an array of any library on the host."""
    for name in ("cpu", "get"):  # of PyTorch, of diagsparse
        if hasattr(result, name):
            return np.asarray(getattr(result, name)())
    return np.asarray(result)


def _jax(A: Any, x: np.ndarray, b: np.ndarray, where: Backend) -> Calls:
    import jax

    from diagsparse.jax import from_array

    jax.config.update("jax_enable_x64", True)
    devices = jax.devices("cpu" if where is CPU else "gpu")
    a, v, target = jax.device_put((from_array(A), x, b), devices[where.index])

    def loss(a: Any, v: Any) -> Any:
        return ((a @ v - target) ** 2).sum()

    product, gradients = jax.jit(lambda a, v: a @ v), jax.jit(jax.value_and_grad(loss, (0, 1)))
    return {
        "JAX A x": (partial(product, a, v), jax.block_until_ready),
        "JAX gradients": (partial(gradients, a, v), lambda result: jax.block_until_ready(result)[1][1]),
    }


def _torch(A: Any, x: np.ndarray, b: np.ndarray, where: Backend) -> Calls:
    import torch

    from diagsparse.torch import Diagonals, from_array

    device = "cpu" if where is CPU else where.name
    a = from_array(A)
    values, v, target = a.values.to(device), torch.tensor(x, device=device), torch.tensor(b, device=device)

    def product() -> Any:
        return Diagonals(values, a.offsets, a.shape) @ v

    def gradients() -> Any:
        leaves = values.detach().requires_grad_(), v.detach().requires_grad_()
        loss = ((Diagonals(leaves[0], a.offsets, a.shape) @ leaves[1] - target) ** 2).sum()
        return torch.autograd.grad(loss, leaves)[1]

    wait = partial(_synchronized, where)
    return {"PyTorch A x": (product, wait), "PyTorch gradients": (gradients, wait)}


# ---- tables and the picture ---------------------------------------------------------------------------------------
def _tables(report: Row) -> Tables:
    present = [name for name in LIBRARIES.values() if any(f"{name} A x" in row["times"] for row in report["rows"])]
    ratios = {f"{name} gradients, in products": partial(_in_products, name) for name in present}
    shown = ["diagsparse A x", *(f"{name} {what}" for name in present for what in ("A x", "gradients"))]
    yield "", table(report["rows"], {"diagonals": "{diagonals}", "precision": "{dtype}", **times(shown), **ratios})


def _in_products(library: str, row: Row) -> str:
    """Return the time of the gradients, in products of the same library."""
    product, gradients = (row["times"].get(f"{library} {what}") for what in ("A x", "gradients"))
    return columns.digits(gradients / product) if product and gradients else ""


def _draw(report: Row) -> Any:
    """Draw the times over the number of diagonals."""
    figure = new_figure(8.6, 3.4)
    colors = {"diagsparse": BLUE, "JAX": ORANGE, "PyTorch": GREEN}
    names = {name: None for row in report["rows"] for name in row["times"]}
    series = {
        name: (milliseconds(name), ".-" if name.endswith("A x") else ".--", colors[name.partition(" ")[0]])
        for name in names
    }
    for ax, dtype in zip(figure.subplots(1, 2), ("float64", "float32"), strict=True):
        curves(ax, select(report, dtype=dtype), lambda row: row["diagonals"], series, lw=1.2)
        label(ax, "diagonals", "ms", title=dtype, log="y")
    legend(figure, "outside right center")
    return figure


GRADIENTS = Experiment("gradients", __doc__, _rows, _tables, _draw, columns=COLUMNS)
