"""Overflow in element-wise operations warns, and is named, as in NumPy."""

import numpy as np
import pytest
import scipy.sparse as sp
from cases import DTYPES

import diagsparse as ds
from diagsparse._matrix import elementwise_functions

FORMATS = pytest.mark.parametrize("format", ds.formats())


@FORMATS
@pytest.mark.parametrize("dtype", ["float16", *DTYPES])
def test_overflow_warns_as_in_numpy(format, dtype):
    if dtype == "float16" and not ds.array(np.eye(2), format)._format.narrow:
        pytest.skip(f"{format} stores no 16-bit values")
    A = ds.array(np.array([[1.0, 0, 0], [2, 3, 4], [0, 0, 5]]), format, dtype=dtype)
    large = float(np.finfo(dtype).max) * 0.9
    for run in (lambda: A * large, lambda: A / (1 / large), lambda: A.copy().__imul__(large), lambda: A**1100):
        with pytest.warns(RuntimeWarning, match="overflow"):
            run()
        with np.errstate(over="raise"), pytest.raises(FloatingPointError, match="overflow"):
            run()
    assert np.isinf((A * np.inf).toarray()).sum() == 5  # which is no overflow; nor does padding warn, zero times inf


def test_values_beyond_a_type_warn_as_in_numpy():
    with pytest.warns(RuntimeWarning, match="overflow encountered in cast"):
        assert np.isinf((ds.eye(3) * 1e300).astype("float32").values).all()


@FORMATS
def test_a_warning_of_overflow_takes_no_second_pass(format):
    A, sizes = ds.array(sp.diags_array([1e300] * 40), format), []

    def change(values):
        sizes.append(values.size)
        return values * 1e10

    with pytest.warns(RuntimeWarning, match="overflow encountered in multiply"):
        elementwise_functions.changed(A, change)
    assert sizes == [A._matrix.values.size, 1]


@FORMATS
def test_a_warning_of_overflow_names_the_operation(format):
    A = ds.array(sp.diags_array([1e300] * 40), format)
    C = A.astype("complex128")
    for run, name in (
        (lambda: A * 1e10, "multiply"), (lambda: A / 1e-10, "divide"), (lambda: A**3, "power"), (A.sinh, "sinh"),
        (A.square, "square"), (lambda: C * (1e9 + 1e9j), "multiply"), (lambda: A.astype("float32"), "cast"),
        (lambda: A.copy().__imul__(-1e10), "multiply"), (lambda: A.copy().__itruediv__(1e-10), "divide"),
        (lambda: C.copy().__imul__(1e9 - 1e9j), "multiply"),
    ):  # fmt: skip
        with pytest.warns(RuntimeWarning, match=f"overflow encountered in {name}") as caught:
            run()
        assert len(caught) == 1
