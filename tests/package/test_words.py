"""Sources and docs use the words of the field: what used to have names of our own does not get them back."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
WORDS = {  # a word of ours, and what SciPy, NumPy or BLAS call it
    r"\bgates?\b": "validation",
    r"\bhollow\b": "masked diagonals",
    r"\bstretch(es)? of\b": "chunk, segment",
    r"\b(each_set|among_scipys|_from_csr_beside)\b": "simd, scipy_interface, from_csr_workspace",
    r"_told\b|\btold\b(?! apart)": "description, text, result",
    r"\bbeside\b": "compared with, next to, together with, workspace",
    r"\bevery place\b": "every element",
    r"\bplaces_in_|\bshares of \"": "positions, chunks",
}
SUFFIXES = {".cpp", ".cu", ".cuh", ".hpp", ".md", ".py", ".toml", ".txt"}


@pytest.mark.parametrize("folder", ["src", "python", "docs", "benchmarks", "tests"])
def test_words_of_the_field(folder):
    found = []
    for path in sorted(p for p in (ROOT / folder).rglob("*") if p.suffix in SUFFIXES and p != Path(__file__)):
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            for word in filter(lambda word: re.search(word, line), WORDS):
                found.append(f"{path.relative_to(ROOT)}:{number}: {line.strip()} (better: {WORDS[word]})")
    assert not found, "\n".join(found)
