"""What every report of an experiment says of its rows and columns."""

import importlib

from diagsparse._backends.backend import CPU


def require_described(report):
    """Assert that rows have names of their own, and columns a device and perhaps a kernel that exists."""
    names = [row["name"] for row in report["rows"]]
    assert len(set(names)) == len(names)
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
