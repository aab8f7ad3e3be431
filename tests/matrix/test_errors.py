"""Bad input: the right exception, with what was given and what was expected, and nothing changed by it."""

import sys

import numpy as np
import pytest
import scipy.sparse as sp
from cases import DIAGONAL, STORING_16_BITS, make, raises

import diagsparse as ds

FORMATS = pytest.mark.parametrize("format", ds.formats())
FAMILY = pytest.mark.parametrize("format", DIAGONAL)
EYE = np.eye(3)


def parts_of(format, count, n=4):
    """Return values for `count` diagonals of a matrix of order n, each of full length."""
    return np.ones(count * n) if format == "hm" else np.ones((count, n))


# ---- offsets --------------------------------------------------------------------------------------
@FAMILY
def test_offsets_that_are_not_integers(format):
    what = "rows" if format == "cdm" else "offsets"
    for bad, kind, words in (
        ([0, np.nan], ValueError, ["nan"]),
        ([0, np.inf], ValueError, ["inf"]),
        ([0.0, 1.0], TypeError, ["float64", "integers"]),
        ([True, False], TypeError, ["bool", "integers"]),
        (["0", "1"], TypeError, ["integers"]),
        ([None, 1], TypeError, ["object", "integers"]),
        ([0, 2**70], (TypeError, ValueError), []),
        (np.array([0, 2**63], np.uint64), (TypeError, ValueError), []),
        ([[0, 1]], ValueError, ["(1, 2)"]),
        (0j, TypeError, ["complex128", "integers"]),
    ):
        with raises(kind, f"{format}_array", what, *words):
            make(format, (parts_of(format, 2), bad), shape=(4, 4))


@FAMILY
def test_offsets_that_repeat_or_lie_outside(format):
    what = "rows" if format == "cdm" else "offsets"
    with raises(ValueError, f"{format}_array", what, "[1, 1]", "repeat 1", "may be given once"):
        make(format, (parts_of(format, 2), [1, 1]), shape=(4, 4))
    for bad in (4, -4 if format != "cdm" else -1, 10**9, -(10**12)):
        with raises(ValueError, f"{format}_array", what, f"hold {bad}", "outside", "4 x 4"):
            make(format, (parts_of(format, 2), [0, bad]), shape=(4, 4))
    with raises(ValueError, f"{format}_array", "[7, 7, 7, 7, 7, 7, 7, 7, ...]"):
        make(format, (parts_of(format, 20), [7] * 20), shape=(4, 4))


def test_matrices_without_elements_have_no_diagonals():
    for shape, k in (((0, 5), 1), ((0, 5), 0), ((5, 0), -2), ((0, 0), 0)):
        for format in ("dia", "hm"):
            values = np.zeros(0) if format == "hm" else np.zeros((1, shape[0]))
            with raises(ValueError, f"hold {k}", f"{shape[0]} x {shape[1]}"):
                make(format, (values, [k]), shape=shape)


def test_order_of_hm_offsets():
    with raises(ValueError, "hm_array", "order", "superdiagonals ascending", "subdiagonals descending"):
        ds.hm_array((np.ones(10), [-1, 0, 1]), shape=(4, 4))


@FAMILY
def test_values_of_another_size(format):
    for count in (0, 1, 3):
        with raises(ValueError, f"{format}_array", "2", "4 x 4"):
            make(format, (parts_of(format, count, 4), [0, 1]), shape=(4, 4))
    with raises(ValueError, f"{format}_array", "(2, 2, 2)"):
        make(format, (np.ones((2, 2, 2)), [0, 1]), shape=(4, 4))
    with raises(ValueError, f"{format}_array", "1 arrays"):
        make(format, (np.ones((2, 4)),), shape=(4, 4))
    if format != "cdm":
        with raises(ValueError, f"{format}_array", "shape=(m, n)"):
            make(format, (parts_of(format, 1), [0]))


# ---- shapes ---------------------------------------------------------------------------------------
@pytest.mark.quick
@FORMATS
def test_bad_shapes(format):
    for shape, kind, words in (
        ((-1, 4), ValueError, ["(-1, 4)"]),
        ((2**62, 2**62), ValueError, [str(2**62), "below 2^62"]),
        ((3, 4, 5), (TypeError, ValueError), []),
        ((3.0, 4.0), (TypeError, ValueError), []),
        ("ab", TypeError, ["ab"]),
        (4, TypeError, ["4"]),
    ):
        with raises(kind, *words):
            make(format, EYE, shape=shape)
    with raises(ValueError, f"{format}_array", "(4, 3)", "3 x 3"):
        make(format, EYE, shape=(4, 3))
    with raises(ValueError, f"{format}_array", "(4, 3)", "3 x 3"):
        make(format, sp.csr_array(EYE), shape=(4, 3))
    with raises(ValueError, f"{format}_array", "(4, 3)", "3 x 3"):
        make(format, ds.hm_array(EYE), shape=(4, 3))
    with raises(TypeError, f"{format}_array: shape (3.0, 4): expected two integers"):
        getattr(ds, f"{format}_array")((3.0, 4))
    for bad in (np.ones(3), np.ones((2, 2, 2)), np.float64(3), 3.5):
        with raises(ValueError, f"{format}_array", str(np.shape(bad)), "two dimensions"):
            make(format, bad)
    with raises(ValueError, "two dimensions"):
        make(format, sp.coo_array(np.ones(3)))


def test_cdm_is_square():
    for run in (
        lambda: ds.cdm_array((3, 4)),
        lambda: ds.cdm_array(np.ones((3, 4))),
        lambda: ds.cdm_array(sp.coo_array((3, 4))),
        lambda: ds.cdm_array(sp.dia_array((3, 4))),
        lambda: ds.hm_array((3, 4)).asformat("cdm"),
        lambda: ds.csr_array((3, 4)).asformat("cdm"),
        lambda: ds.cdm_array((np.ones((1, 4)), [0]), shape=(3, 4)),
        lambda: ds.forecast("convert", ds.hm_array((3, 4)), format="cdm"),
        lambda: ds.hm_array((3, 4)).matmul(ds.hm_array((4, 5)), format="cdm"),
    ):
        with raises(ValueError, "CDM", "square", "3 x "):
            run()


@FORMATS
def test_indices_outside(format):
    one = [1.0]
    cases = {
        "csr": [(one, [3], [0, 1, 1, 1]), (one, [-1], [0, 1, 1, 1]), (one, [0], [0, 2, 1, 1]), (one, [0], [0, 1])],
        "coo": [([1.0], ([0], [3])), ([1.0], ([-1], [0])), ([1.0, 2.0], ([0], [1])), ([1.0], ([0], [0], [0]))],
    }
    cases["csc"] = cases["csr"]
    for parts in cases.get(format, []):
        with raises(ValueError, f"{format}_array"):
            make(format, tuple(map(np.array, parts)) if format != "coo" else parts, shape=(3, 3))
    for index in ([0.5], [np.nan], ["a"]):
        parts = {"csr": ([1.0], index, [0, 1, 1, 1]), "coo": ([1.0], ([0], index))}
        parts["csc"] = parts["csr"]
        if format in parts:
            with raises((ValueError, TypeError), f"{format}_array"):
                make(format, parts[format], shape=(3, 3))


@pytest.mark.quick
def test_the_message_holds_the_element_that_is_wrong():
    for format in ("csr", "csc"):
        A = make(format, np.eye(3))
        for name, at, value, expected in (
            ("indices", 2, 9, "expected 0 to 2"),
            ("indices", 1, -1, "expected 0 to 2"),
            ("indptr", 2, 0, "expected 4 integers that rise from 0 to 3"),
            ("indptr", 3, 7, "expected 4 integers that rise from 0 to 3"),
        ):
            parts = {part: array.copy() for part, array in A.parts().items()}
            parts[name][at] = value
            with raises(ValueError, f"{format}_array: {name}[{at}] is {value}", expected):
                A._core.indexed_matrix(format, 3, 3, parts.pop("values"), list(parts.items()))
    parts = ds.coo_array(np.eye(3)).parts() | {"col": np.array([0, 5, 2], np.int32)}
    with raises(ValueError, "coo_array: entry 1, at (1, 5), does not lie in a 3 x 3 matrix"):
        A._core.indexed_matrix("coo", 3, 3, parts.pop("values"), list(parts.items()))


@pytest.mark.quick
def test_native_names_that_do_not_exist():
    A = ds.csr_array(np.eye(3))
    with raises(ValueError, "combine: how is 'quotient'", "expected sum, product"):
        A._core.combine("csr", [(A._matrix, 0, 1.0)], "quotient", True, "float64")


# ---- dtypes ---------------------------------------------------------------------------------------
@pytest.mark.quick
@FORMATS
def test_dtypes_that_are_refused(format):
    for given in (EYE.astype(np.longdouble), EYE.astype(np.clongdouble), EYE.astype(np.float16)):
        with raises(TypeError, f"{format}_array", given.dtype, "complex128"):
            make(format, given)
    for given in (EYE.astype(object), EYE.astype(str), np.zeros((2, 2), "M8[s]"), None, object(), "text", {1: 2}):
        with pytest.raises((TypeError, ValueError), match=f"{format}_array"):
            make(format, given)
    with raises(TypeError, f"{format}_array", "complex128", "float64", "imaginary"):
        make(format, EYE * 1j, dtype=float)
    for dtype in (int, bool, "float16", object, np.longdouble):
        if dtype == "float16" and format in STORING_16_BITS:
            continue
        with raises(TypeError, np.dtype(dtype), "float32, float64, complex64 or complex128"):
            make(format, EYE, dtype=dtype)
        with raises(TypeError, np.dtype(dtype), "float32, float64, complex64 or complex128"):
            make(format, EYE).astype(dtype)
    with pytest.raises(TypeError):
        make(format, EYE, dtype="nonsense")


@FAMILY
def test_dtypes_of_arrays_that_are_refused(format):
    labels = [0]
    for dtype in ("longdouble", "object", "str"):
        with raises(TypeError, f"{format}_array"):
            make(format, (parts_of(format, 1).astype(dtype), labels), shape=(4, 4))
    for dtype in ("int64", "bool"):
        with pytest.warns(ds.ConversionWarning, match=f"{format}_array: {dtype} values become float64"):
            assert make(format, (parts_of(format, 1).astype(dtype), labels), shape=(4, 4)).dtype == np.float64


@pytest.mark.parametrize("format", ["csr", "csc", "coo"])
def test_parts_that_are_not_those_of_entries(format):
    values, both = np.ones(2), ([0, 1], [0, 1])
    with raises(ValueError, f"{format}_array: values has shape (), expected one dimension"):
        make(format, (1.0, both))
    for indices, count in ((([0, 1, 2],), 1), (3, 0), ((*both, [0]), 3)):
        with raises(ValueError, f"{format}_array: got 2 arrays with {count} index arrays", "(values, (rows, columns))"):
            make(format, (values, indices))
    with raises(TypeError, "masked array"):
        make(format, (np.ma.array(values, mask=[0, 1]), both))


@FORMATS
def test_offsets_of_a_diagonal_that_are_no_integers(format):
    A = make(format, EYE)
    for bad in (1.0, "a", None, np.float64(0)):
        with raises(TypeError, f"diagonal: k={bad!r}: expected an integer"):
            A.diagonal(bad)
        with raises(TypeError, f"trace: offset={bad!r}: expected an integer"):
            A.trace(bad)
    for k in (np.int8(0), np.uint64(0), np.array(0)):
        assert np.array_equal(A.diagonal(k), np.ones(3)) and A.trace(k) == 3


def test_cupy_that_is_not_installed(monkeypatch):
    monkeypatch.setitem(sys.modules, "cupy", None)
    with raises(ImportError, "to_cupy needs CuPy", "pip install cupy-cuda13x"):
        ds.hm_array(EYE).to_cupy()


def test_parts_of_another_number_of_dimensions():
    with raises(ValueError, "ell_array: values has shape (2,), expected two dimensions"):
        make("ell", (np.ones(2), np.zeros((1, 2), np.int32)), shape=(2, 2))
    with raises(ValueError, "ell_array: indices has shape (2,), expected two dimensions"):
        make("ell", (np.ones((1, 2)), np.array([0, 1], np.int32)), shape=(2, 2))
    with raises(ValueError, "hyb_array: coo_row has shape (), expected one dimension"):
        make("hyb", ([1.0], [[0]], 0, [0]), shape=(1, 1))
