"""The programs in examples/ run."""

import re
from importlib.util import find_spec

import pytest
from pages import ROOT
from processes import mpiexec

EXAMPLES = ROOT / "examples"


def solved(backend, processes):
    """Return the number of iterations of the Poisson problem; its solution is right."""
    status, printed = mpiexec(processes, EXAMPLES / "poisson.py", "--points", 20, "--backend", backend)
    assert status == 0, printed
    assert "20 x 20 points: 400 unknowns" in printed
    assert f"process 0 of {processes}: rows 0 to {400 // processes}" in printed
    assert "largest u = 0.073" in printed
    iterations, residual = re.search(
        rf"{backend} *: (\d+) iterations, .*relative residual (\S+)$", printed, re.M
    ).groups()
    assert float(residual) <= 1e-8
    return int(iterations)


def test_poisson():
    assert solved("cg", 1) == solved("cg", 2)


@pytest.mark.nightly
def test_poisson_with_petsc():
    pytest.importorskip("petsc4py")
    assert solved("petsc", 2) == solved("cg", 2)


@pytest.mark.nightly
@pytest.mark.parametrize("processes", [1, 2])
def test_heisenberg(processes):
    status, printed = mpiexec(processes, EXAMPLES / "heisenberg.py", "--sites", 8)
    if not find_spec("slepc4py"):
        assert status == 2
        assert "pip install petsc petsc4py slepc slepc4py" in printed
        return
    assert status == 0, printed
    energy, difference = re.search(r"expected +(\S+), difference (\S+)", printed).groups()
    assert energy == "-13.499730394752"
    assert float(difference) < 1e-10
