"""Real matrices: read, converted to every format that suits, multiplied, compared with SciPy."""

import re

import numpy as np
import pytest
import scipy.sparse as sp
from cases import DIAGONAL, random
from market_files import matrix_folder
from oracle import assert_within, long, longest_row

import diagsparse as ds

FOLDER = matrix_folder()
FILES = sorted(FOLDER.glob("*.mtx*")) if FOLDER else []
LIMIT = 200_000_000  # bytes; formats that would need more are left out
pytestmark = [
    pytest.mark.nightly,
    pytest.mark.skipif(not FILES, reason="no folder of real matrices (set DIAGSPARSE_MATRICES)"),
    pytest.mark.filterwarnings("ignore::diagsparse.ConversionWarning"),  # some hold integers
]


@pytest.fixture(scope="module", params=FILES, ids=lambda path: path.name.split(".")[0])
def real(request):
    """Return a matrix as read, and the same one as SciPy sees it."""
    A = ds.read(request.param)
    return A, A.to_scipy("csr")


def test_read(real, request):
    A, a = real
    assert A.shape == a.shape and A.nnz == a.nnz > 0 and A.dtype in (np.float64, np.complex128)
    assert np.isfinite(a.data).all() and A.format == "csr"
    head = (FOLDER / "MANIFEST.tsv").read_text().splitlines() if (FOLDER / "MANIFEST.tsv").exists() else []
    name = request.node.callspec.params["real"].name.split(".")[0]
    for line in head[1:]:
        fields = line.split("\t")
        if fields[0] == name:
            assert (str(A.shape[0]), str(A.shape[1])) == (fields[1], fields[2])


@pytest.mark.parametrize("format", ds.formats())
def test_products_with_vectors(real, format):
    A, a = real
    try:
        B = A.asformat(format, max_bytes=LIMIT)
    except MemoryError as error:
        assert format in (*DIAGONAL, "mdia") and re.search(r"\d+ diagonals.*would need.*limit is 200 MB", str(error))
        pytest.skip(str(error))
    except ValueError as error:
        assert format == "cdm" and a.shape[0] != a.shape[1] and "square" in str(error)
        pytest.skip(str(error))
    assert B.nbytes <= LIMIT and B.count_nonzero() == np.count_nonzero(a.data)
    x, z = random(a.shape[1], a.dtype, "x"), random(a.shape[0], a.dtype, "z")
    la, lh = long(a), long(sp.csr_array(a.conj().T))
    for kernel in B.kernels("matvec"):
        assert_within(B.matvec(x, kernel=kernel), la @ long(x), abs(la) @ abs(long(x)), longest_row(a), kernel)
        assert_within(B.rmatvec(z, kernel=kernel), lh @ long(z), abs(lh) @ abs(long(z)), longest_row(lh), kernel)
    assert (B.asformat("csr").to_scipy() != a).nnz == 0


def test_squares_of_those_with_few_diagonals(real):
    A, a = real
    if a.shape[0] != a.shape[1]:
        A, a = A.T @ A, sp.csr_array(a.T @ a)
    if A.shape[0] > 20000 or ds.memory_report(A)["hm"] > 20 * a.nnz:
        pytest.skip(f"{A!r} is no matrix of a few full diagonals")
    ref, magnitude = sp.csr_array(a @ a), sp.csr_array(abs(a) @ abs(a))
    k = 2 * longest_row(a) + 4  # SciPy's own rounding counts as well
    for format in ("dia", "hm", "cdm", "csr"):
        B = A.asformat(format)
        C = B @ B
        assert C.nbytes == ds.forecast("matmul", B, B).result_nbytes
        error = abs(C.to_scipy("csr") - ref)
        limit = (k * np.finfo(float).eps * 2 * np.sqrt(2)) * magnitude
        assert (error > limit).nnz == 0, f"{format}: {(error > limit).nnz} elements are off by more than the bound"


@pytest.mark.parametrize("partition", ["bytes", "paper"])
def test_squares_as_quasi_bands(real, partition, device):
    A, a = real
    if a.shape[0] != a.shape[1]:
        pytest.skip("a product with its transpose is in test_squares_of_those_with_few_diagonals")
    B = ds.qband_array(A, partition=partition, device=device)
    ref, magnitude = sp.csr_array(a @ a), sp.csr_array(abs(a) @ abs(a))
    limit = ((2 * longest_row(a) + 4) * np.finfo(float).eps * 2 * np.sqrt(2)) * magnitude
    for kernel in B.kernels("matmul"):
        if kernel == "segments" and a.nnz > 100_000:
            continue  # the paper's own searches for each product
        C = B.matmul(B, kernel=kernel)
        assert C.format == "qband" and C.nbytes == ds.forecast("matmul", B, B, format="qband").result_nbytes
        error = abs(C.to("cpu").to_scipy("csr") - ref)
        assert (error > limit).nnz == 0, f"{kernel}: {(error > limit).nnz} elements are off by more than the bound"
