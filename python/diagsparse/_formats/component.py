"""Component arrays of a layout as attributes of a matrix."""

from __future__ import annotations

from typing import Any


def component(name: str, doc: str) -> Any:
    """Return the property that has the component array of this name, None where the matrix does not store it."""
    return property(lambda a: a.parts().get(name), doc=doc)
