"""SciPy's tests of functions that take sparse arrays, on our matrices; what is left out has its reason.

``others`` of a module make no sparse array of two dimensions: they are about builders, `spmatrix`, dense arrays, and
arrays of one or of many dimensions. The same holds of whole modules that are not here, or they test dok, SciPy's native
code and its files. `csgraph` wants whole numbers and works in place.
"""

import pytest
import scipy
from scipys_suite import OLDEST, VERSION, as_class

pytest.importorskip("scipy.sparse.tests.test_base")
if VERSION < OLDEST:
    pytest.skip(f"SciPy {scipy.__version__}, of which no exceptions are known", allow_module_level=True)
pytestmark = [pytest.mark.nightly, pytest.mark.filterwarnings("ignore")]

SPMATRIX = {"matrices": ("csr_matrix", "csc_matrix")}  # whose tests are those of the formats
INT32 = "indices are int32, and extents below 2^31"
CANONICAL = "entries are always in order"
THEIRS = "lil, dok, reshape and resize are SciPy's"
PRIVATE = "no such method, which is private or that of spmatrix"
FLAT = "a matrix has two dimensions"

MODULES = {
    "scipy.sparse.tests.test_array_api": {
        "others": "no_A_attr default_is_matrix_* blocks_default_* isspmatrix*",
        "reasons": {
            INT32: "index_dtype_compressed",
            PRIVATE: "getrow_getcol",
            "A.H is the adjoint": "no_H_attr",
            "zeros stay zeros, whatever divides them, without a warning": "sparse_dense_divide",
            "bsr, dok and lil are formats of ours": "format_property",
        },
    },
    "scipy.sparse.tests.test_construct": {
        "others": """singleton_matrix* spdiags diags* identity eye* kron_large kron*_ndim_exceptions block_return_type
            block_diag_scalar* block_diag_1 rand* swapaxes permute_dims 3d_*""",
        "reasons": {
            INT32: "block_diag_idx_dtype vstack_maintain64bit_idx_dtype",
            CANONICAL: "canonical_format_permute_dims sparse_format_permute_dims sparse_format_swapaxes",
            THEIRS: "hstack vstack",
            FLAT: "axis_expand_dims expand_dims sparse_format_expand_dims",
        },
    },
    "scipy.sparse.tests.test_coo": {
        "others": """1d_* 3d_* 5d_* newaxis_* bool_* sum_duplicates eliminate_zeros nd_eliminate_zeros nd_reshape
            add_sparse_with_inf nd_sub_sparse_with_nan nd_matmul_sparse* dot_1d_1d dot_with* tensordot_with*
            pow_abs_round boolean_comparisons_with_scalar multiply_with_scalar divide_with_scalar""",
        "reasons": {
            THEIRS: "2d_to_1d_resize reshape reshape_overflow block_diag extract_block_diag",
            PRIVATE: "broadcast_to",
            FLAT: """dense_constructor_with_inconsistent_shape tuple_constructor_for_dim_size_zero nd_matmul tensordot
                matmul_dot_not_implemented""",
            "values are floats, which are rounded": "dot_nd sum",
            "a transpose exchanges the axes": "transpose_with_axis nd_transpose_with_axis",
            **({"elements are read and written by index": "non_subscriptability"} if VERSION < (1, 17) else {}),
        },
    },
    "scipy.sparse.tests.test_csr": {
        **SPMATRIX,
        "reasons": {PRIVATE: "csr_getrow csr_getcol broadcast_to", "a row has one dimension": "csr_rowslice"},
    },
    "scipy.sparse.tests.test_csc": {
        **SPMATRIX,
        "reasons": {PRIVATE: "csc_getrow csc_getcol", INT32: "compressed_rc_conversion_mixup"},
    },
    "scipy.sparse.tests.test_extract": {"reasons": {}},
    "scipy.sparse.linalg.tests.test_norm": {"reasons": {}},
    "scipy.sparse.linalg.tests.test_matfuncs": {
        "taken": "matrix_power *_sparse* misc_types integer_matrix_2",
        "reasons": {},
    },
    "scipy.sparse.linalg.tests.test_expm_multiply": {"taken": "sparse_*", "reasons": {}},
    "scipy.sparse.linalg.tests.test_onenormest": {"taken": "returns", "reasons": {}},
    "scipy.sparse.linalg.tests.test_interface": {
        "taken": "basic dot sparse_matmat_exception",
        "reasons": {"a product with a LinearOperator is one": "sparse_matmat_exception"},
    },
    "scipy.sparse.linalg._dsolve.tests.test_linsolve": {
        "others": "ndarray_support trans shape_* types_* zero_diagonal",
        "reasons": {"a layout does not grow": "is_sptriangular_and_spbandwidth"},
    },
}

for name, which in MODULES.items():
    tests = as_class(name, **which)
    globals()[tests.__name__] = tests
del tests
