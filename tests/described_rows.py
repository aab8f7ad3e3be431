"""What every report of an experiment says of its rows and columns, so that others need not guess it."""

import importlib

from diagsparse._places.backend import CPU
from diagsparse._study.timed_rows import identity


def require_described(report):
    """Assert that rows have keys of their own, and columns a device and perhaps a kernel that exists."""
    keys = [row["key"] for row in report["rows"]]
    assert len(set(keys)) == len(keys) and keys == [identity(row) for row in report["rows"]]
    tables = {"cpu": CPU.core}
    for row in report["rows"]:
        if "failed" not in row:
            continue  # one call, or a setting of threads in each column
        assert set(row["columns"]) >= set(row["times"])
        for column, about in row["columns"].items():
            on = about["timed_on"]
            assert on in ("cpu", report["device"]), f"{column} was timed on {on}"
            if "kernel" in about:
                format, operation, kernel = about["kernel"].split()
                core = tables.setdefault(on, importlib.import_module("diagsparse._cuda") if on == "cuda" else CPU.core)
                assert kernel in core.kernels(format)[operation], f"{column}: {about['kernel']}"
