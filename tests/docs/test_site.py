"""The docs build as a site without a warning, and all that a user can name is in it."""

import html
import re
import subprocess
import sys
import zlib

import pytest
from pages import ROOT, TEXTS

import diagsparse as ds

pytest.importorskip("numpydoc", reason="needs the extra docs")
pytest.importorskip("click")
pytest.importorskip("qutip")

DOCS = ROOT / "docs"
sys.path.insert(0, str(DOCS / "_extensions"))
import links  # noqa: E402
import public_names  # noqa: E402


def built(folder):
    """Build the site in a folder, as a user does; a warning fails."""
    site = folder / "site"
    options = ["-W", "--keep-going", "-q", "-d", folder / "trees"]
    command = map(str, [sys.executable, "-m", "sphinx", *options, DOCS, site])
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0 and not done.stderr, done.stderr[-4000:]
    return site


def prose_of(path):
    """Return the text of a page without its code."""
    article = path.read_text().partition("<article")[2].partition("</article>")[0]
    return html.unescape(re.sub(r"<pre.*?</pre>|<[^>]+>", "", article, flags=re.S))


def entries_of(site):
    """Return the names of all Python objects that have an entry. The inventory has four lines before them."""
    packed = (site / "objects.inv").read_bytes().split(b"\n", 4)[4]
    return set(re.findall(r"^(\S+) py:", zlib.decompress(packed).decode(), re.M))


def names_of(module):
    """Return what a public module offers: `__all__`, or else what it defines."""
    defined = [name for name, thing in vars(module).items() if getattr(thing, "__module__", "") == module.__name__]
    return getattr(module, "__all__", [name for name in defined if name[0] != "_"])


def expected_entries():
    """Yield all that a user finds: `ds.__all__`, the members of the classes, the public modules and their names."""
    yield from (f"diagsparse.{name}" for name in ds.__all__)
    for cls in (getattr(ds, f"{format}_array") for format in ds.formats()):
        yield from (f"diagsparse.{cls.__name__}.{name}" for name in public_names.members(cls))
    for module in map(public_names.module_named, public_names.MODULES):
        yield module.__name__
        if module.__name__ != "diagsparse.cli":  # its page shows the commands
            yield from (f"{module.__name__}.{name}" for name in names_of(module) if name not in ds.__all__)


def test_site(tmp_path):
    site = built(tmp_path)
    for page in TEXTS:
        if page.parent.is_relative_to(DOCS):
            assert (site / page.relative_to(DOCS)).with_suffix(".html").exists(), page
    marked = [f"{path.name}: {text}" for path in site.rglob("*.html") for text in re.findall(".*`.*", prose_of(path))]
    assert not marked, "\n".join(marked)  # markup that is shown instead of being understood
    missing = sorted(set(expected_entries()) - entries_of(site))
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
            "[a](../src/cpp/core/validation.hpp)",
            "[a](https://github.com/diagsparse/diagsparse/blob/main/src/cpp/core/validation.hpp)",
        ),
        ("![a](../benchmarks/results/h100.png)", "![a](../benchmarks/results/h100.png)"),
        ("[a](#there), [b](https://b.org)", "[a](#there), [b](https://b.org)"),
        ("```\n[a](../src)\n```", "```\n[a](../src)\n```"),
    ],
)
def test_links_of_the_repository_hold_on_the_site(link, shown):
    assert links.relinked(link, DOCS, DOCS) == shown


def test_links_of_included_pages_hold_on_the_site():
    assert links.relinked("[a](docs/gpu.md)", ROOT, DOCS) == "[a](gpu.md)"
