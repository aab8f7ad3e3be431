"""The fuzzer itself: a few hundred cases of each family, always the same ones, and a failure that it has to report."""

import importlib
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from cases import NO_CUDA
from fuzz.case import Case

import diagsparse as ds
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
@pytest.mark.parametrize("family", ["operations", "parts", "files", "pickles"])
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
}


@pytest.mark.parametrize("check", PLANTED)
def test_a_planted_defect_is_found(check, monkeypatch, tmp_path):
    pytest.importorskip("ml_dtypes")
    module, name = check.split(".")
    call = getattr(importlib.import_module(f"fuzz.{module}"), name)
    plan = SimpleNamespace(family=module, seed=0, device="cpu", folder=tmp_path)
    monkeypatch.setattr(*PLANTED[check])
    with np.errstate(all="ignore"), pytest.raises(AssertionError):
        for number in range(60):
            call(Case(plan, number, lambda about: None))


@pytest.mark.gpu
@pytest.mark.skipif(not ds.cuda_available(), reason=NO_CUDA)
def test_operations_on_a_gpu():
    pytest.importorskip("ml_dtypes")
    status, output = run("operations", "--device", "cuda", "--seed", 0, "--cases", 400)
    assert status == 0 and "operations: 400 cases" in output, output
