"""Every notebook runs from top to bottom, as a user runs it: in a kernel of its own, warnings being warnings."""

import json
import os
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

pytest.importorskip("nbmake")
pytest.importorskip("ipykernel")
pytest.importorskip("matplotlib")

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
SECONDS = 240  # a notebook needs far less; a machine may be busy
SHOWN = {  # what a reader must get to see
    "01_first_product": [
        "<dia_array 490000 x 490000 float64: 5 diagonals from -700 to 700, period 700, 2448598 stored, 28.0 KB, cpu>",
        "forecast: result 51.0 MB, workspace 39.2 MB",
        "diagsparse dia, 1 thread",
        "values      symmetric",
        "<plan dia x dia -> dia:",
        "MemoryError: hm_array",
        "transposed view",
        "converged   residual",
        "y = A x",
        "C = A A",
    ],
    "02_formats_drawn": [
        "<hm_array 8 x 8 float64: 4 diagonals from -7 to 1",
        "<cdm_array 8 x 8",
        "<bmsparse_array 24 x 24",
        "the grid is smallest in mdia",
    ],
    "03_which_format": [
        "<recommendation for",
        "all products agree with SciPy's: True",
        "time per product",
        "the same product within 1e-12: True",
        "<reordered ",
        "R @ x is A @ x: True",
        "R.matrix @ x[p] is (A @ x)[p]: True",
        "agrees: True",
    ],
    "04_quantum": [
        "<mdia_array 16384 x 16384 float64: 27 diagonals",
        "norm 1.000000000000, flipped spins 1.000000000000",
        "below 1e-9: True",
        "the same state within 1e-10: True",
        "diagsparse mdia",
        "<halo of a 1073741824 x 1073741824 matrix on 8 processes",
    ],
    "05_reproduce_the_papers": [
        "Results for a GPU: those of an NVIDIA H200",
        "109 x 35 diagonals: sequential",
        "jds  converged",
        "<structure of a matrix 4000 x 4000 float32: 80000 nonzeros",
        "the first 164 of each row in ell",
        "64 nonzeros per block",
        "A @ B of 600 diagonals: paper's kernels over its loop         99x",
        "A A: `indexed` over `baseline`                                   table 3.3   1.91x (1.73 to 2.28), 9 of 9",
        "A x: `batch` over `base`                                        figure 4.6 1.38x (up to 3x), 1385 of 1445",
        "A @ x by batch over cuSPARSE, from 31 a block on            1.62x",
    ],
    "06_molecule": [
        "15876 determinants",
        "126 nonzeros of each row come first, 87% of all",
        "<ellcsr_array 15876 x 15876 float64",
        "-76.05088",
        "all differences below 1e-9: True",
        "PySCF, no matrix",
    ],
    "07_solving": [
        "<hm_array 10000 x 10000 float64: 5 diagonals from -100 to 100",
        "30 x  30: superlu    factors would have",
        "300 x 300: multigrid  factors would have",
        "backward error below 1e-13: True",
        "3  13 x 13                         9",
        "all backward errors below 1e-12: True",
        "100 times as much for 10^8:",
    ],
    "08_driven_chain": [
        "<mdia_array 256 x 256 float64: 16 diagonals",
        "norm 1 within 1e-7: True",
        "the same curve within 1e-4: True",
        "the gradient agrees with differences: True",
        "all within 0.02: True",
    ],
}
NEEDS = {"06_molecule": "pyscf.mcscf", "08_driven_chain": "jax"}  # in addition to the extra `test`

every_notebook = pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)


def code_cells(path):
    return [cell for cell in json.loads(path.read_text())["cells"] if cell["cell_type"] == "code"]


def text_of(output):
    """Return what a cell printed or showed as text."""
    return "".join(output.get("text", output.get("data", {}).get("text/plain", [])))


def executed(path, folder, results=ROOT / "benchmarks" / "results"):
    """Return the code cells, with outputs, of a copy that nbmake's plugin ran under none of this project's settings."""
    copy = Path(shutil.copy(path, folder))
    command = [sys.executable, "-m", "pytest", "--nbmake", "--overwrite", f"--nbmake-timeout={SECONDS}"]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    done = subprocess.run(
        [*command, "-p", "no:cacheprovider", copy.name],
        cwd=folder, env=environment | {"DIAGSPARSE_RESULTS": str(results)},
        capture_output=True, text=True, timeout=2 * SECONDS, check=False,
    )  # fmt: skip
    assert done.returncode == 0, (
        f"{path.name}: exit status {done.returncode}\n{done.stdout[-4000:]}{done.stderr[-2000:]}"
    )
    return code_cells(copy)


def outputs_of(cells):
    """Return all that these cells showed: no error, and no warning either."""
    outputs = []
    for cell in cells:
        assert cell["execution_count"], "".join(cell["source"])
        outputs += cell["outputs"]
    for output in outputs:
        assert output["output_type"] != "error" and output.get("name") != "stderr", text_of(output)
    return outputs


def test_notebooks_that_cannot_run_here_are_left_out():
    """`pytest --nbmake notebooks` runs what can run: a notebook needs its package, and says how to get it."""
    command = [
        sys.executable,
        "-m",
        "pytest",
        "--nbmake",
        "--collect-only",
        "-p",
        "no:cacheprovider",
        "-q",
        "notebooks",
    ]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=SECONDS, check=True).stdout
    for path in NOTEBOOKS:
        package = NEEDS.get(path.stem, "numpy").partition(".")[0]
        assert (path.name in listed) == bool(find_spec(package)), listed
        assert path.stem not in NEEDS or "pip install" in "".join(code_cells(path)[0]["source"])


def test_there_are_notebooks():
    assert set(SHOWN) <= {path.stem for path in NOTEBOOKS}


@every_notebook
def test_notebook_is_stored_without_outputs(path):
    assert json.loads(path.read_text())["metadata"]["kernelspec"]["name"] == "python3"
    for cell in code_cells(path):
        assert cell["outputs"] == [] and cell["execution_count"] is None, "".join(cell["source"])


@pytest.mark.nightly
@every_notebook
def test_notebook_runs(path, tmp_path):
    if path.stem in NEEDS:
        pytest.importorskip(NEEDS[path.stem])
    outputs = outputs_of(executed(path, tmp_path))
    text = "\n".join(map(text_of, outputs))
    for promised in SHOWN.get(path.stem, []):
        assert promised in text, promised
    assert not any(wrong in text for wrong in ("CHECK FAILED", "1e-12: False", "agrees: False"))
    assert {"text/html", "image/png"} <= {kind for output in outputs for kind in output.get("data", {})}


@pytest.mark.nightly
def test_the_papers_without_figures_of_a_gpu(tmp_path):
    """A notebook outside of a checkout says where the figures are, and draws what it has."""
    (path,) = (path for path in NOTEBOOKS if path.stem.startswith("05"))
    outputs = outputs_of(executed(path, tmp_path, results=tmp_path / "missing"))
    text = "\n".join(map(text_of, outputs))
    assert "there is no folder" in text and "set DIAGSPARSE_RESULTS" in text and "H200" not in text
    assert sum("image/png" in output.get("data", {}) for output in outputs) == 5
