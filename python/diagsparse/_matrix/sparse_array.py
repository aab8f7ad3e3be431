"""The base class of all matrices, whose methods are the functions of this folder's modules."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from . import (
    comparisons,
    construct,
    conversions,
    elementwise,
    elementwise_functions,
    indexing,
    numpy_functions,
    operators,
    protocols,
    through_scipy,
    totals,
    views,
)  # fmt: skip
from .base import Base
from .registry import FORMATS, FormatName
from .scipy_interface import add_methods, join_scipy
from .summary import Summary


class SparseArray(Base):
    """The interface that the matrices of all formats have in common.

    `A.T`, `A.H` and `A.conj()` are views, which share the values of A. Matrices are SciPy sparse arrays, too:
    ``scipy.sparse.issparse`` is True for them, and functions that take SciPy's sparse arrays accept them.
    """

    __array_priority__ = 11.0
    __array_ufunc__ = numpy_functions.apply  # NumPy defers `x @ A`, `x * A` and `x += A` to us
    __array_function__ = numpy_functions.call
    __array__ = numpy_functions.as_object
    __hash__ = None  # type: ignore[assignment]  # as for NumPy's and SciPy's arrays, because == is element-wise

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        own = vars(cls)
        if not own.keys() & {"_format", "format"}:
            return
        name = own["_format"].name if "_format" in own else own["format"]
        if name in FORMATS:
            raise TypeError(f"format {name!r} is that of {FORMATS[name].array.__name__}")
        if "_format" not in own:
            raise TypeError(f"format {name!r}: {cls.__name__} has no `_format` that describes it")
        FORMATS[name], cls._format.array, cls.format = cls._format, cls, FormatName(name)  # type: ignore[assignment]
        add_methods(cls, SparseArray)

    def __init__(
        self,
        arg: Any,
        /,
        shape: tuple[int, int] | None = None,
        dtype: Any = None,
        *,
        copy: bool = False,
        device: str | None = None,
        max_bytes: int | None = None,
        **layout: Any,
    ) -> None:
        construct.initialize(self, arg, shape, dtype, copy, device, max_bytes, layout)

    # ---- products ---------------------------------------------------------------------------------
    __matmul__ = operators.times
    __rmatmul__ = operators.times_on_the_right
    dot = operators.dot
    matmul = operators.matmul
    matvec = matmat = operators.matvec
    rmatvec = rmatmat = operators.rmatvec
    kernels = operators.kernels

    # ---- element by element -----------------------------------------------------------------------
    __add__ = __radd__ = elementwise.add
    __sub__ = elementwise.subtract
    __rsub__ = elementwise.subtract_from
    __mul__ = elementwise.times
    __rmul__ = elementwise.times_on_the_right
    __truediv__ = elementwise.divide
    __rtruediv__ = elementwise.refuse_to_divide
    multiply = elementwise.multiply
    __eq__ = comparisons.equal
    __ne__ = comparisons.not_equal
    __lt__ = comparisons.less
    __le__ = comparisons.less_equal
    __gt__ = comparisons.greater
    __ge__ = comparisons.greater_equal
    maximum = comparisons.maximum
    minimum = comparisons.minimum
    __neg__ = elementwise_functions.negative
    __abs__ = elementwise_functions.absolute
    __pow__ = elementwise_functions.to_power
    __round__ = elementwise_functions.rounded
    __imul__ = elementwise_functions.scale_in_place
    __itruediv__ = elementwise_functions.divide_in_place
    power = elementwise_functions.power

    @property
    def real(self) -> SparseArray:
        """The real parts; the matrix itself if it is real."""
        return elementwise_functions.real(self)

    @property
    def imag(self) -> SparseArray:
        """The imaginary parts; explicit zeros if the matrix is real."""
        return elementwise_functions.imag(self)

    arcsin = elementwise_functions.ufunc_method(np.arcsin)
    arcsinh = elementwise_functions.ufunc_method(np.arcsinh)
    arctan = elementwise_functions.ufunc_method(np.arctan)
    arctanh = elementwise_functions.ufunc_method(np.arctanh)
    ceil = elementwise_functions.ufunc_method(np.ceil)
    deg2rad = elementwise_functions.ufunc_method(np.deg2rad)
    expm1 = elementwise_functions.ufunc_method(np.expm1)
    floor = elementwise_functions.ufunc_method(np.floor)
    log1p = elementwise_functions.ufunc_method(np.log1p)
    rad2deg = elementwise_functions.ufunc_method(np.rad2deg)
    rint = elementwise_functions.ufunc_method(np.rint)
    sign = elementwise_functions.ufunc_method(np.sign)
    sin = elementwise_functions.ufunc_method(np.sin)
    sinh = elementwise_functions.ufunc_method(np.sinh)
    sqrt = elementwise_functions.ufunc_method(np.sqrt)
    square = elementwise_functions.ufunc_method(np.square)
    tan = elementwise_functions.ufunc_method(np.tan)
    tanh = elementwise_functions.ufunc_method(np.tanh)
    trunc = elementwise_functions.ufunc_method(np.trunc)

    # ---- sums, extremes, positions ----------------------------------------------------------------
    sum = totals.sum
    mean = totals.mean
    trace = totals.trace
    count_nonzero = totals.count_nonzero
    max = through_scipy.max
    min = through_scipy.min
    nanmax = through_scipy.nanmax
    nanmin = through_scipy.nanmin
    argmax = through_scipy.argmax
    argmin = through_scipy.argmin
    nonzero = through_scipy.nonzero

    # ---- by index ---------------------------------------------------------------------------------
    __getitem__ = indexing.get
    __setitem__ = indexing.set
    __iter__ = indexing.rows
    setdiag = indexing.setdiag
    diagonal = conversions.diagonal

    # ---- views and copies -------------------------------------------------------------------------
    @property
    def T(self) -> SparseArray:
        """The transpose, as a view."""
        return views.transposed(self)

    mT = T

    @property
    def H(self) -> SparseArray:
        """The conjugate transpose, as a view."""
        return self.T.conj()

    transpose = views.transpose
    adjoint = views.adjoint
    conj = conjugate = views.conj
    copy = conversions.copy

    # ---- formats, types and devices ---------------------------------------------------------------
    asformat = conversions.asformat
    astype = conversions.astype
    unpacked = conversions.unpack
    to = conversions.to
    to_scipy = conversions.to_scipy
    to_cupy = conversions.to_cupy
    toarray = conversions.toarray
    todense = conversions.todense
    eliminate_zeros = conversions.eliminate_zeros
    tobsr = through_scipy.tobsr
    tolil = through_scipy.tolil
    todok = through_scipy.todok
    reshape = through_scipy.reshape
    resize = through_scipy.resize

    # ---- Python's protocols -----------------------------------------------------------------------
    __reduce__ = protocols.reduce
    __copy__ = protocols.copy
    __deepcopy__ = protocols.deepcopy
    __bool__ = protocols.truth
    __len__ = protocols.length
    __repr__ = protocols.text
    _repr_html_ = protocols.html

    def _summary(self) -> Summary:
        """Return the quantities that forecasts need."""
        return self._format.summary(self)

    # ---- private attributes that SciPy's functions use ----------------------------------------------
    _bsr_container, _coo_container, _csc_container = sp.bsr_array, sp.coo_array, sp.csc_array
    _csr_container, _dia_container = sp.csr_array, sp.dia_array
    _dok_container, _lil_container = sp.dok_array, sp.lil_array
    _add_sparse = elementwise.add  # called by SciPy's dia for other formats
    _matmul_sparse = operators.times  # called with a diagonal, for a SciPy row times a matrix of diagsparse
    _mul_scalar = elementwise.times  # called for a SciPy matrix of one element
    _shape_as_2d = Base.shape
    _deduped_data = through_scipy.entry_values

    def _asfptype(self) -> SparseArray:
        return self  # values are floats


join_scipy(SparseArray)
