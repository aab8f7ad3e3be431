"""The ledger of the five papers, benchmarks/papers.toml: its validation, and its tables in docs/papers.md."""

import importlib
import json
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from diagsparse._backends.backend import CPU
from diagsparse._matrix.registry import FORMATS
from diagsparse._show import columns
from diagsparse._show.columns import table
from diagsparse._study import bench_cases
from diagsparse._study.commands import main

from .commands import EXPERIMENTS

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "benchmarks" / "results"
STATUSES = {"present": "yes", "differs": "differs", "left-out": "no"}  #: with their names in the docs
INPUTS = {
    "": "",
    "paper": "the paper's",
    "generated": "generated",
    "stand-in": "stand-ins",
    "real": "files, or stand-ins",
}
FIELDS = ("commit", "gone", "edited")  #: of a result
UNKNOWN = "unknown"  #: the commit of results that do not contain one
_OPERATIONS = {"power": "chain", "syrk": "matmul"}  # of cases, with the operations of their kernels
_NO_KERNELS = {"planned", "default", "transposed", "symmetric"}  # second words of columns


def read(path: Path = ROOT / "benchmarks" / "papers.toml") -> dict[str, Any]:
    """Return the ledger."""
    return tomllib.loads(path.read_text())


def problems(ledger: dict[str, Any]) -> Iterator[str]:
    """Yield descriptions of errors: dangling references, items without an entry, results that have changed."""
    for number, paper in ledger["papers"].items():
        named = [item for entry in paper["entries"] for item in entry.get("items", ())]
        kinds = {"algorithm": paper["algorithms"], "table": paper["tables"], "figure": paper["figures"]}
        for item in (f"{kind} {which}" for kind, those in kinds.items() for which in those):
            if named.count(item) != 1:
                yield f"{number}: {item} has {named.count(item)} entries, expected one"
        for i, entry in enumerate(paper["entries"]):
            name = next(iter(entry.get("items", ())), f"entry {i}")
            yield from (f"{number}, {name}: {what}" for what in _of_entry(entry))
    stored = {path.stem for path in RESULTS.glob("*.json")}
    yield from (f"{name}: not in [results]" for name in sorted(stored - set(ledger["results"])))
    yield from (f"[results]: no benchmarks/results/{name}.json" for name in sorted(set(ledger["results"]) - stored))
    for name in sorted(stored & set(ledger["results"])):
        yield from (f"{name}: {what}" for what in _of_result(ledger["results"][name], _report(name)))


# ---- an entry -------------------------------------------------------------------------------------------------------
def _of_entry(entry: dict[str, Any]) -> Iterator[str]:
    yield from (f"no {field}" for field in ("items", "what") if not entry.get(field))
    status, command = entry.get("status", ""), entry.get("command", "")
    if status not in STATUSES:
        yield f"status {status}, expected one of {', '.join(STATUSES)}"
    if (status == "present") == bool(entry.get("why")):
        yield "what is present needs no `why`, all else does"
    if status != "left-out" and not (entry.get("code") and command):
        yield "no code or no command"
    if entry.get("input", "") not in INPUTS:
        yield f"input {entry['input']}, expected one of {', '.join(filter(None, INPUTS))}"
    yield from (f"no {position}" for position in entry.get("code", ()) if not _is_there(position))
    yield from (f'no kernel "{name}"' for name in entry.get("kernels", ()) if not _is_named(name))
    if command and not _is_command(command):
        yield f"no command {command}"
    for name in entry.get("results", ()):
        if not (RESULTS / f"{name}.json").exists():
            yield f"no benchmarks/results/{name}.json"
        elif not _comes_from(command, _report(name)):
            yield f"{name} does not come from {command or 'an entry without a command'}"


def _is_there(position: str) -> bool:
    path, _, name = position.partition(":")
    file = ROOT / path
    return file.exists() and (not name or re.search(rf"\b{re.escape(name)}\b", file.read_text()) is not None)


def _is_named(kernel: str) -> bool:
    words = kernel.split()
    return len(words) == 4 and is_kernel(*words)


def is_kernel(device: str, format: str, operation: str, kernel: str) -> bool:
    """Return whether a kernel exists; kernels of a GPU are assumed to exist if the CUDA module is not built."""
    core = CPU.core if device == "cpu" else _cuda()
    return core is None or (format in FORMATS and kernel in core.kernels(format).get(operation, ()))


def _cuda() -> Any | None:
    """Return the CUDA module, which can be imported without a GPU; None if it is not built."""
    try:
        return importlib.import_module("diagsparse._cuda")
    except ImportError:
        return None


def _is_command(command: str) -> bool:
    match command.split():
        case ["python", "-m", "benchmarks", name, *_]:
            return name in EXPERIMENTS
        case ["diagsparse", "bench", name, *options]:
            return name in {case.group for case in bench_cases.CASES["cuda" if "cuda" in options else "cpu"]}
        case ["diagsparse", name, *_]:
            return name != "bench" and name in main.commands
        case [*_, path]:
            return path != "diagsparse" and (ROOT / path).exists()
    return False


def _comes_from(command: str, report: dict[str, Any]) -> bool:
    match command.split():
        case ["python", "-m", "benchmarks", name, *_]:
            return report.get("experiment") == name
        case ["diagsparse", "bench", name, *_]:
            return any(row.get("group") == name for row in report["rows"])
    return False


# ---- a result -------------------------------------------------------------------------------------------------------
def _of_result(known: dict[str, Any], report: dict[str, Any]) -> Iterator[str]:
    commit = report["versions"].get("commit", UNKNOWN)
    if known.get("commit") != commit:
        yield f"commit {known.get('commit')}, its file has {commit}"
    yield from (f"field {field}, expected one of {', '.join(FIELDS)}" for field in known if field not in FIELDS)
    if "edited" in known and not str(known["edited"]).endswith("."):
        yield f"edited {known['edited']!r}, expected a sentence"
    device = report.get("device", "cpu")
    gone = {name for name in kernels_of(report) if not is_kernel(device, *name.split())}
    if gone != set(known.get("gone", ())) and (device == "cpu" or _cuda()):
        yield f"kernels that are no more: {sorted(gone)}, the ledger says {known.get('gone', [])}"


def kernels_of(report: dict[str, Any]) -> set[str]:
    """Return the kernels of diagsparse that a stored result names, as "format operation kernel"."""
    kernels: set[tuple[str, str, str]] = set()
    for row in report["rows"]:
        if row.get("library") == "diagsparse" and "," not in row.get("kernel", ","):  # "planned, out=" is not a kernel
            kernels.add((row["format"], _OPERATIONS.get(row["op"], row["op"]), row["kernel"]))
        elif "library" not in row:
            kernels |= set(_of_experiment(row))
    return {" ".join(names) for names in kernels}


def _of_experiment(row: dict[str, Any]) -> Iterator[tuple[str, str, str]]:
    if "columns" in row:
        for about in row["columns"].values():
            if "kernel" in about:
                format, operation, kernel = about["kernel"].split()
                yield format, operation, kernel
    else:
        yield from _by_names(row)


def _by_names(row: dict[str, Any]) -> Iterator[tuple[str, str, str]]:
    """Yield the kernels of an older report, whose rows do not state which kernel ran in each column."""
    if row.get("kernel"):
        yield "hm", "matmul", row["kernel"]
    for name, kernels in row.get("kernels", {}).items():
        if isinstance(kernels, str):  # the kernel of a format for the product
            yield name, "matmul", kernels
        else:
            yield from (("bmsparse", name, kernel) for kernel in kernels)
    for column in row.get("times", ()):
        format, _, kernel = column.partition(" ")
        if format in FORMATS and kernel and " " not in kernel and kernel not in _NO_KERNELS:
            yield format, "matmul", kernel


def _report(name: str) -> dict[str, Any]:
    report: dict[str, Any] = json.loads((RESULTS / f"{name}.json").read_text())
    return report


# ---- in the docs ----------------------------------------------------------------------------------------------------
def markdown() -> str:
    """Return the ledger as Markdown: a table for each paper, and one of the stored results."""
    ledger, parts = read(), []
    for paper in ledger["papers"].values():
        year = f" ({paper['year']})" if "year" in paper else ""
        cells = table(paper["entries"], {
            "in the paper": lambda entry: ", ".join(entry["items"]), "what": "{what}",
            "here": lambda entry: STATUSES[entry["status"]], "input": lambda entry: INPUTS[entry.get("input", "")],
            "command": lambda entry: f"`{entry['command']}`" if "command" in entry else "",
            "why": lambda entry: entry.get("why", ""),
        })  # fmt: skip
        parts.append(f"**{paper['authors']}{year}**, *{paper['title']}*\n\n{columns.markdown(cells, '<' * 6)}")
    results = [{"name": name, **known} for name, known in sorted(ledger["results"].items())]
    cells = table(results, {
        "result": "`{name}`", "commit": "{commit:.7}",
        "kernels that no longer exist": lambda known: ", ".join(f"`{kernel}`" for kernel in known.get("gone", ())),
        "edited after it was measured": lambda known: known.get("edited", ""),
    })  # fmt: skip
    return "\n\n".join([*parts, f"**Stored results**, of `benchmarks/results`\n\n{columns.markdown(cells, '<' * 4)}"])
