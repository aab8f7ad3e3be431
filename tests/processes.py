"""Code that runs in a Python of its own: it may crash, hang, or need another environment."""

import os
import subprocess
import sys
import textwrap


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
