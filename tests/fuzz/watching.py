"""Cases in child processes, watched from outside: whoever crashes or hangs is a failure, and the next one goes on."""

import faulthandler
import mmap
import os
import re
import signal
import sys
import time
import traceback
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

CASE, BEGUN, DONE, FAILED = range(4)  # the cells of memory shared by a child and its watcher
_WORDS = slice(64, 192)  # bytes of the same memory
SANITIZED = "libasan" in os.environ.get("LD_PRELOAD", "")
SLOW = 60.0 if SANITIZED or "libtsan" in os.environ.get("LD_PRELOAD", "") else 20.0  # seconds after which a case hangs
_OUT_OF_MEMORY = re.compile("SUMMARY: AddressSanitizer: (out-of-memory|allocation-size-too-big|rss-limit)")
_REPORT = re.compile(r"SUMMARY: .*|\S+: runtime error: .*")  # a sanitizer's, in a line
MOST_CRASHES = 20  # after which a family gives up: each costs a new child


@dataclass
class Tally:
    """The results of a family so far."""

    begun: float = field(default_factory=time.monotonic)
    done: int = 0
    failed: int = 0
    crashes: int = 0
    kinds: set[str] = field(default_factory=set)

    def line(self, family: str) -> str:
        """Return the one line that the command prints."""
        kinds = f" of {len(self.kinds)} kinds" if self.failed else ""
        end = f"; given up after {self.crashes} crashes" if self.crashes >= MOST_CRASHES else ""
        return (
            f"{family}: {self.done} cases in {time.monotonic() - self.begun:.1f} s, {self.failed} failures{kinds}{end}"
        )


def run(plan: Any) -> Tally:
    """Run a family as `plan` says."""
    module = import_module(f"fuzz.{plan.family}")
    module.prepare(plan)
    tally = Tally()
    case, end = plan.first, plan.first + plan.cases
    deadline = tally.begun + plan.seconds
    while case < end and time.monotonic() < deadline and tally.crashes < MOST_CRASHES:
        case = _block(plan, module, tally, case, min(end, case + module.BLOCK), deadline)
    return tally


def _block(plan: Any, module: Any, tally: Tally, first: int, last: int, deadline: float) -> int:
    """Run the cases from `first` in one child; return the number of the first that it did not reach."""
    child = _Child(plan, module, first, last, deadline, tally.kinds)
    ended = child.watch()
    tally.done += child.shared[DONE]
    tally.failed += child.shared[FAILED]
    tally.kinds |= child.failures()
    at = child.shared[CASE]
    if not ended:
        return at + 1
    if SANITIZED and _OUT_OF_MEMORY.search(child.errors()):  # what would be a MemoryError ends the process there
        tally.done += 1
        return at + 1
    tally.crashes += 1
    tally.done += 1
    tally.failed += 1
    report = _REPORT.search(child.errors())
    kind = f"{child.about()} crash: {report[0].partition('0x')[0] if report else ended}"
    if kind not in tally.kinds or plan.verbose:
        text = [f"{plan.family}, case {at} (seed {plan.seed}), {child.about()}: {ended}"]
        text += ["  " + line[:300] for line in child.errors().splitlines()[:40]]
        alone = first == at or _Child(plan, module, at, at + 1, float("inf"), {"all"}).watch()
        text += [f"  again: {module.Case.again(plan, at)}" if alone else f"  it passes alone: {plan.again(first, at)}"]
        print("\n".join(text), flush=True)
    tally.kinds.add(kind)
    return at + 1


class _Child:
    """A process that runs some cases one after another."""

    def __init__(self, plan: Any, module: Any, first: int, last: int, deadline: float, known: set[str]) -> None:
        self._errors = plan.folder / "stderr"
        self._memory = mmap.mmap(-1, mmap.PAGESIZE)  # both processes see it
        self.shared = memoryview(self._memory).cast("q")
        self.shared[CASE] = first - 1
        self.kinds, theirs = os.pipe()
        sys.stdout.flush()
        self.pid = os.fork()
        if self.pid == 0:
            try:
                os.close(self.kinds)
                os.dup2(os.open(self._errors, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), 2)
                if plan.verbose:  # then a crash says where it came from, and so does what hangs
                    faulthandler.enable()
                    faulthandler.dump_traceback_later(SLOW - 1)
                module.enter(plan)
                _work(plan, module, range(first, last), deadline, self, set(known), theirs)
                os._exit(0)
            except BaseException:
                traceback.print_exc()
                os._exit(70)
        os.close(theirs)

    def watch(self) -> str:
        """Wait for the end; return how it ended, "" where all went well."""
        begun, pause = time.monotonic_ns(), 0.001
        while True:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                break
            if time.monotonic_ns() - max(begun, self.shared[BEGUN]) > SLOW * 1e9:
                os.kill(self.pid, signal.SIGKILL)
                os.waitpid(self.pid, 0)
                return f"it hangs (or takes more than {SLOW:.0f} s)"
            time.sleep(pause)
            pause = min(0.05, 1.2 * pause)
        code = os.waitstatus_to_exitcode(status)
        if code == 0:
            return ""
        return f"its process ended with {signal.Signals(-code).name if code < 0 else f'status {code}'}"

    def say(self, about: str) -> None:
        """Note for the watcher what this process checks now."""
        self._memory[_WORDS] = about.encode()[:128].ljust(128, b"\0")

    def about(self) -> str:
        """Return what the case that ran last checks, as it has said."""
        return self._memory[_WORDS].split(b"\0")[0].decode()

    def errors(self) -> str:
        """Return what the process has written to its standard error."""
        return self._errors.read_text(errors="replace") if self._errors.exists() else ""

    def failures(self) -> set[str]:
        """Return the kinds of failures that the child has reported."""
        with os.fdopen(self.kinds, "rb") as pipe:
            return set(pipe.read().decode().splitlines())


def _work(plan: Any, module: Any, numbers: range, deadline: float, child: _Child, known: set[str], pipe: int) -> None:
    """Run these cases here, and tell of every new kind of failure."""
    shared = child.shared
    for number in numbers:
        if time.monotonic() > deadline:
            return
        shared[BEGUN], shared[CASE] = time.monotonic_ns(), number
        case = module.Case(plan, number, child.say)
        try:
            module.run(case)
        except Exception as error:
            shared[FAILED] += 1
            kind = _kind(case, error)
            if kind not in known and "all" not in known:
                known.add(kind)
                os.write(pipe, (kind + "\n").encode())
                _tell(plan, case, error, module.Case.again(plan, number))
        else:
            if plan.verbose and "all" not in known:
                print(f"{plan.family}, case {number} (seed {plan.seed}) passes: {case.words()}", flush=True)
        shared[DONE] += 1


def _kind(case: Any, error: Exception) -> str:
    """Return the key of failures that have one cause: the check, the line of code, the first words without numbers."""
    where = traceback.extract_tb(error.__traceback__)[-1]
    words = re.sub(r"\W*\d\S*", " #", str(error)).split()[:3]
    return " ".join([case.about, type(error).__name__, f"{where.filename}:{where.lineno}", *words])


def _tell(plan: Any, case: Any, error: Exception, again: str) -> None:
    report = "".join(traceback.format_exception(error)[-7 if not plan.verbose else 0 :])
    report = f"{plan.family}, case {case.number} (seed {plan.seed}): {case.words()}\n{report.rstrip()}"
    print(report.replace("\n", "\n  ") + f"\n  again: {again}", flush=True)
