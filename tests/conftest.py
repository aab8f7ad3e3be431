"""Fixtures common to all test files, and the selection of test tiers (see CONTRIBUTING.md)."""

import os
import re

import cells
import pytest
from cases import NO_CUDA
from hypothesis import settings

import diagsparse as ds
from diagsparse import measure

settings.register_profile("diagsparse", max_examples=60, deadline=None, database=None, print_blob=False)
settings.load_profile("diagsparse")


def pytest_configure(config):
    """Record the cells that are exercised, where `cells.py` runs the tests."""
    if cells.FOLDER in os.environ:
        config.pluginmanager.register(cells.recorder())


def pytest_ignore_collect(collection_path, config):
    """Leave out files that have no test of the tier, if they are not named: importing them is slow."""
    tier = config.option.markexpr
    if not collection_path.name.startswith("test_") or any(collection_path.name in name for name in config.args):
        return None
    text = collection_path.read_text(encoding="utf-8")
    nightly = re.search(r"^pytestmark = \[?\s*pytest\.mark\.nightly", text, re.MULTILINE)
    return (tier == "quick" and "mark.quick" not in text) or ("not nightly" in tier and bool(nightly)) or None


def pytest_collection_modifyitems(config, items):
    """Without a GPU, deselect the tests that need one, unless there are no others: skipping thousands is slow."""
    gpu = [item for item in items if item.get_closest_marker("gpu")]
    if not ds.cuda_available() and len(gpu) < len(items):
        items[:] = [item for item in items if not item.get_closest_marker("gpu")]
        config.hook.pytest_deselected(items=gpu)


def pytest_terminal_summary(terminalreporter):
    if not ds.cuda_available():
        terminalreporter.write_line(f"{NO_CUDA}: tests that need one did not run")


@pytest.fixture(params=["cpu", pytest.param("cuda", marks=pytest.mark.gpu)])
def device(request):
    """Every device of this machine; a test with this fixture runs on each."""
    if request.param != "cpu" and not ds.cuda_available():
        pytest.skip(NO_CUDA)
    return request.param


@pytest.fixture(autouse=True)
def restored_threads():
    """Restore the thread count after each test. A parameter of the same name would replace this fixture."""
    before = ds.get_num_threads()
    yield
    ds.set_num_threads(before)


@pytest.fixture
def no_bandwidth(monkeypatch, tmp_path):
    """Measure no bandwidth, write nowhere else."""
    monkeypatch.setattr(measure, "read_bandwidth", lambda threads=None: 10e9)
    monkeypatch.chdir(tmp_path)
