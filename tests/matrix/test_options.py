"""Options of layouts: their values, and None for an option that is not given."""

import numpy as np
import pytest
import scipy.sparse as sp
from cases import host, raises

import diagsparse as ds

A0 = sp.random_array((70, 70), density=0.1, rng=np.random.default_rng(0), format="csr")


def same(A, B):
    """Whether two matrices are equal part by part."""
    first, second = host(A.parts()), host(B.parts())
    return first.keys() == second.keys() and all(np.array_equal(part, second[name]) for name, part in first.items())


@pytest.mark.parametrize(("format", "layout"), [
    ("hyb", {"width": None}), ("csb", {"block": None}), ("ell", {"row_lengths": None, "column_bits": None}),
    ("sell", {"slice_height": None, "sigma": None}), ("ellcsr", {"boundary": None, "boundary_column": None}),
])  # fmt: skip
def test_no_option_is_none(format, layout):
    make_it = getattr(ds, f"{format}_array")
    assert same(make_it(A0), make_it(A0, **layout))
    for name in layout:
        with raises(TypeError, f"{format}_array: {name}=2.5: expected", "True or False" * (name == "row_lengths")):
            make_it(A0, **{name: 2.5})
        if name != "row_lengths":
            with raises(TypeError, f"{name}=2.5: expected an integer"):
                make_it(A0, **{name: 2.5})
    A = make_it(A0, **({"column_bits": 8} if format == "ell" else {}))
    assert make_it(A, **layout) is not None and same(A, make_it(A, **layout))


def test_offsets_beyond_64_bits_are_refused():
    """An unsigned number of 2^63 and more stays what it is: no diagonal below the main one."""
    for given in ([2**64 - 1], [0, 2**63]):
        with raises(ValueError, f"qband_array: offsets: {given[-1]} is more than 2^63 - 1"):
            ds.qband_array(A0, offsets=np.array(given, np.uint64))
    assert ds.qband_array(A0, offsets=np.array([3, 1], np.uint64)).offsets.tolist() == [1, 3]
