"""Solvers of PETSc and SLEPc on distributed matrices."""

from pathlib import Path

import pytest
from processes import mpiexec, python

PROGRAM = Path(__file__).with_name("with_petsc.py")


@pytest.mark.nightly
@pytest.mark.parametrize("processes", [1, 2, 3])
@pytest.mark.parametrize("parts", ["products multiples complex_numbers memory errors", "solvers", "eigenvalues"])
def test_petsc_multiplies_by_the_distributed_matrix(parts, processes):
    pytest.importorskip("slepc4py" if "eigenvalues" in parts else "petsc4py")
    status, printed = mpiexec(processes, PROGRAM, *parts.split())
    assert status == 0, printed


def test_the_error_without_petsc_says_what_to_install():
    pytest.importorskip("mpi4py")
    python("""
        import sys

        import diagsparse as ds
        from diagsparse import distributed

        sys.modules["petsc4py"] = None
        try:
            distributed.from_global(ds.eye(5)).to_petsc()
        except ImportError as error:
            assert "pip install petsc petsc4py" in str(error)
        else:
            raise AssertionError
    """)
