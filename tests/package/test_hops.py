"""Calls pass few files: how many of this package's Python files the paths of the CPU enter, each counted once."""

import sys
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

import diagsparse as ds

ROOT = Path(ds.__file__).parent
N = 50
A = ds.hm_array(ds.gallery.tridiagonal(N))
CSR = ds.csr_array(A)
SCIPYS = sp.csr_array(CSR.to_scipy())
X, BLOCK = np.ones(N), np.ones((N, 3))

CALLS = {  # a call, and how many files it may enter; those of native code are not counted
    "A @ x": (lambda: A @ X, 1),
    "A @ X": (lambda: A @ BLOCK, 2),
    "A.matvec(x)": (lambda: A.matvec(X), 2),
    "A @ B of diagonals": (lambda: A @ A, 2),
    "A @ B of csr": (lambda: CSR @ CSR, 5),
    "A.matmul(B)": (lambda: A.matmul(A), 6),
    "A + B": (lambda: A + A, 6),
    'array(S, "csr")': (lambda: ds.array(SCIPYS, "csr"), 9),
    "csr_array(S)": (lambda: ds.csr_array(SCIPYS), 7),
}


def files_of(call):
    """Return the files of the package in which functions are called, in their order."""
    call()  # what is computed once
    entered = {}

    def note(frame, event, argument):
        path = Path(frame.f_code.co_filename)
        if event == "call" and path.is_relative_to(ROOT):
            entered[str(path.relative_to(ROOT))] = None

    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(None)
    return list(entered)


@pytest.mark.parametrize("name", CALLS)
def test_a_call_passes_few_files(name):
    call, most = CALLS[name]
    files = files_of(call)
    assert 0 < len(files) <= most, files
