"""Static types: mypy and pyright accept ordinary use, and find mistakes; what types say is what there is."""

import json
import os
import re
import runpy
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from cases import at_night

import diagsparse as ds
from diagsparse._matrix.some_formats import SomeFormats
from diagsparse._matrix.sparse_array import SparseArray

FOLDER = Path(__file__).resolve().parents[1] / "typed"
FILES = [FOLDER / "ordinary_use.py", FOLDER / "wrong_use.py"]
SOURCE = Path(ds.__file__).parents[1]
MISTAKES = {(FILES[1].name, i) for i, line in enumerate(FILES[1].read_text().splitlines(), 1) if "# mistake" in line}
SECONDS = 300  # a machine may be busy


def found_by_mypy(folder):
    pytest.importorskip("mypy", reason="needs the extra test")
    path = {} if SOURCE.name == "site-packages" else {"MYPYPATH": str(SOURCE)}
    (folder / "mypy.ini").write_text("[mypy]\nignore_missing_imports = true\n")  # SciPy has no types
    command = [sys.executable, "-m", "mypy", "--config-file=mypy.ini", "--cache-dir=cache", "--hide-error-context"]
    done = subprocess.run(
        [*command, *map(str, FILES)], cwd=folder, env=os.environ | path, capture_output=True, text=True, timeout=SECONDS
    )
    assert done.returncode < 2, done.stdout + done.stderr
    return {(Path(m[1]).name, int(m[2])): m[3] for m in re.finditer(r"^(.+?):(\d+): error: (.*)$", done.stdout, re.M)}


def found_by_pyright(folder):
    """Run basedpyright, whose wheel has all that it needs, in the mode that is pyright's default."""
    program = shutil.which("basedpyright", path=str(Path(sys.executable).parent))
    if program is None:
        pytest.skip("basedpyright is not installed: it comes with the extra test")
    settings = {"typeCheckingMode": "standard", "include": [*map(str, FILES)], "extraPaths": [str(SOURCE)]}
    (folder / "pyrightconfig.json").write_text(json.dumps(settings))
    command = [program, "--project", str(folder), "--pythonpath", sys.executable, "--outputjson"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS)
    assert done.returncode < 2, done.stdout + done.stderr
    errors = [one for one in json.loads(done.stdout)["generalDiagnostics"] if one["severity"] == "error"]
    return {(Path(one["file"]).name, one["range"]["start"]["line"] + 1): one["message"] for one in errors}


@pytest.mark.parametrize("check", at_night([found_by_mypy, found_by_pyright], before=[found_by_mypy]))
def test_ordinary_use_passes_and_mistakes_are_found(check, tmp_path):
    found = check(tmp_path)
    assert set(found) == MISTAKES, found


def test_ordinary_use_runs():
    assert runpy.run_path(str(FILES[0]))["same"]


def test_attributes_of_some_formats_agree_with_the_types():
    matrices = [getattr(ds, f"{format}_array")(np.eye(2)) for format in ds.formats()]
    some = {name for A in matrices for name in dir(A) if name[0] != "_" and name not in dir(SparseArray)}
    assert set(vars(SomeFormats)["__annotations__"]) == some - {"format"} | {f"to{name}" for name in ds.formats()}
