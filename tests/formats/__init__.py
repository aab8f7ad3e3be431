"""What the tests know of each format, a file each, written from its definition and from nothing of the library.

``EXAMPLE``: the parts of the matrix that its header draws; ``OPTIONS``: those of its layout, where it is not the one
that would be chosen; ``ORDER``: how a constructor takes the parts; ``decode``: the dense matrix that parts
represent; ``sizes``: the values that lie in a matrix, and its bytes; ``draw``: random parts.
"""

from importlib import import_module


def of(format):
    """Return the file of a format."""
    return import_module(f"formats.{format}")


def options(format):
    """Return the options of the layout that the example has."""
    return getattr(of(format), "OPTIONS", {})


def decode(format, parts, shape):
    """Return the dense array that the component arrays represent."""
    return of(format).decode(parts, shape)


def as_given(format, parts):
    """Return the parts as a constructor takes them."""
    return tuple(
        parts[name] if isinstance(name, str) else tuple(parts[inner] for inner in name) for name in of(format).ORDER
    )
