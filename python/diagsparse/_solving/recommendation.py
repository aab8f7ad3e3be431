"""The result of ``recommend(A, op="solve")``: the methods, sorted, with forecasts and reasons."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from .._backends.memory import human
from .._matrix.sparse_array import SparseArray
from .._products.batch import Batch
from .._show import columns, display
from .batch_problem import BatchProblem
from .methods import rounded
from .problem import Problem
from .ranking import MethodCandidate, Ranking

_HEAD = ["method", "bytes", "values in factors", "multiply-adds", "bytes moved", "time", "missing"]


@dataclass(frozen=True, eq=False, repr=False)
class MethodRecommendation:
    """A ranking of methods for the systems of a matrix: `str()` returns a table and the reason.

    Attributes
    ----------
    shape : (int, int)
        The shape of the matrix.
    dtype : str
        The dtype of its values.
    nnz : int
        The number of its elements.
    device : str
        Where the systems are solved: ``"cpu"``, ``"cuda:0"``, ...
    candidates : list of MethodCandidate
        The method that `solve` tries first, then the others in the order in which it tries them. Each has a ``name``, a
        ``reason``, and forecasts for one set-up and one right-hand side: ``nbytes`` (of factors or levels), ``entries``
        (values in the factors), ``operations`` (multiply-adds), ``moved_nbytes`` and ``seconds``; and ``install``, the
        command that installs what is missing.
    left_out : dict of str to str
        The methods that do not suit the matrix, and why.
    members : int
        The number of members of a batch, whose `shape` is that of each of them; 0 for a single matrix.
    """

    shape: tuple[int, int]
    dtype: str
    nnz: int
    device: str
    candidates: list[MethodCandidate]
    left_out: dict[str, str]
    members: int = 0

    @property
    def best(self) -> MethodCandidate:
        """The recommended method with its forecasts."""
        return self.candidates[0]

    @property
    def method(self) -> str:
        """The name of the recommended method."""
        return self.best.name

    @property
    def reason(self) -> str:
        """Why this method is recommended."""
        return self.best.reason

    @property
    def advice(self) -> str:
        """The recommended method and the reason, in one line."""
        needs = f" It has to be installed: {self.best.install}." if self.best.install else ""
        return f"Advice: {self.method}. {self.reason}{needs}"

    def to_dict(self) -> dict[str, Any]:
        """Return all fields as plain values, ready for JSON."""
        return {
            **vars(self), "shape": list(self.shape), "op": "solve", "method": self.method, "reason": self.reason,
            "candidates": [asdict(one) for one in self.candidates],
        }  # fmt: skip

    def __repr__(self) -> str:
        return (
            f"<recommendation for systems of {self._matrix} {self.dtype}: {self.method}, of {len(self.candidates)} "
            "methods>"
        )

    @property
    def _matrix(self) -> str:
        m, n = self.shape
        return f"{self.members} of {m} x {n}" if self.members else f"{m} x {n}"

    def __str__(self) -> str:
        title = f"{self._matrix}  {self.dtype}  {self.nnz} nonzeros   A x = b   {self.device}"
        cells = columns.columns([_HEAD, *map(_cells, self.candidates)], "<>>>>><")
        return "\n".join([title, *cells, *self._notes()])

    def _repr_html_(self) -> str:
        rows = map(_cells, self.candidates)
        return display.page(repr(self), [], display.table(_HEAD, rows), display.lines(self._notes()))

    def _notes(self) -> list[str]:
        return [self.advice, *(f"Left out: {name}: {why}" for name, why in self.left_out.items())]


def recommended(A: SparseArray | Batch) -> MethodRecommendation:
    """Return the ranking of the methods for a square matrix, or for all members of a batch, on its device."""
    problem = BatchProblem(A) if isinstance(A, Batch) else Problem(A)
    ranking = Ranking(problem)
    candidates = [ranking.candidate(method) for method in ranking.order]
    return MethodRecommendation(
        A.shape, str(A.dtype), problem.nnz, A.device, candidates, ranking.left_out, problem.members
    )


def _cells(one: MethodCandidate) -> list[str]:
    entries, operations = (rounded(count) if count else "-" for count in (one.entries, one.operations))
    return [
        one.name, human(one.nbytes), entries, operations, human(int(one.moved_nbytes)), columns.seconds(one.seconds),
        one.install or "-",
    ]  # fmt: skip
