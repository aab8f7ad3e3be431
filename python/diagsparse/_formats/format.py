"""Everything that depends on the format, with generic implementations via csr.

A format is one object, the attribute ``_format`` of its matrix class, whose methods the rest of the library calls.
Families of formats with implementations of their own override them: `diagonal.Diagonals` (dia, hm, cdm) and
`indexed.Entries` (csr, csc, coo). Everything else is the same for all formats.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from .._backends import memory
from .._backends.backend import CPU, Backend
from .._backends.types import is_narrow, value_dtype
from .._matrix import construct
from .._matrix.convert import unpacked, unshared, widen
from .._matrix.registry import COMMON, FORMATS
from .._matrix.request import Request
from .._matrix.sparse_array import SparseArray
from .._matrix.summary import Summary
from .._products.plans import MatmulPlan
from .._products.profile import profiled
from .._show import cells, drawing
from . import by_csr, from_arrays
from .forecasts import Forecasts
from .packing import UNPACKED, Packing


class Format(Forecasts):
    """A format: its layout, and its conversions to and from csr."""

    array: type[SparseArray]  # the class of its matrices

    def __init__(self, name: str) -> None:
        self.name, self.who = name, f"{name}_array"
        self.family = self.family or name

    family: str = ""  # formats of one family convert, add and multiply among themselves
    structure: ClassVar[tuple[str, ...]] = ()  # the required component arrays in addition to the values
    optional: ClassVar[tuple[str, ...]] = ()  # the optional ones
    derived: ClassVar[tuple[str, ...]] = ()  # those that are determined by the others
    parts_are: ClassVar[dict[str, Any]] = {}  # the options that describe component arrays as `parts` returns them
    two_dimensional: ClassVar[tuple[str, ...]] = ()  # the two-dimensional arrays, including the values
    padded: ClassVar[bool] = False  # whether there is padding, which is never read
    drops_zeros: ClassVar[bool] = False  # whether conversions to csr and mdia drop explicit zeros
    options: ClassVar[dict[str, Callable[[Any, str], Any]]] = {}  # options of the layout, and functions that check them
    packs: ClassVar[bool] = False  # whether diagonals may be packed: one triangle, one period
    narrow: ClassVar[bool] = False  # whether values may be stored in 16 bits
    batched: ClassVar[bool] = False  # whether there are batches of the format
    sampled: ClassVar[bool] = False  # whether there are kernels for sampled products
    quaternions: ClassVar[bool] = False  # whether there are kernels for vectors of quaternions, unless it is packed
    by_column: bool = False  # whether drawings are coloured by column
    nearest: str = COMMON  # the most similar format of CuPy
    triangles: ClassVar[bool] = False  # whether plans can compute one triangle
    rows: ClassVar[Callable[..., Any] | None] = None  # selected rows as csr; None: SciPy selects them
    united: ClassVar[Callable[..., Any] | None] = None  # of matrices, for `linear_combination`; None: in csr
    own_products: ClassVar[bool] = False  # whether products within the family have kernels, else they run in csr
    triangular_products: ClassVar[bool] = False  # whether plans compute one triangle of symmetric or Hermitian products
    multiplies: ClassVar[dict[str, str]] = {}  # formats in which products with other families are computed
    sums: ClassVar[str] = COMMON  # the format in which several products are added
    added_to: ClassVar[tuple[str, ...]] = ()  # other families whose matrices are added in that format, not in csr

    from_parts = from_arrays.from_parts
    from_tuple = from_arrays.from_tuple
    from_device_tuple = from_arrays.from_device_tuple
    from_component_arrays = from_arrays.from_component_arrays
    names = from_arrays.names
    by_name = from_arrays.by_name
    given_shape = from_arrays.given_shape
    index_type = from_arrays.index_type
    in_order = from_arrays.in_order
    moved = from_arrays.moved

    def packing(self, a: SparseArray) -> Packing:
        """Return the options that pickles and files store in addition to the component arrays: none."""
        return UNPACKED

    def why_not_written(self, a: SparseArray) -> str:
        """Return why stored values are not written one by one, and what to do instead; "" if they can be."""
        if a._matrix.symmetry or any(self.packing(a)):
            return f"in {a!r} a stored value represents several elements; write A = A.unpacked() first"
        return ""

    def unpacked(self, a: SparseArray, max_bytes: int | None) -> SparseArray:
        """Return this matrix with every element stored, and 16-bit values as float32; itself if it is not packed."""
        if is_narrow(a._dtype):
            nbytes = a.nbytes + a._matrix.values.nbytes
            memory.require(nbytes, max_bytes, f"{self.who}: its values in float32", backend=a._backend)
        return widen(a)

    # ---- conversions ------------------------------------------------------------------------------
    def from_csr(self, csr: SparseArray, max_bytes: int | None, held: int = 0, **options: int) -> SparseArray:
        """Return a csr matrix, which may be a conjugate view, in this format, on its device; `options` are checked.

        `held` bytes are already in use for the conversion, and count towards the user's limit.
        """
        if csr._op:
            csr, held = csr.copy(), held + csr.nbytes
        s = csr._summary()
        options = self.completed(s, options)
        self.require(s, max_bytes, csr._backend, csr, held, **options)
        return SparseArray._wrap(csr._core.convert(csr._matrix, 0, self.name, options))

    def to_csr(self, a: SparseArray, max_bytes: int | None = None, held: int = 0) -> SparseArray:
        """Return this view as a csr matrix, on its device."""
        FORMATS[COMMON].check_forecast(a, max_bytes, held)
        return a._wrap(a._core.convert(widen(a)._matrix, a._op, COMMON))

    def like(self, a: SparseArray, csr: SparseArray) -> SparseArray:
        """Return a csr matrix in the format and with the options of `a`."""
        return self.from_csr_as(csr, self.layout(a))

    def from_csr_as(
        self, csr: SparseArray, layout: dict[str, int], max_bytes: int | None = None, held: int = 0
    ) -> SparseArray:
        """Return a csr matrix in a layout that was not requested, so that it may be adapted if it does not suit."""
        return self.from_csr(csr, max_bytes, held, **layout)

    def completed(self, s: Summary, options: dict[str, int]) -> dict[str, int]:
        """Return the layout options, with missing ones chosen for the matrix."""
        return options

    def rebuilt_from_csr(self, a: SparseArray, csr: SparseArray) -> SparseArray:
        """Return `csr`, which has the elements of `a`, in the layout and dtype of `a`."""
        return self.from_csr_as(csr, self.own_layout(a)).astype(a._dtype, copy=False)

    def reordered(self, a: SparseArray, csr: SparseArray) -> SparseArray:
        """Return `csr`, which is `a` with rows and columns in another order, as `like` does.

        Symmetric or Hermitian storage is preserved.
        """
        return self.like(a, csr)

    def own_layout(self, a: SparseArray) -> dict[str, Any]:
        """Return the layout options of a copy of this view; derived matrices may have others."""
        return self.layout(a)

    def layout(self, a: SparseArray) -> dict[str, int]:
        """Return the layout options that derived matrices inherit."""
        return {}

    def from_family(self, a: SparseArray, max_bytes: int | None, held: int = 0) -> SparseArray:
        """Return a matrix of the same family in this format."""
        raise NotImplementedError

    def for_diagonals(self) -> Format:
        """Return the format that SciPy's and CuPy's diagonals are converted to first."""
        return FORMATS["hm"]

    def for_product(self, a: SparseArray, other: SparseArray, repeated: bool, named: bool) -> Format:
        """Return the format in which a product with another matrix of the family is computed.

        `repeated`: by a user's plan, which may run many times; `named`: with a kernel that the user named.
        """
        return self

    def for_entries(self) -> Format:
        """Return the format that entries are converted to first."""
        return FORMATS[COMMON]

    def from_scipy(
        self, a: Any, dtype: Any, copy: bool, max_bytes: int | None = None, target: Backend = CPU
    ) -> SparseArray:
        """Build from a SciPy array of any format but dia; the conversion from csr runs on `target`."""
        dtype = value_dtype(a.dtype, dtype, f"{self.who}")
        self.check_shape(a.shape, CPU.core)
        common = FORMATS[COMMON]
        common.check_shape(a.shape, CPU.core)
        csr = common.from_scipy(a, dtype, False, max_bytes)
        result = self.from_csr(csr.to(target.name), max_bytes, self.unshared_nbytes(a, csr))
        return unshared(result, csr, max_bytes) if copy and target is CPU else result

    def empty(self, shape: tuple[int, int], dtype: np.dtype, backend: Backend = CPU) -> SparseArray:
        """Return a matrix without entries."""
        common, nothing = FORMATS[COMMON], Summary.empty(shape, dtype.itemsize)
        self.require(nothing, None, backend, temporary=common.nbytes(nothing))
        return self.from_csr(common.empty(shape, dtype, backend), None)

    def materialized(self, a: SparseArray) -> SparseArray:
        """Return a copy of this transposed view with component arrays of its own."""
        return self.rebuilt_from_csr(a, self.to_csr(a))

    def diagonal_values(self, a: SparseArray, k: int) -> np.ndarray:
        """Return a diagonal for reading, without a copy if possible; empty if it is not stored."""
        return a.diagonal(k)

    def sort_in_place(self, a: SparseArray) -> None:
        """Sort the stored values if the user left them in another order."""

    # ---- representations --------------------------------------------------------------------------
    def description(self, a: SparseArray) -> str:
        """Return the description of the layout in the one-line repr."""
        return ""

    def draw(self, a: SparseArray, width: float, height: float) -> tuple[str, str]:
        """Return a drawing of a large matrix as SVG, and its caption."""
        return drawing.density(self.to_csr(a), width, height)

    def drawn_diagonals(self, a: SparseArray) -> list[cells.Drawn]:
        """Return the diagonals that a drawing names, ascending, with their colours."""
        return []

    def draw_cells(self, a: SparseArray) -> list[Any]:
        """Return the drawing of a small matrix: a cell for each value."""
        return cells.of_entries(a)

    def draw_layout(self, a: SparseArray, small: bool) -> tuple[str, str]:
        """Return a drawing of the component arrays as SVG, with values if it is small, and its caption."""
        return drawing.parts_of(a, small)

    # ---- construction -----------------------------------------------------------------------------
    def construct(
        self, arg: Any, shape: Any, dtype: Any, copy: bool, max_bytes: int | None,
        target: Backend | None, layout: dict[str, Any],
    ) -> SparseArray:  # fmt: skip
        """Return the matrix for these arguments of the constructor; `layout` are options of the format."""
        options = self.checked_options(layout)
        if not options:
            return construct.build(self, arg, shape, dtype, copy, max_bytes, target)
        return construct.with_options(self, arg, shape, dtype, max_bytes, target, options)

    def checked_options(self, layout: dict[str, Any]) -> dict[str, int]:
        """Return the user's layout options for native code, without those that are None."""
        if unknown := sorted(set(layout) - set(self.options)):
            there = f"expected {', '.join(self.options)}" if self.options else "the format has none"
            raise TypeError(f"{self.who}: no option {', '.join(unknown)}; {there}")
        options = {name: self.options[name](value, f"{self.who}: {name}") for name, value in layout.items()}
        return {name: value for name, value in options.items() if value is not None}

    # ---- sums and elements -----------------------------------------------------------------------
    write_dense = by_csr.write_dense
    element_values = by_csr.element_values
    count_nonzero = by_csr.count_nonzero
    combined = by_csr.combined
    scaled_by = by_csr.scaled_by
    triangle = by_csr.triangle
    total = by_csr.total
    total_of_diagonal = by_csr.total_of_diagonal
    frobenius_norm = by_csr.frobenius_norm
    absolute_sums = by_csr.absolute_sums
    extreme = by_csr.extreme
    element = by_csr.element
    window = by_csr.window
    scipy_row = by_csr.scipy_row

    def add_values(self, a: SparseArray, result: SparseArray, beta: Any) -> None:
        """Write ``result + beta a`` to the values of `a`; `result` has the same structure."""
        a._core.add_scaled(1.0, result._matrix, beta, a._matrix)

    # ---- products ---------------------------------------------------------------------------------
    def matmul(self, a: SparseArray, b: SparseArray) -> SparseArray:
        """Return the sparse product."""
        return MatmulPlan(a, b)()

    def planned_matmul(
        self, a: SparseArray, b: SparseArray, format: str | None, kernel: str | None, out: SparseArray | None,
        max_bytes: int | None, profile: bool,
    ) -> Any:  # fmt: skip
        """Return the sparse product, and with `profile` also the seconds of its stages."""
        if profile:
            return profiled(a, b, out, format=format, kernel=kernel, max_bytes=max_bytes)
        return MatmulPlan(a, b, format, kernel, max_bytes, out=out)(out=out)

    def as_operand(self, a: SparseArray) -> SparseArray:
        """Return this matrix as an operand of plans: unpacked."""
        return unpacked(a)

    def symmetry_of_product(self, a: SparseArray, b: SparseArray) -> int:
        """Return the number of the symmetry that the product is known to have, 0 for none."""
        return 0

    def planned(self, a: SparseArray, b: SparseArray, request: Request) -> tuple[Any, SparseArray, SparseArray]:
        """Return the native plan of a product in this format, and the operands in the form that its kernels read."""
        raise NotImplementedError

    def as_factor(self, a: SparseArray, planned: SparseArray, packed: bool) -> SparseArray:
        """Return an operand in the form that kernels read, like a planned one; `packed`: the user's operand was."""
        raise NotImplementedError

    sum_of_products = by_csr.sum_of_products
