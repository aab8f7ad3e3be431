"""A new format is a folder for each device and a class: a toy is added to a copy of the sources, built and used."""

import difflib
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import diagsparse as ds

ROOT, TOY = Path(__file__).parents[2], Path(__file__).parents[1] / "toy_format"
MOST_LINES = 5
LINES = {  # the line after which a new one goes: in which file, and what it is
    "src/cpp/formats/all.cpp": {
        '#include "formats/mdia/layout.hpp"': '#include "formats/pell/layout.hpp"',
        "constexpr const Format* kFormats[] = {": "    &pell,",
    },
    "python/diagsparse/_formats/__init__.py": {
        "from .mdia import mdia_array": "from .pell import pell_array",
        "__all__ = [": '    "pell_array",',
    },
}


def add_lines(path, lines):
    """Add lines to a file, and return how many of it changed."""
    old = path.read_text().splitlines()
    new = []
    for line in old:
        new += [line, *(text for start, text in lines.items() if line.startswith(start))]
    assert len(new) == len(old) + len(lines), path.name
    path.write_text("\n".join(new) + "\n")
    changed = [
        line for line in difflib.unified_diff(old, new, n=0) if line[:1] in "+-" and line[:3] not in ("+++", "---")
    ]
    return len(changed)


@pytest.mark.nightly
def test_a_format_is_two_folders_a_class_and_a_few_lines(tmp_path):
    pybind11 = pytest.importorskip("pybind11")
    if shutil.which("cmake") is None:
        pytest.skip("cmake is not installed")
    for name in ("CMakeLists.txt", "src", "python"):
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        copy(ROOT / name, tmp_path / name)
    for module in (tmp_path / "python/diagsparse").glob("_c*.so"):
        module.unlink()
    for name, folder in {
        "layout.hpp": "src/cpp/formats/pell", "format.cpp": "src/cpp/formats/pell", "cpu.cpp": "src/cpp/formats/pell",
        "matvec.cu": "src/cuda/formats/pell", "pell.py": "python/diagsparse/_formats",
    }.items():  # fmt: skip
        (tmp_path / folder).mkdir(exist_ok=True)
        shutil.copy(TOY / name, tmp_path / folder)
    assert sum(add_lines(tmp_path / name, lines) for name, lines in LINES.items()) <= MOST_LINES
    build = tmp_path / "build"
    options = {
        "CMAKE_BUILD_TYPE": "Release", "DIAGSPARSE_INSTRUCTION_SETS": "portable", "SKBUILD_PROJECT_NAME": "diagsparse",
        "DIAGSPARSE_CUDA": "ON" if ds.cuda_available() else "OFF", "Python_EXECUTABLE": sys.executable,
        "pybind11_DIR": pybind11.get_cmake_dir(),
    }  # fmt: skip
    run("cmake", "-S", tmp_path, "-B", build, *(f"-D{name}={value}" for name, value in options.items()))
    run("cmake", "--build", build, "--parallel", str(os.cpu_count()))
    for module in build.glob("_c*.so"):
        shutil.copy(module, tmp_path / "python/diagsparse")
    assert "works" in run(sys.executable, TOY / "check.py", PYTHONPATH=tmp_path / "python")


def run(*command, **environment):
    """Return what a command prints."""
    words = [str(word) for word in command]
    env = os.environ | {name: str(value) for name, value in environment.items()}
    done = subprocess.run(words, capture_output=True, text=True, env=env)
    assert done.returncode == 0, f"{' '.join(words)}\n{done.stdout[-4000:]}{done.stderr[-4000:]}"
    return done.stdout
