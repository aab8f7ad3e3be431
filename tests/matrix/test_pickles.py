"""Pickles are validated, too: damaged states are rejected, valid ones give the same matrix."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from cases import DIAGONAL, make, matrix, ours, raises
from pickled import refuse_state, state_of

import diagsparse as ds

FORMATS = pytest.mark.parametrize("format", ds.formats())


@FORMATS
def test_pickles_with_damaged_arrays(format):
    A = ours("banded 65", format)
    for damage in (
        lambda v: v.astype(np.int64), lambda v: v.astype(np.int32), lambda v: v.astype(">f8"), lambda v: v[..., None],
        lambda v: v.reshape(-1, 0, 1) if v.size == 0 else np.zeros((v.size, 0, 1)), lambda v: v.ravel()[:-1],
        lambda v: np.append(v, 1.0), lambda v: v.astype(object), lambda v: v.astype("S8"), lambda v: v.tolist(),
        lambda v: np.zeros(v.shape, "V8"), lambda v: np.zeros(v.shape, "V2"), lambda v: v.astype(np.longdouble),
        lambda v: np.float64(3), lambda v: None, lambda v: v.astype("M8[s]"),
    ):  # fmt: skip
        format, parts, shape, op, packing = state_of(A)
        parts["values"] = damage(parts["values"])
        refuse_state(format, parts, shape, op, packing)


def test_short_columns_of_a_format_without_them():
    """ell has 8-bit columns, whose padding is 255; hyb, which contains one, has not."""
    format, parts, *rest = state_of(ours("banded 65", "hyb"))
    short = parts["ell_indices"].astype(np.uint8)
    refuse_state(format, parts | {"ell_indices": short}, *rest, words=("ell_indices is uint8, expected int32",))


@FORMATS
def test_pickles_with_damaged_structure(format):
    A = ours("random diagonals 127", format)  # every part of which holds something
    names = [name for name in state_of(A)[1] if name not in ("values", "starts")]  # starts follow from the offsets
    for name in names:
        for damage in (
            lambda p: p + 127, lambda p: p[:-1], lambda p: np.append(p, 0), lambda p: p[:, None], lambda p: p * 0 + 3,
            lambda p: p.astype(float), lambda p: p.astype(object), lambda p: p.tolist(), lambda p: p[:0],
            lambda p: np.full_like(p, np.iinfo(p.dtype).max), lambda p: np.full_like(p, np.iinfo(p.dtype).min),
            lambda p: p.astype("S4"),
        ):  # fmt: skip
            state = state_of(A)
            state[1][name] = damage(state[1][name])
            refuse_state(*state)
        for damage in (  # offsets in another order or byte order are another matrix, and a right one
            lambda p: -p - 1, lambda p: p[::-1].copy(), lambda p: p.astype(">i8"), lambda p: p.astype(np.uint16),
        ):  # fmt: skip
            state = state_of(A)
            state[1][name] = damage(state[1][name])
            right = format in (*DIAGONAL, "hyb")  # and hyb stays right when entries of its coo part are swapped
            right |= name == "dia_offsets"  # of qband
            shorter = name == "indices" and state[1][name].dtype == np.uint16  # ell and sell may have short columns
            right |= shorter and format in ("ell", "sell")
            if not right:
                refuse_state(*state)
        state = state_of(A)
        del state[1][name]
        refuse_state(*state, words=[name])


@FORMATS
def test_pickles_with_damaged_words(format):
    A = ours("banded 65", format)
    for shape in ((-1, 65), (65, -1), (65,), (65, 65, 1), (65.0, 65), ("65", 65), (2**62, 65), None, (64, 65), (65, 64),
                  (2**40, 2**40)):  # fmt: skip
        if format in ("dia", "qband") and shape == (65, 64):
            continue  # which its values fit
        format, parts, _, op, packing = state_of(A)
        refuse_state(format, parts, shape, op, packing)
    for op in (-1, 4, 7, 2**40, None, "T", 1.0):
        format, parts, shape, _, packing = state_of(A)
        refuse_state(format, parts, shape, op, packing, words=["op"])
    for wrong in (None, [], list(parts.values()), tuple(parts)):
        refuse_state(format, wrong, shape, 0, packing, words=["component arrays"])
    for other in ("nope", None, 7, "hm\0", ""):
        refuse_state(other, parts, shape, 0, [])


@pytest.mark.parametrize("format", DIAGONAL)
def test_pickles_with_damaged_packing(format):
    a = sp.diags_array([np.ones(5), np.ones(6), np.ones(5)], offsets=[-1, 0, 1]).tocsr()
    A = make(format, a, symmetry="symmetric", period=1)
    for packing in (
        ["symmetric", -1], ["symmetric", 2**31], ["symmetric", 2**40], ["symmetric", 1.5], ["symmetric", "auto"],
        ["symmetric", float("nan")], ["nope", 1], [3, 1], [-1, 1], ["symmetric", 1, 1], ["symmetric", 3],
        ["symmetric", None], [b"symmetric", 1], ["symmetric", np.array([1, 1])],
    ):  # fmt: skip
        format, parts, shape, op, _ = state_of(A)
        refuse_state(format, parts, shape, op, packing)


@pytest.mark.quick
@FORMATS
def test_good_pickles_still_pass(format):
    for name in ("0x0", "5x0", "nothing stored", "banded 65", "wide 20 x 70"):
        if format == "cdm" and matrix(name).shape[0] != matrix(name).shape[1]:
            continue
        for view in (lambda A: A, lambda A: A.T, lambda A: A.H):
            A = view(ours(name, format, "complex128"))
            B = pickle.loads(pickle.dumps(A))
            assert B.format == A.format and np.array_equal(B.toarray(), A.toarray())


def test_objects_without_pickles_say_what_to_pickle():
    A = ds.eye(4)
    for made, words in (
        (ds.plan_matmul(A, A), "pickle A and B, and plan again: diagsparse.plan_matmul(A, B)"),
        (ds.linear_combination([A]), "diagsparse.linear_combination(matrices)"),
        (ds.factorized(A), "factor it again: diagsparse.factorized(A, sigma)"),
        (ds.ilu0(A), "factor it again: diagsparse.ilu0(A)"),
    ):
        with raises(TypeError, "cannot be pickled", words):
            pickle.dumps(made)
