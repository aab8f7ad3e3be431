"""Plans and forecasts: sizes known before any arithmetic, reuse with new values, refusals that change nothing."""

import numpy as np
import pytest
import scipy.sparse as sp
from cases import (
    DIAGONAL,
    DTYPES,
    EACH_DTYPE,
    MULTIPLYING,
    VIEWS,
    cells,
    fits,
    holding,
    make,
    matrix,
    ours,
    pairs,
    random,
)
from oracle import check_matmul, seen

import diagsparse as ds

FORMATS = pytest.mark.parametrize("format", ds.formats())
MULTIPLIED = pytest.mark.parametrize("format", MULTIPLYING)
CELLS = cells("matmul")
IN_ITS_PLACE = {
    ("cpu", "dense_tiles"): "row_tiles",
    ("cuda", "dense_tiles"): "block",
    ("cuda", "band"): "row",
    ("cuda", "bands"): "block",
    ("cuda", "staged"): "block",
}  # where it cannot multiply
MULTIPLIES = {"bands": ("float64",), "staged": ("float32", "float64")}  # no other types
NAMES = ("0x0", "1x1", "banded 9", "corners 65", "stencil 27", "nothing stored", "periodic stencil", "dense 9")


def renewed(a, *key):
    """Return a SciPy array with other values on the same structure."""
    return sp.csr_array((random(a.nnz, a.dtype, *key), a.indices, a.indptr), shape=a.shape)


@FORMATS
def test_sizes_are_exact_before_any_arithmetic(format):
    for name in holding(format, (*NAMES, "wide 20 x 70", "tall 70 x 20")):
        for dtype in DTYPES:
            A = ours(name, format, dtype)
            for left, right in ((A, A.T), (A.T, A), (A.H, A)):
                plan = ds.plan_matmul(left, right)
                C = plan()
                assert (plan.shape, plan.nnz, plan.nbytes, plan.dtype) == (C.shape, C.nnz, C.nbytes, C.dtype), name
                assert plan.format == C.format and plan.workspace_nbytes >= 0
                if C.format in DIAGONAL:
                    assert plan.offsets.tolist() == sorted(C.offsets.tolist()), name
                assert ds.forecast("matmul", left, right).result_nbytes == (left @ right).nbytes, name


@pairs("format", "target")
def test_forecast_of_a_product_in_a_format(format, target):
    """Exact; for a product of diagonals in a format of entries, an upper bound."""
    A = ours("random diagonals 127", format)
    forecast = ds.forecast("matmul", A, A, format=target)
    actual = A.matmul(A, format=target).nbytes
    if target in DIAGONAL or format not in DIAGONAL:
        assert forecast.result_nbytes == actual
    else:
        assert actual <= forecast.result_nbytes
    assert forecast.total_nbytes == forecast.result_nbytes + forecast.workspace_nbytes
    plan = ds.plan_matmul(A, A, format=target)
    assert plan.nbytes == forecast.result_nbytes and plan().format == plan.format == target


@pairs("format", "target")
def test_forecast_of_a_conversion(format, target):
    for name in holding(target, holding(format, (*NAMES, "wide 20 x 70", "tall 70 x 20", "0x5", "5x0", "empty rows"))):
        for dtype in ("float32", "complex128"):
            A = ours(name, format, dtype)
            for view in (A, A.T, A.H):
                forecast, result = ds.forecast("convert", view, format=target), view.asformat(target, copy=True)
                if format in DIAGONAL and target not in DIAGONAL:  # stored zeros are dropped there
                    assert result.nbytes <= forecast.result_nbytes, name
                else:
                    assert result.nbytes == forecast.result_nbytes, name
                assert ds.memory_report(view)[target] == forecast.result_nbytes, name
    A = ours("wide 20 x 70", format) if format != "cdm" else ours("banded 9", format)
    report = ds.memory_report(A)
    assert list(report) == ds.formats()
    assert [f for f, nbytes in report.items() if nbytes is None] == [f for f in ds.formats() if not fits(f, A.shape)]
    assert ds.memory_report(A.to_scipy("csr"))["csr"] == A.asformat("csr").nbytes


@CELLS
@EACH_DTYPE
def test_reuse_with_new_values(device, format, kernel, dtype):
    for name in holding(format, ("banded 9", "random diagonals 127", "dense 9")):
        a = matrix(name, dtype)
        A = ds.array(a, format, device=device)
        for op in VIEWS:
            left, view = seen(a, op), VIEWS[op]
            if view(A).format != format:
                continue  # csr.T is csc, which has no kernels of its own
            plan = ds.plan_matmul(view(A), A, kernel=kernel)
            other = IN_ITS_PLACE.get((device, kernel), kernel)
            assert plan.kernel in ({kernel, other} if dtype in MULTIPLIES.get(kernel, DTYPES) else {other})
            check_matmul(plan(), left, a, f"{name} {op}")
            out = None
            for round_ in range(3):
                a2, b2 = renewed(a, round_, "a"), renewed(a, round_, "b")
                A2, B2 = ds.array(a2, format, device=device), ds.array(b2, format, device=device)
                C = plan(view(A2), B2, out=out)
                assert out is None or C is out
                check_matmul(C, seen(a2, op), b2, f"{name} {op}, values {round_}")
                out = C
                check_matmul(plan(view(A2)), seen(a2, op), a, f"{name} {op}, only A is new")
                check_matmul(plan(None, B2), left, b2, f"{name} {op}, only B is new")
            before = out.copy().to_scipy("csr")
            plan(out=out, alpha=0.5, beta=-2)
            check_matmul(out, left, a, f"{name} {op} with alpha and beta", 0.5, -2, before)


@FORMATS
def test_a_product_is_added_to_out(format):
    for dtype in DTYPES:
        a, A = matrix("banded 9", dtype), ours("banded 9", format, dtype)
        plan = ds.plan_matmul(A, A)
        out = plan()
        before = out.copy().to_scipy("csr")
        assert plan(out=out, alpha=0.5, beta=-2) is out
        check_matmul(out, a, a, dtype, 0.5, -2, before)


@MULTIPLIED
@pytest.mark.parametrize("planned", DTYPES)
def test_new_values_of_another_dtype(format, planned):
    """The result has the dtype of the values that are given, not of those that it was planned for."""
    a = matrix("random diagonals 127", planned)
    options = (
        {"offsets": ds.hm_array(a).offsets[::2]} if format == "qband" else {}
    )  # else chosen by the bytes of values
    plan = ds.plan_matmul(make(format, a, **options), make(format, a, **options))
    for dtype_a in sorted(DTYPES, reverse=True):  # narrow ones first
        for dtype_b in sorted(DTYPES, reverse=True):
            a2 = matrix("random diagonals 127", dtype_a)
            b2 = matrix("random diagonals 127", dtype_b)
            C = plan(make(format, a2, **options), make(format, b2, **options))
            check_matmul(C, a2, b2, f"planned for {planned}, given {dtype_a} and {dtype_b}")


@FORMATS
def test_another_structure_is_refused_and_out_left_alone(format):
    A = ours("random diagonals 127", format)
    plan = ds.plan_matmul(A, A)
    out = plan()
    before = out.values.tobytes()
    diagonal = ds.array(sp.eye_array(127), format)
    wrong = [
        {"a2": diagonal}, {"b2": diagonal}, {"a2": ours("banded 9", format)}, {"b2": ours("banded 9", format)},
        {"a2": A.astype("complex64").conj()}, {"out": diagonal}, {"out": A.astype("complex128")}, {"out": out.conj().T},
        {"a2": ds.array(matrix("random diagonals 127"), "csr" if format in DIAGONAL else "dia")},
        {"out": ds.array(matrix("random diagonals 127"), "dia" if format == "hm" else "hm")},
    ]  # fmt: skip
    if format not in DIAGONAL:
        wrong = wrong[:6]
    for options in wrong:
        arguments = {"out": out} | options
        values = None if arguments["out"]._op else arguments["out"].values.tobytes()
        with pytest.raises((ValueError, TypeError), match=r"plan|A|out"):
            plan(arguments.get("a2"), arguments.get("b2"), out=arguments["out"])
        assert out.values.tobytes() == before
        assert values is None or arguments["out"].values.tobytes() == values
    with pytest.raises(TypeError, match="ndarray"):
        plan(np.eye(127))
    with pytest.raises(TypeError, match="ndarray"):
        plan(out=np.eye(127))
    check_matmul(plan(), matrix("random diagonals 127"), matrix("random diagonals 127"), "after all errors")


def test_out_of_another_shape_with_the_same_arrays_is_refused():
    a = sp.csr_array(np.eye(3, 5))
    plan = ds.plan_matmul(ds.csr_array(sp.eye_array(3)), ds.csr_array(a))
    wider = ds.csr_array(sp.csr_array((a.data, a.indices, a.indptr), shape=(3, 9)))
    with pytest.raises(ValueError, match="3 x 9"):
        plan(out=wider)


@FORMATS
def test_out_accepts_the_result_of_an_earlier_call(format):
    a = matrix("random diagonals 127")
    A = ds.array(a, format)
    for target in (None, *ds.formats()):
        plan = ds.plan_matmul(A, A, format=target)
        out = plan()
        out.values[...] = np.nan
        assert plan(out=out) is out
        check_matmul(out, a, a, f"{format} -> {target}")


@FORMATS
def test_out_that_is_an_operand_is_refused(format):
    """A dense matrix has the structure of its square, so it could be used as out=, which would give a wrong product."""
    a = matrix("dense 9").copy()
    options = {"offsets": range(-8, 9)} if format == "qband" else {}
    A, B = make(format, a, **options), make(format, renewed(a, "b"), **options)
    plan = ds.plan_matmul(A, B)
    if plan().format != format:
        return
    parts = A.parts() if format in DIAGONAL else None
    aliases = [A, A.T.T, A.conj().conj(), B]
    if parts is not None:  # another object over the same memory
        labels = parts.get("rows", parts.get("offsets"))
        aliases.append(make(format, (A.values, labels), shape=A.shape))
    before = A.values.copy(), B.values.copy()
    for out in aliases:
        with pytest.raises(ValueError, match="operand"):
            plan(out=out)
        with pytest.raises(ValueError, match="operand"):
            ds.matmul(A, B, out=out)
        assert np.array_equal(A.values, before[0]) and np.array_equal(B.values, before[1])


@pytest.mark.quick
@FORMATS
def test_context_manager_and_repr(format):
    A = ours("banded 9", format)
    with ds.plan_matmul(A, A) as plan:
        C = plan()
        assert plan.format in repr(plan) and str(plan.nnz) in repr(plan) and repr(plan).startswith("<plan ")
    check_matmul(C, matrix("banded 9"), matrix("banded 9"), "in a with block")
    with ds.plan_matvec(A) as plan:
        out = np.empty(9)
        assert plan(np.ones(9), out=out) is out
        assert np.array_equal(out, A @ np.ones(9)) and plan.shape == (9, 9) and "matvec" in repr(plan)


@pytest.mark.parametrize("trans", ["NN", "TN", "NT", "HH"])
def test_plan_with_transposes(trans):
    a = matrix("wide 20 x 70", "complex128")
    b = a if trans in ("NT", "TN") else matrix("tall 70 x 20", "complex128")
    A, B = ds.hm_array(a), ds.hm_array(b)
    plan = ds.plan_matmul(A, B, trans_a=trans[0], trans_b=trans[1])
    check_matmul(plan(), seen(a, trans[0]), seen(b, trans[1]), trans)


def test_profile():
    A = ours("random diagonals 127", "hm")
    C, stages = A.matmul(A, profile=True)
    check_matmul(C, matrix("random diagonals 127"), matrix("random diagonals 127"), "profiled")
    assert stages and all(isinstance(name, str) and seconds >= 0 for name, seconds in stages.items())


@FORMATS
def test_max_bytes(format):
    A = ours("random diagonals 127", format)
    C = A @ A
    assert A.matmul(A, max_bytes=max(C.nbytes, 10**6)).nbytes == C.nbytes
    for run in (
        lambda: A.matmul(A, max_bytes=1000),
        lambda: ds.matmul(A, A, max_bytes=1000),
        lambda: ds.plan_matmul(A, A, max_bytes=1000),
        lambda: ds.matmul(A, A, A, max_bytes=1000),
    ):
        with pytest.raises(MemoryError, match=r"need \d+.*KB.*limit is 1\.0 KB"):
            run()
    for target in set(ds.formats()) - {format}:
        peak = ds.forecast("convert", A, format=target).total_nbytes
        assert A.asformat(target, max_bytes=peak).nbytes == A.asformat(target).nbytes <= peak
        with pytest.raises(MemoryError, match=r"need \d+.*KB.*limit is 100 B"):
            A.asformat(target, max_bytes=100)
        with pytest.raises(MemoryError, match=r"need \d+.*KB.*limit is 100 B"):
            getattr(ds, f"{target}_array")(A, max_bytes=100)


@FORMATS
def test_max_bytes_of_a_conversion_from_scipy(format):
    for scipy_format in {"csr", "dia", "coo"} - {format}:  # its own class is shared, not converted
        a = matrix("random diagonals 127").asformat(scipy_format)
        with pytest.raises(MemoryError, match=r"need \d+.*KB.*limit is 100 B"):
            getattr(ds, f"{format}_array")(a, max_bytes=100)


def test_the_bytes_of_a_product_by_diagonals_in_another_format():
    """Products of zeros are dropped when diagonals become rows: their forecast is an upper bound."""
    values = np.ones(20)
    A = ds.array(sp.diags_array([values, values], offsets=[0, 3]), "qband")
    B = ds.array(sp.diags_array([values, values], offsets=[0, -4]), "qband")
    B.values[:20][::2] = 0
    for a, b, smaller in ((A, A, False), (A, B, True), (A.asformat("hm"), B.asformat("hm"), True)):
        for format in ("sell", "ell", "jds", "csr", "coo", "hyb"):
            plan = ds.plan_matmul(a, b, format=format)
            assert (plan().nbytes < plan.nbytes) if smaller else (plan().nbytes == plan.nbytes), (a, b, format)
