"""SciPy's own tests of sparse arrays, on ours: the constructors are replaced, and names left out have their reason."""

import warnings

import numpy as np
import pytest
import scipy
import scipy.sparse as sp

import diagsparse as ds

base = pytest.importorskip("scipy.sparse.tests.test_base")
if not scipy.__version__.startswith("1.17."):
    pytest.skip("the names below are those of SciPy 1.17", allow_module_level=True)
pytestmark = pytest.mark.filterwarnings("ignore")

LEFT_OUT = {
    "values are floats": """add_sub astype astype_immutable bool_rollover dtype_preservation
        dtype_preservation_empty_index dtype_preservation_empty_slice empty_arithmetic eq ge getelement gt le lt ne
        mean mean_dtype mean_out minmax mu numpy_sum pow sum sum_out transpose setdiag_comprehensive setelement
        negative_index_assignment fancy_assignment_dtypes neg""",
    "a layout does not grow": """fancy_indexing_2d_assign fancy_indexing_multidim_set fancy_indexing_set
        index_scalar_assign scalar_assign_2 self_self_assignment sequence_assignment set_slice slice_assign_2
        slice_assignment slice_scalar_assign sparsity_modifying_assignment""",
    "errors have our words, and matrices our repr": """ellipsis_slicing inplace_dense mean_invalid_param
        sum_invalid_params repr str str_maxprint""",
    "powers are positive": "elementwise_power",
    "formats and shapes that are SciPy's: bsr, lil, dok, reshape, resize": """reshape resize size_zero_conversions
        sparse_format_conversions""",
    "indices are always sorted": "setdiag_cooconvert setdiag_noconvert",
}
ALONE = {  # of one format
    "coo": {
        "read as csr, which gives no three dimensions": "fancy_indexing fancy_indexing_ndarray fancy_assign_ndarray",
        "the format of the left operand stays": "elementwise_multiply",
    },
    "dia": {"zeros inside of a diagonal are not explicit": "argmax minmax_axis"},
}


def creator(format):
    """Return what makes a matrix of ours of what SciPy's constructor takes; of whole numbers in float64."""

    def make(arg, *args, **options):
        options.pop("maxprint", None)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if isinstance(arg, tuple) and all(isinstance(n, (int, np.integer)) for n in arg):
                return getattr(ds, f"{format}_array")(arg, *args, **options)
            made = getattr(sp, f"{format}_array")(arg, *args, **options)
            return getattr(ds, f"{format}_array")(made.astype(float) if made.dtype.kind in "iub" else made)

    return make


def shimmed(format):
    """Return SciPy's tests of a format without those that are left out."""
    words = [names for reasons in (LEFT_OUT, ALONE.get(format, {})) for names in reasons.values()]
    names = {f"test_{name}" for line in words for name in line.split()}
    theirs = getattr(base, f"Test{format.upper()}")
    known = {name for kind in ("CSR", "CSC", "COO", "DIA") for name in dir(getattr(base, f"Test{kind}"))}
    assert names <= known, names - known
    return type(
        f"Test{format.upper()}", (theirs,), {"spcreator": staticmethod(creator(format)), **dict.fromkeys(names)}
    )


TestCSR, TestCSC, TestCOO, TestDIA = map(shimmed, ("csr", "csc", "coo", "dia"))
