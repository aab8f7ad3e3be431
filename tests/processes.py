"""Code that runs in a Python of its own: it may crash, hang, or need another environment."""

import os
import shutil
import signal
import subprocess
import sys
import textwrap
from contextlib import suppress
from pathlib import Path

import pytest

# One thread for each process; and Open MPI starts more processes than there are cores, as root as well.
OF_MPI = {
    "OMP_NUM_THREADS": "1", "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_hwloc_base_binding_policy": "none", "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
}  # fmt: skip


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


def in_a_fork(code):
    """Return code for `python` that runs this code in a forked child, and raises where it fails there."""
    lines = textwrap.indent(textwrap.dedent(code).strip("\n"), " " * 8)
    return f"""
import os, traceback
child = os.fork()
if child == 0:
    status = 1
    try:
{lines}
        status = 0
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(status)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
"""


def mpiexec(processes, *arguments, timeout=300):
    """Run Python in several processes of MPI, with these arguments; return the exit status and what they print.

    After `timeout` seconds, end all of them: that is an AssertionError. Skip the test without mpi4py and mpiexec.
    """
    pytest.importorskip("mpi4py")
    launcher = shutil.which("mpiexec", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    if launcher is None:
        pytest.skip("mpiexec is not installed")
    started = subprocess.Popen(
        [launcher, "-n", str(processes), sys.executable, "-W", "error", *map(str, arguments)],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True,
        env=os.environ | OF_MPI,
    )  # fmt: skip
    try:
        printed, _ = started.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        started.terminate()  # mpiexec ends its processes, which are in groups of their own
        try:
            printed, _ = started.communicate(timeout=10)
        finally:
            with suppress(ProcessLookupError):
                os.killpg(started.pid, signal.SIGKILL)
        raise AssertionError(f"{processes} processes did not end within {timeout} s\n{printed[-2000:]}") from None
    return started.returncode, printed
