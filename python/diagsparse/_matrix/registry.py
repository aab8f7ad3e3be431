"""The registry of formats by name."""

from __future__ import annotations

from typing import Any

FORMATS: dict[str, Any] = {}  # the `Format` objects of `_formats/format.py`; each matrix class adds its own
SCIPY_ONLY = "bsr", "lil", "dok"  # formats that only SciPy has
COMMON = "csr"  # the format of generic conversions, and of products for formats that have no kernels for them

_EXTENTS = 2**31  # numbers of rows or columns from which 32-bit indices do not suffice


def formats() -> list[str]:
    """Return the names of all formats.

    Examples
    --------
    >>> import diagsparse as ds
    >>> "hm" in ds.formats()
    True
    """
    return list(FORMATS)


def format_named(format: str) -> Any:
    """Return the format of this name; raise ValueError if there is none."""
    if format not in FORMATS:
        raise ValueError(f'no format "{format}"; there are {", ".join(FORMATS)}')
    return FORMATS[format]


def default_format(shape: tuple[int, ...]) -> Any:
    """Return the default format of a SciPy matrix: csr, or hm if its shape is too large for 32-bit indices."""
    return FORMATS["hm" if max(shape, default=0) >= _EXTENTS else COMMON]


def storing_16_bits() -> str:
    """Return the names of the formats that store 16-bit floats, for errors."""
    return ", ".join(name for name, format in FORMATS.items() if format.narrow)


def relabeled(error: Exception, format: str) -> Exception:
    """Return an error that an intermediate format raised as an error of the target format."""
    text = str(error)
    if text.partition(":")[0] not in {f"{name}_array" for name in FORMATS if name != format}:
        return error
    kind = next(kind for kind in (MemoryError, TypeError, ValueError) if isinstance(error, kind))
    return kind(f"{format}_array: built via {text}")


class FormatName:
    """The read-only attribute `format` of a class and its matrices."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __get__(self, matrix: Any, cls: type) -> str:
        return self._name

    def __set__(self, matrix: Any, name: str) -> None:
        raise AttributeError(f"format: cannot be set; use A.asformat({name!r}) to convert")
