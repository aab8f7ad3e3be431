"""Every file of kernels has a budget of what may be compiled from it, and every budget its file."""

import runpy
from pathlib import Path

import pytest

pytestmark = pytest.mark.quick
SOURCES = Path(__file__).parents[2] / "src"


def test_every_file_of_kernels_has_a_budget():
    budget = runpy.run_path(str(SOURCES / "kernel_budget.py"))["BUDGET"]
    files = [*SOURCES.glob("cuda/**/*.cu"), *SOURCES.glob("cpp/kernels/**/*.cpp")]
    assert sorted(budget) == sorted(path.relative_to(SOURCES).as_posix() for path in files)
    assert all(count > 0 for count in budget.values())
