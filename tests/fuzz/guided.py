"""Hostile files, pickles and component arrays, guided by what they reach: a case is like one that has reached new code.

The cases that did so are the pool: those of ``tests/fuzz/reaching.txt``, which are the first cases of every run, and
those of the run itself. `Choices` are what is changed, not bytes of a file, so cases get past checksums and lengths.
``--save`` adds the pool of a run to the file.
"""

import base64
import random
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

from fuzz import case as plain
from fuzz import surviving
from fuzz.choices import Choices, changed
from fuzz.reached import Reached

BLOCK = 5000  # cases per child process
SAVED = Path(__file__).with_name("reaching.txt")
FAMILIES = {"files": 4, "market": 2, "parts": 3, "pickles": 2}  # that are guided, with their weights
_reached = Reached()
_pool: list[bytes] = []


@cache
def saved() -> list[bytes]:
    """Return the choices in the file."""
    return _read(SAVED)


class Case(plain.Case):
    """A case of which the choices are those of the plan, saved ones, or like those of the pool."""

    def __init__(self, plan: Any, number: int, say: Any) -> None:
        super().__init__(plan, number, say)
        current = plan.folder / "current"  # what crashes can be repeated
        before, _, again = current.read_text().partition(" ") if current.exists() else ("", "", "")
        given = plan.choices or (bytes.fromhex(again) if before == str(number) else self._drawn(plan, number))
        current.write_text(f"{number} {given.hex()}")
        self.choices = Choices(given)
        self.draw_from(self.choices)

    @staticmethod
    def again(plan: Any, number: int) -> str:
        """Return the command that runs the case that ran last again."""
        return plan.command("--choices", (plan.folder / "current").read_text().partition(" ")[2])

    @staticmethod
    def _drawn(plan: Any, number: int) -> bytes:
        chance = random.Random(f"guided {plan.seed} {number}")
        if number < len(first := saved()):
            return first[number]
        if not _pool or chance.random() < 0.3:
            return chance.randbytes(8)
        latest = _pool[-300:] if chance.random() < 0.5 else _pool
        return changed(chance.choice(latest), chance.choice(_pool), chance)


def prepare(plan: Any) -> None:
    """Import what the children need."""
    for name in FAMILIES:
        import_module(f"fuzz.{name}")


def enter(plan: Any) -> None:
    """Prepare a child: it goes on from what the children before it have reached."""
    surviving.enter(plan)
    _pool[:] = [*saved(), *_read(plan.folder / "found")]
    features = plan.folder / "features"
    _reached.seen = set(features.read_text().splitlines()) if features.exists() else set()


def _read(path: Path) -> list[bytes]:
    return [base64.b85decode(line) for line in path.read_text().split()] if path.exists() else []


def run(case: Case) -> None:
    """Run a case of one of the families; add it to the pool if it has reached something new."""
    module = import_module(f"fuzz.{case.weighted(FAMILIES)}")
    with _reached:
        module.run(case)
    _reached.outcome(f"{case.about} {case.outcome}")
    if _reached.new:
        taken = bytes(case.choices.taken)
        for name in ["found", *["general"] * _reached.is_general]:
            with (case.folder / name).open("a") as file:
                file.write(base64.b85encode(taken).decode() + "\n")
        with (case.folder / "features").open("a") as file:
            file.writelines(f"{one}\n" for one in _reached.new)
        _pool.append(taken)


def save(folder: Path) -> int:
    """Add what a run has found to the file, without what is new in a format alone; return how many choices it has."""
    together = dict.fromkeys([*saved(), *_read(folder / "general")])
    SAVED.write_text("".join(base64.b85encode(one).decode() + "\n" for one in together))
    return len(together)
