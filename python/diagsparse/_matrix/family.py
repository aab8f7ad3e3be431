"""What depends on the format, and the answers of one that only converts: all of them by way of csr.

A family of formats that knows better overrides them: `formats.diagonal` (dia, hm, cdm), `formats.indexed` (csr, csc,
coo). Whatever is not said here is the same for every format.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from .._arrays import host_dense
from .._places.arguments import integer
from .._places.backend import CPU, Place
from .._places.types import value_dtype
from .._show import cells, drawing
from .arithmetic import Arithmetic
from .convert import convert, unpacked, unshared
from .forecasts import Forecasts
from .registry import COMMON, FORMATS
from .summary import SYMMETRIES, Summary

if TYPE_CHECKING:
    from .base import SparseArray


class Family(Arithmetic, Forecasts):
    """The questions that the rest of the library puts to a matrix instead of asking what it is."""

    _family: ClassVar[str] = ""  # formats of one family convert, add and multiply among themselves
    _structure: ClassVar[tuple[str, ...]] = ()  # the parts beside the values that a matrix is made of
    _optional: ClassVar[tuple[str, ...]] = ()  # those that it may have besides
    _derived: ClassVar[tuple[str, ...]] = ()  # those that follow from the others
    _parts_are: ClassVar[
        dict[str, Any]
    ] = {}  # what options of the constructor say of parts that are as `parts` has them
    _two_dimensional: ClassVar[tuple[str, ...]] = ()  # the parts that have two dimensions, the values among them
    _padded = _several = False  # whether some values lie in no place, never read; whether it is several matrices in one
    _drops_zeros: ClassVar[bool] = False  # whether conversions to csr and mdia leave out the zeros that are stored
    _options: ClassVar[dict[str, Callable[[Any, str], Any]]] = {}  # of the layout: name, and what checks a value
    _packs: ClassVar[bool] = False  # whether diagonals may be packed: one triangle, one period
    _narrow: ClassVar[bool] = False  # whether values may be stored in 16 bits
    _batched: ClassVar[bool] = False  # whether matrices of one layout make a batch
    _by_column: ClassVar[bool] = False  # whether drawings are coloured by column
    _nearest: ClassVar[str] = COMMON  # the format of CuPy's that is most like this one
    _triangles: ClassVar[bool] = False  # whether their plans take one triangle
    _own_products: ClassVar[bool] = False  # whether products inside the family have kernels of their own, else as csr

    _halves: ClassVar[bool] = False  # whether their plans make one half of a symmetric or Hermitian product
    _multiplies: ClassVar[dict[str, str]] = {}  # formats in which products with other families are made

    # ---- making -----------------------------------------------------------------------------------
    @classmethod
    def _from_csr(
        cls: type[SparseArray], csr: SparseArray, max_bytes: int | None, held: int = 0, **options: int
    ) -> SparseArray:
        """Return a csr matrix, which may be a conjugate, in this format, on its device; `options` are checked.

        `held` bytes were taken on the way to it, and count for the user's limit.
        """
        if csr._op:
            csr, held = csr.copy(), held + csr.nbytes
        s = csr._summary()
        options = cls._completed(s, options)
        cls._require(s, max_bytes, csr._place, csr, held, **options)
        return cls._wrap(csr._core.convert(csr._matrix, 0, cls._format, options))

    def _to_csr(self: SparseArray, max_bytes: int | None = None, held: int = 0) -> SparseArray:
        """Return this view as a csr matrix, on its device."""
        FORMATS[COMMON]._foresee(self, max_bytes, held)
        return self._wrap(self._core.convert(self._widened()._matrix, self._op, COMMON))

    def _like(self: SparseArray, csr: SparseArray) -> SparseArray:
        """Return a csr matrix in this one's format and with its options."""
        return self._laid_out_as(csr, self._layout())

    @classmethod
    def _laid_out_as(
        cls, csr: SparseArray, layout: dict[str, int], max_bytes: int | None = None, held: int = 0
    ) -> SparseArray:
        """Return a csr matrix in a layout of another one's, for which nobody asked; it may give way."""
        return cls._from_csr(csr, max_bytes, held, **layout)

    @classmethod
    def _completed(cls, s: Summary, options: dict[str, int]) -> dict[str, int]:
        """Return the options of the layout, with what suits the matrix in the place of those that nobody gave."""
        return options

    def _again(self: SparseArray, csr: SparseArray) -> SparseArray:
        """Return this matrix, which is in csr, in its own layout and type."""
        return self._laid_out_as(csr, self._kept()).astype(self._dtype, copy=False)

    def _reordered(self: SparseArray, csr: SparseArray) -> SparseArray:
        """Return this matrix with its rows and columns in another order, which is in csr, as `_like` does.

        Symmetric or hermitian storage stays so.
        """
        return self._like(csr)

    def _kept(self: SparseArray) -> dict[str, Any]:
        """Return the options of the layout of this view laid out anew; what is made of it may have others."""
        return self._layout()

    def _layout(self: SparseArray) -> dict[str, int]:
        """Return the options of the layout that this matrix has, and that its copies keep."""
        return {}

    @classmethod
    def _within(cls, a: SparseArray, max_bytes: int | None, held: int = 0) -> SparseArray:
        """Return another format of the same family in this one."""
        raise NotImplementedError

    @classmethod
    def _for_diagonals(cls) -> type[SparseArray]:
        """Return the class that SciPy's and CuPy's diagonals come to first."""
        return FORMATS["hm"]

    def _for_product(self: SparseArray, other: SparseArray, repeated: bool, named: bool) -> type[SparseArray]:
        """Return the class that a product with another one of the family is made in.

        `repeated`: by a plan that is kept; `named`: by a kernel of this family that the user named.
        """
        return type(self)

    @classmethod
    def _for_entries(cls) -> type[SparseArray]:
        """Return the class that entries come to first."""
        return FORMATS[COMMON]

    @classmethod
    def _from_scipy(
        cls, a: Any, dtype: Any, copy: bool, max_bytes: int | None = None, target: Place = CPU
    ) -> SparseArray:
        """Build from a SciPy array of any format but dia; `target` is where a layout is made best."""
        kept = value_dtype(a.dtype, dtype, f"{cls.__name__}")
        cls._check_shape(a.shape, CPU.core)
        common = FORMATS[COMMON]
        common._check_shape(a.shape, CPU.core)
        csr = common._from_scipy(a, kept, False, max_bytes)
        made = cls._from_csr(csr.to(target.name), max_bytes, cls._held(a, csr))
        return unshared(made, csr, max_bytes) if copy and target is CPU else made

    @classmethod
    def _from_parts(cls, parts: dict[str, np.ndarray], shape: tuple[int, int], *packing: Any) -> SparseArray:
        """Build from what `parts` of another matrix gave, in NumPy arrays; `packing` as in its pickle."""
        raise NotImplementedError

    @classmethod
    def _in_order(cls, parts: Mapping[str, Any]) -> tuple[Any, ...]:
        """Return the parts that a user gave by their names as `_from_tuple` takes them."""
        raise NotImplementedError

    @classmethod
    def _from_tuple(
        cls, arg: tuple[Any, ...], shape: tuple[int, int] | None, dtype: Any, copy: bool, max_bytes: int | None
    ) -> SparseArray:
        """Build from the parts that a user gave."""
        raise NotImplementedError

    @classmethod
    def _from_device_tuple(
        cls, arg: tuple[Any, ...], shape: tuple[int, int] | None, dtype: Any, copy: bool, max_bytes: int | None
    ) -> SparseArray:
        """Do the same where some of the parts lie on a GPU."""
        raise NotImplementedError

    @classmethod
    def _empty(cls, shape: tuple[int, int], dtype: np.dtype, place: Place = CPU) -> SparseArray:
        """Return a matrix that stores nothing."""
        common, nothing = FORMATS[COMMON], Summary.of_nothing(shape, dtype.itemsize)
        cls._require(nothing, None, place, beside=common._forecast(nothing))
        return cls._from_csr(common._empty(shape, dtype, place), None)

    def _rebuilt(self: SparseArray, target: Place, carry: Callable[[Any], Any]) -> Any:
        """Return the C++ matrix of these parts at another place, where `carry` copies arrays."""
        raise NotImplementedError

    # ---- copies, and out to NumPy and SciPy ---------------------------------------------------------
    def copy(self: SparseArray) -> SparseArray:
        """Return an independent matrix; a view is laid out anew."""
        if self._op & 1:
            return self._anew()
        values = self._matrix.values
        return self._wrap(self._matrix.with_values(values.conj() if self._op else values.copy()))

    def _anew(self: SparseArray) -> SparseArray:
        """Return what this transposed view shows, in a layout of its own."""
        return self._again(self._to_csr())

    def to_scipy(self: SparseArray, format: str | None = None) -> Any:
        """Return this matrix in the format of SciPy's that is named, by default the nearest one."""
        return self._to_csr().to_scipy(format)

    def toarray(self: SparseArray, order: str | None = None, out: np.ndarray | None = None) -> np.ndarray:
        """Return a dense NumPy array, shape (m, n); `out` is overwritten where given."""
        dense = self._dense_output(order, out)
        if self._place is not CPU:
            return self.to("cpu").toarray(out=dense)
        wide = unpacked(self)
        if wide._dtype == self._dtype and (out is None or host_dense.native(out)):
            wide._onto(dense, 1, False)
        else:
            dense[...] = wide.toarray()
        return dense

    def _onto(self: SparseArray, dense: np.ndarray, alpha: int, add: bool) -> None:
        """Write `alpha` times what is stored to an array that native code can walk, or add it there; on the CPU."""
        self._to_csr()._onto(dense, alpha, add)

    def diagonal(self: SparseArray, k: int = 0) -> np.ndarray:
        """Return a copy of diagonal `k` (0: the main one) in NumPy, of its true length; zeros where none is stored."""
        if not self._op:
            return self._to_csr().diagonal(k).astype(self._dtype, copy=False)
        k = integer(k, "diagonal: k")
        values = self._wrap(self._matrix).diagonal(-k if self._op & 1 else k)
        return values.conj() if self._op & 2 else values

    def _diagonal_to_read(self: SparseArray, k: int) -> np.ndarray:
        """Return the same for a sum: where it lies, if that is possible, and empty where nothing is stored."""
        return self.diagonal(k)

    def _count_nonzero(self: SparseArray) -> int:
        """Count the stored values that are not zero."""
        if self._padded or self._matrix.symmetry:  # one half stands for both
            return self._wrap(self._matrix)._to_csr()._count_nonzero()
        return sum(self._core.count_nonzero(self._matrix))

    def _sort_in_place(self: SparseArray) -> None:
        """Bring stored values into the order of the layout, where a user left them in another one."""

    def eliminate_zeros(self: SparseArray) -> None:
        """Drop the stored zeros, in place."""
        csr = self._to_csr().copy()
        csr.eliminate_zeros()
        self._matrix, self._op = self._again(csr)._matrix, 0

    # ---- forecasts --------------------------------------------------------------------------------
    def _found_symmetry(self: SparseArray) -> str | None:
        """Return the first symmetry that the values have, None where they have none."""
        if self._shape[0] != self._shape[1]:
            return None
        csr = convert(self, COMMON)  # a conjugate has the symmetries of its origin
        bits = csr._core.symmetries(csr._matrix)
        return next((name for bit, name in SYMMETRIES.items() if bits & bit), None)

    # ---- what is shown ----------------------------------------------------------------------------
    def _told(self: SparseArray) -> str:
        """Return what the one-line repr says of the layout."""
        return ""

    def _drawn(self: SparseArray, width: float, height: float) -> tuple[str, str]:
        """Return a drawing of a large matrix as SVG, and what to say of it."""
        return drawing.density(self._to_csr(), width, height)

    def _drawn_diagonals(self: SparseArray) -> list[cells.Drawn]:
        """Return the diagonals that a drawing names, ascending, with their colours."""
        return []

    def _drawn_cells(self: SparseArray) -> list[Any]:
        """Return what to draw of a small matrix: a cell for each value."""
        return cells.of_entries(self)

    def _drawn_layout(self: SparseArray, small: bool) -> tuple[str, str]:
        """Return a drawing of the parts as SVG, with values where it is small, and what to say of it."""
        return drawing.parts_of(self, small)
