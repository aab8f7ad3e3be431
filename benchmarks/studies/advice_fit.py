"""Fits the costs of the performance model to measured products: `python -m benchmarks.studies.advice_fit FILE ...`.

The files are reports of `python -m benchmarks advice` on the same kind of device. The fitted costs are printed; they
belong in `diagsparse/_advice/models/`. To see how well costs predict matrices that they were not fitted to,
`ratios_left_out` fits them once more for each family, without the matrices of this family. These fits start from the
present costs, and stay close to them where the times do not say otherwise. For families that the present costs were
fitted to, the result is therefore optimistic.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from statistics import geometric_mean
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import least_squares

from diagsparse._advice.costs import Cost, Counts, Traversal
from diagsparse._advice.machine import Machine
from diagsparse._advice.models import MODELS
from diagsparse._advice.ranking import SAME
from diagsparse._backends.backend import CPU
from diagsparse._matrix.registry import COMMON, FORMATS

_COSTS = ("row", "position", "extra", "branch", "gather", "step")
_LEAST = {"row": 1e-2, "position": 1e-2, "extra": 1e-2, "branch": 0.1, "gather": 1e-2, "step": 0.1}  # on a CPU
_ON_GPU = 1e-2  # times these on a GPU
_PRIOR = 0.5  # weight of a deviation from the present costs, relative to that of a time
_OUTLIER = 0.3  # logarithm of a ratio of times above which its influence grows only linearly
_SHORTEST = 1e-5  # seconds of the shortest products that are fitted; calls and launches dominate others
_FEWEST = 4  # products to which costs can be fitted

_GPU: Any = object()  # stands for any GPU, so that its reports can be read anywhere

Costs = dict[tuple[str, str], Cost]


class Product(NamedTuple):
    """A measured product of one matrix in one layout."""

    row: str  #: name in the report
    family: str
    layout: str
    cost: tuple[str, str]  #: the format, and the options that have costs of their own
    options: int  #: number of options of the layout
    machine: Machine
    counts: Counts
    traversal: Traversal
    seconds: float
    least: float  #: seconds of the fastest layout, which was timed again

    def predicted(self, costs: Costs) -> float:
        """Return the seconds by the model with these costs."""
        return self.machine.seconds(costs[self.cost], self.counts, self.traversal)


def present_costs(where: Any) -> Costs:
    """Return the costs that the models have now."""
    return {(one.format, names): cost for one in MODELS.values() for names, cost in _table(one, where).items()}


def products(report: dict[str, Any]) -> Iterator[Product]:
    """Yield the products with vectors of a report."""
    where = CPU if report["device"] == "cpu" else _GPU
    for row in report["rows"]:
        if "traversals" not in row:
            continue
        machine = Machine(where, row["threads"], row["reuse"])
        for layout, seconds in row["times"].items():
            if not (one := row["traversals"].get(layout)):
                continue
            table = _table(MODELS[one["format"]], where)
            names = list(one["options"])
            while " ".join(names) not in table:
                names.pop()
            yield Product(
                row["name"], row["family"], layout, (one["format"], " ".join(names)), len(one["options"]), machine,
                Counts(*row["counts"]), Traversal(*one["traversal"]), seconds, row["times"][row["best"]],
            )  # fmt: skip


def _table(model: Any, where: Any) -> dict[str, Cost]:
    return model.cpu if where is CPU else model.gpu


def fitted(all_products: Iterable[Product], start: Costs) -> Costs:
    """Return costs that predict these products, close to the given costs."""
    groups: dict[tuple[str, str], list[Product]] = {}
    for one in all_products:
        if one.seconds > _SHORTEST and one.counts.itemsize == 8 and not one.counts.complex:
            groups.setdefault(one.cost, []).append(one)
    return start | {key: _fit(group, start[key]) for key, group in groups.items() if len(group) >= _FEWEST}


def _fit(group: list[Product], start: Cost) -> Cost:
    names = [name for name in _COSTS if any(_count(one, name) for one in group)]
    least = _ON_GPU if group[0].machine.backend is not CPU else 1.0
    x = np.log([max(getattr(start, name), least * _LEAST[name]) for name in names])
    measured = np.log([one.seconds for one in group])
    weight = (10 / len(group)) ** 0.5

    def cost(logarithms: np.ndarray) -> Cost:
        return start._replace(**dict(zip(names, np.exp(logarithms).tolist(), strict=True)))

    def residuals(logarithms: np.ndarray) -> np.ndarray:
        costs = {group[0].cost: cost(logarithms)}
        predicted = np.log([one.predicted(costs) for one in group])
        return np.r_[weight * (predicted - measured), _PRIOR * (logarithms - x)]

    found = cost(least_squares(residuals, x, loss="soft_l1", f_scale=_OUTLIER, max_nfev=60).x)
    rounded: dict[str, Any] = {name: float(f"{getattr(found, name):.2g}") for name in names}
    return found._replace(**rounded)


def _count(one: Product, name: str) -> float:
    """Return how often a product performs the operation with this cost."""
    counts, traversal = one.counts, one.traversal
    return {"row": counts.rows, "position": traversal.positions, "extra": traversal.extras, "branch": counts.branches,
            "gather": traversal.lines, "step": traversal.steps}[name]  # fmt: skip


def ratio(of_matrix: list[Product], costs: Costs) -> float:
    """Return the seconds of the fastest layout divided by those of the layout that these costs recommend, at most 1."""
    predicted = [one.predicted(costs) for one in of_matrix]
    same = [
        (one.options, FORMATS[one.cost[0]].family != "diagonals", one.cost[0] != COMMON, seconds, one.seconds)
        for seconds, one in zip(predicted, of_matrix, strict=True)
        if seconds <= SAME * min(predicted)
    ]
    return min(1.0, of_matrix[0].least / min(same)[-1])


def by_row(all_products: Iterable[Product]) -> dict[str, list[Product]]:
    """Return the products of each row of a report."""
    rows: dict[str, list[Product]] = {}
    for one in all_products:
        rows.setdefault(one.row, []).append(one)
    return rows


def ratios_left_out(all_products: list[Product]) -> dict[str, float]:
    """Return the ratio for each row of a family, with costs that were fitted without this family."""
    ratios: dict[str, float] = {}
    for family in filter(None, dict.fromkeys(one.family for one in all_products)):
        start = present_costs(all_products[0].machine.backend)
        costs = fitted((one for one in all_products if one.family != family), start)
        of_family = by_row(one for one in all_products if one.family == family)
        ratios |= {name: ratio(group, costs) for name, group in of_family.items()}
    return ratios


def main(*paths: str) -> None:
    """Print the costs that fit the products of these reports, and how well they recommend layouts."""
    reports = [json.loads(Path(path).read_text()) for path in paths]
    everything = [one for report in reports for one in products(report)]
    costs = fitted(everything, present_costs(everything[0].machine.backend))
    for (format, options), cost in costs.items():
        print(f"{format} {options!r}: {cost}")
    for name, ratios in (
        ("fitted to all", [ratio(group, costs) for group in by_row(everything).values()]),
        ("to all other families", list(ratios_left_out(everything).values())),
    ):
        print(f"{name}: {geometric_mean(ratios):.3f} of the best speed, {min(ratios):.2f} at least")


if __name__ == "__main__":
    main(*sys.argv[1:])
