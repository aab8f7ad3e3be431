"""Operations on good matrices, each against NumPy, SciPy or QuTiP, run in a process with threads."""

import sys
import warnings
from importlib import import_module
from typing import Any

from fuzz.case import Case as Case

BLOCK = sys.maxsize  # all in one child: it loads the library itself, since threads do not survive a fork
ANYWHERE = (
    "dense_products", "sparse_products", "elementwise", "conversions", "sequences", "building", "advising", "threads",
)  # fmt: skip
ON_THE_CPU = "functions", "indexing", "written", "solving", "quantum"
_CHECKS: dict[Any, float] = {}


def prepare(plan: Any) -> None:
    """Nothing: the library must not be loaded before the fork."""


def enter(plan: Any) -> None:
    """Load the library, in the child."""
    warnings.simplefilter("error")  # good input warns of nothing
    for name in ANYWHERE + ON_THE_CPU * (plan.device == "cpu"):
        module = import_module(f"fuzz.{name}")
        total = sum(module.CHECKS.values())  # 0 of what is not installed
        _CHECKS.update({check: weight / total for check, weight in module.CHECKS.items()})


def run(case: Case) -> None:
    """Run one operation on random operands."""
    import diagsparse as ds

    check = case.weighted(_CHECKS)
    case.checks(f"{check.__module__.removeprefix('fuzz.')}.{check.__name__}")
    case.note(case.about)
    ds.set_num_threads(case.between(1, 4))
    check(case)
