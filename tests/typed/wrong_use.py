"""Mistakes that type checkers have to find, one in each line that says so; `test_types.py` reads the marks."""

import diagsparse as ds

A = ds.diags([-1.0, 2.0, -1.0], [-1, 0, 1], shape=(9, 9))

misspelt = A.tranpose()  # mistake
no_number = (2 * A).bit_length()  # mistake
of_a_sum = (A + A).offset  # mistake
of_a_product = (A @ A).indizes  # mistake
of_a_view = A.T.to_csr()  # mistake
text: str = A.nnz  # mistake
of_a_plan = ds.plan_matmul(A, A).kernels  # mistake
