"""Plans of sparse products: the structure of C, computed once and used for any values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np

from .._arrays import streams
from .._backends import memory
from .._backends.arguments import check_kernel, symmetry_number
from .._backends.backend import CPU
from .._backends.types import check_scalars, product_dtypes
from .._matrix.convert import convert
from .._matrix.operands import check_same_device, class_name
from .._matrix.protocols import not_pickled
from .._matrix.registry import FORMATS, format_named
from .._matrix.request import Request
from .._matrix.sparse_array import SparseArray
from .._matrix.summary import Summary
from .._show import display
from .plan_operands import PlannedOperand, product_formats, same_structure

_ONE, _ZERO = 1, 0  # the default factors, which need no check


class MatmulPlan:
    """The structure of a product ``C = op(A) op(B)``, for any values of A and B; created by `plan_matmul`.

    ``plan()`` multiplies the planned operands with the values that they have at the call (those of SciPy and CuPy are
    copied when the plan is created), ``plan(a2, b2)`` multiplies others with the same structure. ``out=`` may be an
    earlier result. If the structure of an operand has changed, calls raise `ValueError`. Plans are thread-safe.
    """

    def __init__(
        self,
        a: SparseArray,
        b: SparseArray,
        format: str | None = None,
        kernel: str | None = None,
        max_bytes: int | None = None,
        triangle: int = 0,  # of the result; a value of `sums.TRIANGLES`
        extra_offsets: Sequence[int] = (),
        other_order: int = 0,  # 1 to add B A, -1 to subtract it, if the kernel supports that
        trans: tuple[str, str] = ("N", "N"),
        repeated: bool = False,  # whether the plan belongs to the user and may run many times
        out: SparseArray | None = None,  # the user's output, if any
        on_stage: Callable[[str], None] | None = None,  # called with the name of each completed stage
        symmetry: str | None = None,  # of the result, as declared by the user
    ) -> None:
        if kernel is not None:
            check_kernel(kernel, "matmul")
        square = a is b and trans[0] == trans[1]
        self._left = left = PlannedOperand(a, trans[0])
        self._right = right = left if square else PlannedOperand(b, trans[1])
        self._given = a, b = left.given, right.given  # before conversions
        unpacked = 0  # bytes
        if a._packed or b._packed:
            a = a._format.as_operand(a)
            b = a if square else b._format.as_operand(b)
            unpacked = sum(x.nbytes for x, given in zip((a, b), self._given, strict=True) if x is not given)
        self._backend = a._backend
        if a._backend is not b._backend:
            check_same_device("matmul", a, b)  # raises
        if a._shape[1] != b._shape[0]:
            raise ValueError(
                f"matmul: A is {display.operand(a)} and B is {display.operand(b)}: "
                f"A has {a.shape[1]} columns, B has {b.shape[0]} rows"
            )
        if format is not None:
            a._core.check_shape(format_named(format).name, a.shape[0], b.shape[1])
        if format is None and isinstance(out, SparseArray) and out._format is a._format:
            format = a._format.name  # even if another one would be faster
        self._format, self._work = product_formats(a, b, format, repeated, bool(kernel or symmetry))
        work = FORMATS[self._work]
        half = 0 if symmetry is None else symmetry_number(symmetry, "matmul: symmetry")
        if half and not work.triangular_products:
            raise ValueError(
                f'matmul: symmetry="{symmetry}": products as {self._work} store both triangles; those of '
                'A.asformat("mdia") store one'
            )
        self._implied = half == 0 and (half := work.symmetry_of_product(*self._given)) > 0
        self._symmetric = half > 0
        request = Request(kernel or "", max_bytes, triangle, extra_offsets, other_order, repeated, half, on_stage)
        self._plan, a, b = work.planned(a, b, request)
        if repeated or a is not left.given:
            left.use(a, repeated)
        if not square and (repeated or b is not right.given):
            right.use(b, repeated)
        self._copied = sum(operand.nbytes for operand in {left, right}) if repeated else unpacked
        self._native = self._format == self._work  # whether the result needs no conversion
        self._out_class = FORMATS[self._format].array if self._native and a._dtype is b._dtype else None
        self._run_into = self._plan.run_into
        self._dtype = a._dtype if a._dtype is b._dtype else product_dtypes(a.dtype, b.dtype)[1]
        if self._plan.nbytes > memory.SMALL or max_bytes is not None:
            what = f"matmul: {' times '.join(map(display.operand, self._given))}: the result"
            memory.require(max(self._plan.nbytes, self.nbytes), max_bytes, what, backend=self._backend)

    @property
    def _a(self) -> SparseArray:
        return self._left.factor

    @property
    def _b(self) -> SparseArray:
        return self._right.factor

    @property
    def format(self) -> str:
        """Format of the result."""
        return self._format

    @property
    def dtype(self) -> np.dtype:
        """Data type of the result of the planned operands."""
        return self._dtype

    @property
    def shape(self) -> tuple[int, int]:
        """Shape of the result."""
        return self._plan.rows, self._plan.cols

    @property
    def offsets(self) -> np.ndarray:
        """Offsets of the diagonals that the result stores, ascending (none for csr)."""
        return np.array(self._plan.offsets, dtype=np.int64)

    @property
    def nnz(self) -> int:
        """Number of values that the result stores; an upper bound in the cases described in `nbytes`."""
        return self._plan.stored if self._native else FORMATS[self.format].count_stored(self._summary())

    @property
    def nbytes(self) -> int:
        """Bytes of the result, exactly.

        It is an upper bound for products of dia, hm, cdm, mdia and qband with another `format`: conversions to formats
        of rows or blocks drop zeros, which are not known before the product is computed.
        """
        return self._plan.nbytes if self._native else FORMATS[self.format].nbytes(self._summary())

    def _summary(self) -> Summary:
        """Return the summary of a result without zeros."""

        @cache
        def full() -> SparseArray:
            result = SparseArray._wrap(self._plan.result("float32"))
            result.values = 1
            return result

        def of_full(method: str) -> Callable[..., Any]:
            return lambda *args, **options: getattr(full()._format, method)(full(), *args, **options)

        return Summary(
            self.shape, self.dtype.itemsize, self._plan.stored, offsets=of_full("occupied"), fill=of_full("fill"),
            row_lengths=of_full("row_lengths"), leading=of_full("leading_entries"), blocks=of_full("occupied_blocks"),
            slices=of_full("positions_in_slices"),
        )  # fmt: skip

    @property
    def workspace_nbytes(self) -> int:
        """Bytes of the plan, of the data that its kernel caches on a GPU, and of converted or unpacked operands.

        For such operands, it includes the values that the next call compares with. For csr and qband on the CPU it
        includes the temporary memory of a call.
        """
        return self._plan.workspace_nbytes + self._copied

    @property
    def kernel(self) -> str:
        """Name of the kernel."""
        return self._plan.kernel

    def __call__(
        self,
        a2: SparseArray | None = None,
        b2: SparseArray | None = None,
        *,
        out: SparseArray | None = None,
        alpha: complex = 1,
        beta: complex = 0,
        stream: Any = None,
    ) -> SparseArray:
        """Return the product ``alpha op(A) op(B) + beta out``.

        Parameters
        ----------
        a2, b2 : sparse matrix, optional
            Operands with the format, shape and structure of the planned ones, which they replace. The transpositions
            of the plan are applied to them too.
        out : sparse matrix, optional
            A matrix with the structure and the dtype of the result; overwritten (or updated, with `beta`) and returned.
        alpha, beta : scalar
            By default 1 and 0. A `beta` other than 0 needs `out`.
        stream : optional
            For matrices on a GPU, as in `SparseArray.matvec`; by default CuPy's or PyTorch's current stream.

        Raises
        ------
        ValueError
            If a structure differs from the planned one, or has changed since, by a method such as `eliminate_zeros` or
            by writing to index arrays. If diagonals are multiplied as csr or mdia, also if elements that were zero when
            the plan was created no longer are. `out` is not changed.
        MemoryError
            If an operand that is converted or unpacked has new values, and the new copy does not fit.

        Notes
        -----
        With `out`, and operands that kernels read directly, the call does not allocate memory or wait, so that a CUDA
        graph can capture it. This is not possible if an operand is converted or unpacked (see `plan_matmul`), because
        its values are compared first. To capture such a product, convert the operand before planning, with
        ``A.unpacked()`` or to the format in which the plan multiplies.
        """
        plain = a2 is None and b2 is None and stream is None and alpha is _ONE and beta is _ZERO
        if plain and out is not None and type(out) is self._out_class and not out._op:  # native code checks the rest
            left, right = self._left, self._right
            if left.origin._matrix is left.live and right.origin._matrix is right.live:
                self._run_into(left.live, right.live, out._matrix)
            else:
                self._run_into(left.current("A")._matrix, right.current("B")._matrix, out._matrix)
            return out
        if stream is not None:
            with streams.on(self._backend, stream, "plan"):
                return self(a2, b2, out=out, alpha=alpha, beta=beta)
        a = self._left.current("A") if a2 is None else self._left.like(a2, "A")
        b = self._right.current("B") if b2 is None else self._right.like(b2, "B")
        dtype = a._dtype
        if dtype is not b._dtype:
            wanted, dtype = product_dtypes(dtype, b._dtype)
            b = b.astype(wanted, copy=False)
        if alpha is not _ONE or beta is not _ZERO:
            check_scalars(dtype, alpha, beta, "plan")
        if self._symmetric:
            self._check_symmetric(a2, b2, alpha, beta)
        if out is not None and self._native:
            self._check_plain(out)
            self._run_into(a._matrix, b._matrix, out._matrix, alpha, beta)
            return out
        if out is None and beta != 0:
            raise ValueError(f"plan: beta={beta} scales out, but no out was given")
        result = object.__new__(FORMATS[self._work].array)
        result._matrix = self._plan.run(a._matrix, b._matrix, alpha)
        result._op, result._dtype, result._shape = 0, dtype, (a._shape[0], b._shape[1])
        result._packed = self._symmetric
        if self._backend is not CPU:
            result._set_backend(self._backend)
        if not self._native:
            result = convert(result, self.format)
        if out is None:
            return result
        operands = [given if new is None else new for given, new in zip(self._given, (a2, b2), strict=True)]
        return self._update(out, result, beta, operands)

    def _check_symmetric(self, a2: SparseArray | None, b2: SparseArray | None, alpha: complex, beta: complex) -> None:
        """Raise ValueError if the result does not have the planned symmetry."""
        if self._implied and not (a2 is None and b2 is None):
            a, b = (given if new is None else new for given, new in zip(self._given, (a2, b2), strict=True))
            if a._matrix is not b._matrix:
                raise ValueError(
                    "plan: created for the square of one matrix in symmetric storage; plan(B, B) squares another one, "
                    "and plan_matmul(A, B) plans the product of two"
                )
        if self._plan.hermitian and (np.imag(alpha) or np.imag(beta)):
            raise ValueError(f"plan: alpha={alpha}, beta={beta}: expected real factors of a Hermitian result")

    def _update(self, out: SparseArray, result: SparseArray, beta: complex, operands: list[SparseArray]) -> SparseArray:
        """Write a result that was converted to this format to `out`."""
        self._check_plain(out)
        if not same_structure(out, result):
            raise ValueError(f"plan: out is {out!r} with another structure than the result {result!r}")
        if any(result._core.overlap(out.values, operand._matrix.values) for operand in operands):
            raise ValueError("plan: out is one of the operands")
        out._format.add_values(out, result, beta)
        return out

    def _check_out(self, out: Any) -> None:
        """Raise unless `out` has the structure and the dtype of the product of the planned operands."""
        self._check_plain(out)
        self._plan.check_into(self._left.current("A")._matrix, self._right.current("B")._matrix, out._matrix)

    def _check_plain(self, out: Any) -> None:
        if not isinstance(out, SparseArray):
            raise TypeError(f"plan: out is {class_name(out)}, expected a {self.format}_array")
        if out._op:
            raise ValueError(f"plan: out is {out!r}; expected a {self.format}_array that is not a view")

    __reduce__ = not_pickled("plans cannot be pickled; pickle A and B, and plan again: diagsparse.plan_matmul(A, B)")

    def __enter__(self) -> MatmulPlan:
        return self

    def __exit__(self, *exc: object) -> None:
        pass

    def __repr__(self) -> str:
        return display.plan(self)

    def _repr_html_(self) -> str:
        return display.plan_html(self)
