"""The docs are true where they speak of GPUs: examples run, the tables of kernels are those of the code."""

import importlib
import sys

import numpy as np
import pytest
from cases import NO_CUDA, on_gpu
from libraries import load
from pages import GPU_BLOCK, PAGES, ROOT, TEXTS, every_page, examples_of, run_examples, skip_without_packages, table

import diagsparse as ds

needs_a_gpu = pytest.mark.skipif(not ds.cuda_available(), reason=NO_CUDA)


@pytest.mark.gpu
@needs_a_gpu
@pytest.mark.parametrize("path", [path for path in TEXTS if GPU_BLOCK.search(path.read_text())], ids=lambda p: p.name)
def test_examples_that_need_a_gpu_run(path, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)  # what an example writes is written here
    load("cupy")
    skip_without_packages(path)
    assert run_examples(examples_of("\n".join(GPU_BLOCK.findall(path.read_text())), path))


def test_examples_on_a_gpu_are_skipped_without_a_package_that_they_import(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "qutip", None)
    monkeypatch.setitem(globals(), "load", lambda name: None)  # as if CuPy were there
    with pytest.raises(pytest.skip.Exception, match="qutip"):
        test_examples_that_need_a_gpu_run(ROOT / "docs" / "qutip.md", monkeypatch, tmp_path)


def gpu_kernels(format):
    """Return the table of a format's kernels on a GPU: name, operation, what works on what, whether the bits repeat."""
    return table(PAGES[format].read_text(), "kernel on a GPU", "operation", "what works on what", "bits repeat")


def cuda_module():
    """Return the CUDA module, whose tables can be read without a GPU."""
    ds.cuda_available()  # where there is a driver, this finds NVIDIA's wheels
    try:
        return importlib.import_module("diagsparse._cuda")
    except ImportError as error:
        pytest.skip(f"no CUDA module in this build, or it does not load: {error}")


@every_page
def test_table_of_gpu_kernels(format):
    rows, kernels = gpu_kernels(format), cuda_module().kernels(format)
    assert {row[1] for row in rows} <= set(kernels) and {row[3] for row in rows} <= {"yes", "no", "not promised"}
    if not ds.array(np.eye(2), format)._format.own_products and format != "csr":
        assert kernels.pop("matmul") == cuda_module().kernels("csr")["matmul"], "multiplies as csr"
    for operation, names in kernels.items():
        assert [row[0] for row in rows if row[1] == operation] == names, operation
        assert [row[3] for row in rows if row[1] == operation][:1] in ([], ["yes"]), f"the default of {operation}"


@pytest.mark.gpu
@needs_a_gpu
@every_page
def test_bits_repeat_where_the_page_says_so(format):
    A, x = on_gpu("random diagonals 1000", format, "float32"), np.linspace(0.5, 1.5, 1000, dtype="float32")
    run = {
        "matvec": lambda kernel: A.matvec(x, kernel=kernel),
        "matmul": lambda kernel: A.matmul(A, kernel=kernel).values.get(),
        "chain": lambda kernel: ds.power_multiply(A, x, 4, kernel=kernel),
    }
    for kernel, operation, _, repeat in gpu_kernels(format):
        if repeat == "yes":
            bits = {run[operation](kernel).tobytes() for _ in range(5)}
            assert len(bits) == 1, f"{operation} {kernel}"
