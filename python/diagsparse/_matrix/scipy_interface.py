"""A matrix among SciPy's: what `scipy.sparse.issparse` asks, and the methods ``to<format>()`` of both."""

from __future__ import annotations

from abc import ABCMeta
from typing import Any

import scipy.sparse as sp


def add_methods(cls: Any, base: Any) -> None:
    """Give every matrix, and SciPy's, the method that makes one of this class."""
    setattr(base, f"to{cls.format}", _converter(cls.format))
    if not hasattr(sp.csr_array, f"to{cls.format}"):  # so that SciPy's `asformat` and its format= know it
        for theirs in (sp.sparray, sp.spmatrix):
            setattr(theirs, f"to{cls.format}", _from_scipys(cls))


def _converter(format: str) -> Any:
    """Return the method ``to<format>()``."""

    def convert(self: Any, copy: bool = False, *, max_bytes: int | None = None, **layout: Any) -> Any:
        return self.asformat(format, copy, max_bytes=max_bytes, **layout)

    convert.__name__ = f"to{format}"
    convert.__doc__ = f"Return this matrix as `{format}_array`; see `asformat`."
    return convert


def _from_scipys(cls: Any) -> Any:
    """Return the method ``to<format>()`` of SciPy's sparse arrays and matrices."""

    def convert(self: Any, copy: bool = False) -> Any:
        return cls(self, copy=copy)

    convert.__name__ = f"to{cls.format}"
    convert.__doc__ = f"Return this matrix as `diagsparse.{cls.format}_array`."
    return convert


def join_scipy(cls: type) -> None:
    """Have `scipy.sparse.issparse` count this class: register it with the most general one of SciPy's."""
    kinds = [sp.csr_array, sp.csr_matrix, sp.dok_array]
    common = [c for c in sp.csr_array.__mro__ if isinstance(c, ABCMeta) and all(issubclass(k, c) for k in kinds)]
    common[0].register(cls)  # a base of ours, it would make each isinstance() of ours slower
