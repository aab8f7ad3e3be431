"""Fixtures that every test file shares."""

import os
from pathlib import Path

import pytest
from cases import NO_CUDA
from hypothesis import settings

import diagsparse as ds
from diagsparse import measure

settings.register_profile("diagsparse", max_examples=60, deadline=None, database=None, print_blob=False)
settings.load_profile("diagsparse")


@pytest.fixture(params=["cpu", pytest.param("cuda", marks=pytest.mark.gpu)])
def device(request):
    """Every device that this machine has; a test that takes it runs on each."""
    if request.param != "cpu" and not ds.cuda_available():
        pytest.skip(NO_CUDA)
    return request.param


@pytest.fixture(autouse=True)
def restored_threads():
    """No test leaves another thread count behind. A parameter of the same name would replace this fixture."""
    before = ds.get_num_threads()
    yield
    ds.set_num_threads(before)


def matrix_folder() -> Path | None:
    """Return the folder of real matrices: DIAGSPARSE_MATRICES, or `matrices/` in a folder beside the repository."""
    if "DIAGSPARSE_MATRICES" in os.environ:
        found = [Path(os.environ["DIAGSPARSE_MATRICES"])]
    else:
        found = sorted(Path(__file__).resolve().parents[2].glob("*/matrices"))
    return next((folder for folder in found if any(folder.glob("*.mtx*"))), None)


@pytest.fixture
def no_bandwidth(monkeypatch, tmp_path):
    """Measure no bandwidth, write nowhere else."""
    monkeypatch.setattr(measure, "read_bandwidth", lambda threads=None: 10e9)
    monkeypatch.chdir(tmp_path)
