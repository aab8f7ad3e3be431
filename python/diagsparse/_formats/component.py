"""Component arrays of a layout as attributes of a matrix."""

from __future__ import annotations

from typing import Any


def component(name: str, doc: str) -> Any:
    """Return the property for the component array of this name, which is None if the matrix does not store it."""

    def array(a: Any) -> Any:  # a function with a `def`, which numpydoc looks for
        return a.parts().get(name)

    return property(array, doc=f"{doc} Not copied.")
