"""What advice knows of a format: what products go through in it, which options pay, and why it is recommended."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any, Protocol

from ..._backends.backend import CPU, Backend
from ..._matrix.registry import FORMATS
from ..._matrix.summary import Summary
from ..candidate import Candidate
from ..costs import Cost, Walk
from ..squares import Squares
from ..survey import Survey

CLEAR = 1.15  # times as fast that an option has to make a product before a pass finds out whether the matrix allows it


class Finder(Protocol):
    """What finds the layouts of one matrix on one device."""

    survey: Survey

    def of(self, format: str, **options: Any) -> Candidate:
        """Return a layout with what a product takes in it."""


class Model(ABC):
    """A format.

    Parameters
    ----------
    format : str
        Its name.
    cpu, gpu : dict
        What products take, by the names of options with blanks between them; "" without any.
    """

    both_ways = False  #: whether products with the transpose take as long
    structured = True  #: whether it is for matrices whose nonzeros lie in some order
    at_once = True  #: whether what it stores follows from facts that are there; else it takes a pass to find out

    def __init__(self, format: str, cpu: dict[str, Cost], gpu: dict[str, Cost]) -> None:
        self.format, self.cpu, self.gpu = format, cpu, gpu

    def cost(self, backend: Backend, options: dict[str, Any]) -> Cost:
        """Return what products take with these options; with options that were not fitted, as with fewer."""
        table, names = self.cpu if backend is CPU else self.gpu, list(options)
        while " ".join(names) not in table:
            names.pop()
        return table[" ".join(names)]

    def why_not(self, survey: Survey) -> str:
        """Return why the format does not come into question, "" where it does."""
        return ""

    @abstractmethod
    def walk(self, survey: Survey, s: Summary, options: dict[str, Any]) -> Walk:
        """Return what a product goes through; `s` is the survey's summary, in the bytes that are stored."""

    def layouts(self, found: Finder, best: float) -> Iterator[Candidate]:
        """Yield the format, and then with the options that the matrix allows where they make products faster.

        A product in the fastest layout of other formats takes `best` seconds.
        """
        yield found.of(self.format)

    def square(self, squares: Squares) -> tuple[float, int] | None:
        """Return the seconds of C = A A, and the bytes of C; None where the format multiplies as csr."""
        return None

    @abstractmethod
    def reason(self, best: Candidate, survey: Survey) -> str:
        """Return why a layout of this format was recommended, a sentence."""

    def forecast(self, s: Summary, options: dict[str, Any]) -> int:
        """Return the bytes with these options."""
        return FORMATS[self.format].nbytes(s, **options)


class Mirroring(Model):
    """A format that can store one half."""

    def half(self, found: Finder, beside: float) -> Candidate | None:
        """Return one half, where it is clearly faster than products that take `beside` seconds and A is symmetric."""
        m, n = found.survey.csr.shape
        if m != n:
            return None
        half = found.of(self.format, symmetry="symmetric")
        if CLEAR * half.seconds >= beside or not (word := found.survey.symmetry):
            return None
        return half if word == "symmetric" else found.of(self.format, symmetry=word)
