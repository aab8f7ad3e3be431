"""The public names are those that are stored: none vanishes or changes unnoticed."""

import difflib

import pytest

pytest.importorskip("sphinx", reason="needs the extra docs")
pytest.importorskip("click")
import api


@pytest.mark.quick
def test_public_names():
    stored = api.STORED.read_text()
    changed = difflib.unified_diff(stored.splitlines(), api.lines(stored), "stored", "now", n=0, lineterm="")
    text = "\n".join(changed)
    assert not text, f"{text}\nIf this is meant, and docs/versions.md allows it: python tests/api.py --update"


def test_what_a_line_says():
    class Parts:
        """Parts.

        Attributes
        ----------
        offsets, values : ndarray
            The arrays.

        Notes
        -----
        none : is no attribute
        """

        def one(self, A: int, /, dtype: type = float, *, k=0, **more): ...

        @classmethod
        def two(cls, a=object()): ...  # noqa: B008

    found = {*api.described_class("Parts", Parts), *api.described_members("Parts", Parts, ["one", "two"])}
    assert found == {
        "Parts.offsets", "Parts.values", "Parts.one(A, /, dtype=float, *, k=0, **more)", "Parts.two(a=...)",
    }  # fmt: skip
    assert [*api.described("Error", type("Error", (ValueError,), {}))] == ["Error is a ValueError"]


def test_names_that_need_a_missing_library_are_left(monkeypatch):
    monkeypatch.setattr(api, "MISSING", ("torch.",))
    found = api.lines("torch.product(a)\nds.vanished()")
    assert "torch.product(a)" in found and "torch.Diagonals.T" not in found and "ds.vanished()" not in found
