"""The layers: there are no import cycles, and folders import only from the layers below them."""

import ast
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import diagsparse as ds

pytestmark = pytest.mark.quick
ROOT = Path(ds.__file__).parent
FLOORS = ("_backends", "_arrays", "_show", "_matrix", "_products", "_formats", "_files")  # from the bottom
REST = (
    "_advice",
    "_distributed",
    "_evolution",
    "_gallery",
    "_learning",
    "_multigrid",
    "_quaternions",
    "_qutip",
    "_solving",
    "_study",
)  # above them
COMPILED = ("_core", "_cuda")
MODULES = {
    ".".join(("diagsparse", *path.relative_to(ROOT).with_suffix("").parts)).removesuffix(".__init__"): path
    for path in sorted(ROOT.rglob("*.py"))
}


class Imports(ast.NodeVisitor):
    """The modules of this package that one imports: at its top, inside of a function, or for types alone."""

    def __init__(self, name, path):
        self.found, self.package = set(), name if path.name == "__init__.py" else name.rpartition(".")[0]
        self.visit(ast.parse(path.read_text(encoding="utf-8")))

    def visit_Import(self, node):
        self.found.update(alias.name for alias in node.names if alias.name in MODULES)

    def visit_ImportFrom(self, node):
        parents = self.package.split(".")
        origin = ".".join(parents[: len(parents) - node.level + 1]) if node.level else ""
        module = ".".join(filter(None, (origin, node.module)))
        for alias in node.names:
            inner = f"{module}.{alias.name}"
            if alias.name not in COMPILED:
                self.found.update(name for name in ([inner] if inner in MODULES else [module]) if name in MODULES)


@pytest.fixture(scope="module")
def graph():
    """The modules that each module imports."""
    return {name: Imports(name, path).found - {name} for name, path in MODULES.items()}


def floor(name):
    folder = (name.split(".") + [""])[1]
    return 0 if folder == "_version" else FLOORS.index(folder) if folder in FLOORS else len(FLOORS)


def test_the_parser_finds_every_kind(graph):
    assert "diagsparse._matrix.registry" in graph["diagsparse._matrix.base"]
    assert "diagsparse._backends.backend" in graph["diagsparse._products.plans"]
    assert len(graph) > 60


def test_no_import_cycles(graph):
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(" <- ".join(error.args[1]))


def test_imports_go_down(graph):
    up = [f"{name} imports {other}" for name, found in graph.items() for other in found if floor(other) > floor(name)]
    assert not up, up


def test_the_root_holds_what_a_user_imports():
    modules = {path.stem for path in ROOT.glob("*.py") if not path.stem.startswith("_")}
    named = {"advice", "cli", "compare", "distributed", "gallery", "io", "jax", "measure", "plot", "qutip", "structure"}
    named |= {"torch"}
    assert modules == named
    assert {path.name for path in ROOT.iterdir() if path.is_dir() and path.name != "__pycache__"} == {*FLOORS, *REST}
    for folder in (*FLOORS, *REST):
        assert ast.get_docstring(ast.parse((ROOT / folder / "__init__.py").read_text())), folder


def imported(path):
    """Return all modules that a file imports by their whole names."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            yield node.module


def test_experiments_are_outside_of_the_package():
    """They are in benchmarks/, which imports the package and is not installed with it."""
    folder = Path(__file__).resolve().parents[2] / "benchmarks"
    moved = {path.stem for kind in ("papers", "studies") for path in (folder / kind).glob("*.py")} - {"__init__"}
    assert len(moved) > 20 and not moved & {path.stem for path in (ROOT / "_study").glob("*.py")}
    found = [name for name, path in MODULES.items() if any(one.split(".")[0] == "benchmarks" for one in imported(path))]
    assert not found, found
