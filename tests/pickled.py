"""What a pickle of a matrix holds, to be damaged."""

from cases import refused

from diagsparse._matrix.protocols import _unpickle


def state_of(A):
    """Return what a pickle of A holds."""
    format, parts, shape, op, *packing = A.__reduce__()[1]
    return format, {name: part.copy() for name, part in parts.items()}, shape, op, packing


def unpickled(format, parts, shape, op, packing):
    return _unpickle(format, parts, shape, op, *packing)


def refuse_state(*state, words=()):
    """Expect that no matrix can be created from this state."""
    refused(lambda: unpickled(*state), *words)
