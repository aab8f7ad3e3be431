"""16-bit values: stored rounded, widened exactly, multiplied in the type of the vector, exact in files and pickles."""

import pickle

import numpy as np
import pytest
from cases import matrix, raises, random, to_device, to_host
from packings import FORMATS, holds, mirrored, narrow_dtype, packed_cases, rounded, within

import diagsparse as ds

NARROW = ("float16", "bfloat16")


@FORMATS
@pytest.mark.parametrize("narrow", NARROW)
def test_narrow_values(format, narrow, device):
    ml_dtypes = pytest.importorskip("ml_dtypes") if narrow == "bfloat16" else None
    for name, a, layout in packed_cases("float32"):
        if not holds(format, a) or a.shape[0] > 10_000:
            continue
        A = ds.array(a, format, device=device).asformat(format, **layout).astype(narrow)
        exact = rounded(a, narrow)
        assert A.dtype == narrow and A.values.dtype == narrow and A.symmetry == layout.get("symmetry")
        assert ml_dtypes is None or A.dtype == ml_dtypes.bfloat16
        for dtype, result in (
            ("float32", "float32"),
            ("float64", "float64"),
            ("complex64", "complex64"),
            ("float16", "float32"),
        ):
            x = random(a.shape[1], "complex64" if "complex" in dtype else "float32", name).astype(dtype)
            for kernel in A.kernels("matvec"):
                y = to_host(A.matvec(to_device(x, device) if dtype != "float16" else x, kernel=kernel))
                assert y.dtype == result, (dtype, y.dtype)
                within(
                    y,
                    exact @ x.astype("complex128" if "complex" in dtype else float),
                    exact,
                    abs(x.astype("complex128")),
                )
            X = random(a.shape[1] * 4, "float32", name).reshape(-1, 4)
            within(to_host(A @ to_device(X, device)), exact @ X.astype(float), exact, X.astype(float))
        if a.shape[0] <= 200:
            for built in (
                A,
                A.T.T,
                pickle.loads(pickle.dumps(A)),
                A.copy(),
                A.to("cpu"),
                A.unpacked(),
                A.asformat("csr"),
            ):
                assert np.array_equal(built.toarray().astype(float), exact.toarray()), name
            assert np.array_equal((A * 2).toarray().astype(float), 2 * exact.toarray())
            assert (A * 2).dtype == narrow and A.unpacked().dtype == np.float32 and (A @ A.T).dtype == np.float32
            assert np.allclose((A @ A.T).toarray(), (exact @ exact.T).toarray(), rtol=1e-5, atol=1e-5)
            assert np.allclose((A + A).toarray(), 2 * exact.toarray())


@pytest.mark.parametrize("narrow", NARROW)
def test_narrow_values_preserve_zeros_infinities_and_the_smallest(narrow, device, tmp_path):
    if narrow == "bfloat16":
        pytest.importorskip("ml_dtypes")
        values = np.array([0, -0.0, 1, -2.5, 1e-40, -9.2e-41, 3e38, np.inf, -np.inf, np.nan, 1 / 3, 1e-38])
    else:
        values = np.array([0, -0.0, 1, -2.5, 6e-8, -1e-7, 65504, np.inf, -np.inf, np.nan, 1 / 3, 6.1e-5])
    A = ds.dia_array(
        (values[np.newaxis].astype("float32").astype(narrow_dtype(narrow)), [0]), shape=(12, 12), device=device
    )
    reference = np.asarray(A.to("cpu").values).astype(np.float64)[0]
    for kernel in A.kernels("matvec"):
        for dtype in ("float32", "float64"):
            y = to_host(A.matvec(to_device(np.ones(12, dtype), device), kernel=kernel))
            assert np.array_equal(y, reference.astype(dtype), equal_nan=True), (kernel, dtype)
    ds.write(tmp_path / "narrow.npz", A)
    again = ds.read(tmp_path / "narrow.npz")
    assert again.dtype == narrow and np.array_equal(
        again.values.astype(float), A.to("cpu").values.astype(float), equal_nan=True
    )


def test_every_float16_is_widened_exactly(device):
    bits = np.arange(2**16, dtype=np.uint16).view(np.float16)
    A = ds.hm_array((bits, [0]), shape=(2**16, 2**16), device=device)
    x = to_device(np.ones(2**16, np.float32), device)
    with np.errstate(all="ignore"):
        assert np.array_equal(to_host(A @ x), bits.astype(np.float32), equal_nan=True)


@FORMATS
def test_narrow_from_anything(format, device):
    a = mirrored(20, [0, 1], "float32")
    for given in (a, a.toarray(), a.astype("float64")):
        result = getattr(ds, f"{format}_array")(given, dtype="float16", device=device, symmetry="symmetric")
        assert result.dtype == np.float16 and result.symmetry == "symmetric"
        assert np.array_equal(result.toarray(), a.toarray().astype("float16"))
    with pytest.raises(TypeError, match="imaginary"):
        getattr(ds, f"{format}_array")(a.astype("complex64"), dtype="float16", device=device)
    with pytest.raises(TypeError, match="float16"):
        ds.csr_array(a, dtype="float16")


@FORMATS
@pytest.mark.parametrize("narrow", NARROW)
@pytest.mark.parametrize("dtype", ["int8", "int32", "uint64", "float16", "float32", "float64"])
def test_sums_with_dense_arrays_of_any_type(format, narrow, dtype):
    """NumPy has no common type of bfloat16 and most integers."""
    if narrow == "bfloat16":
        pytest.importorskip("ml_dtypes")
    a, dense = mirrored(20, [0, 1], "float32"), np.arange(400).reshape(20, 20).astype(dtype)
    A, exact = ds.array(a, format).astype(narrow), rounded(a, narrow).toarray()
    coarse = 2.0**-7 if narrow == "bfloat16" else 2.0**-10
    for result, expected in ((A + dense, exact + dense), (dense - A, dense - exact)):
        assert (abs(result - expected) <= coarse * abs(expected)).all()
    if A.dtype != result.dtype:
        assert np.allclose(A.multiply(dense.astype("float32")).toarray(), exact * dense)


def test_other_formats_refuse_16_bits():
    a = matrix("banded 65", "float32")
    for format in ds.formats():
        if getattr(ds, f"{format}_array")._format.narrow:
            continue
        A = ds.array(a, format)
        for refused in (lambda A=A: A.astype("float16"), lambda f=format: ds.array(a, f, dtype="float16")):
            with raises(TypeError, f"{format}_array", "float16", "expected float32, float64, complex64 or complex128"):
                refused()
        rebuild, (_, parts, *rest) = A.__reduce__()
        with raises(ValueError, "values", "of type float16"):
            rebuild(format, {**parts, "values": parts["values"].astype("float16")}, *rest)
        for kind in ("float16", "bfloat16"):
            given = a.toarray().astype(narrow_dtype(kind))
            with raises(TypeError, f"{format}_array: got {kind} values", 'dtype="float32"', f'dtype="{kind}"'):
                ds.array(given, format)
            assert np.array_equal(ds.array(given, format, dtype="float32").toarray(), given.astype("float32"))
    for kind in ("float16", "bfloat16"):
        with raises(TypeError, f"array: dtype {kind} needs a format=", "dia, hm, cdm, mdia, bmsparse"):
            ds.array(a.toarray(), dtype=kind)
    with raises(TypeError, "bmsparse_array", "imaginary"):
        ds.bmsparse_array(a.astype("complex64"), dtype="float16")
    with raises(TypeError, "bmsparse_array", "int32", "float16, bfloat16, float32"):
        A = ds.bmsparse_array(a)
        ds.bmsparse_array((A.values, *list(A.parts().values())[1:]), shape=A.shape, dtype="int32")
