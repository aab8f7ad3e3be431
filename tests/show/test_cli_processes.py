"""The command line in processes of its own: closed pipes, `python -m diagsparse`, and what it prints without click."""

import os
import subprocess
import sys

import pytest
from cases import at_night

pytest.importorskip("click")

import diagsparse as ds

pytestmark = pytest.mark.usefixtures("no_bandwidth")


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "poisson.mtx.gz"
    ds.write(path, ds.gallery.stencil(5, 12))
    return str(path)


def python(*arguments, **options):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **options}
    return subprocess.run([sys.executable, *arguments], capture_output=True, text=True, env=environment)


COMMANDS = ["compare --budget 0.01", "info", "recommend", "config", "--help", "info --help"]


@pytest.mark.parametrize("command", at_night(COMMANDS, before=["compare --budget 0.01", "--help"]))
def test_a_closed_pipe_is_no_error(file, tmp_path, command):
    """As after ``| head -1``; what is written to files is written."""
    arguments = [*command.split(), *([file] if command.split()[0] in ("compare", "info", "recommend") else [])]
    arguments = command.split() if "--help" in command else arguments
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(
        [sys.executable, "-m", "diagsparse", *arguments], cwd=tmp_path,
        stdout=writing, stderr=subprocess.PIPE, text=True, timeout=120, check=False,
    )  # fmt: skip
    os.close(writing)
    assert (done.returncode, done.stderr) == (0, "")
    assert not command.startswith("compare") or (tmp_path / "poisson-compare.json").exists()


def test_a_closed_pipe_as_a_file_is_an_error(tmp_path):
    path = tmp_path / "pipe.mtx"
    os.mkfifo(path)
    large = tmp_path / "large.npz"
    ds.write(large, ds.csr_array(ds.gallery.banded(30_000, 2, 2)))
    with subprocess.Popen(
        [sys.executable, "-m", "diagsparse", "convert", large, path], stderr=subprocess.PIPE, text=True
    ) as done:
        with path.open("rb") as reader:
            reader.read(5)
        assert f"{path}: Broken pipe" in done.communicate(timeout=60)[1]
    assert done.returncode == 2


def test_the_module_runs(file):
    done = python("-m", "diagsparse", "info", file)
    assert done.returncode == 0 and done.stdout.startswith("poisson") and done.stderr == ""


def test_without_click_the_error_says_what_to_install():
    done = python("-c", "import sys; sys.modules['click'] = None; from diagsparse.cli import main; main()")
    assert done.returncode == 2
    assert (
        done.stderr
        == 'diagsparse: error: the command line needs click; install it with pip install "diagsparse[cli]"\n'
    )
