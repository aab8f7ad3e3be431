"""Real and imaginary parts of matrices on a GPU."""

import numpy as np
import pytest
from cases import VIEWS, matrix

import diagsparse as ds

pytestmark = pytest.mark.gpu


@pytest.mark.parametrize("format", ["dia", "hm", "csr", "mdia", "ell"])
@pytest.mark.parametrize("dtype", ["float32", "complex64", "complex128"])
def test_real_and_imaginary_parts(format, dtype):
    for name in ("banded 65", "empty rows", "nothing stored", "0x5"):
        A = ds.array(matrix(name, dtype), format, device="cuda")
        for view in VIEWS.values():
            V = view(A)
            expected = V.toarray()
            assert V.real.device == V.imag.device == "cuda"
            assert np.array_equal(V.real.toarray(), expected.real)
            assert np.array_equal(V.imag.toarray(), expected.imag)
