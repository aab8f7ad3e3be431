"""benchmarks/renew.py: a run from elsewhere takes the place of the stored one, and its tables that of the old ones."""

import json
import runpy
from pathlib import Path

import pytest

from diagsparse._study import paper_002

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def renew(tmp_path, monkeypatch):
    """The script, on a copy of what it changes."""
    script = runpy.run_path(str(ROOT / "benchmarks" / "renew.py"))
    for name in ("benchmarks/results/h200-tables-002.json", "docs/benchmarks.md", "docs/formats/qband.md"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text((ROOT / name).read_text())
    monkeypatch.setitem(script["main"].__globals__, "ROOT", tmp_path)
    return script["main"]


def test_a_run_of_the_same_device_replaces_the_stored_one(renew, tmp_path):
    stored = tmp_path / "benchmarks" / "results" / "h200-tables-002.json"
    old = json.loads(stored.read_text())
    new = json.loads(stored.read_text())
    new["date"], new["rows"] = "2031-01-01", new["rows"][-20:]
    (tmp_path / "made.json").write_text(json.dumps(new))
    (tmp_path / "made.png").write_bytes(b"a picture")
    renew(str(tmp_path / "made.json"))
    assert json.loads(stored.read_text()) == new and stored.with_suffix(".png").read_bytes() == b"a picture"
    assert len(stored.read_text().splitlines()) < 80, "a row on a line"
    benchmarks, page = ((tmp_path / "docs" / name).read_text() for name in ("benchmarks.md", "formats/qband.md"))
    assert paper_002.markdown(new) in benchmarks and paper_002.markdown(old) not in benchmarks
    assert paper_002.summary(new) in page and paper_002.summary(old) not in page


def test_nothing_changes_where_the_docs_have_no_place(renew, tmp_path):
    report = json.loads((tmp_path / "benchmarks" / "results" / "h200-tables-002.json").read_text())
    made = tmp_path / "made.json"
    made.write_text(json.dumps(report | {"hardware": report["hardware"] | {"gpu": "NVIDIA B200"}}))
    with pytest.raises(SystemExit, match=r"0 stored results match b200-tables-002\.json, expected one"):
        renew(str(made))
    made.write_text(json.dumps(report))
    (tmp_path / "docs" / "benchmarks.md").write_text("# Benchmarks\n")
    with pytest.raises(SystemExit, match=r"no page of the docs holds the table of h200-tables-002\.json"):
        renew(str(made))
