"""Matrix Market text from its grammar, with the matrix that it means: read as exactly that, or refused if it is wrong.

A text is written production by production. Each production has forms that mean the same (blanks, case, comments,
decimals) and, rarely, one that is wrong; then `ds.read` has to refuse the file.
"""

from typing import Any

import numpy as np
from market_files import text as write

import diagsparse as ds
from fuzz import files
from fuzz.case import Case as Case
from fuzz.surviving import require_same, survive

BLOCK, prepare, enter = files.BLOCK, files.prepare, files.enter
WRONG = 0.02  # the probability that a production is wrong


class Text:
    """A text under construction, and the dense matrix that it means; `wrong` names what is wrong with it."""

    def __init__(self, case: Case) -> None:
        self._case, self.wrong = case, ""
        self.layout = case.pick(["coordinate", "coordinate", "array"])
        fields = ["real", "double", "integer", "complex", "unsigned-integer", *["pattern"] * (self.layout[0] == "c")]
        self.field = case.pick(fields)
        kinds = ["general", "general", "symmetric", "hermitian"]
        self.symmetry = case.pick(kinds + ["skew-symmetric"] * (self.field != "unsigned-integer"))
        self.m = case.between(0, 7)
        self.n = self.m if self.symmetry != "general" else case.between(0, 7)
        self.dense = np.zeros((self.m, self.n), complex if self.field == "complex" else float)
        positions = self._positions()
        lines = [self._banner(), *self._comments(), self._sizes(len(positions)), *map(self._entry, positions)]
        self.content = self._joined(lines)

    def _maybe(self, what: str, wrong: Any, right: Any) -> Any:
        """Return one of the wrong forms, rarely, and else the right one."""
        if self.wrong or not self._case.chance(WRONG):
            return right
        self.wrong = what
        return self._case.pick(wrong)

    def _blank(self) -> str:
        return self._case.pick([" ", " ", " ", "  ", "\t", " \t "])

    # ---- header ------------------------------------------------------------------------------------------------------
    def _banner(self) -> str:
        words = ["%%MatrixMarket", "matrix", self.layout, self.field, self.symmetry]
        change = self._case.pick([str, str, str.upper, str.title])
        words[1:] = map(change, words[1:])
        broken = [words[:4], words[1:], [*words, "x"], [*words[:3], "quaternion", words[4]], [*words[:4], "diagonal"],
                  [*words[:2], "sparse", *words[3:]], ["%MatrixMarke", *words[1:]]]  # fmt: skip
        return self._blank().join(self._maybe("the banner", broken, words))

    def _comments(self) -> list[str]:
        lines = ["% a comment", "%", "%%MatrixMarket", "% 1 1 1", ""]
        return [self._case.pick(lines) for _ in range(self._case.between(0, 3))]

    def _sizes(self, entries: int) -> str:
        sizes = [self.m, self.n, *[entries] * (self.layout == "coordinate")]
        more = [self.m, self.n + 1, *sizes[2:]] if entries and self.symmetry != "general" else [-1, *sizes[1:]]
        broken = [sizes[:-1], [*sizes, 1], more, [2**31, *sizes[1:]], ["x", *sizes[1:]]]
        broken += [[*sizes[:-1], 10**6]] * (len(sizes) == 3 or entries > 0)  # 0 rows have any number of columns
        return self._blank().join(map(str, self._maybe("the sizes", broken, sizes)))

    # ---- entries -----------------------------------------------------------------------------------------------------
    def _positions(self) -> list[tuple[int, int]]:
        strict = self.symmetry == "skew-symmetric"
        stored = [(i, j) for j in range(self.n) for i in range(self.m) if self.symmetry == "general" or i - j >= strict]
        return stored if self.layout == "array" else self._case.some(stored, len(stored))

    def _entry(self, position: tuple[int, int]) -> str:
        i, j = position
        real = self.symmetry == "hermitian" and i == j
        found = [self._number() for _ in range({"pattern": 0, "complex": 2 - real}.get(self.field, 1))]
        words, value = [word for word, _ in found], complex(*(number for _, number in found)) if found else 1
        if real and self.field == "complex":
            words.append(self._maybe("the diagonal", ["1", "nan"], "0"))
        value = value if self.field == "complex" else np.real(value)
        self.dense[i, j] = value
        if self.symmetry != "general" and i != j:
            sign = -1 if self.symmetry == "skew-symmetric" else 1
            self.dense[j, i] = sign * (np.conj(value) if self.symmetry == "hermitian" else value)
        if self.layout == "coordinate":
            row = self._maybe("a row", ["0", str(self.m + 1), "-1", "1.0", str(2**32 + 1 + i), "9" * 40], str(i + 1))
            col = self._maybe("a column", ["0", str(self.n + 1), "-1", "1.0", str(2**32 + 1 + j), "9" * 40], str(j + 1))
            words = [row, col, *words]
        fewer = [words[:-1]] * (len(words) > 1)
        return self._blank().join(self._maybe("the number of words", [[*words, "1"], *fewer], words))

    def _number(self) -> tuple[str, float]:
        case = self._case
        if self.field in ("integer", "unsigned-integer"):
            value = case.pick([0, 1, 2, 7, 10**6, 2**53, *[-3] * (self.field == "integer")])
            broken = ["1.5", "1e3", "x", "0x1", "1_0", str(2**64), "--1", "+-1", *["-1"] * (self.field != "integer")]
            return self._maybe("an integer", broken, case.pick([str(value), f"{value:03d}"])), float(value)
        value = case.pick([0.0, 1.0, -1.0, 0.1, -2.5e-3, 1e300, 5e-324, -1.7976931348623157e308, 1 / 3])
        forms = [repr(value), f"{value:.17g}", f"{value:.17E}", repr(value).replace("e", "E")]
        broken = ["1.5.5", "1,5", "1d3", "x", "1e", "e5", "0x1p3", "1_0", "--1", ".", "1.5f", "inf1", "1e+", "\0"]
        return self._maybe("a number", broken, case.pick(forms)), value

    # ---- lines -------------------------------------------------------------------------------------------------------
    def _joined(self, lines: list[str]) -> bytes:
        case, head = self._case, len(lines)
        end = case.pick(["\n", "\n", "\r\n", " \n"])
        if case.chance(0.2):
            lines = [one for line in lines for one in ([line, ""] if head and case.chance(0.3) else [line])]
        more = [*lines, self._maybe("a line too many", ["1 1 1", "% late", "x"], "")]
        content = end.join(more if more[-1] else lines) + case.pick([end, end, "", end * 3])
        return content.encode("latin1")


def run(case: Case) -> None:
    """Write a text and read it."""
    case.checks("market.text")
    made = Text(case)
    files.use_a_library(case)
    path = write(case.folder, made.content, case.pick(["grammar.mtx", "grammar.mtx", "grammar.mtx.gz"]))
    case.note(f"wrong: {made.wrong or 'nothing'}", made.content.decode("latin1"))
    A = survive(case, lambda: files.read(path, format=case.pick([None, None, *ds.formats()])))
    case.outcome += f"; {made.wrong}"
    if made.wrong:
        assert A is None, f"{made.wrong} is wrong, and it was read as {A!r}"
        return
    if A is None:
        assert "cdm" in case.outcome, case.outcome  # which holds square matrices only
        return
    require_same(A.toarray().astype(made.dense.dtype), made.dense, repr(A))
