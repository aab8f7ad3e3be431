"""Integration with `scipy.sparse`: `issparse` accepts matrices of diagsparse, which convert to and from SciPy's."""

from __future__ import annotations

from abc import ABCMeta
from typing import Any

import scipy.sparse as sp

from .._backends.docstrings import completed_by
from .conversions import asformat


def add_methods(cls: Any, base: Any) -> None:
    """Add the method that converts to this class to the matrices of diagsparse and SciPy."""
    setattr(base, f"to{cls.format}", _converter(cls.format))
    if not hasattr(sp.csr_array, f"to{cls.format}"):  # for SciPy's `asformat` and format=
        for scipy_class in (sp.sparray, sp.spmatrix):
            setattr(scipy_class, f"to{cls.format}", _scipy_converter(cls))


def _converter(format: str) -> Any:
    """Return the method ``to<format>()`` of diagsparse's matrices."""

    def convert(self: Any, copy: bool = False, *, max_bytes: int | None = None, **layout: Any) -> Any:
        return self.asformat(format, copy, max_bytes=max_bytes, **layout)

    convert.__name__ = f"to{format}"
    convert.__doc__ = (_convert.__doc__ or "").replace("<format>", format)
    return convert


@completed_by(asformat)
def _convert(self: Any, copy: bool = False, *, max_bytes: int | None = None, **layout: Any) -> None:
    """Return this matrix as `<format>_array`.

    Raises
    ------
    ValueError
        If the format does not support a matrix of this shape.
    MemoryError
        If the result and the temporary memory exceed `max_bytes` or the free memory.
    """


def _scipy_converter(cls: Any) -> Any:
    """Return the method ``to<format>()`` of SciPy's sparse arrays and matrices."""

    def convert(self: Any, copy: bool = False) -> Any:
        return cls(self, copy=copy)

    convert.__name__ = f"to{cls.format}"
    convert.__doc__ = f"Return this matrix as `diagsparse.{cls.format}_array`."
    return convert


def join_scipy(cls: type) -> None:
    """Make `scipy.sparse.issparse` accept this class: register it with SciPy's most general base class."""
    kinds = [sp.csr_array, sp.csr_matrix, sp.dok_array]
    common = [c for c in sp.csr_array.__mro__ if isinstance(c, ABCMeta) and all(issubclass(k, c) for k in kinds)]
    common[0].register(cls)  # as a base class it would slow down every isinstance()
