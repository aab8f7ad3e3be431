"""What `tests/cells.py` records and compares."""

import json
import os
import subprocess
import sys
from pathlib import Path

import cases
import cells
import pytest

TESTS = Path(__file__).parents[1]
pytestmark = pytest.mark.quick

SAMPLE = """
import hypothesis, numpy as np, pytest
from hypothesis import strategies as st
import diagsparse as ds

def test_products():
    A = ds.hm_array(np.eye(3, dtype="float32"))
    A @ np.ones(3, "float32")  # the short way
    A.matvec(np.ones(3), kernel="sequential")
    ds.power_multiply(A.asformat("ell"), np.ones(3, "complex64"), 2)
    ds.plan_matmul(A, A, kernel="dense_tiles")()

@hypothesis.settings(deadline=None)
@hypothesis.given(st.just("csb"))
def test_drawn(format):
    ds.array(np.eye(3), format)
"""


def test_what_is_recorded(tmp_path):
    (tmp_path / "test_sample.py").write_text(SAMPLE)
    plugin = "import cells\ndef pytest_configure(config): config.pluginmanager.register(cells.recorder())"
    (tmp_path / "conftest.py").write_text(plugin)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", tmp_path, tmp_path]
    path = os.pathsep.join([str(TESTS), os.environ.get("PYTHONPATH", "")])
    environment = os.environ | {cells.FOLDER: str(tmp_path), "PYTHONPATH": path}
    done = subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    found = cells.gather(tmp_path)["cpu"]
    kinds = "matvec", "chain", "matmul"
    assert {name: types for name, types in found.items() if name.startswith(kinds)} == {
        "chain ell steps": "fF", "matmul hm dense_tiles": "ff",
        "matvec hm row_tiles": "ff", "matvec hm sequential": "fd",
    }  # fmt: skip
    assert found["convert csr -> ell"] == "f" and "csb" not in " ".join(found)


def test_lost_cells_are_named():
    stored = {"cpu": {"matvec hm row": "dd ff", "convert csr -> hm": "d"}, "cuda": {"matvec hm row": "dd"}}
    found = {"cpu": {"matvec hm row": "dd DD"}}  # of a machine without a GPU
    assert cells.lost(stored, found) == ["cpu matvec hm row: ff", "cpu convert csr -> hm: d"]
    assert cells.lost(found, found) == []


def test_every_kernel_is_a_stored_cell(device):
    """After a new kernel or format: `python tests/cells.py --update`."""
    stored = json.loads(cells.STORED.read_text()).get(device)
    if stored is None:
        pytest.skip(f"no cells are stored: python tests/cells.py --update --device {device}")
    for operation in ("matvec", "matmul", "chain"):
        for where, format, kernel in (parameters.values for parameters in cases.cells(operation).args[1]):
            types = stored.get(f"{operation} {format} {kernel}", "").split()
            assert where != device or {"dd", "ff", "DD", "FF"} & {*types}, (operation, format, kernel)
