"""Changes since an older comparison: rows relative to SciPy's csr, missing rows, exit statuses, files."""

import csv
import json
from dataclasses import replace

import pytest
from cases import raises

import diagsparse as ds
from diagsparse import measure
from diagsparse.compare import Changes, compare

pytestmark = pytest.mark.usefixtures("no_bandwidth")


@pytest.fixture(scope="module")
def result():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(measure, "read_bandwidth", lambda threads=None: 10e9)
        return compare(ds.gallery.stencil(5, 20), formats=["hm", "csr"], name="grid", budget=0.01)


def with_rows(result, **of_hm):
    """Return the comparison with other numbers in the rows of hm."""
    changed = {id(row): {name: f(row) for name, f in of_hm.items()} for row in result.rows if row.format == "hm"}
    return replace(result, rows=[replace(row, **changed.get(id(row), {})) for row in result.rows])


def test_nothing_changed(result):
    same = result.since(result.to_dict())
    assert isinstance(same, Changes) and same.ok and not same.slower and len(same.rows) == 4
    assert "as before" in str(same) and "No row is slower." in str(same) and "as slow" not in str(same)
    assert repr(same) == "<changes of grid: 4 rows, 0 slower than 1.25x>"
    json.dumps(same.to_dict())


def test_a_comparison_itself_is_an_older_one(result):
    assert result.since(result).ok and result.since(result).to_dict() == result.since(result.to_dict()).to_dict()
    with raises(TypeError, "since: old is int", "a comparison"):
        result.since(3)


def test_rows_are_judged_relative_to_scipy(result):
    busy = replace(result, rows=[replace(row, seconds=3 * row.seconds) for row in result.rows])
    assert busy.since(result.to_dict()).ok  # all three times as long, SciPy's too
    slow = with_rows(result, seconds=lambda row: 2 * row.seconds, ratio=lambda row: row.ratio / 2)
    changed = slow.since(result.to_dict())
    assert not changed.ok and {row.format for row in changed.slower} == {"hm"}
    assert all(row.slower == pytest.approx(2) for row in changed.slower)
    assert (
        "2.00x as slow" in str(changed) and "2 of 4 rows" in str(changed) and "2.00x as slow" in changed._repr_html_()
    )
    assert slow.since(result.to_dict(), limit=2.5).ok
    assert "2.00x as fast" in str(result.since(slow.to_dict())) and result.since(slow.to_dict()).ok
    wrong = with_rows(result, error=lambda row: 2.0).since(result.to_dict())
    assert not wrong.ok and "FAILED" in str(wrong) and not wrong.slower


def test_older_files_that_lack_a_field(result):
    old = result.to_dict()
    for row in old["rows"]:
        del row["work"]
    assert result.since(old).ok and len(result.since(old).rows) == 4


def test_what_is_gone_and_what_is_new(result):
    fewer = replace(result, rows=[row for row in result.rows if row.format != "hm"])
    changed = fewer.since(result.to_dict())
    assert not changed.ok and len(changed.gone) == 2 and "gone: hm" in str(changed)
    added = result.since(fewer.to_dict())
    assert added.ok and len(added.new) == 2 and "new: hm" in str(added)


def test_files(result, tmp_path):
    path = result.save(tmp_path / "old.json")
    assert result.since(path).ok and result.since(str(path)).ok
    with result.save(tmp_path / "rows.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [row["format"] for row in rows] == [row["format"] for row in result.to_dict()["rows"]]
    assert float(rows[0]["seconds"]) == result.to_dict()["rows"][0]["seconds"]
    frame = pytest.importorskip("pandas") and result.to_pandas()
    assert list(frame["format"]) == [row["format"] for row in rows]


def test_what_cannot_be_compared(result, tmp_path):
    other = compare(ds.gallery.stencil(5, 21), formats=["csr"], ops=["matvec"], budget=0.01)
    (tmp_path / "text.json").write_text("{")
    (tmp_path / "list.json").write_text("[]")
    for call, words in (
        (lambda: result.since(other.to_dict()), ("shape [441, 441] then, [400, 400] now",)),
        (lambda: result.since(result.to_dict(), limit=0.5), ("1 or more",)),
        (lambda: result.since(tmp_path / "text.json"), ("not a JSON file",)),
        (lambda: result.since(tmp_path / "list.json"), ("expected a comparison written by",)),
    ):
        with raises(ValueError, *words):
            call()
    with pytest.raises(FileNotFoundError):
        result.since(tmp_path / "none.json")


def test_the_command(tmp_path, monkeypatch):
    pytest.importorskip("click")
    pytest.importorskip("fast_matrix_market")
    from command_line import call

    monkeypatch.chdir(tmp_path)
    ds.write("grid.mtx", ds.gallery.stencil(5, 12))
    options = ["--format", "hm", "--format", "csr", "--op", "matvec", "--budget", "0.01"]
    call("compare", "grid.mtx", *options)
    out = call("compare", "grid.mtx", *options, "--since", "grid-compare.json", "--limit", "1000").stdout
    assert "Since grid-compare.json" in out and "No row is slower." in out
    old = json.loads((tmp_path / "grid-compare.json").read_text())
    for row in old["rows"]:
        row["ratio"] *= 1000  # as if we had been far quicker
    (tmp_path / "old.json").write_text(json.dumps(old))
    read = json.loads(call("compare", "grid.mtx", *options, "--json", "--since", "old.json", status=1).stdout)
    assert read["ok"] and not read["changes"]["ok"] and all(row["slower"] > 1.25 for row in read["changes"]["rows"])
    assert "times as slow" in call("compare", "grid.mtx", *options, "--quiet", "--since", "old.json", status=1).stdout
    for arguments, words in (
        (["--limit", "2"], "--since FILE"), (["--since", "missing.json"], "missing.json"),
        (["--since", "grid.mtx"], "not a JSON file"),
    ):  # fmt: skip
        assert words in call("compare", "grid.mtx", *options, *arguments, status=2).output
