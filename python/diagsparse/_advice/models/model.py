"""The model of a format: the counts of its products, the options that are worth it, and why it is recommended."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any, Protocol

from ..._backends.backend import CPU, Backend
from ..._matrix.registry import FORMATS
from ..._matrix.summary import Summary
from ..candidate import Candidate
from ..costs import Cost, Traversal
from ..squares import Squares
from ..statistics import FAR_TOO_MANY, Statistics

CLEAR = 1.15  # predicted speedup by an option from which a pass checks whether the matrix allows it


class Finder(Protocol):
    """Lists the layouts of one matrix on one device."""

    statistics: Statistics

    def seconds(self, format: str, **options: Any) -> float:
        """Return the seconds of a product with a vector in a layout."""

    def candidate(self, format: str, **options: Any) -> Candidate:
        """Return a layout, with the cost of a product in it."""


class Model(ABC):
    """The model of a format.

    Parameters
    ----------
    format : str
        Name of the format.
    cpu, gpu : dict
        Costs of a product, by the names of the options, separated by blanks; "" for no options.
    """

    transposed_as_fast = False  #: whether products with the transpose take equally long
    required = 0.95  #: fraction of the best time; the format is skipped if even its least counts would take longer
    structured = True  #: whether the format is for matrices whose nonzeros have some structure

    def __init__(self, format: str, cpu: dict[str, Cost], gpu: dict[str, Cost]) -> None:
        self.format, self.cpu, self.gpu = format, cpu, gpu
        self._least = [Cost(*map(min, zip(*table.values(), strict=True))) for table in (cpu, gpu)]

    def least_cost(self, backend: Backend) -> Cost:
        """Return for each operation the least cost with any options."""
        return self._least[0 if backend is CPU else 1]

    def cost(self, backend: Backend, options: dict[str, Any]) -> Cost:
        """Return the costs with these options; if they were not fitted, those with fewer options."""
        table, names = self.cpu if backend is CPU else self.gpu, list(options)
        while " ".join(names) not in table:
            names.pop()
        return table[" ".join(names)]

    def why_not(self, statistics: Statistics) -> str:
        """Return why the format is unsuitable, or "" if it is suitable."""
        return ""

    def at_best(self, statistics: Statistics) -> Traversal:
        """Return the least counts of a product in any layout of the format, known without a pass over the matrix."""
        return statistics.at_best

    @abstractmethod
    def traversal(self, statistics: Statistics, s: Summary, options: dict[str, Any]) -> Traversal:
        """Return the counts of a product; `s` is the summary, with the itemsize of the stored values."""

    def layouts(self, candidates: Finder, best: float) -> Iterator[Candidate]:
        """Yield the format, and then the format with the options that the matrix allows and that may be faster.

        A product in the fastest layout of other formats takes `best` seconds.
        """
        yield candidates.candidate(self.format)

    def square(self, squares: Squares) -> tuple[float, int] | None:
        """Return the seconds of C = A A, and the bytes of C; None if the product is computed in csr."""
        return None

    @abstractmethod
    def reason(self, best: Candidate, statistics: Statistics) -> str:
        """Return a sentence: why a layout of this format is recommended."""

    def forecast(self, s: Summary, options: dict[str, Any]) -> int:
        """Return the bytes with these options."""
        return FORMATS[self.format].result_nbytes(s, **options)


class DiagonalModel(Model):
    """A format of diagonals, which can store one triangle of a symmetric matrix."""

    def why_not(self, statistics: Statistics) -> str:
        """Return "" unless there are far too many diagonals."""
        return "" if statistics.of_diagonals else FAR_TOO_MANY

    def triangle(self, candidates: Finder, best: float) -> Candidate | None:
        """Return the layout of one triangle if A is symmetric and it is clearly faster than `best` seconds."""
        m, n = candidates.statistics.csr.shape
        if m != n:
            return None
        if CLEAR * candidates.seconds(self.format, symmetry="symmetric") >= best:
            return None
        symmetry = candidates.statistics.symmetry
        return candidates.candidate(self.format, symmetry=symmetry) if symmetry else None
