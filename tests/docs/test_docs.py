"""The docs are true: every example runs, every path exists, every table and formula is that of the code."""

import doctest
import importlib
import inspect
import os
import pkgutil
import re
import shlex
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
from pages import (
    README,
    ROOT,
    TEXTS,
    blocks,
    examples_of,
    import_or_skip,
    run_examples,
    skip_without_packages,
    text_of,
    without_fences,
    without_missing_libraries,
)

import diagsparse as ds

MISSING = [name for name in ("jax", "torch") if find_spec(name) is None]
MODULES = sorted(
    name
    for _, name, _ in pkgutil.walk_packages(ds.__path__, "diagsparse.")
    if not name.endswith(("__main__", "._core", "._cuda"))
    and not any(re.search(rf"\.{library}(_|$)", name) for library in MISSING)
)
EXTRAS = {"click", "rich", "matplotlib", "qutip"}  # of diagsparse[cli] and diagsparse[qutip]

every_text = pytest.mark.parametrize("path", TEXTS, ids=lambda path: str(path.relative_to(ROOT)))
MEASURED = sorted((ROOT / "benchmarks").rglob("*.md"))
with_measured = pytest.mark.parametrize("path", [*TEXTS, *MEASURED], ids=lambda path: str(path.relative_to(ROOT)))


@pytest.fixture(autouse=True)
def elsewhere(monkeypatch, tmp_path):
    """What an example writes is written here."""
    monkeypatch.chdir(tmp_path)


# ---- examples -----------------------------------------------------------------------------------------------------
@every_text
def test_examples_of_the_pages_run(path):
    skip_without_packages(path)
    text = without_missing_libraries(text_of(path))
    tries = run_examples(examples_of(text, path))
    if not tries and text != text_of(path):
        pytest.skip(f"{path.name}: all examples need libraries that are missing")
    assert tries or (path.parent.name != "formats" and path != README), f"{path.name} has no >>> example"


def import_module(name):
    try:
        return importlib.import_module(name)
    except ImportError as error:
        if error.name in EXTRAS:
            pytest.skip(f"{name} needs {error.name}, which is not installed")
        raise


@pytest.mark.quick
@pytest.mark.parametrize("name", ["diagsparse", *MODULES])
def test_examples_of_the_docstrings_run(name):
    module = import_module(name)
    if name.startswith("diagsparse._distributed."):
        import_or_skip("mpi4py.MPI")
    for test in doctest.DocTestFinder().find(module):
        run_examples(test)


def public_objects():
    """Yield name and object of all that a user finds: `ds.__all__`, the public modules, the classes' members."""
    for name in ds.__all__:
        yield name, getattr(ds, name)
    for module in map(import_module, MODULES):
        if not any(part.startswith("_") for part in module.__name__.split(".")):
            yield module.__name__, module
            for name, thing in vars(module).items():
                if not name.startswith("_") and getattr(thing, "__module__", "") == module.__name__:
                    yield f"{module.__name__}.{name}", thing
    for cls in (getattr(ds, f"{format}_array") for format in ds.formats()):
        for name, _ in inspect.getmembers(cls):
            owner = next(base for base in cls.__mro__ if name in vars(base))
            if not name.startswith("_") and owner.__module__.startswith("diagsparse."):
                yield f"{cls.__name__}.{name}", inspect.getattr_static(cls, name)


@pytest.mark.quick
def test_public_names_have_docstrings():
    missing = []
    for name, thing in public_objects():
        if not callable(thing) and not inspect.ismodule(thing) and not isinstance(thing, (property, staticmethod)):
            continue  # a constant: its module or class tells
        doc = inspect.getdoc(thing) or ""
        if len(doc.split()) < 2:
            missing.append(f"{name}: {doc!r}")
        if re.search(r"^Examples\n-+$", doc, re.M) and ">>>" not in doc:
            missing.append(f"{name}: an Examples section without examples")
    assert not missing, "\n".join(missing)


# ---- paths --------------------------------------------------------------------------------------------------------
def anchors(path):
    """Return the anchors that GitHub gives the headings of a page."""
    headings = re.findall(r"^#+ +(.+)$", without_fences(path.read_text()), re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@with_measured
def test_links_lead_somewhere(path):
    text = re.sub(r"^```.*?^```", "", text_of(path), flags=re.M | re.S)
    targets = re.findall(r"\]\(\s*<?([^)>\s]+)", text) + re.findall(r"\b(?:src|href)=[\"']([^\"']+)", text)
    for target in targets:
        if re.match(r"[a-z]+:", target):
            continue
        file, _, anchor = target.partition("#")
        there = (path.parent / file).resolve() if file else path
        assert there.exists(), f"{path.name}: no {target}"
        assert not anchor or there.suffix != ".md" or anchor in anchors(there), f"{path.name}: no heading {target}"


@with_measured
def test_paths_that_are_named_exist(path):
    named = re.findall(r"`((?:src|python|tests|docs|notebooks|benchmarks|\.ci)/[^`\s]*)`", text_of(path))
    for name in named:
        meant = [re.sub(r"<f>|<format>", format, name) for format in ds.formats()] if "<" in name else [name]
        assert any(any(ROOT.glob(one.rstrip("/"))) for one in meant), f"{path.name}: no {name}"


# ---- the commands -------------------------------------------------------------------------------------------------
QUICK = {  # what is added where the README does not say it
    "demo": ["--budget=0.02"],
    "compare": ["--budget=0.02"],
    "bench": ["--budget=0.02", "--quick"],
}


def readme_commands():
    """Return the `diagsparse` commands in the README's shell blocks, without what follows in a pipe or list."""
    text = README.read_text() if README.exists() else ""
    lines = [line for body in blocks(text, "bash", "sh", "console") for line in body.replace("\\\n", " ").splitlines()]
    parts = [part.strip().removeprefix("$ ") for line in lines for part in re.split(r"&&|[|;>]", line)]
    return list(dict.fromkeys(part for part in parts if part.startswith("diagsparse ")))


def prepared(command, folder):
    """Return the arguments of a command, reduced to a quick run, with a matrix under every file name that it reads."""
    arguments = shlex.split(command, comments=True)[1:]
    files = [i for i, word in enumerate(arguments) if re.search(r"\.(mtx|mtx\.gz|npz)$|^FILE$", word)]
    for i in files[:1] if arguments[0] == "convert" else files:
        if (ROOT / arguments[i]).exists():
            arguments[i] = str(ROOT / arguments[i])
        else:
            arguments[i] = str(folder / ("matrix.mtx" if arguments[i] == "FILE" else Path(arguments[i]).name))
            ds.write(arguments[i], ds.gallery.stencil(5, 20))
    added = [
        word for word in QUICK.get(arguments[0], []) if word.split("=")[0] not in command and "--table" not in command
    ]
    return [*arguments, *added]


@pytest.mark.nightly
@pytest.mark.parametrize("command", readme_commands() or [None])
def test_commands_of_the_readme_run(command, tmp_path):
    if command is None:
        assert not README.exists(), "README.md shows no `diagsparse` command in a bash block"
        pytest.skip("README.md is not written yet")
    pytest.importorskip("click")
    pytest.importorskip("rich")
    arguments = prepared(command, tmp_path)
    done = subprocess.run(
        [sys.executable, "-m", "diagsparse", *arguments],
        cwd=tmp_path, env=os.environ | {"NO_COLOR": "1"}, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, f"{shlex.join(arguments)}: exit status {done.returncode}\n{done.stderr[-2000:]}"
