"""A plan multiplies what its operands are at the call, or says that a new one is needed."""

import threading

import numpy as np
import pytest
import scipy.sparse as sp
from cases import MULTIPLYING, NO_CUDA, raises

import diagsparse as ds
from diagsparse._backends import memory

N = 12
X = np.linspace(1, 2, N)
FORMATS = pytest.mark.parametrize("format", ds.formats())
MULTIPLIED = pytest.mark.parametrize("format", MULTIPLYING)
INDEXED = ["csr", "csc", "coo"]
OPERANDS = {
    "A A": lambda A: (A, A, {}),
    "A A.T": lambda A: (A, A.T, {}),
    "A.T A": lambda A: (A.T, A, {}),
    "A op(A)": lambda A: (A, A, {"trans_b": "T"}),
    "op(A) op(A)": lambda A: (A, A, {"trans_a": "H", "trans_b": "H"}),
    "A by csr": lambda A: (A, ds.csr_array(sp.eye_array(N)).to(A.device), {}),
}


def entries(dtype="float64"):
    """Return a matrix that is not symmetric, with one stored zero off the diagonal."""
    rng = np.random.default_rng(5)
    a = sp.csr_array(sp.diags_array([rng.random(N - abs(k)) + 1 for k in (-1, 0, 2)], offsets=[-1, 0, 2]).astype(dtype))
    a.data[np.flatnonzero(a.indices == 1)[-1]] = 0  # in row 2
    return a


def ours(format, dtype="float64"):
    return getattr(ds, f"{format}_array")(entries(dtype), copy=True)


def planned(A, operands):
    """Return a plan, and a function that returns the expected product."""
    a, b, trans = OPERANDS[operands](A)
    op = {"N": lambda x: x, "T": lambda x: x.T, "H": lambda x: x.conj().T}
    plan = ds.plan_matmul(a, b, **trans)
    return plan, lambda: op[trans.get("trans_a", "N")](a.toarray()) @ op[trans.get("trans_b", "N")](b.toarray())


@MULTIPLIED
@pytest.mark.parametrize("operands", OPERANDS)
def test_new_values_are_multiplied(format, operands):
    A = ours(format, "complex128")
    plan, expected = planned(A, operands)
    out = plan()
    assert np.allclose(out.toarray(), expected())
    for change in (lambda: A.__imul__(2j), lambda: setattr(A, "values", A.values**2), lambda: A.__itruediv__(3)):
        change()
        assert np.allclose(plan().toarray(), expected()), "a new result"
        assert plan(out=out) is out and np.allclose(out.toarray(), expected()), "out="
        assert np.allclose(plan(alpha=2).toarray(), 2 * expected())
    assert np.array_equal(plan().toarray(), plan(out=out).toarray())
    given = plan(A) if operands != "A.T A" else plan(A.T)
    assert np.allclose(given.toarray(), expected()), "the same operand, given again"


@pytest.mark.parametrize("layout", [{"symmetry": "symmetric"}, {"period": 1}], ids=str)
@pytest.mark.parametrize("format", ["dia", "hm", "cdm", "mdia"])
def test_new_values_of_packed_operands_are_multiplied(format, layout):
    if format == "mdia" and "period" in layout:
        pytest.skip("mdia stores no period")
    A = ds.array(ds.gallery.tridiagonal(N), format).asformat(format, **layout)
    for operands in OPERANDS:
        plan, expected = planned(A, operands)
        assert np.allclose(plan().toarray(), expected())
        A.values = A.values + 1.5
        assert np.allclose(plan().toarray(), expected()), operands


@pytest.mark.parametrize("format", INDEXED)
@pytest.mark.parametrize("operands", OPERANDS)
def test_values_written_in_another_order_are_multiplied(format, operands):
    A = ours(format)
    for part in A.coords if format == "coo" else ():
        part[:] = part[::-1].copy()
    if format != "coo":
        A.indices[:] = N - 1 - A.indices
    assert not A.has_canonical_format
    plan, expected = planned(A, operands)
    assert np.allclose(plan().toarray(), expected())
    A.data[:] = np.arange(1.0, 1 + A.data.size)
    assert np.allclose(plan().toarray(), expected())


def write_indices(A):
    index = A.col if A.format == "coo" else A.indices
    index[:] = N - 1 - index


def repeat_indices(A):
    index = A.col if A.format == "coo" else A.indices
    index[:] = index // 2


def drop_zeros(A):
    A.data[3] = 0
    A.eliminate_zeros()


def insert_diagonal(A):
    A.setdiag(7.0, 5)


@pytest.mark.parametrize("format", INDEXED)
@pytest.mark.parametrize("operands", OPERANDS)
@pytest.mark.parametrize("change", [write_indices, repeat_indices, drop_zeros, insert_diagonal])
def test_a_new_structure_is_refused(format, operands, change):
    A = ours(format)
    plan = planned(A, operands)[0]
    out = plan()
    before = out.values.copy()
    change(A)
    for call in (plan, lambda: plan(out=out), lambda: plan(alpha=2)):
        with raises(ValueError, "plan", "structure", "make a new plan"):
            call()
    assert np.array_equal(out.values, before)
    again, expected = planned(A, operands)
    assert np.allclose(again().toarray(), expected())


@FORMATS
@pytest.mark.parametrize("operands", OPERANDS)
def test_methods_that_lay_a_matrix_out_anew(format, operands):
    """Nothing is multiplied of which one operand is the new matrix, and the other a view of the old one."""
    for change in (insert_diagonal, lambda A: (A.setdiag(0.0, 2), A.eliminate_zeros())):
        A = ours(format)
        plan, before = planned(A, operands)[0], A._matrix
        change(A)
        if A._matrix is before:  # its layout can store all of it
            assert np.allclose(plan().toarray(), planned(A, operands)[1]())
            continue
        with raises(ValueError, "plan", "structure", "make a new plan"):
            plan()
        assert np.allclose(planned(A, operands)[0]().toarray(), planned(A, operands)[1]())


@pytest.mark.parametrize("format", INDEXED)
@pytest.mark.parametrize("operands", OPERANDS)
@pytest.mark.parametrize("change", ["sum_duplicates", "sort_indices", "element"])
def test_repeated_entries_that_are_summed(format, operands, change):
    if format == "coo" and change == "sort_indices":
        pytest.skip("SciPy's coo has no such method")
    A = ours(format)
    repeat_indices(A)
    plan, expected = planned(A, operands)
    assert np.allclose(plan().toarray(), expected())
    if change == "element":
        A[0, 0] = 50.0
    else:
        getattr(A, change)()
    assert np.allclose(plan().toarray(), expected()), "the structure is the same, so the plan follows"
    again, expected = planned(A, operands)
    assert np.allclose(again().toarray(), expected())


@FORMATS
@pytest.mark.parametrize("view", ["A", "A.T"])
def test_plans_of_products_with_vectors_follow(format, view):
    A = ours(format)
    plan = ds.plan_matvec(A if view == "A" else A.T)
    seen = (lambda: A.toarray()) if view == "A" else (lambda: A.toarray().T)
    A *= 3
    assert np.allclose(plan(X), seen() @ X)
    if format in INDEXED:
        write_indices(A)
        assert np.allclose(plan(X), seen() @ X)
    if view == "A":  # views of a matrix whose layout has changed do not follow
        insert_diagonal(A)
        assert np.allclose(plan(X), seen() @ X)


@pytest.mark.gpu
@pytest.mark.skipif(not ds.cuda_available(), reason=NO_CUDA)
@MULTIPLIED
@pytest.mark.parametrize("operands", OPERANDS)
def test_new_values_on_a_gpu_are_multiplied(format, operands):
    A = ours(format).to("cuda")
    plan, expected = planned(A, operands)
    out = plan()
    for factor in (2, -3):
        A.values = factor * A.values.get()
        assert np.allclose(plan().toarray(), expected())
        assert plan(out=out) is out and np.allclose(out.toarray(), expected())
    before = A._matrix
    A.values = 0
    A.eliminate_zeros()
    if A._matrix is not before:
        with raises(ValueError, "plan", "structure", "make a new plan"):
            plan()


def check_that_plans_do_not_follow(S, ours):
    """Check plans of a matrix of another library, whose values change after planning."""
    plans = [ds.plan_matmul(S, S), ds.plan_matmul(S, ours), ds.plan_matmul(ours, S, trans_b="T")]
    by_vector = ds.plan_matvec(S)
    before = [plan().toarray() for plan in plans], by_vector(X)
    S.data *= 2
    for plan, expected in zip(plans, before[0], strict=True):
        assert np.array_equal(plan().toarray(), expected)
    assert np.array_equal(by_vector(X), before[1])


@pytest.mark.parametrize("format", ["csr", "csc", "coo", "dia", "bsr"])
@pytest.mark.parametrize("ours_in", ["csr", "dia"])
def test_operands_of_scipy_are_copied(format, ours_in):
    check_that_plans_do_not_follow(entries().asformat(format), ours(ours_in))


@pytest.mark.gpu
@pytest.mark.skipif(not ds.cuda_available(), reason=NO_CUDA)
@pytest.mark.parametrize("format", ["csr", "csc", "coo", "dia"])
def test_operands_of_cupy_are_copied(format):
    theirs = pytest.importorskip("cupyx.scipy.sparse")
    given = entries().asformat(format)  # CuPy makes a dia of SciPy's alone
    S = getattr(theirs, f"{format}_matrix")(getattr(sp, f"{format}_matrix")(given))
    check_that_plans_do_not_follow(S, ours("csr").to("cuda"))


def test_operands_that_need_no_conversion_are_not_copied():
    A = ours("csr")
    as_it_is, converted = ds.plan_matmul(A, A), ds.plan_matmul(A, A.T)
    once = ds.forecast("matmul", A, A.T).workspace_nbytes
    assert converted.workspace_nbytes == once + A.T.tocsr().nbytes + A.values.nbytes
    assert as_it_is.workspace_nbytes == ds.forecast("matmul", A, A).workspace_nbytes


@pytest.mark.parametrize("operand", ["transposed csr", "symmetric hm", "hm by csr"])
def test_new_values_that_do_not_fit_next_to_those_of_the_last_call(operand, monkeypatch):
    A = ours("csr").T if operand == "transposed csr" else ds.hm_array(ds.gallery.tridiagonal(N))
    A = A.asformat("hm", symmetry="symmetric") if operand == "symmetric hm" else A
    B = ours("csr") if operand == "hm by csr" else A
    plan = ds.plan_matmul(A, B)
    out = plan()
    before = out.values.copy()
    A.values = 2 * A.values
    with monkeypatch.context() as short:
        short.setattr(memory, "SMALL", 0)
        short.setattr(memory, "available_bytes", lambda backend=None: A.values.nbytes - 1)
        with raises(MemoryError, "plan: the values of ", f"would need {A.values.nbytes} B"):
            plan(out=out)
    assert np.array_equal(out.values, before)
    assert np.allclose(plan(out=out).toarray(), A.toarray() @ B.toarray())


def test_threads_use_one_plan_of_converted_operands():
    A = ours("csc")
    plan, expected = planned(A, "A A.T")
    A *= 2
    product, wrong = expected(), []

    def work():
        for _ in range(30):
            if not np.allclose(plan().toarray(), product):
                wrong.append(1)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
