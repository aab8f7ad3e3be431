"""Component arrays of a layout as attributes of a matrix."""

from __future__ import annotations

from typing import Any


def component(name: str, doc: str) -> Any:
    """Return the property for the component array of this name, which is None if the matrix does not store it."""
    return property(lambda a: a.parts().get(name), doc=f"{doc} Not copied.")
