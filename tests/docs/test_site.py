"""The docs build as a site without a warning, and all that a user can name is in it."""

import re
import subprocess
import sys
import zlib

import pytest
from pages import ROOT, TEXTS

import diagsparse as ds

pytest.importorskip("numpydoc", reason="needs the extra docs")
pytest.importorskip("click")

DOCS = ROOT / "docs"
sys.path.insert(0, str(DOCS / "_extensions"))
import links  # noqa: E402
import public_names  # noqa: E402


def built(folder):
    """Build the site in a folder, as a user does; a warning fails."""
    command = [
        sys.executable,
        "-m",
        "sphinx",
        "-W",
        "--keep-going",
        "-q",
        "-d",
        folder / "trees",
        DOCS,
        folder / "site",
    ]
    done = subprocess.run(map(str, command), capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0 and not done.stderr, done.stderr[-4000:]
    return folder / "site"


def expected_entries():
    """Yield all that a user finds: `ds.__all__`, the public modules and their names, the members of the classes."""
    yield from (f"diagsparse.{name}" for name in {*ds.__all__, *public_names.MODULES})
    for cls in (getattr(ds, f"{format}_array") for format in ds.formats()):
        yield from (f"diagsparse.{cls.__name__}.{name}" for name in public_names.members(cls))
    for module in (sys.modules[f"diagsparse.{name}"] for name in ("gallery", "compare", "io", "measure", "structure")):
        for name, thing in vars(module).items():
            ours = getattr(thing, "__module__", "") == module.__name__ and name[0] != "_"
            if name in getattr(module, "__all__", ()) or (ours and not hasattr(module, "__all__")):
                yield f"{module.__name__}.{name}" if name not in ds.__all__ else f"diagsparse.{name}"


def test_site(tmp_path):
    site = built(tmp_path)
    for page in TEXTS:
        if page.parent.is_relative_to(DOCS):
            assert (site / page.relative_to(DOCS)).with_suffix(".html").exists(), page
    inventory = zlib.decompress(
        (site / "objects.inv").read_bytes().split(b"\n", 4)[4]
    ).decode()  # after four lines of head
    entries = set(re.findall(r"^(\S+) py:", inventory, re.M))
    missing = sorted(set(expected_entries()) - entries)
    assert not missing, "\n".join(missing)
    assert (site / "_images" / "cpu-2-cores.png").exists()
    commands = (site / "api" / "cli.html").read_text()
    assert "Usage: diagsparse bench" in commands and "Usage: diagsparse info" in commands


def test_every_name_belongs_to_one_page_of_the_reference():
    pages = "\n".join(path.read_text() for path in (DOCS / "api").glob("*.md"))
    assert [pages.count(f"<!-- names: {group} -->") for group in public_names.GROUPS] == [1] * len(public_names.GROUPS)
    assert {name for group in public_names.GROUPS for name in public_names.names_of(group)} == set(ds.__all__)
    with pytest.raises(LookupError, match="no group"):
        public_names.group_of("_new.names.name")


@pytest.mark.parametrize(
    ("link", "shown"),
    [
        ("[a](formats/hm.md#kernels)", "[a](formats/hm.md#kernels)"),
        ("[a](../README.md)", "[a](start.md)"),
        (
            "[a](../src/cpp/core/gate.hpp)",
            "[a](https://github.com/diagsparse/diagsparse/blob/main/src/cpp/core/gate.hpp)",
        ),
        ("![a](../benchmarks/results/h200.png)", "![a](../benchmarks/results/h200.png)"),
        ("[a](#there), [b](https://b.org)", "[a](#there), [b](https://b.org)"),
        ("```\n[a](../src)\n```", "```\n[a](../src)\n```"),
    ],
)
def test_links_of_the_repository_hold_on_the_site(link, shown):
    assert links.relinked(link, DOCS, DOCS) == shown


def test_links_of_included_pages_hold_on_the_site():
    assert links.relinked("[a](docs/gpu.md)", ROOT, DOCS) == "[a](gpu.md)"
