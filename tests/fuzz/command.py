"""The command line: which families run, for how long, and what is printed."""

import argparse
import os
import sys
import traceback
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from fuzz.watching import run

FAMILIES = ("operations", "parts", "files", "market", "pickles", "guided")


@dataclass(frozen=True)
class Plan:
    """What one family is to do; a case follows from `family`, `seed`, `device` and its number."""

    family: str
    seed: int
    device: str
    first: int
    cases: int
    seconds: float
    verbose: bool
    folder: Path  # for files, removed at the end
    choices: bytes  # of the only case of a guided run, or none

    def again(self, first: int, last: int | None = None) -> str:
        """Return the command that runs a case, or those from `first` to `last`, again."""
        several = ["--cases", last - first + 1] if last not in (None, first) else []
        return self.command("--seed", self.seed, "--case", first, *several)

    def command(self, *words: Any) -> str:
        """Return a command of this family, with these options."""
        device = ["--device", self.device] if self.device != "cpu" else []
        return " ".join(map(str, ("python", "tests/fuzz", self.family, *words, *device)))


def main(argv: list[str] | None = None) -> int:
    """Run what the arguments say; return 1 where a case failed."""
    given = _parser().parse_args(argv)
    chosen = list(FAMILIES) if given.family == "all" else [given.family]
    if given.device != "cpu" and given.family == "all":
        chosen = ["operations", "guided"]  # a child of the others, which has few cases, would start CUDA for them
    one = given.case is not None or given.choices is not None
    cases = given.cases or (1 if one else None)
    with TemporaryDirectory(prefix="fuzz-", dir="/dev/shm" if os.path.isdir("/dev/shm") else None) as folder:
        processes = []
        for family in chosen:
            plan = Plan(
                family=family,
                seed=given.seed,
                device=given.device,
                first=given.case or 0,
                cases=cases or sys.maxsize,
                seconds=float("inf") if cases else given.seconds,
                verbose=one,
                folder=Path(folder, family),
                choices=bytes.fromhex(given.choices or ""),
            )
            plan.folder.mkdir()
            processes.append(_started(plan))
        ends = [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in processes]
        if given.save:
            guided = import_module("fuzz.guided")
            print(f"{guided.SAVED.name} has {guided.save(Path(folder, 'guided'))} cases")
    return int(any(ends))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python tests/fuzz", description="Random cases, each of a seed and a number.")
    parser.add_argument("family", nargs="?", default="all", choices=[*FAMILIES, "all"], help="all: at the same time")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=30, help="how long; 30 by default")
    parser.add_argument("--cases", type=int, help="run so many of each family, however long they take")
    parser.add_argument("--case", type=int, help="run the case of this number (or --cases from there) and tell of it")
    parser.add_argument("--choices", help="run the case of `guided` with these choices, and tell of it")
    parser.add_argument("--save", action="store_true", help="store what `guided` found in reaching.txt")
    parser.add_argument("--device", default="cpu", help="the device of the matrices: cpu (the default) or cuda")
    return parser


def _started(plan: Plan) -> int:
    """Run a family in a process of its own, so that it begins with no library loaded; return the number of it."""
    sys.stdout.flush()
    if pid := os.fork():
        return pid
    status = 2
    try:
        tally = run(plan)
        print(tally.line(plan.family), flush=True)
        status = int(tally.failed > 0)
    except BaseException:  # os._exit would discard it
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        os._exit(status)
