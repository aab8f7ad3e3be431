"""Operators that are built with a palette: the arrays of a conversion."""

import numpy as np
import pytest

import diagsparse as ds
from diagsparse import gallery

LOCAL = np.random.default_rng(0).random(14)
OPERATORS = {
    "heisenberg": lambda **as_: gallery.heisenberg(14, **as_),
    "periodic": lambda **as_: gallery.heisenberg(13, periodic=True, couplings=(1, 0.5, 2), field=(0.1, 0, 0.3), **as_),
    "complex values": lambda **as_: gallery.heisenberg(13, field=(0, 0.5, 0.1), **as_),
    "real values in complex128": lambda **as_: gallery.heisenberg(14, couplings=(1, 1, 0.3), dtype=complex, **as_),
    "complex64": lambda **as_: gallery.heisenberg(14, dtype="complex64", **as_),
    "float32": lambda **as_: gallery.transverse_ising(13, dtype="float32", **as_),
    "disorder": lambda **as_: gallery.transverse_ising(14, longitudinal=LOCAL, **as_),
    "signs": lambda **as_: gallery.pauli_sum(["XZZYI" + 11 * "I", "YZZXI" + 11 * "I", "Z" * 16], [1, 1, 2], **as_),
    "bosons": lambda **as_: gallery.bose_hubbard(9, **as_),
    "four levels": lambda **as_: gallery.bose_hubbard(7, levels=4, periodic=True, potential=LOCAL[:7], **as_),
    "not a number": lambda **as_: gallery.heisenberg(13, couplings=(np.nan, 1, 1), **as_),
    "zeros after rounding": lambda **as_: gallery.bose_hubbard(11, hopping=1e-60, dtype="float32", **as_),
    "small": lambda **as_: gallery.heisenberg(4, **as_),
    "one state": lambda **as_: gallery.heisenberg(0, **as_),
    "nothing to save": lambda **as_: gallery.pauli_sum(["XZZZZZZZX"], [1], **as_),
}
# Too small, or most elements are on diagonals of several values.
WITHOUT = ("small", "one state", "nothing to save", "bosons", "four levels", "zeros after rounding")


@pytest.mark.parametrize("operator", OPERATORS)
def test_the_arrays_of_a_conversion(operator):
    built, converted = OPERATORS[operator](format="mdia"), ds.mdia_array(OPERATORS[operator]())
    assert built.palette == converted.palette == (operator not in WITHOUT)
    parts, expected = built.parts(), converted.parts()
    assert parts.keys() == expected.keys()
    for name in expected:
        assert parts[name].dtype == expected[name].dtype and parts[name].shape == expected[name].shape
        assert parts[name].tobytes() == expected[name].tobytes(), name
