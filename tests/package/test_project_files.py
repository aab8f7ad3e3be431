"""What the repository says of itself: the citation, the supported versions, the wheels."""

import re
import tomllib

import pytest
from pages import ROOT, table

import diagsparse as ds

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())


def test_the_citation_has_all_that_its_format_requires():
    yaml = pytest.importorskip("yaml")
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert {"cff-version", "message", "title", "authors"} <= set(citation) and citation["cff-version"] == "1.2.0"
    for one in (citation, *citation["references"]):
        assert one["title"] and one["type"] in ("software", "article")
        assert all("name" in author or {"given-names", "family-names"} <= set(author) for author in one["authors"])
    assert citation["license"] == PROJECT["project"]["license"].partition(" AND ")[0]


def test_the_oldest_versions_are_those_of_the_docs():
    bounds = {"Python": PROJECT["project"]["requires-python"]}
    bounds |= {re.match(r"\w+", line)[0]: line for line in PROJECT["project"]["dependencies"]}
    rows = table((ROOT / "docs" / "versions.md").read_text(), "package", "oldest version", "compared with SPEC 0")
    assert {name.lower(): f">={version}" for name, version, _ in rows} == {
        name.lower(): re.sub(r"^\w+", "", bound) for name, bound in bounds.items()
    }
    assert f"Python {PROJECT['project']['requires-python'][2:]} or later" in (ROOT / "README.md").read_text()


def test_the_changelog_begins_with_this_version():
    assert re.search(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(), re.M)[1] == ds.__version__
