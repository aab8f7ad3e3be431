"""The formats that there are, by name."""

from __future__ import annotations

from typing import Any

FORMATS: dict[str, Any] = {}  # what depends on the format, as `Format` in `_formats/format.py`; filled class by class
SCIPY_ONLY = "bsr", "lil", "dok"  # formats that SciPy has and we have not
COMMON = "csr"  # the format that every other one converts to and from, and multiplies as where it has no way of its own

_EXTENTS = 2**31  # rows or columns that 32-bit indices do not reach


def formats() -> list[str]:
    """Return the names of all formats."""
    return list(FORMATS)


def format_named(format: str) -> Any:
    """Return a format by its name."""
    if format not in FORMATS:
        raise ValueError(f'no format "{format}"; there are {", ".join(FORMATS)}')
    return FORMATS[format]


def default_format(shape: tuple[int, ...]) -> Any:
    """Return the format of a matrix of SciPy's where none is named: csr, or hm where its indices do not reach."""
    return FORMATS["hm" if max(shape, default=0) >= _EXTENTS else COMMON]


def storing_16_bits() -> str:
    """Return what an error says of formats that store 16-bit floats."""
    return ", ".join(name for name, format in FORMATS.items() if format.narrow)


def relabeled(error: Exception, format: str) -> Exception:
    """Return an error of another format, through which a matrix of this one is made, as one of this format."""
    text = str(error)
    if text.partition(":")[0] not in {f"{name}_array" for name in FORMATS if name != format}:
        return error
    kind = next(kind for kind in (MemoryError, TypeError, ValueError) if isinstance(error, kind))
    return kind(f"{format}_array: made by way of {text}")


class FormatName:
    """The name of a class's format, of the class and of its matrices: nobody sets another one."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __get__(self, matrix: Any, cls: type) -> str:
        return self._name

    def __set__(self, matrix: Any, name: str) -> None:
        raise AttributeError(f"format: a matrix keeps the one that it has; A.asformat({name!r}) makes another")
