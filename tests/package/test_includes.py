"""The native house: which folders of C++ and CUDA may include which."""

import re
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

SOURCES = Path(__file__).parents[2] / "src"
FILES = {
    (root, path.relative_to(SOURCES / root).as_posix()): path
    for root in ("cpp", "cuda")
    for path in sorted((SOURCES / root).rglob("*"))
    if path.suffix in (".hpp", ".cpp", ".cuh", ".cu")
}
INCLUDE = re.compile(r'^#include "([^"]+)"', re.MULTILINE)
# From the bottom. A folder includes those listed before it, and its own files; `formats` and `kernels` are checked
# folder by folder as well, below.
LAYERS = {
    "cpp": ("core", "cpu", "layouts", "kernels", "formats", "bind"),
    "cuda": ("device", "entries", "matrices", "layouts", "kernels", "formats", "bind"),
}


def included():
    """Pairs of files, each as (root, path in it): the one that includes, and the one that it includes."""
    for (root, name), path in FILES.items():
        for header in INCLUDE.findall(path.read_text(encoding="utf-8")):
            positions = [(other, header) for other in ("cpp", "cuda") if (other, header) in FILES]
            assert len(positions) == 1, f"src/{root}/{name} includes {header}, of which there are {len(positions)}"
            yield (root, name), positions[0]


PAIRS = list(included())


def layer(file):
    return file[0], file[1].partition("/")[0]


def folder(file):
    return f"{file[0]}/{file[1].rpartition('/')[0]}"


def names(pairs):
    return [f"src/{'/'.join(file)} includes {header}" for file, (_, header) in pairs]


def test_the_parser_finds_every_kind():
    assert (("cpp", "core/format.cpp"), ("cpp", "core/format.hpp")) in PAIRS
    assert (("cuda", "formats/ell/matvec.cu"), ("cpp", "formats/ell/layout.hpp")) in PAIRS
    assert {layer(file) for file in FILES if "/" in file[1]} == {(r, name) for r, all in LAYERS.items() for name in all}


def test_common_code_includes_neither_module():
    shared = ("core", "bind", "formats")
    assert not names((a, b) for a, b in PAIRS if a[0] == "cpp" and b[0] == "cuda")
    for_the_cpu = re.compile(r"(^|/)(cpu|simd)[^/]*$")
    assert not names(
        (a, b)
        for a, b in PAIRS
        if layer(a)[1] in shared
        and not for_the_cpu.search(a[1])
        and layer(b) in (("cpp", "cpu"), ("cpp", "kernels"))
        and not a[1].startswith("bind/device_cpu")
    )


def test_the_core_knows_no_format():
    assert not names((a, b) for a, b in PAIRS if a[1].startswith("core/") and not b[1].startswith("core/"))


def test_layers_include_only_lower_ones():
    up = [
        (a, b) for a, b in PAIRS if a[0] == b[0] and LAYERS[a[0]].index(layer(b)[1]) > LAYERS[a[0]].index(layer(a)[1])
    ]
    assert not names(up)


def test_folders_depend_in_one_direction():
    graph = {}
    for a, b in PAIRS:
        if folder(a) != folder(b):
            graph.setdefault(folder(a), set()).add(folder(b))
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(" <- ".join(error.args[1]))
