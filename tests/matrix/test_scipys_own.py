"""SciPy's own tests of sparse arrays, on every format of ours; what is left out has its reason.

Operands of other formats are SciPy's. Tests that write elements get matrices in which every element is stored, for a
layout does not grow.
"""

import numpy as np
import pytest
import scipy
import scipy.sparse as sp
from scipys_suite import CONSTRUCTORS, DTYPES, INSTEAD, OLDEST, VERSION, constructor, module, named, without

import diagsparse as ds

pytest.importorskip("scipy.sparse.tests.test_base")
if VERSION < OLDEST:
    pytest.skip(f"SciPy {scipy.__version__}, of which no exceptions are known", allow_module_level=True)
pytestmark = [pytest.mark.nightly, pytest.mark.filterwarnings("ignore")]

FORMATS = set(ds.formats()) - {"cdm"}  # which is square
LEFT_OUT = [  # reason, names, formats
    ("values are floats", "bool_rollover mean_out neg sum_out", FORMATS),
    ("complex values become real by A.real alone", "astype astype_immutable", FORMATS),
    ("a type of values that we have not is a TypeError", "dtype_check", FORMATS),
    ("powers are real", "pow", FORMATS),
    ("y *= A raises where y is dense: the product is sparse", "inplace_dense", FORMATS),
    ("attributes are compared, and ours hold a native matrix", "pickle", FORMATS),
    ("lil, dok, reshape and resize are SciPy's", "constructor1_base reshape resize size_zero_conversions", FORMATS),
    ("lil, dok and dense formats are SciPy's", "sparse_format_conversions", FORMATS),
    ("a matrix is shown in our way", "repr str_maxprint", FORMATS),
    ("a matrix is shown in our way", "str", FORMATS - {"dia", "hm"}),
    ("zeros inside of a diagonal are stored, but not explicit", "argmax", {"dia", "hm"}),
    ("zeros inside of a diagonal are stored, but not explicit", "minmax_axis", {"dia"}),
    ("SciPy's A.data is A.values", "minmax_axis", FORMATS - {"csr", "csc", "coo", "dia"}),
    (
        "every format counts along an axis",
        "count_nonzero",
        FORMATS - {"csr", "csc", "coo"} if VERSION < (1, 18) else set(),
    ),
    ("a product has the format of its left operand", "elementwise_multiply", FORMATS - {"csr", "csc", "dia"}),
    (
        "a part has one or two dimensions",
        "fancy_indexing fancy_indexing_ndarray",
        {"coo"} if VERSION >= (1, 17) else set(),
    ),
]
WRITING = "*assign* *_set setelement set_slice"
base = module("scipy.sparse.tests.test_base", skip=lambda reason: None)  # we do what some formats of SciPy's skip


def share_memory(a, b):
    """Whether two matrices share values; the structure, which is read-only, may be shared."""
    return np.may_share_memory(*(getattr(matrix, "values", getattr(matrix, "data", None)) for matrix in (a, b)))


base.sparse_may_share_memory = share_memory


def filled(make):
    """Return a constructor of matrices in which every element is stored."""

    def full_matrix(*args, **options):
        a = make(*args, **options)
        full = type(a)(np.ones(a.shape, a.dtype))
        full[:, :] = a.toarray()
        return full

    return full_matrix


def classes(format):
    """Return the tests of a format: those that read, and those that write."""
    theirs = getattr(base, f"Test{format.upper()}", None)  # which skips what SciPy's format cannot do
    make = CONSTRUCTORS[f"{format}_array"] if theirs else constructor(format)
    common = {"math_dtypes": DTYPES} | {f"{kind}_container": getattr(sp, f"{kind}_array") for kind in INSTEAD}
    bases = (base.sparse_test_class(), theirs) if theirs else (base.sparse_test_class(),)
    tests = type(f"Test_{format}", bases, {"spcreator": staticmethod(make)} | common)
    tests.init_class()
    reasons = {}
    for reason, names, formats in LEFT_OUT:
        if format in formats:
            reasons[reason] = f"{reasons.get(reason, '')} {names}"
    writing = type(f"Test_{format}_written", (tests,), {"spcreator": staticmethod(filled(make))})
    return without(tests, named(reasons, tests), others=WRITING), without(writing, {}, taken=WRITING)


for format in sorted(FORMATS):
    globals().update({tests.__name__: tests for tests in classes(format)})
