"""The fuzzer itself: a few hundred cases of each family, always the same ones, and a failure that it has to report."""

import importlib
import os
import random
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from cases import NO_CUDA
from fuzz import guided
from fuzz.case import Case
from fuzz.choices import Choices, changed
from fuzz.reached import Reached
from scipy import sparse

import diagsparse as ds
from diagsparse._files import matrix_market
from diagsparse._matrix import comparisons, elementwise_functions, summary
from diagsparse._matrix.sparse_array import SparseArray

FUZZ = Path(__file__).parents[1] / "fuzz"


def run(*arguments, **environment):
    """Run the fuzzer; return its exit status and what it printed."""
    done = subprocess.run(
        [sys.executable, FUZZ, *map(str, arguments)],
        capture_output=True, text=True, timeout=300, env=os.environ | environment, check=False,
    )  # fmt: skip
    return done.returncode, done.stdout + done.stderr


def test_a_few_cases():
    status, output = run("pickles", "--seed", 0, "--cases", 20)
    assert status == 0 and "pickles: 20 cases" in output, output


@pytest.mark.nightly
@pytest.mark.parametrize("family", ["operations", "parts", "files", "market", "pickles"])
def test_a_family(family):
    pytest.importorskip("ml_dtypes")
    pytest.importorskip("fast_matrix_market")
    status, output = run(family, "--seed", 0, "--cases", 400)
    assert status == 0 and f"{family}: 400 cases" in output, output


PLANTED = {  # by the check that has to see it: what is replaced in the library, and by what
    "functions.of_each": (elementwise_functions, "changed", lambda A, change: A[: A.shape[0] // 2]),
    "functions.extremes": (SparseArray, "argmax", lambda A, axis: 0 * A.to_scipy("csr").argmax(axis)),
    "functions.pairwise": (comparisons, "_extreme", lambda A, other, how: A),
    "functions.parts": (SparseArray, "imag", property(lambda A: A.real)),
    "functions.counted": (SparseArray, "mean", lambda A, axis: A.sum(axis) / max(1, A.nnz)),
    "indexing.writes": (SparseArray, "__setitem__", lambda A, which, values: None),
    "advising.analyses": (summary.Summary, "blocks", lambda s, size=8: len(s.offsets)),
    "parts.entries": (SparseArray, "asformat", lambda A, format: A * 0),
    "market.run": (matrix_market, "_parsed", lambda text: sparse.coo_array((text.header.rows, text.header.columns))),
}


@pytest.mark.parametrize("check", PLANTED)
def test_a_planted_defect_is_found(check, monkeypatch, tmp_path):
    pytest.importorskip("ml_dtypes")
    module, name = check.split(".")
    call = getattr(importlib.import_module(f"fuzz.{module}"), name)
    plan = SimpleNamespace(family=module, seed=0, device="cpu", folder=tmp_path)
    monkeypatch.setattr(matrix_market, "_library", matrix_market._library)  # which cases replace
    monkeypatch.setattr(*PLANTED[check])
    with np.errstate(all="ignore"), pytest.raises(AssertionError):
        for number in range(60):
            call(Case(plan, number, lambda about: None))


def test_saved_cases():
    """The first of those that reached something new when they were found; all of them are tested at night."""
    pytest.importorskip("ml_dtypes")
    pytest.importorskip("fast_matrix_market")
    status, output = run("guided", "--cases", 60)
    assert status == 0 and "guided: 60 cases" in output, output


@pytest.mark.nightly
def test_guided_cases():
    pytest.importorskip("ml_dtypes")
    pytest.importorskip("fast_matrix_market")
    count = len(guided.saved()) + 3000
    status, output = run("guided", "--seed", 0, "--cases", count)
    assert status == 0 and f"guided: {count} cases" in output, output


def test_choices_repeat_a_case():
    first = Choices(b"given")
    drawn = [first.random(), first.sample(range(9), 3), first.getrandbits(64), first.choice("abc"), first.randint(1, 8)]
    again, longer = Choices(bytes(first.taken)), Choices(bytes(first.taken) + b"more")
    for other in (again, longer):
        assert drawn == [other.random(), other.sample(range(9), 3), other.getrandbits(64), other.choice("abc"),
                         other.randint(1, 8)]  # fmt: skip
        assert other.taken == first.taken and other.random() != Choices(b"other").random()
    others = [changed(bytes(20), bytes(range(30)), random.Random(seed)) for seed in range(50)]
    assert {len(one) for one in others} >= {20, 30} and len(set(others)) > 40


def test_what_a_case_reaches_first():
    reached, found = Reached(), []
    for n in (3, 3, 4):
        with reached:
            ds.hm_array(np.eye(n))
        reached.outcome(f"hm of {n} rows")
        found.append(reached.new)
    assert len(found[0]) > 20 and "# of # rows" in found[0] and found[1:] == [[], []]
    with reached, pytest.raises(ValueError, match="offsets"):
        ds.hm_array((np.ones(3), [5]), shape=(3, 3))
    assert reached.new


def test_a_case_of_given_choices_is_repeated(tmp_path):
    status, output = run("guided", "--choices", "00ff17")
    assert status == 0 and "passes: " in output
    assert run("guided", "--choices", "00ff17")[1].splitlines()[0] == output.splitlines()[0]


@pytest.mark.gpu
@pytest.mark.skipif(not ds.cuda_available(), reason=NO_CUDA)
def test_hostile_input_on_a_gpu():
    pytest.importorskip("ml_dtypes")
    pytest.importorskip("fast_matrix_market")
    status, output = run("guided", "--device", "cuda", "--seed", 0, "--cases", 300)
    assert status == 0 and "guided: 300 cases" in output, output


@pytest.mark.gpu
@pytest.mark.skipif(not ds.cuda_available(), reason=NO_CUDA)
def test_operations_on_a_gpu():
    pytest.importorskip("ml_dtypes")
    status, output = run("operations", "--device", "cuda", "--seed", 0, "--cases", 400)
    assert status == 0 and "operations: 400 cases" in output, output
