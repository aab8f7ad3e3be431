"""Sparse products: `matmul`, `plan_matmul` and `plan_matvec`."""

from __future__ import annotations

from typing import Any, overload

import numpy as np

from .._arrays import streams
from .._backends.backend import Backend
from .._backends.types import check_scalars, product_dtypes
from .._matrix.convert import unpacked
from .._matrix.operands import home_of, require_sparse
from .._matrix.registry import FORMATS
from .._matrix.request import Pair
from .._matrix.sparse_array import SparseArray
from .._show import display
from .batch import Batch
from .batch_plan import BatchPlan
from .matvec_plan import MatvecPlan
from .plan_operands import OPERATIONS, product_formats
from .plans import MatmulPlan
from .sums import TRIANGLES, check_triangle, no_beta, sum_of_products


def _operand(x: Any, trans: str, who: str, name: str, home: Backend, copy: bool = False) -> SparseArray:
    """Return x as one of our matrices, after checking `trans`; with `copy` it shares no values with a SciPy matrix."""
    result = require_sparse(x, who, name, home, copy)
    if trans not in OPERATIONS:
        raise ValueError(f'{who}: trans={trans!r} for {name}: expected "N", "T" or "H"')
    return result


def plan_matmul(
    a: Any,
    b: Any,
    /,
    *,
    trans_a: str = "N",
    trans_b: str = "N",
    triangle: str | None = None,
    symmetry: str | None = None,
    format: str | None = None,
    kernel: str | None = None,
    max_bytes: int | None = None,
) -> MatmulPlan:
    """Plan ``op(A) op(B)``: compute the result's exact structure and size before any arithmetic.

    Parameters
    ----------
    a, b : sparse matrix
        Ours, SciPy's or CuPy's. The result has the format of the left operand. It is csr if only the left operand's
        format has kernels for products (the diagonal formats, qband, bmsparse), and in the cases in which csr is faster
        according to the documentation of qband and bmsparse.
    trans_a, trans_b : {"N", "T", "H"}
        Unchanged, transposed or adjoint; no data is copied.
    triangle : {None, "lower", "upper"}
        The part of the result (with the main diagonal) that is computed and stored, for the diagonal formats. With A
        and its transpose this is the plan of `syrk`.
    symmetry : {None, "symmetric", "hermitian"}, optional
        The symmetry of the product, which is not checked: only one triangle is computed and stored, in mdia. The square
        of an mdia matrix in symmetric or Hermitian storage has it by default; such a plan can only compute squares.
    format : str, optional
        The format of the result.
    kernel : str, optional
        A name from ``A.kernels("matmul")``, by default one that suits the operands.
    max_bytes : int, optional
        Limit for the result; by default the free memory of the device.

    Returns
    -------
    MatmulPlan

    Raises
    ------
    ValueError
        For shapes that do not fit, unknown names, and `triangle` with formats other than the diagonal ones.
    MemoryError
        If the result would not fit.

    Notes
    -----
    The cost is that of computing the structure. The offsets of C are the sums of those of A and B: two strips of
    adjacent diagonals, of any width, give one strip; only scattered diagonals are combined one by one. Plans are
    intended to run many times: on a GPU, they may store lists that are not worthwhile for a single product
    (`plan.workspace_nbytes`).

    ``plan()`` multiplies the values that the operands have at the call. Operands of SciPy or CuPy are copied when the
    plan is created, and later changes of them have no effect. The plan holds a converted copy of an operand that
    kernels need in another format (csc, coo, ell and others are multiplied as csr, and so is ``A.T`` of a csr matrix)
    or unpacked (16-bit values, or a layout with a symmetry or a period). Each call compares the current values with
    those that were converted last, and converts again if they differ. On a GPU such a call waits for the result of the
    comparison, so a CUDA graph cannot capture it.

    If the structure of an operand has changed, by a method such as `eliminate_zeros` or by writing to index arrays, the
    call raises `ValueError`: create a new plan. If a diagonal format (dia, hm, cdm, qband) is multiplied by another
    format, it is converted to csr or mdia, where zeros are not stored. The plan then stores the elements that were
    nonzero when it was created. They may become zero and change again, but once any other element is nonzero, the call
    raises `ValueError`.

    Examples
    --------
    >>> import diagsparse as ds
    >>> A = ds.dia_array(ds.gallery.tridiagonal(1000))
    >>> plan = ds.plan_matmul(A, A)
    >>> plan.offsets, plan.nbytes
    (array([-2, -1,  0,  1,  2]), 40040)
    """
    home = home_of(a, b)
    left = _operand(a, trans_a, "plan_matmul", "A", home, copy=True)
    a, b = left, _operand(left if b is a else b, trans_b, "plan_matmul", "B", home, copy=True)
    check_triangle(triangle, "plan_matmul")
    if triangle is not None and not FORMATS[product_formats(a, b, format)[1]].triangles:
        raise ValueError(
            f'plan_matmul: triangle="{triangle}" is for matrices by diagonals, but A is {display.operand(a)} and B is '
            f'{display.operand(b)}; A.asformat("hm") converts'
        )
    return MatmulPlan(
        a, b, format, kernel, max_bytes, TRIANGLES[triangle], trans=(trans_a, trans_b), repeated=True, symmetry=symmetry
    )


@overload
def plan_matvec(a: Batch, /, *, kernel: None = None) -> BatchPlan: ...
@overload
def plan_matvec(a: Any, /, *, kernel: str | None = None) -> MatvecPlan: ...
def plan_matvec(a: Any, /, *, kernel: str | None = None) -> MatvecPlan | BatchPlan:
    """Plan products of `a` with vectors or dense blocks; ``plan(x, out=y)`` computes one.

    Parameters
    ----------
    a : sparse matrix, shape (m, n), or batch
        Ours, SciPy's or CuPy's. A matrix of SciPy or CuPy is copied, so later changes of it have no effect. For a
        matrix of diagsparse, each product uses the values and the structure that it has at the time. A plan of a batch
        multiplies all members.
    kernel : str, optional
        A name from ``A.kernels("matvec")``; by default the first. Not for a batch.

    Returns
    -------
    MatvecPlan or BatchPlan
        ``plan(x, out=None, alpha=1, beta=0, stream=None)`` returns ``alpha A x + beta out``, with `x` of shape (n,) or
        (n, k) and `out` of shape (m,) or (m, k), as `SparseArray.matvec` does. ``plan.nbytes`` is the number of bytes
        that a product with a vector moves at least.

    Raises
    ------
    TypeError
        If `a` is not a sparse matrix.
    ValueError
        If there is no such kernel.

    Notes
    -----
    On a GPU, the data that the kernel caches with the matrix is prepared when the plan is created. A call with ``out=``
    then allocates nothing and does not wait for the device, so that a CUDA graph can capture it. The arguments are
    checked only once for arrays with the same layout. On the CPU nothing needs to be prepared, and a call does the same
    as `SparseArray.matvec`.

    Examples
    --------
    >>> import numpy as np, diagsparse as ds
    >>> A = ds.hm_array(ds.gallery.tridiagonal(4))
    >>> plan = ds.plan_matvec(A)
    >>> y = np.empty(4)
    >>> plan(np.ones(4), out=y) is y, plan.kernel, plan.nbytes
    (True, 'row_tiles', 200)
    >>> y
    array([1., 0., 0., 1.])
    """
    if isinstance(a, Batch):
        if kernel is not None:
            raise ValueError(f'plan_matvec: kernel="{kernel}" for {a!r}; expected None, a batch has one kernel')
        return BatchPlan(a)
    return MatvecPlan(require_sparse(a, "plan_matvec", "A", copy=True), kernel)


def matmul(
    a: Any,
    b: Any,
    /,
    c: Any = None,
    *,
    alpha: complex = 1,
    beta: complex | None = None,
    trans_a: str = "N",
    trans_b: str = "N",
    symmetry: str | None = None,
    format: str | None = None,
    kernel: str | None = None,
    out: SparseArray | None = None,
    max_bytes: int | None = None,
    stream: Any = None,
) -> SparseArray:
    """Return the sparse product ``alpha op(A) op(B) + beta C``.

    Parameters
    ----------
    a, b : sparse matrix
        Ours, SciPy's or CuPy's. The result has the format of the left operand, or csr in the cases that `plan_matmul`
        describes, and is on the device of the operands; SciPy matrices are copied to it.
    c : sparse matrix, optional
        Added, scaled by `beta`; the result stores its diagonals as well. It is not changed. With ``beta=0`` its values
        are not read.
    alpha, beta : scalar
        By default `beta` is 1 if `c` is given, else 0.
    trans_a, trans_b, symmetry, format, kernel
        As in `plan_matmul`.
    out : sparse matrix, optional
        A matrix with the exact structure of the result (see `plan_matmul`); overwritten and returned.
    max_bytes
        As in `plan_matmul`.
    stream : optional
        For matrices on a GPU, as in `SparseArray.matvec`; by default CuPy's or PyTorch's current stream.

    Returns
    -------
    sparse matrix
        Elements that cancel are stored as explicit zeros.

    Raises
    ------
    ValueError, TypeError, MemoryError
        For shapes, names or structures that do not fit, operands on different devices, and results that do not fit into
        memory.

    Notes
    -----
    Every pair of diagonals (a, b) contributes to diagonal a + b. At least the bytes of A, B and C are moved; the
    default kernel writes each value of C once. The result is bitwise identical for any number of threads.

    Examples
    --------
    >>> import diagsparse as ds
    >>> A = ds.hm_array(ds.gallery.tridiagonal(4))
    >>> ds.matmul(A, A, trans_b="T").offsets
    array([ 0,  1,  2, -1, -2])
    """
    home = home_of(a, b, c)
    a, b = _operand(a, trans_a, "matmul", "A", home), _operand(b, trans_b, "matmul", "B", home)
    a, b = OPERATIONS[trans_a](a), OPERATIONS[trans_b](b)
    with streams.on(a._backend, stream, "matmul"):
        if c is None:
            no_beta("matmul", beta)
            check_scalars(product_dtypes(a.dtype, b.dtype)[1], alpha, 0, "matmul")
            if symmetry is None and a._format.triangular_products and np.imag(alpha):
                a = unpacked(a)  # complex multiples of a Hermitian square are not Hermitian
            return MatmulPlan(a, b, format, kernel, max_bytes, out=out, symmetry=symmetry)(out=out, alpha=alpha)
        if symmetry is not None:
            raise ValueError(f'matmul: symmetry="{symmetry}" and C: sums store both triangles; omit symmetry=')
        return sum_of_products("matmul", [Pair(a, b)], c, alpha, beta, None, format, kernel, out, max_bytes)
