"""A case: its random choices depend only on a family, a seed and a number."""

import random
from collections.abc import Callable
from typing import Any

import numpy as np


class Case:
    """Where a case draws from, and what it has noted of itself for the one who reads of its failure."""

    def __init__(self, plan: Any, number: int, say: Callable[[str], None]) -> None:
        self.number, self.device, self.folder, self._say = number, plan.device, plan.folder, say
        self.checks(plan.family)
        self.outcome = ""  # of hostile input: how it was refused, or what it made
        self._notes: list[Any] = []
        self.draw_from(random.Random(f"{plan.family} {plan.seed} {number}"))

    def draw_from(self, source: random.Random) -> None:
        """Take all random choices from here."""
        self.chance_of = source
        self.rng = np.random.default_rng(source.getrandbits(64))

    @staticmethod
    def again(plan: Any, number: int) -> str:
        """Return the command that runs a case again."""
        return plan.again(number)

    def checks(self, about: str) -> None:
        """Remember which check this is, for the watcher of this process too."""
        self.about = about
        self._say(about)

    def note(self, *words: Any) -> None:
        """Remember what was drawn."""
        self._notes.append(words)

    def words(self) -> str:
        """Return what was noted."""
        return "; ".join(" ".join(map(str, words)) for words in self._notes)

    def chance(self, probability: float) -> bool:
        """Return True with this probability."""
        return self.chance_of.random() < probability

    def pick(self, choices: Any) -> Any:
        """Return one of these, each as likely as the others."""
        return self.chance_of.choice(choices)

    def weighted(self, choices: dict[Any, float]) -> Any:
        """Return one of the keys, as likely as its weight says."""
        return self.chance_of.choices(list(choices), list(choices.values()))[0]

    def between(self, low: int, high: int) -> int:
        """Return an integer from `low` to `high`, both included."""
        return self.chance_of.randint(low, high)

    def some(self, choices: Any, most: int) -> list[Any]:
        """Return at most so many different ones of these."""
        choices = list(choices)
        return self.chance_of.sample(choices, min(len(choices), self.between(0, most)))
