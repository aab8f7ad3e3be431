"""Which commit a build is of: what src/commit.cmake finds, and where the answer shows up."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from diagsparse._backends.backend import CPU
from diagsparse._show.config import config
from diagsparse._study import hosts
from diagsparse._study.titles import release

ROOT = Path(__file__).resolve().parents[2]
COMMIT = re.compile(r"[0-9a-f]{40}(-dirty)?|unknown")


def test_the_build_knows_its_commit():
    assert COMMIT.fullmatch(CPU.core.commit)
    assert config()["commit"] == hosts.versions()["commit"] == CPU.core.commit


def test_tables_name_the_commit_that_was_measured():
    commit = "0123456" + 33 * "7"
    for named, suffix in ((commit, " (0123456)"), (f"{commit}-dirty", " (0123456, dirty)"), ("unknown", "")):
        assert release({"diagsparse": "1.0", "commit": named}) == f"diagsparse 1.0{suffix}"
    assert release({"diagsparse": "1.0"}) == "diagsparse 1.0"


def test_results_of_a_gpu_name_both_commits_where_they_differ():
    other = "0123456" + 33 * "7"
    assert hosts.commits(CPU.core.commit) == {"commit": CPU.core.commit}
    both = hosts.commits(other)
    assert both == {"commit": other, "cpu commit": CPU.core.commit}
    versions = {"diagsparse": "1.0", "commit": other, "cpu commit": "89abcde" + 33 * "7"}
    assert release(versions) == "diagsparse 1.0 (0123456; the CPU's module 89abcde)"


@pytest.fixture
def sources(tmp_path):
    """A folder with the script, as the sources have it, and what reads the commit there."""
    if not (shutil.which("cmake") and shutil.which("git")):
        pytest.skip("cmake and git write the commit")
    folder = tmp_path / "outer" / "sources"
    (folder / "src").mkdir(parents=True)
    shutil.copy(ROOT / "src" / "commit.cmake", folder / "src")
    (folder / "commit.in").write_text('"@commit@"\n')
    return folder


def commit_of(folder):
    result = folder.parent / "output"
    command = ["cmake", f"-DTEMPLATE={folder / 'commit.in'}", f"-DTO={result}", "-P", folder / "src" / "commit.cmake"]
    subprocess.run(command, check=True)
    return result.read_text().strip().strip('"')


def repository(folder):
    def git(*arguments):
        who = ["-c", "user.name=a", "-c", "user.email=a@b.org", "-c", "safe.directory=*"]
        return subprocess.run(["git", *who, *arguments], cwd=folder, check=True, capture_output=True, text=True).stdout

    git("init", "--quiet")
    git("add", ".")
    git("commit", "--quiet", "--message", "one")
    git("tag", "v1")
    return git("rev-parse", "HEAD").strip()


def test_of_a_clone(sources):
    head = repository(sources)
    assert COMMIT.fullmatch(head) and commit_of(sources) == head
    (sources / "untracked").touch()
    (sources / "src" / "commit.txt").write_text("of an older distribution\n")
    assert commit_of(sources) == head
    (sources / "commit.in").write_text('"@commit@" \n')
    assert commit_of(sources) == f"{head}-dirty"


def test_of_a_source_distribution(sources):
    repository(sources.parent)  # which is around it, and not its own
    assert commit_of(sources) == "unknown"
    (sources / "src" / "commit.txt").write_text("0123abc\n")
    assert commit_of(sources) == "0123abc"


def test_the_file_is_written_only_where_it_changes(sources):
    repository(sources)
    commit_of(sources)
    result = sources.parent / "output"
    before = result.stat().st_mtime_ns
    commit_of(sources)
    assert result.stat().st_mtime_ns == before
