"""What depends on the format, and the answers of one that only converts: all of them by way of csr.

A format is one object, the attribute ``_format`` of its class of matrices, and the rest of the library asks it.
Families of formats that know better override the answers: `diagonal.Diagonals` (dia, hm, cdm) and `indexed.Entries`
(csr, csc, coo). Whatever is not here is the same for every format.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from .._backends.backend import CPU, Backend
from .._backends.types import value_dtype
from .._matrix import construct
from .._matrix.convert import convert, unpacked, unshared, widen
from .._matrix.registry import COMMON, FORMATS
from .._matrix.request import Pair, Request
from .._matrix.sparse_array import SparseArray
from .._matrix.summary import Summary
from .._products.plans import MatmulPlan
from .._products.profile import profiled
from .._show import cells, drawing
from . import by_csr, from_arrays
from .forecasts import Forecasts
from .packing import UNPACKED, Packing


class Format(Forecasts):
    """A format that converts to csr and from it, and what it says of its layout."""

    array: type[SparseArray]  # the class of its matrices

    def __init__(self, name: str) -> None:
        self.name, self.who = name, f"{name}_array"
        self.family = self.family or name

    family: str = ""  # formats of one family convert, add and multiply among themselves
    structure: ClassVar[tuple[str, ...]] = ()  # the parts beside the values that a matrix is made of
    optional: ClassVar[tuple[str, ...]] = ()  # those that it may have besides
    derived: ClassVar[tuple[str, ...]] = ()  # those that follow from the others
    parts_are: ClassVar[dict[str, Any]] = {}  # the options that describe parts as `parts` returns them
    two_dimensional: ClassVar[tuple[str, ...]] = ()  # the parts that have two dimensions, the values among them
    padded = several = False  # whether some values lie in no place, never read; whether it is several matrices in one
    drops_zeros: ClassVar[bool] = False  # whether conversions to csr and mdia leave out the zeros that are stored
    options: ClassVar[dict[str, Callable[[Any, str], Any]]] = {}  # of the layout: name, and what checks a value
    packs: ClassVar[bool] = False  # whether diagonals may be packed: one triangle, one period
    narrow: ClassVar[bool] = False  # whether values may be stored in 16 bits
    batched: ClassVar[bool] = False  # whether matrices of one layout make a batch
    by_column: ClassVar[bool] = False  # whether drawings are coloured by column
    nearest: ClassVar[str] = COMMON  # the format of CuPy's that is most like this one
    triangles: ClassVar[bool] = False  # whether their plans take one triangle
    own_products: ClassVar[bool] = False  # whether products inside the family have kernels of their own, else as csr
    triangular_products: ClassVar[bool] = False  # whether their plans make one half of a symmetric or Hermitian product
    multiplies: ClassVar[dict[str, str]] = {}  # formats in which products with other families are made

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
        """Return the options that a pickle and a file need besides the parts: none."""
        return UNPACKED

    # ---- conversions ------------------------------------------------------------------------------
    def from_csr(self, csr: SparseArray, max_bytes: int | None, held: int = 0, **options: int) -> SparseArray:
        """Return a csr matrix, which may be a conjugate, in this format, on its device; `options` are checked.

        `held` bytes were taken on the way to it, and count for the user's limit.
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
        """Return a csr matrix in this one's format and with its options."""
        return self.from_csr_as(csr, self.layout(a))

    def from_csr_as(
        self, csr: SparseArray, layout: dict[str, int], max_bytes: int | None = None, held: int = 0
    ) -> SparseArray:
        """Return a csr matrix in a layout of another one's, for which nobody asked; it may give way."""
        return self.from_csr(csr, max_bytes, held, **layout)

    def completed(self, s: Summary, options: dict[str, int]) -> dict[str, int]:
        """Return the options of the layout, with what suits the matrix in the place of those that nobody gave."""
        return options

    def rebuilt_from_csr(self, a: SparseArray, csr: SparseArray) -> SparseArray:
        """Return this matrix, which is in csr, in its own layout and type."""
        return self.from_csr_as(csr, self.own_layout(a)).astype(a._dtype, copy=False)

    def reordered(self, a: SparseArray, csr: SparseArray) -> SparseArray:
        """Return this matrix with its rows and columns in another order, which is in csr, as `like` does.

        Symmetric or hermitian storage stays so.
        """
        return self.like(a, csr)

    def own_layout(self, a: SparseArray) -> dict[str, Any]:
        """Return the options of the layout of this view laid out anew; what is made of it may have others."""
        return self.layout(a)

    def layout(self, a: SparseArray) -> dict[str, int]:
        """Return the options of the layout that this matrix has, and that its copies keep."""
        return {}

    def from_family(self, a: SparseArray, max_bytes: int | None, held: int = 0) -> SparseArray:
        """Return another format of the same family in this one."""
        raise NotImplementedError

    def for_diagonals(self) -> Format:
        """Return the format that SciPy's and CuPy's diagonals are converted to first."""
        return FORMATS["hm"]

    def for_product(self, a: SparseArray, other: SparseArray, repeated: bool, named: bool) -> Format:
        """Return the format in which a product with another matrix of the family is computed.

        `repeated`: by a plan of the user, which may run many times; `named`: by a kernel that the user named.
        """
        return self

    def for_entries(self) -> Format:
        """Return the format that entries are converted to first."""
        return FORMATS[COMMON]

    def from_scipy(
        self, a: Any, dtype: Any, copy: bool, max_bytes: int | None = None, target: Backend = CPU
    ) -> SparseArray:
        """Build from a SciPy array of any format but dia; `target` is where a layout is made best."""
        dtype = value_dtype(a.dtype, dtype, f"{self.who}")
        self.check_shape(a.shape, CPU.core)
        common = FORMATS[COMMON]
        common.check_shape(a.shape, CPU.core)
        csr = common.from_scipy(a, dtype, False, max_bytes)
        result = self.from_csr(csr.to(target.name), max_bytes, self.unshared_nbytes(a, csr))
        return unshared(result, csr, max_bytes) if copy and target is CPU else result

    def empty(self, shape: tuple[int, int], dtype: np.dtype, backend: Backend = CPU) -> SparseArray:
        """Return a matrix that stores nothing."""
        common, nothing = FORMATS[COMMON], Summary.empty(shape, dtype.itemsize)
        self.require(nothing, None, backend, temporary=common.nbytes(nothing))
        return self.from_csr(common.empty(shape, dtype, backend), None)

    def materialized(self, a: SparseArray) -> SparseArray:
        """Return what this transposed view shows, in a layout of its own."""
        return self.rebuilt_from_csr(a, self.to_csr(a))

    def diagonal_values(self, a: SparseArray, k: int) -> np.ndarray:
        """Return the same for a sum: where it lies, if that is possible, and empty where nothing is stored."""
        return a.diagonal(k)

    def sort_in_place(self, a: SparseArray) -> None:
        """Bring stored values into the order of the layout, where a user left them in another one."""

    # ---- what is shown ----------------------------------------------------------------------------
    def description(self, a: SparseArray) -> str:
        """Return what the one-line repr says of the layout."""
        return ""

    def draw(self, a: SparseArray, width: float, height: float) -> tuple[str, str]:
        """Return a drawing of a large matrix as SVG, and what to say of it."""
        return drawing.density(self.to_csr(a), width, height)

    def drawn_diagonals(self, a: SparseArray) -> list[cells.Drawn]:
        """Return the diagonals that a drawing names, ascending, with their colours."""
        return []

    def draw_cells(self, a: SparseArray) -> list[Any]:
        """Return what to draw of a small matrix: a cell for each value."""
        return cells.of_entries(a)

    def draw_layout(self, a: SparseArray, small: bool) -> tuple[str, str]:
        """Return a drawing of the parts as SVG, with values where it is small, and what to say of it."""
        return drawing.parts_of(a, small)

    # ---- construction -----------------------------------------------------------------------------
    def construct(
        self, arg: Any, shape: Any, dtype: Any, copy: bool, max_bytes: int | None,
        target: Backend | None, layout: dict[str, Any],
    ) -> SparseArray:  # fmt: skip
        """Return the matrix that the constructor's arguments describe; `layout` are options of the format."""
        options = self.checked_options(layout)
        if not options:
            return construct.build(self, arg, shape, dtype, copy, max_bytes, target)
        return construct.with_options(self, arg, shape, dtype, max_bytes, target, options)

    def checked_options(self, layout: dict[str, Any]) -> dict[str, int]:
        """Return the options that a user gave for the layout as native code takes them; None is one that is not."""
        if unknown := sorted(set(layout) - set(self.options)):
            there = f"expected {', '.join(self.options)}" if self.options else "the format has none"
            raise TypeError(f"{self.who}: no option {', '.join(unknown)}; {there}")
        options = {name: self.options[name](value, f"{self.who}: {name}") for name, value in layout.items()}
        return {name: value for name, value in options.items() if value is not None}

    # ---- sums and elements -----------------------------------------------------------------------
    write_dense = by_csr.write_dense
    count_nonzero = by_csr.count_nonzero
    added = by_csr.added
    multiplied = by_csr.multiplied
    scaled_by = by_csr.scaled_by
    divided_by = by_csr.divided_by
    triangle = by_csr.triangle
    total = by_csr.total
    total_of_diagonal = by_csr.total_of_diagonal
    frobenius_norm = by_csr.frobenius_norm
    absolute_sums = by_csr.absolute_sums
    extreme = by_csr.extreme
    element = by_csr.element
    window = by_csr.window
    scipy_row = by_csr.scipy_row

    def terms(self, matrix: SparseArray, other: SparseArray) -> tuple[SparseArray, SparseArray]:
        """Return this matrix and another one as `added` takes them: unpacked, and of one family or with a partner."""
        a, b = unpacked(matrix), unpacked(other)
        same_family = a._format is b._format or a._format.family == b._format.family
        return a, b if same_family else a._format.partner(a, b)

    def partner(self, a: SparseArray, other: SparseArray) -> SparseArray:
        """Return a matrix of another family as `added` takes it."""
        return convert(other, COMMON)

    def sum_on_union(self, a: SparseArray, other: SparseArray) -> SparseArray:
        """Return the sum with one of this format and dtype, on the entries that one of both stores, zero or not."""
        return self.added(a, other, 1, 1)

    def factors(self, a: SparseArray, other: SparseArray) -> tuple[SparseArray, SparseArray]:
        """Return this matrix and another one as `multiplied` takes them; as csr, where two families are left."""
        return unpacked(a), unpacked(other)

    def add_values(self, a: SparseArray, result: SparseArray, beta: Any) -> None:
        """Write ``made + beta self`` to these values; `made` has the same structure."""
        a._core.add_scaled(1.0, result._matrix, beta, a._matrix)

    # ---- products ---------------------------------------------------------------------------------
    def matmul(self, a: SparseArray, b: SparseArray) -> SparseArray:
        """Return the sparse product."""
        return MatmulPlan(a, b)()

    def planned_matmul(
        self, a: SparseArray, b: SparseArray, format: str | None, kernel: str | None, out: SparseArray | None,
        max_bytes: int | None, profile: bool,
    ) -> Any:  # fmt: skip
        """Return the sparse product, with `profile` and the seconds of its stages."""
        if profile:
            return profiled(a, b, out, format=format, kernel=kernel, max_bytes=max_bytes)
        return MatmulPlan(a, b, format, kernel, max_bytes, out=out)(out=out)

    def as_operand(self, a: SparseArray) -> SparseArray:
        """Return this matrix as plans of products take it: unpacked."""
        return unpacked(a)

    def symmetry_of_product(self, a: SparseArray, b: SparseArray) -> int:
        """Return the number of the symmetry that makes one half of the product enough, 0 for none."""
        return 0

    def planned(self, a: SparseArray, b: SparseArray, request: Request) -> tuple[Any, SparseArray, SparseArray]:
        """Return the native plan of a product in this format, and the operands as its kernels take them."""
        raise NotImplementedError

    def as_factor(self, a: SparseArray, planned: SparseArray, packed: bool) -> SparseArray:
        """Return an operand as these kernels take it, in place of a planned one (which was `packed` when given)."""
        raise NotImplementedError

    def sum_of_products(
        self, a: SparseArray, who: str, pairs: list[Pair], c: SparseArray | None,
        alpha: complex, beta: complex, triangle: str | None, work: str, kernel: str | None, out: SparseArray | None,
        max_bytes: int | None,
    ) -> SparseArray:  # fmt: skip
        """Return alpha times the sum of the products, plus beta c, of a family with products of its own."""
        raise NotImplementedError
