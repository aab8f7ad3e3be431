"""Conversions among the formats of diagonals, which preserve symmetry, period and 16-bit values."""

import numpy as np
import pytest
from cases import DIAGONAL, VIEWS, raises
from packings import FORMATS, holds, mirrored, packed_cases, rounded

import diagsparse as ds


@FORMATS
@pytest.mark.parametrize("dtype", ["float32", "complex128"])
def test_packing_survives_conversions_between_formats_of_diagonals(format, dtype, device):
    for name, a, layout in packed_cases(dtype):
        if a.shape[0] > 1000 or not holds(format, a):
            continue
        A = ds.array(a, format, device=device).asformat(format, **layout)
        for op, view in VIEWS.items():
            reference = view(A).toarray()
            for other in DIAGONAL:
                if not holds(other, a):
                    continue
                result, forecast = view(A).asformat(other, copy=True), ds.forecast("convert", view(A), format=other)
                assert (result.symmetry, result.period) == (A.symmetry, A.period), (name, op, other)
                assert np.array_equal(result.toarray(), reference), (name, op, other)
                assert forecast.result_nbytes == result.nbytes and (other == format or forecast.workspace_nbytes == 0)
                again = result.asformat(other, symmetry=result.symmetry, period=result.period)
                assert again.nbytes == result.nbytes and np.array_equal(again.toarray(), reference)


@FORMATS
def test_conversions_of_narrow_diagonals_preserve_the_type(format):
    a = rounded(mirrored(60, [0, 1, 7], "float32"), "float16")
    A = ds.array(a, format, dtype="float16").asformat(format, symmetry="symmetric")
    for other in DIAGONAL:
        result, forecast = A.asformat(other), ds.forecast("convert", A, format=other)
        assert (result.dtype, result.symmetry) == (np.float16, "symmetric")
        assert np.array_equal(result.toarray(), A.toarray()) and forecast.result_nbytes == result.nbytes
    assert A.asformat("csr").dtype == np.float32


@FORMATS
def test_conversions_of_a_period_take_no_more_than_the_period(format):
    A = ds.diags({-1: [1.0, 2.0], 0: 5.0, 3: [3.0, 4.0]}, shape=(2**40, 2**40), period=2, format=format)
    for other in DIAGONAL:
        for V in (A, A.T):
            result = V.asformat(other)
            assert result.nbytes < 300
            for i, j in ((7, 6), (7, 7), (7, 10), (6, 7), (10, 7)):
                assert result[i, j] == V[i, j], (other, i, j)
    assert A.T.copy().period == 2 and A.T.copy()[7, 6] == A[6, 7]
    assert A.asformat(format, period=2).nbytes == A.nbytes
    with raises(MemoryError, f"{format}_array"):
        A.asformat(format, period=4)
    with raises(MemoryError, "limit is 1 B"):
        A.asformat(DIAGONAL[DIAGONAL.index(format) - 1], max_bytes=1)
