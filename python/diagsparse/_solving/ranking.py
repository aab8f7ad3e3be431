"""The order in which methods are tried: the decision that `solve` and ``recommend(A, op="solve")`` share."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from .._backends import memory
from .costs import Cost
from .methods import METHODS, Method, names
from .problem import Problem

_FASTER = 2.0  # another method is preferred to that of `factorized` if its predicted time is shorter by this factor

LAST = "qr"  #: the method that is tried after all others
_NARROW = {"cpu": ("diagonal", "tridiagonal"), "cuda": ("diagonal", "tridiagonal", "banded")}  # always come first


@dataclass(frozen=True)
class MethodCandidate:
    """A method that can solve the systems of a matrix, and what that needs: forecasts for one right-hand side.

    Attributes
    ----------
    name : str
        The method, as `solve` and `factorized` call it.
    reason : str
        Why it suits the matrix.
    nbytes : int
        Bytes of the factors, or of the levels of multigrid.
    entries : int
        Number of values in the factors, estimated for those of a reordered matrix; 0 if there are none.
    operations : float
        Multiply-adds.
    moved_nbytes : float
        Bytes that are read or written.
    seconds : float
        Predicted time of the set-up and of one solution.
    direct : bool
        Whether it is a factorization, not an iteration.
    install : str
        The command that installs what is missing; otherwise empty.
    """

    name: str
    reason: str
    nbytes: int
    entries: int
    operations: float
    moved_nbytes: float
    seconds: float
    direct: bool
    install: str


class Ranking:
    """The methods for a problem, and why the others cannot be used."""

    def __init__(self, problem: Problem) -> None:
        self._problem = problem
        self._methods = [METHODS[name] for name in names(problem.A.device)]

    @cached_property
    def order(self) -> list[Method]:
        """All methods that suit the matrix, the first one to be tried first; what is not installed comes last.

        They are sorted by their predicted times. The method of `factorized` comes before others that need more than
        half of its time, and for a batch before all others. Orthogonal factors are the last resort.
        """
        suitable = [method for method in self._methods if method.name not in self.left_out]
        if len(suitable) < 2:  # no forecast is needed
            return suitable
        return sorted(suitable, key=lambda m: (m.name == LAST, bool(m.missing()), self._handicapped(m)))

    def _handicapped(self, method: Method) -> tuple[bool, float]:
        """Return what the methods are sorted by."""
        usual = method.name == self._problem.direct
        if self._problem.members:
            return not usual, self._time(method)
        return not self._fits(method), self._time(method) * (1 if usual else _FASTER)

    @cached_property
    def left_out(self) -> dict[str, str]:
        """The methods that do not suit the matrix, and why."""
        reasons = {method.name: self._unsuitable(method) or self._too_large(method) for method in self._methods}
        elsewhere = [method for method in METHODS.values() if method not in self._methods and not method.direct]
        reasons |= {method.name: f"on the {method.devices[0]} only" for method in elsewhere}
        return {name: why for name, why in reasons.items() if why}

    def _unsuitable(self, method: Method) -> str:
        """Return why a method is not for this matrix, or not for a batch."""
        if self._problem.members and not method.direct:
            return "for a single matrix, and A is a batch"
        return method.why_not(self._problem)

    def _too_large(self, method: Method) -> str:
        """Return that the result of a method does not fit in memory; the method of `factorized` is always tried."""
        if method.name == self._problem.direct or self._fits(method):
            return ""
        return f"it would need {memory.human(self._cost(method).nbytes)}, {memory.human(self._free)} are free"

    def __iter__(self) -> Iterator[Method]:
        """Yield the methods in this order; without forecasts of the others, if the first one is for a narrow band."""
        usual = METHODS[self._problem.direct]
        if usual.name in _NARROW[self._problem.A.device.partition(":")[0]]:
            yield usual
            yield from (method for method in self.order if method is not usual)
        else:
            yield from self.order

    def _time(self, method: Method) -> float:
        return self._cost(method).seconds

    def _cost(self, method: Method) -> Cost:
        return method.cost(self._problem)

    def _fits(self, method: Method) -> bool:
        return self._cost(method).nbytes <= self._free

    @cached_property
    def _free(self) -> int:
        return memory.available_bytes(self._problem.A._backend)

    def candidate(self, method: Method) -> MethodCandidate:
        """Return a method with its forecast."""
        cost = self._cost(method)
        return MethodCandidate(
            method.name, method.reason(self._problem), cost.nbytes, cost.entries, cost.operations, cost.moved_nbytes,
            cost.seconds, method.direct, method.missing(),
        )  # fmt: skip
