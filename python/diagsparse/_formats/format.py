"""What every format is, whatever its layout: the matrix with all its methods."""

from __future__ import annotations

from .._matrix.base import SparseArray
from .._matrix.construct import Constructed
from .._matrix.conversions import Conversions
from .._matrix.elementwise import Elementwise
from .._matrix.protocols import Protocols
from .._matrix.views import Views
from .._products.operators import Operators


class Format(Constructed, Operators, Elementwise, Conversions, Views, Protocols, SparseArray):
    """A format that brings its parts, a forecast, and the way to csr and back; what else it may say is in `Family`."""
