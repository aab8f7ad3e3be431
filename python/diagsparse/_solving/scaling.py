"""Systems whose rows differ much in size are solved as ``R A C y = R b`` with ``x = C y``.

R and C are diagonal, and have powers of two, so that no digit of A changes. If columns differ much, too, R and C are
chosen such that the logarithms of the absolute values in each row and column add up to about zero (A. R. Curtis and
J. K. Reid, *On the automatic scaling of matrices for Gaussian elimination*, J. Inst. Maths Applics 10, 118, 1972).
Finally no value is larger than 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from .._arrays import owners
from .._backends import memory
from .._backends.types import widened
from .._matrix.builders import diags
from .._matrix.construct import array
from .._matrix.convert import convert
from .._products.batch import Batch
from .._products.batch_matrix import diagonal_starts, on_the_diagonal
from .._products.batches import batch_array
from .._products.interleaved import interleaved_batch
from .._products.substitution import DIAGONALS
from .errors import Errors, System, can_be_refined

_SIMILAR = 1000  # ratio of the sizes of rows, or of columns, up to which they are left as they are
_SWEEPS = 20  # over all rows and columns
_BYTES = 80  # for each element, of the copies that are made on the host


@dataclass(frozen=True)
class Equation:
    """A system with its right-hand sides; where it is scaled, also with the diagonal matrix C."""

    system: System
    b: Any
    columns: Any = None

    def unscaled(self, y: Any) -> Any:
        """Return the solution x of the given system."""
        return y if self.columns is None else self.columns @ y


def equilibrated(given: Equation) -> Equation:
    """Return the same system with rows and columns of about the same size; `given` if those of the rows are similar.

    The rows of batches are scaled, but not their columns.
    """
    A, owner = given.system.A, owners.owner_of(given.b)
    if not _rows_differ(given.system):
        return given
    if isinstance(A, Batch):
        return given if owner is owners.AnyLibrary else _scaled_members(given, owner)
    memory.require_free(_BYTES * A.nnz, "solve: scaling rows of different size")
    dtype = np.finfo(widened(A.dtype)).dtype
    rows, columns = _powers(A)
    R, C = (_diagonal(powers, dtype, A.device) for powers in (rows, columns))
    csr = convert(A, "csr").to("cpu").to_scipy()
    values = csr.data.astype(widened(A.dtype))
    parts = (values.real, values.imag) if values.dtype.kind == "c" else (values,)
    for part in parts:
        np.ldexp(part, np.repeat(rows, np.diff(csr.indptr)) + columns[csr.indices], out=part)
    format = A.format if A.format in (*DIAGONALS, "qband") else "csr"
    scaled = array(sp.csr_array((values, csr.indices, csr.indptr), csr.shape), format)
    return Equation(System(scaled.to(A.device), owner), R @ given.b, C)


def _rows_differ(system: System) -> bool:
    smallest, largest = system.row_sums
    return bool(np.any(smallest < largest / _SIMILAR) and np.isfinite(largest).all())


def errors_of_rows(given: Equation, x: Any, errors: Errors) -> NDArray[np.float64]:
    """Return the backward errors of x where each row counts as much as any other, for a symmetric matrix.

    They are those of the system ``(S A S) y = S b`` with 1 on the main diagonal, where no value is larger if A is
    positive definite.
    """
    A, system = given.system.A, given.system
    if not _rows_differ(system) or not can_be_refined(x):
        return errors.backward
    root = np.sqrt(abs(A.diagonal()).astype(np.finfo(widened(A.dtype)).dtype))
    S, inverse = (diags({0: values}, format="dia", device=A.device) for values in (1 / root, root))
    residual, solution, right = (system.largest(v) for v in (S @ errors.residual, inverse @ x, S @ given.b))
    return residual / np.maximum(solution + right, np.finfo(root.dtype).tiny)


def _powers(A: Any) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return the exponents of the powers of two for rows and columns."""
    logarithms = sp.coo_array(abs(convert(A, "csr").to("cpu").to_scipy()))
    logarithms.eliminate_zeros()
    logarithms.data = np.log2(logarithms.data.astype(np.float64))
    i, j = logarithms.coords
    n, limit = A.shape[0], np.finfo(widened(A.dtype)).maxexp - 2
    columns = np.zeros(n)
    if np.ptp(_largest(j, logarithms.data - _largest(i, logarithms.data, n)[i], n)) > np.log2(_SIMILAR):
        columns = np.clip(np.round(_balanced(logarithms.tocsr())), -limit, limit)
    rows = np.clip(-np.ceil(_largest(i, logarithms.data + columns[j], n)), -limit, limit)
    return rows.astype(np.int32), columns.astype(np.int32)


def _largest(index: NDArray[Any], values: NDArray[Any], n: int) -> NDArray[np.float64]:
    """Return the largest of the values with each index; 0 where there is none."""
    result = np.full(n, -np.inf)
    np.maximum.at(result, index, values)
    return np.where(np.isfinite(result), result, 0)


def _balanced(logarithms: sp.csr_array) -> NDArray[np.float64]:
    """Return the logarithms of factors for columns which, with others for rows, make the mean logarithms zero."""
    pattern = sp.csr_array((np.ones(logarithms.nnz), logarithms.indices, logarithms.indptr), logarithms.shape)
    transposed, columns = sp.csr_array(pattern.T), np.zeros(logarithms.shape[1])
    counts, totals = ([np.asarray(one.sum(axis=axis)) for axis in (1, 0)] for one in (pattern, logarithms))
    for _ in range(_SWEEPS):
        rows = -(totals[0] + pattern @ columns) / np.maximum(counts[0], 1)
        columns = -(totals[1] + transposed @ rows) / np.maximum(counts[1], 1)
    return columns


def _diagonal(powers: NDArray[np.int32], dtype: np.dtype, device: str) -> Any:
    return diags({0: np.ldexp(dtype.type(1), powers)}, format="dia", dtype=dtype, device=device)


def _scaled_members(given: Equation, owner: type[owners.AnyLibrary] | None) -> Equation:
    """Return the equation of a batch whose rows are scaled on the host."""
    A: Any = given.system.A
    members, backend = A.to("cpu"), A._backend
    members = members.contiguous() if A._interleaved else members
    scales = _scales_of_rows(members)
    scaled: Any = _scaled_batch(members, scales)
    factors = scales if owner is None else owner.to_library(backend, backend.core.from_host(scales, backend.index))
    if A._interleaved:
        return Equation(System(interleaved_batch(scaled).to(A.device), owner), (given.b.T * factors).T)
    return Equation(System(scaled.to(A.device), owner), given.b * factors)


def _scales_of_rows(batch: batch_array) -> NDArray[Any]:
    """Return a power of two for each row of the members."""
    whole, dtype = on_the_diagonal(batch, "solve"), np.finfo(widened(batch.dtype)).dtype
    sums = abs(whole) @ np.ones(whole.shape[1], dtype)
    powers = np.clip(-np.frexp(sums)[1], np.finfo(dtype).minexp, np.finfo(dtype).maxexp - 1)
    return np.where(sums == 0, 1, np.ldexp(dtype.type(1), powers)).reshape(batch.count, -1)


def _scaled_batch(batch: batch_array, scales: NDArray[Any]) -> batch_array:
    """Return a batch on the CPU whose rows are multiplied by these numbers."""
    values, n = np.array(batch.values, widened(batch.dtype)), batch.shape[0]
    flat = values.reshape(batch.count, -1)
    for k, start in diagonal_starts(batch).items():
        length, first = n - abs(k), max(0, -k)
        flat[:, start : start + length] *= scales[:, first : first + length]
    return batch_array(values, batch._like)
