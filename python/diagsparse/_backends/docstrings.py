"""Docstrings in NumPy style that are completed with the parameters and sections of another docstring."""

from __future__ import annotations

import re
from collections.abc import Callable
from inspect import CO_VARARGS, CO_VARKEYWORDS, cleandoc
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])
_TITLES = "Parameters", "Returns", "Raises"  # of the sections that are taken from the other docstring, in this order


def completed_by(other: Callable[..., Any] | str, *replacements: tuple[str, str]) -> Callable[[F], F]:
    """Return a decorator that completes a docstring with what it lacks of another one.

    Parameters
    ----------
    other : function or str
        The other docstring. Its parameters are used if the decorated function has them and does not describe them
        itself. Its sections Returns and Raises are used if the decorated function does not have them.
    *replacements : (str, str)
        Words in the other docstring, and those that replace them.
    """
    template = cleandoc((other if isinstance(other, str) else other.__doc__) or "")
    for old, new in replacements:
        template = template.replace(old, new)
    _, sections = _sections(template)
    parameters = _entries(sections.pop("Parameters", ""))

    def decorate(function: F) -> F:
        if function.__doc__:  # python -OO removes docstrings
            function.__doc__ = _completed(cleandoc(function.__doc__), parameters, sections, _arguments(function))
        return function

    return decorate


def _completed(doc: str, parameters: dict[str, str], sections: dict[str, str], names: list[str]) -> str:
    intro, own = _sections(doc)
    entries = _entries(own.get("Parameters", ""))
    missing = set(names) - {name for line in entries for name in _names(line)}
    entries |= {line: text for line, text in parameters.items() if missing & _names(line)}
    order = sorted(entries, key=lambda line: min(names.index(name) for name in _names(line) if name in names))
    own["Parameters"] = "\n".join(entries[line] for line in order)
    merged = {title: own.get(title) or sections.get(title) for title in _TITLES} | own
    return "\n\n".join([intro, *(f"{title}\n{'-' * len(title)}\n{text}" for title, text in merged.items() if text)])


def _arguments(function: Any) -> list[str]:
    """Return the names of the parameters; `inspect.signature` would take most of the time of the import."""
    code = getattr(function, "__wrapped__", function).__code__
    count = code.co_argcount + code.co_kwonlyargcount + bool(code.co_flags & CO_VARARGS)
    return list(code.co_varnames[: count + bool(code.co_flags & CO_VARKEYWORDS)])


def _sections(doc: str) -> tuple[str, dict[str, str]]:
    """Return the text before the first section, and the text of each section by its title."""
    intro, *parts = re.split(r"(?:^|\n\n)(\w+)\n-{3,}\n", doc)
    return intro, dict(zip(parts[::2], parts[1::2], strict=True))


def _entries(section: str) -> dict[str, str]:
    """Return the descriptions of parameters by their first lines."""
    return {entry.partition("\n")[0]: entry for entry in re.split(r"\n(?=\S)", section) if entry}


def _names(line: str) -> set[str]:
    """Return the names in the first line of a description, such as ``alpha, beta : scalar`` or ``**layout``."""
    return set(line.partition(" :")[0].replace("*", "").split(", "))
