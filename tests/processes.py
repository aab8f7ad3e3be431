"""Code that runs in a Python of its own: it may crash, hang, or need another environment."""

import os
import shutil
import subprocess
import sys
import textwrap

import pytest


def python(code, *, memory=None, timeout=60, **environment):
    """Run code in a fresh interpreter, warnings being errors; return what it prints.

    `memory` limits the address space (bytes), `environment` adds variables. A crash or an exception there
    is an AssertionError here.
    """
    limit = f"import resource; resource.setrlimit(resource.RLIMIT_AS, ({memory}, {memory}))\n" if memory else ""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", limit + textwrap.dedent(code)],
        capture_output=True, text=True, timeout=timeout, env=os.environ | environment, check=False,
    )  # fmt: skip
    assert done.returncode == 0, f"exit status {done.returncode}\n{done.stderr[-2000:]}"
    return done.stdout


def mpiexec(processes, *arguments, timeout=300):
    """Run Python in several processes of MPI, with these arguments; return the exit status and what they print.

    Skip the test without mpi4py and mpiexec.
    """
    pytest.importorskip("mpi4py")
    launcher = shutil.which("mpiexec") or pytest.skip("mpiexec is not installed")
    done = subprocess.run(
        [launcher, "-n", str(processes), sys.executable, "-W", "error", *map(str, arguments)],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=timeout, check=False,
    )  # fmt: skip
    return done.returncode, done.stdout
