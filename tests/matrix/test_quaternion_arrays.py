"""What matrices of quaternions are built from, their vectors, conversions and errors."""

import copy
import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from cases import raises, random, to_device, to_host
from quaternions import adjoint, close, dense, hamilton, product

import diagsparse as ds
from diagsparse._backends import memory
from diagsparse._quaternions import pairs


def test_all_that_it_is_built_from(device):
    p = dense((5, 8))
    components = [p[..., i] for i in range(4)]
    a, b = p[..., 0] + 1j * p[..., 1], p[..., 2] + 1j * p[..., 3]
    for arg in (
        p,
        components,
        tuple(components),
        (a, b),
        [sp.csr_array(q) for q in components],
        [sp.coo_matrix(components[0]), ds.hm_array(components[1]), *components[2:]],
        [ds.csr_array(q).to(device) for q in components],
        (ds.hm_array(a).to(device), ds.csr_array(b).to(device)),
        np.asfortranarray(p),
        p.astype(">f8"),
        ds.quaternion_array(p, "ell", device=device),
    ):
        Q = ds.quaternion_array(arg, device=device)
        assert np.array_equal(Q.toarray(), p)
        assert pairs.share_structure(*Q.pair)
        for q, expected in zip(Q.components(), components, strict=True):
            assert q.format == Q.format
            assert q.dtype == "float64"
            assert np.array_equal(q.toarray(), expected)
    assert ds.quaternion_array([ds.sell_array(q) for q in components]).format == "sell"
    assert ds.quaternion_array(p, "csr").nnz == np.count_nonzero(p.any(axis=2))
    assert ds.quaternion_array(p, dtype="float32").dtype == "float32"


def test_the_bytes_of_the_common_structure():
    Q = ds.quaternion_array(dense((70, 70)), "csr")
    assert Q.nbytes == Q.nnz * (32 + 4) + 71 * 8


def test_integers_become_floats():
    whole = (10 * dense((4, 4))).astype(int)
    with pytest.warns(ds.ConversionWarning, match="become float64"):
        Q = ds.quaternion_array(whole, "csr")
    assert np.array_equal(Q.toarray(), whole)
    assert ds.quaternion_array(whole, dtype="float32").dtype == "float32"
    x = np.arange(16).reshape(4, 4)
    close(Q @ x, product(whole, x[:, None])[:, 0])
    close(Q @ x.tolist(), product(whole, x[:, None])[:, 0])


def test_duplicates_are_added():
    Q = ds.quaternion_array([sp.coo_array(([1.0, 2.0], ([0, 0], [1, 1])), shape=(2, 2))] * 4)
    assert Q.toarray()[0, 1].tolist() == [3, 3, 3, 3]


# ---- Vectors ---------------------------------------------------------------------------------------------------------


def test_vectors_in_any_memory_order(device):
    p = dense((6, 6))
    Q = ds.quaternion_array(p, "dia", device=device)
    x = to_device(random((12, 6, 8), "float64"), device)
    for block in (x[::2, :3, ::2], x[:6, ::2, 4:], x[5::-1, :2, 3::-1]):
        if device == "cpu":
            block.flags.writeable = False
        close(to_host(Q @ block), product(p, to_host(block)))
        close(to_host(Q @ block[:, 0]), product(p, to_host(block))[:, 0])
        rows = block.swapaxes(0, 1)
        close(to_host(rows @ Q), product(to_host(rows), p))
    columns = np.asfortranarray(random((6, 4), "float64"))
    close(to_host(Q @ to_device(columns, device)), product(p, columns[:, None])[:, 0])


@pytest.mark.parametrize("format", ["csr", "hm", "mdia"])
def test_result_types(format, device):
    for dtype, given in (("float32", "float64"), ("float64", "float32")):
        p, x = dense((40, 40), dtype), random((40, 3, 4), given)
        Q = ds.quaternion_array(p, format, device=device)
        expected = product(p.astype("float64"), x.astype("float64"))
        close(to_host(Q @ to_device(x, device)), expected)
        close(to_host(Q @ to_device(x[:, 0], device)), expected[:, 0])
        assert isinstance(Q @ x, np.ndarray)


def test_kernels_check_their_operands():
    """Errors of native code, which calls from Python cannot cause."""
    P, Q = (ds.quaternion_array(dense((6, 6), "float64", key), "dia") for key in "PQ")
    R = ds.quaternion_array(np.eye(6)[..., None] * np.ones(4), "dia")
    C, x = Q.asformat("csr"), np.ones((6, 4))
    (a, b), core = Q.pair, Q.pair[0]._core

    def run(a, b, x, op_b=0):
        return core.quaternion_product(a._matrix, 0, b._matrix, op_b, 1, False, x)

    assert np.array_equal(run(a, b, x), Q @ x)
    for wrong in (x[:5], np.ones((6, 3)), np.ones((6, 8))[:, ::2], np.ones(6)):
        with raises(ValueError, "quaternion_product: x is", "but Q is 6 x 6"):
            run(a, b, wrong)
    with raises(ValueError, "no kernel for csr of complex128 values and float64 vectors"):
        run(*C.pair, x)
    with raises(ValueError, "no kernel for dia of complex128 values and float32 vectors"):
        run(a, b, x.astype("float32"))
    for other, op in ((R.pair[1], 0), (P.pair[1].astype("complex64"), 0), (b, 1)):
        with raises(ValueError, "A and B differ in more than their values"):
            run(a, other, x, op)


@pytest.mark.parametrize("format", ["csr", "dia", "mdia"])
def test_an_infinite_component_changes_only_its_own_quaternion(format, device):
    Q = ds.quaternion_array([ds.eye(5, format="csr")] * 4, format, device=device)
    x = np.ones((5, 4))
    x[2, 0] = np.inf
    for y in (Q @ to_device(x, device), Q.rmatvec(to_device(x, device)), to_device(x, device) @ Q):
        assert np.isfinite(to_host(y)[[0, 1, 3, 4]]).all()
        assert not np.isfinite(to_host(y)[2]).all()


def test_any_number_of_threads_gives_the_same_bits():
    n = 20000
    A, B = (ds.diags({k: random(n - abs(k), "complex128", k, name) for k in range(-5, 6)}) for name in "AB")
    x = random((n, 4), "float64")
    for format in ("dia", "csr", "mdia"):
        Q = ds.quaternion_array((A, B), format)
        results = []
        for threads in (1, 3):
            ds.set_num_threads(threads)
            results.append((Q @ x, x @ Q, Q.rmatvec(x)))
        assert all(np.array_equal(*both) for both in zip(*results, strict=True))


def test_arrays_of_numpy_quaternion():
    quaternion = pytest.importorskip("quaternion")
    p, x = dense((5, 5)), random((5, 2, 4), "float64")
    Q = ds.quaternion_array(quaternion.from_float_array(p))
    assert np.array_equal(Q.toarray(), p)
    y = Q @ quaternion.from_float_array(x)
    assert y.dtype == np.quaternion
    close(quaternion.as_float_array(y), product(p, x))
    close(quaternion.as_float_array(Q @ quaternion.from_float_array(x[:, 0])), product(p, x)[:, 0])
    close(quaternion.as_float_array(quaternion.from_float_array(x[:, 0]) @ Q), product(x.swapaxes(0, 1), p)[0])
    close((quaternion.one * 2 * Q).toarray(), 2 * p)
    close((Q * quaternion.x).toarray(), hamilton(p, [0, 1, 0, 0]))


@pytest.mark.parametrize("format", ["hm", "mdia", "csr"])
def test_a_vector_of_one_quaternion_with_any_stride(format):
    Q = ds.quaternion_array(np.ones((3, 1, 4)), format=format)
    for x in (np.ones((2, 4))[::2], np.ones((4, 1)).T):
        close(Q @ x, product(np.ones((3, 1, 4)), np.ones((1, 1, 4)))[:, 0])


@pytest.mark.parametrize("format", ["hm", "csr"])
def test_vectors_that_are_not_aligned(format, device):
    p, memory = dense((6, 6)), random((25,), "float64")
    Q, x = ds.quaternion_array(p, format, device=device), memory[1:].reshape((6, 4))
    close(to_host(Q @ to_device(memory, device)[1:].reshape((6, 4))), product(p, x[:, None])[:, 0])


@pytest.mark.gpu
@pytest.mark.parametrize("library", ["cupy", "torch", "jax"])
def test_arrays_of_other_libraries(library):
    from libraries import load

    module = load(library)
    p, x = dense((6, 6)), random((6, 4), "float32")
    Q = ds.quaternion_array(p.astype("float32"), "hm", device="cuda")
    if library == "torch":
        given = module.tensor(x, device="cuda")
    else:
        given = (module if library == "cupy" else module.numpy).asarray(x)
    for y, factor in ((Q @ given, p), (Q.rmatvec(given), adjoint(p))):
        expected = product(factor, x[:, None])[:, 0]
        assert type(y) is type(given)
        close(np.asarray(y.get() if library == "cupy" else y.cpu() if library == "torch" else y), expected, "float32")


# ---- Conversions, representation, errors -----------------------------------------------------------------------------


def test_conversions(device):
    p = dense((7, 7))
    Q = ds.quaternion_array(p, "csr", device=device)
    for R in (Q.copy(), copy.copy(Q), Q.asformat("hm"), Q.to("cpu"), Q.to("cpu").to(device), Q.astype("float32")):
        assert pairs.share_structure(*R.pair)
        assert np.array_equal(R.toarray(), p.astype(R.dtype))
    assert Q.to(device) is Q
    assert Q.asformat("csr") is Q
    assert (Q.astype("float32").dtype, Q.asformat("hm").device) == ("float32", device)
    for view in (Q, Q.T, Q.H, Q.conj()):
        for R in (pickle.loads(pickle.dumps(view)), view.to("cpu"), view.copy()):
            assert np.array_equal(R.toarray(), view.toarray())
    changed = Q.copy()
    changed.pair[0].values = 0
    assert np.array_equal(Q.toarray(), p)
    assert not changed.toarray()[..., :2].any()


def test_pickles_that_were_changed():
    A = ds.csr_array(np.eye(4, dtype=complex))
    rebuild, (a, b) = ds.quaternion_array([A, A]).__reduce__()
    for other in (ds.csr_array(np.eye(3, dtype=complex)), ds.csr_array(np.eye(4)), None, b.toarray()):
        with pytest.raises(ValueError, match="quaternion_array: a pickle has"):
            rebuild(a, other)


def test_representation():
    Q = ds.quaternion_array([ds.gallery.tridiagonal(4)] * 4, "dia", dtype="float32")
    assert repr(Q) == "<quaternion_array 4 x 4 float32: dia, 3 diagonals from -1 to 1, 10 stored, 216 B, cpu>"
    empty = ds.quaternion_array(np.zeros((2, 0, 4)), "csr")
    assert repr(empty) == "<quaternion_array 2 x 0 float64: csr, 0 stored, 24 B, cpu>"


def test_bad_arguments():
    eye = ds.eye(3)
    for arg in ([eye] * 3, 3.0, "Q", [eye, None], None, {}):
        with raises(TypeError, "quaternion_array", "expected four real matrices, two complex ones"):
            ds.quaternion_array(arg)
    for arg in (np.ones((3, 3)), np.ones((3, 3, 3)), np.ones((4, 3, 3))):
        with raises(ValueError, f"shape {arg.shape}", "(m, n, 4)"):
            ds.quaternion_array(arg)
    with raises(ValueError, "(3, 3), (4, 4)", "expected one shape"):
        ds.quaternion_array((eye, ds.eye(4)))
    with raises(TypeError, "four components of complex128"):
        ds.quaternion_array([1j * eye, eye, eye, eye])
    with raises(TypeError, "dtype is complex64, expected float32 or float64"):
        ds.quaternion_array([eye] * 4, dtype="complex64")
    with raises(ValueError, "cdm"):
        ds.quaternion_array(np.ones((2, 3, 4)), "cdm")
    masked = np.ma.masked_array(np.ones((2, 2, 4)), mask=True)
    for arg in (masked, [masked[..., 0]] * 4):
        with raises(TypeError, "quaternion_array: got a masked array"):
            ds.quaternion_array(arg)
    with raises(TypeError, "object"):
        ds.quaternion_array(np.full((2, 2, 4), None))


def test_bad_operands():
    Q = ds.quaternion_array(dense((3, 5)))
    for x in (np.ones(5), np.ones((5, 3)), np.ones((4, 4)), np.ones((3, 4)), np.ones((2, 5, 4)), np.ones((5, 1, 1, 4))):
        with raises(ValueError, f"x has shape {x.shape}", "Q is 3 x 5", "(5, 4), or (5, p, 4)"):
            Q @ x
    for x in (np.ones((5, 4)), np.ones((3, 2, 4))):
        with raises(ValueError, f"x has shape {x.shape}", "Q is 3 x 5 and x @ Q", "(3, 4), or (p, 3, 4)"):
            x @ Q
    with raises(ValueError, "Q.H is 5 x 3", "(3, 4)"):
        Q.rmatvec(np.ones((5, 4)))
    with raises(TypeError, "got a masked array"):
        Q @ np.ma.masked_array(np.ones((5, 4)), mask=True)
    with raises(TypeError, "x is complex128", "real components"):
        Q @ np.ones((5, 4), complex)
    with raises(ValueError, "matmul: Q is 3 x 5, the other operand 3 x 5"):
        Q @ Q
    with raises(ValueError, "+: Q is 3 x 5, the other operand 5 x 3"):
        Q + Q.T
    with raises(ValueError, "-: Q is 3 x 5, the other operand 4 x 4"):
        Q - ds.eye(4)
    with raises(ValueError, "a scalar is not a matrix"):
        Q @ 2
    with raises(ValueError, "*: the factor has shape (3,)"):
        Q * [1, 2, 3]
    with raises(TypeError, "/: the divisor is 1j, expected a real number"):
        Q / 1j
    with raises(TypeError, "== is not defined"):
        Q.copy() == Q  # noqa: B015
    with raises(TypeError, "expected float32 or float64"):
        Q.astype("complex64")
    for other in (None, "x", object()):
        for run in (lambda other=other: Q + other, lambda other=other: Q @ other, lambda other=other: other * Q):
            with raises(TypeError):
                run()


def test_vectors_that_do_not_fit(monkeypatch):
    """The matrix that changes signs is larger than they are."""
    Q = ds.quaternion_array([sp.eye_array(250_000)] * 4, format="csr")
    monkeypatch.setattr(memory, "available_bytes", lambda backend=None: 10**7)
    with raises(MemoryError, "250000 quaternions"):
        Q @ np.ones((250_000, 4))


@pytest.mark.gpu
def test_operands_on_two_devices():
    Q = ds.quaternion_array(dense((3, 3)), device="cuda")
    with raises(ValueError, "Q is on cuda", "on cpu"):
        Q @ Q.to("cpu")
    with raises(TypeError, "A is on the cpu"):
        Q.to("cpu") @ to_device(np.ones((3, 4)), "cuda")
