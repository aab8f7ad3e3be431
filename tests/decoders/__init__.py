"""One NumPy decoder for each format, written from the format's definition and from nothing of the library."""

from importlib import import_module


def decode(format, parts, shape):
    """Return the dense array that the parts of a layout stand for."""
    return import_module(f"decoders.{format}").decode(parts, shape)
