"""Component arrays by their names, and in other orders than that of the format."""

import numpy as np
import pytest
import scipy.sparse as sp
from cases import DIAGONAL, host, make, raises

import diagsparse as ds

FORMATS = pytest.mark.parametrize("format", ds.formats())
SQUARE = sp.random_array((70, 70), density=0.1, rng=np.random.default_rng(0), format="csr") + sp.eye_array(70)
LAYOUTS = [
    ("ell", {"column_bits": 8}), ("ell", {"row_lengths": True}), ("ell", {"row_lengths": True, "column_bits": 16}),
    ("sell", {"sigma": 64}), ("sell", {"row_lengths": True, "slice_height": 4}), ("sell", {"column_bits": 8}),
    ("ellcsr", {"column_bits": 8}), ("ellcsr", {"boundary": 3}), ("ellcsr", {"symmetry": "hermitian"}),
    ("hyb", {"width": 2}), ("csb", {"block": 8}), ("hm", {"symmetry": "symmetric"}), ("dia", {"symmetry": "hermitian"}),
]  # fmt: skip


def constructor(format):
    return getattr(ds, f"{format}_array")


def same(A, B):
    """Whether two matrices are equal part by part."""
    first, second = host(A.parts()), host(B.parts())
    return first.keys() == second.keys() and all(np.array_equal(part, second[name]) for name, part in first.items())


@FORMATS
def test_every_constructor_accepts_the_arrays_by_name(format, device):
    A = make(format, SQUARE, device=device)
    B = constructor(format)(A.parts(), shape=A.shape)
    assert same(A, B) and B.device == A.device and B.dtype == A.dtype
    some = constructor(format)({**dict(reversed(A.parts().items()))}, shape=A.shape, dtype=complex, copy=True)
    assert some.dtype == complex and np.array_equal(some.toarray(), SQUARE.toarray())


@pytest.mark.parametrize(("format", "layout"), LAYOUTS)
def test_optional_arrays_may_be_left_out(format, layout):
    wide = sp.csr_array((np.ones(400), np.arange(400), np.arange(0, 401, 4)), shape=(100, 400))
    S = SQUARE + SQUARE.T if "symmetry" in layout else SQUARE if format in DIAGONAL else wide
    A = constructor(format)(S, **layout)
    packing = layout if format in DIAGONAL else {}
    assert same(A, constructor(format)(A.parts(), shape=A.shape, **packing))
    if format not in DIAGONAL:
        every = dict.fromkeys(A._format.optional) | A.parts()  # None for those that are missing
        assert same(A, constructor(format)(every, shape=A.shape))


@FORMATS
def test_names_that_do_not_fit(format):
    A = make(format, np.eye(3))
    who, make_it = f"{format}_array", constructor(format)
    with raises(ValueError, who, "foo unknown", "expected values", f"A.parts() of {format}"):
        make_it(A.parts() | {"foo": np.ones(3)}, shape=(3, 3))
    for name in ("values", *A._format.structure):
        with raises(ValueError, who, f"{name} missing", "expected values"):
            make_it({k: v for k, v in A.parts().items() if k != name}, shape=(3, 3))
    with raises(ValueError, who, "without names"):
        make_it({}, shape=(3, 3))
    with raises(ValueError, who, "1 unknown"):
        make_it({1: 2})


def test_parts_that_follow_from_the_others():
    A = ds.hm_array(ds.gallery.tridiagonal(5))
    assert same(A, ds.hm_array({name: A.parts()[name] for name in ("values", "offsets")}, shape=(5, 5)))
    with raises(ValueError, "hm_array", "starts do not fit"):
        ds.hm_array(A.parts() | {"starts": A.parts()["starts"] + 1}, shape=(5, 5))


@pytest.mark.parametrize("format", [f for f in ds.formats() if f not in DIAGONAL])
def test_parts_in_the_order_of_their_names(format, device):
    A = make(format, SQUARE, device=device)
    assert same(A, constructor(format)(tuple(A.parts().values()), shape=A.shape))


@pytest.mark.parametrize("format", [f for f in ds.formats() if f not in ("csr", "csc", "coo")])
def test_entries_need_a_coo_array_first(format):
    entries = np.ones(4), (np.arange(4), np.arange(4))
    for given in (entries, (entries[0], list(entries[1])), ([1.0], ([0], [1]))):
        with raises(ValueError, f"{format}_array: got (values, (rows, columns))", "coo_array(parts, shape=(m, n))"):
            constructor(format)(given, shape=(4, 4))
