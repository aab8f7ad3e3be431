"""Budgets of what may be compiled name files and units that there are, and are for those that need more than most."""

import runpy
from pathlib import Path

import pytest

pytestmark = pytest.mark.quick
SOURCES = Path(__file__).parents[2] / "src"


def test_budgets_are_of_files_that_need_more_than_most():
    table = runpy.run_path(str(SOURCES / "kernel_budget.py"))
    assert len(table["BUDGET"]) > 10
    assert not [source for source in table["BUDGET"] if not (SOURCES / source).is_file()]
    assert all(count > table["DEFAULT"] for count in table["BUDGET"].values())


def test_budgets_are_of_units_that_need_more_than_most():
    table = runpy.run_path(str(SOURCES / "kernel_budget.py"))
    units = (SOURCES.parent / "CMakeLists.txt").read_text()
    assert not [unit for unit in table["UNITS"] if f'"{unit}=' not in units]
    assert all(count > table["DEFAULT"] for count in table["UNITS"].values())
