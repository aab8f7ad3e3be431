"""Options of layouts: what they take, and None for one that nobody gives."""

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
            with raises(TypeError, f"{name}=2.5: expected a whole number"):
                make_it(A0, **{name: 2.5})
    A = make_it(A0, **({"column_bits": 8} if format == "ell" else {}))
    assert make_it(A, **layout) is not None and same(A, make_it(A, **layout))
