"""Products of diagonals in JAX by native kernels: where they are used, and that XLA's operations give the same."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from learned import DTYPES, EACH_SHAPE, SHAPES, padded, random, x64  # noqa: F401
from processes import python

import diagsparse as ds

pytestmark = pytest.mark.usefixtures("x64", "always")
jax = pytest.importorskip("jax")
jnp = jax.numpy

from diagsparse._learning import jax_native, terms  # noqa: E402
from diagsparse.jax import Diagonals, from_array  # noqa: E402

if jax.default_backend() == "gpu" and not ds.cuda_available():
    pytest.skip("JAX uses a GPU, for which this build has no kernels", allow_module_level=True)

PRODUCT, SAMPLED = "diagsparse_product", "diagsparse_sampled_product"
OFFSETS, SHAPE = SHAPES["wide"]


@pytest.fixture
def always(monkeypatch):
    """Call kernels for small matrices, too. Functions are compiled again before and after each test."""
    monkeypatch.setattr(jax_native, "_pays", lambda *arguments: True)
    jax.clear_caches()
    yield
    jax.clear_caches()


def square(A, x):
    return jnp.sum(jnp.abs(A @ x) ** 2)


def of_values(values, x):
    return Diagonals(values, OFFSETS, SHAPE) @ x


def operands(*shapes):
    return [jnp.asarray(random(*shape, seed=i)) for i, shape in enumerate(shapes)]


CALLS = {  # the kernels that are called, of functions of values and vectors
    "A @ x": ([PRODUCT], of_values, ((3, 5), (9,))),
    "A @ X": ([PRODUCT], of_values, ((3, 5), (9, 4))),
    "x @ A": ([PRODUCT], lambda values, x: x @ Diagonals(values, OFFSETS, SHAPE), ((3, 5), (5,))),
    "gradient": ([SAMPLED], jax.grad(lambda values, x: jnp.sum(of_values(values, x))), ((3, 5), (9,))),
    "of a block": ([PRODUCT, SAMPLED], jax.grad(lambda v, x: jnp.sum(of_values(v, x) ** 2)), ((3, 5), (9, 4))),
    "both": ([PRODUCT, PRODUCT, SAMPLED], jax.grad(lambda v, x: jnp.sum(of_values(v, x) ** 2), (0, 1)), ((3, 5), (9,))),
    "many vectors": ([PRODUCT], jax.vmap(of_values, (None, 0)), ((3, 5), (4, 9))),
    "many matrices": ([PRODUCT], jax.vmap(of_values, (0, None)), ((4, 3, 5), (9,))),
    "many of both": ([PRODUCT], jax.vmap(of_values), ((4, 3, 5), (4, 9))),
    "many gradients": ([SAMPLED], jax.vmap(jax.grad(lambda v, x: jnp.sum(of_values(v, x)))), ((4, 3, 5), (4, 9))),
    "a transposed matrix": ([], lambda values: Diagonals(values, OFFSETS, SHAPE).T, ((3, 5),)),
    "half precision": ([], lambda v, x: of_values(v.astype("float16"), x.astype("float16")), ((3, 5), (9,))),
}


@pytest.mark.parametrize("case", CALLS)
def test_which_kernels_are_called(case):
    expected, function, shapes = CALLS[case]
    text = jax.jit(function).lower(*operands(*shapes)).as_text()
    found = [
        line.partition("@diagsparse_")[2].partition("(")[0] for line in text.splitlines() if "@diagsparse_" in line
    ]
    assert sorted(f"diagsparse_{name}" for name in found) == expected


@pytest.fixture
def in_xla(monkeypatch):
    """Return a function after which functions are compiled again, to operations of XLA."""

    def switch():
        monkeypatch.setattr(jax_native, "is_registered", lambda platform: False)
        jax.clear_caches()

    return switch


@pytest.mark.parametrize("dtype", DTYPES)
def test_xla_computes_the_same(dtype, in_xla):
    """Products, derivatives of the first and the second order, and maps over either operand."""

    def everything(A, x, X, y, Y):
        hessian = jax.jvp(jax.grad(square, (0, 1)), (A, X), (2 * A, X + 1))
        each = jax.vmap(square, (None, 1))(A, X), jax.vmap(jax.grad(square, (0, 1)), (None, 1))(A, X)
        stacked = jax.tree.map(lambda a: jnp.stack([a, 2 * a, a + 1]), A)
        summed = jax.grad(lambda x: jnp.sum(jax.vmap(square, (0, None))(stacked, x)))(x)
        members = jax.vmap(jax.grad(square, (0, 1)), (0, None))(stacked, X)
        return A @ x, A @ X, y @ A, Y @ A, jax.grad(square, (0, 1))(A, x), hessian, each, summed, members

    values = np.nan_to_num(padded(OFFSETS, SHAPE, dtype))
    A = Diagonals(values, OFFSETS, SHAPE)
    arrays = [jnp.asarray(random(*shape, dtype=dtype)) for shape in ((9,), (9, 3), (5,), (2, 5))]
    differentiable = "complex" not in dtype
    function = jax.jit(everything if differentiable else lambda A, x, X, y, Y: (A @ x, A @ X, y @ A, Y @ A))
    native = function(A, *arrays)
    assert PRODUCT in function.lower(A, *arrays).as_text()
    in_xla()
    assert PRODUCT not in function.lower(A, *arrays).as_text()
    tolerance = 1e-4 if dtype in ("float32", "complex64") else 1e-12
    close = lambda a, b: np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance)  # noqa: E731
    jax.tree.map(close, native, function(A, *arrays))


@EACH_SHAPE
def test_gradients_in_xla(name, in_xla):
    """NaN in the padding reaches nothing, and the padding of a gradient is 0, in both."""
    offsets, shape = SHAPES[name]
    A = Diagonals(padded(offsets, shape), offsets, shape)
    x = jnp.asarray(random(shape[1]))
    found = jax.grad(square, (0, 1))(A, x)
    in_xla()
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, 1e-12, 1e-12), found, jax.grad(square, (0, 1))(A, x))


def test_where_kernels_pay(monkeypatch):
    """On a CPU except for small matrices, on a GPU for one matrix and much data."""
    monkeypatch.undo()
    band = terms.product(tuple(range(-5, 6)), (10**6, 10**6))
    assert jax_native._pays("cpu", terms.product((-1, 0, 1), (2000, 2000)), 1000, 1000, 4)
    small = terms.product((-1, 0, 1), (1000, 1000))
    assert not jax_native._pays("cpu", small, 1000, 1000, 8) and not jax_native._pays("cpu", small, 1, 1000, 8)
    gradient = small.exchanged(0, 1)
    assert jax_native._pays("cpu", gradient, 1, 2, 8) and not jax_native._pays("cpu", gradient, 2, 2, 8)
    assert jax_native._pays("cuda", band, 1, 1, 8) and not jax_native._pays("cuda", band, 1, 1, 4)
    assert jax_native._pays("cuda", band, 1, 4, 4) and not jax_native._pays("cuda", band, 2, 2, 8)


def test_blocks_are_not_copied():
    A, X = Diagonals(*operands((3, 5)), OFFSETS, SHAPE), jnp.ones((9, 4))
    text = jax.jit(lambda A, X: A @ X).lower(A, X).compile().as_text()
    assert PRODUCT in text and "transpose(" not in text and "copy(" not in text


def test_strict_promotion():
    """No operation relies on the promotion of ranks, or of dtypes."""
    A, x = Diagonals(*operands((3, 5)), OFFSETS, SHAPE), jnp.ones(9)
    with jax.numpy_rank_promotion("raise"), jax.numpy_dtype_promotion("strict"):
        assert np.array_equal(A.todense() @ x, A.T.todense().T @ x)
        assert jax.grad(square)(A, x).shape == SHAPE and (A @ A.T).shape == (5, 5)
        assert from_array(ds.eye(5)).offsets == (0,)


def test_without_jit():
    A, x = Diagonals(*operands((3, 5)), OFFSETS, SHAPE), jnp.ones(9)
    with jax.disable_jit():
        assert np.array_equal(A @ x, jax.jit(lambda A, x: A @ x)(A, x))


def test_a_version_of_jax_that_refuses_the_kernels(monkeypatch):
    def refuse(*arguments, **options):
        raise RuntimeError("unsupported version")

    monkeypatch.setattr(jax.ffi, "register_ffi_target", refuse)
    with pytest.warns(UserWarning, match="cannot call kernels of diagsparse: unsupported version"):
        assert not jax_native.is_registered.__wrapped__("cpu")


def test_a_compiled_program_runs_in_a_new_process(tmp_path):
    """Once it has lowered a program that calls kernels, which registers them."""
    code = """
        import os, pickle, warnings
        os.environ["JAX_PLATFORMS"] = "cpu"
        warnings.simplefilter("ignore")
        import jax, numpy as np, diagsparse.jax
        from jax.experimental import serialize_executable as programs
        values, x = np.ones((3, 3000), np.float32), np.ones(3000, np.float32)
        product = jax.jit(lambda v, x: diagsparse.jax.Diagonals(v, (-1, 0, 1), (3000, 3000)) @ x)
        lowered = product.lower(values, x)
        if {first}:
            compiled = lowered.compile()
            assert "diagsparse_product" in compiled.as_text()
            pickle.dump(programs.serialize(compiled), open({path!r}, "wb"))
        else:
            y = programs.deserialize_and_load(*pickle.load(open({path!r}, "rb")))(values, x)
            assert np.array_equal(y, [2, *[3] * 2998, 2])
    """
    for first in (True, False):
        python(code.format(first=first, path=str(tmp_path / "program")))


def test_exported_programs_need_no_kernels():
    A, x = Diagonals(*operands((3, 5)), OFFSETS, SHAPE), jnp.ones(9)
    from jax import export

    exported = export.export(jax.jit(lambda A, x: A @ x))(A, x)
    assert "diagsparse_" not in exported.mlir_module()
    assert np.allclose(exported.call(A, x), A @ x)


def test_calls_from_several_threads():
    A, X = Diagonals(np.ones((3, 3000)), (-1, 0, 1), (3000, 3000)), jnp.asarray(random(20, 3000))
    gradient = jax.jit(jax.grad(lambda A, x: jnp.sum((A @ x) ** 2)))
    expected = [gradient(A, x).values for x in X]
    with ThreadPoolExecutor(4) as threads:
        for one, other in zip(expected, threads.map(lambda x: gradient(A, x).values, X), strict=True):
            assert np.array_equal(one, other)


@pytest.mark.parametrize(
    ("name", "sizes", "change", "expected"),
    [
        (PRODUCT, (15, 8), {}, "8 elements, expected rows of 9"),
        (PRODUCT, (14, 9), {}, "14 elements, expected rows of 15"),
        (PRODUCT, (30, 18), {}, "1 vectors for 2 matrices"),
        (PRODUCT, (15, 9), {"offsets": [0, 1, 40]}, "40, outside -4..8"),
        (PRODUCT, (15, 9), {"shape": None}, "no attribute shape"),
        (PRODUCT, (15, 18), {}, "x is 9 x 2 float64 and y 5 x 1"),
        (SAMPLED, (5, 18), {}, "X is 5 x 1, Y is 9 x 2"),
        (PRODUCT, (15,), {}, "1 operands and 1 results, expected 2 and 1"),
        (PRODUCT, (15, 9), {"offsets": []}, "15 elements, expected rows of 0"),
        (PRODUCT, (15, 9), {"shape": [5]}, "a shape of 1 numbers"),
        (PRODUCT, (30, 18), {"dtype": np.float32}, "float64, float64 and float32, expected the same type"),
        (SAMPLED, (10, 18), {"dtype": np.float32}, "float64, float64 and float32, expected the same type"),
        (PRODUCT, (15, 9), {"dtype": np.int32}, "expected floats or complex numbers"),
    ],
)
def test_calls_that_do_not_fit(name, sizes, change, expected):
    """Whoever calls a kernel with other sizes gets an error, not another element of memory."""
    jax_native.is_registered("cpu" if jax.default_backend() == "cpu" else "cuda")
    given = {"shape": SHAPE, "offsets": OFFSETS, "by_columns": [0], "transposed": [0]} | change
    result = jax.ShapeDtypeStruct((15,) if name == SAMPLED else (5,), given.pop("dtype", np.float64))
    attributes = {key: np.array(value, np.int64) for key, value in given.items() if value is not None}
    call = jax.jit(lambda *arrays: jax.ffi.ffi_call(name, result)(*arrays, **attributes))
    with pytest.raises(Exception, match=expected):
        call(*(jnp.ones(size) for size in sizes)).block_until_ready()


def test_several_devices():
    """XLA divides a product among devices, `shard_map` uses the kernels on each; gradients are summed over all."""
    python("""
        import os, warnings
        os.environ |= {"XLA_FLAGS": "--xla_force_host_platform_device_count=2", "JAX_PLATFORMS": "cpu"}
        warnings.simplefilter("ignore")
        import jax, jax.numpy as jnp, numpy as np
        from jax.sharding import Mesh, NamedSharding, PartitionSpec as P
        from diagsparse.jax import Diagonals

        def squares(A, X):
            return jax.vmap(lambda x: A @ x)(X) ** 2

        n = 2000  # enough for kernels
        A = Diagonals(np.ones((3, n), "float32"), (-1, 0, 1), (n, n))
        X = (jnp.arange(4.0 * n) % 5).reshape(4, n)
        mesh = Mesh(np.array(jax.devices()), ("i",))
        parts = jax.device_put(X, NamedSharding(mesh, P("i")))
        result = jax.jit(squares)(A, parts)
        assert np.array_equal(result, squares(A, X)) and result.sharding.spec == P("i"), result.sharding
        text = jax.jit(squares).lower(A, parts).compile().as_text()
        assert "all-gather" not in text and "diagsparse_" not in text
        if not hasattr(jax, "shard_map"):
            raise SystemExit
        on_each = jax.jit(jax.shard_map(squares, mesh=mesh, in_specs=(P(), P("i")), out_specs=P("i")))
        assert "diagsparse_product" in on_each.lower(A, X).as_text()
        assert np.array_equal(on_each(A, X), squares(A, X))
        expected = jax.grad(lambda A: squares(A, X).sum())(A).values
        assert np.array_equal(jax.grad(lambda A: on_each(A, X).sum())(A).values, expected)
    """)
