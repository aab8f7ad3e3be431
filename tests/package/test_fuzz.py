"""The fuzzer itself: a few hundred cases of each family, always the same ones, and a failure that it has to tell."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from cases import NO_CUDA

import diagsparse as ds

FUZZ = Path(__file__).parents[1] / "fuzz"


def run(*arguments, **environment):
    """Run the fuzzer; return its exit status and what it printed."""
    done = subprocess.run(
        [sys.executable, FUZZ, *map(str, arguments)],
        capture_output=True, text=True, timeout=300, env=os.environ | environment, check=False,
    )  # fmt: skip
    return done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize("family", ["operations", "parts", "files", "pickles"])
def test_a_family(family):
    pytest.importorskip("ml_dtypes")
    pytest.importorskip("fast_matrix_market")
    status, told = run(family, "--seed", 0, "--cases", 400)
    assert status == 0 and f"{family}: 400 cases" in told, told


@pytest.mark.gpu
@pytest.mark.skipif(not ds.cuda_available(), reason=NO_CUDA)
def test_operations_on_a_gpu():
    pytest.importorskip("ml_dtypes")
    status, told = run("operations", "--device", "cuda", "--seed", 0, "--cases", 400)
    assert status == 0 and "operations: 400 cases" in told, told
