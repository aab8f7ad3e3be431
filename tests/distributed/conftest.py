"""What these tests have in common: one thread for each process, and `ranks`, processes that are threads."""

import pytest
from ranks import run

import diagsparse as ds
from diagsparse._distributed import collective


@pytest.fixture(autouse=True)
def one_thread():
    ds.set_num_threads(1)


@pytest.fixture
def ranks(monkeypatch):
    """Let the package use the communicators of `ranks.py`, without mpi4py; the value is `run`."""
    monkeypatch.setattr(collective, "_maximum", lambda: "maximum")
    monkeypatch.setattr(collective, "_keys", {})
    monkeypatch.setattr("sys.excepthook", lambda *error: None)
    monkeypatch.setattr(collective._abort, "after", None)
    return run
