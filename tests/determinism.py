"""Which results have the same bits: in every run, with any number of threads, in any stream, and so on.

    python tests/determinism.py                             # compares this machine's devices with determinism.json
    python tests/determinism.py --update                    # stores their results there
    python tests/determinism.py --update --device cuda      # those of one device; the others stay as they are

The rows are those of `reproduced.py`: operations x formats x kernels. docs/reproducible.md shows the stored table. A
cell is the comparison of digests that were computed here: true if all are equal, false if not, and missing if nobody
has computed it. For instruction sets it is the list of those that give the same bits: ``[["portable"], ["avx2",
"avx512"]]``.
"""

import argparse
import json
import os
import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import reproduced
from processes import python
from reproduced import Row, digests

import diagsparse as ds

STORED = Path(__file__).with_suffix(".json")
COLUMNS = {"cpu": ("runs", "threads", "instruction sets", "processes"), "cuda": ("runs", "streams", "processes")}
THREADS = (1, 2, 3, 7)
RUNS, STREAMS = 3, 3
Cells = dict[str, Any]
Compute = Callable[..., list[str]]


def name(row: Row) -> str:
    """Return the key of a row in the file."""
    return ": ".join(filter(None, (row.operation, f"{row.format} {row.kernel}".strip())))


def module(device: str) -> Any:
    """Return the native module of a device."""
    return import_module("diagsparse._core" if device == "cpu" else "diagsparse._cuda")


# ---- In this process ------------------------------------------------------------------------------------------------
def runs(row: Row, device: str, compute: Compute = digests) -> list[str]:
    """Return digests of several products of the same matrices, and of one of new matrices."""
    return [*compute(row, device, calls=RUNS), *compute(row, device)]


def threads(row: Row, device: str, compute: Compute = digests) -> list[str]:
    """Return a digest for each number of threads."""
    found, before = [], ds.get_num_threads()
    for count in THREADS:
        ds.set_num_threads(count)
        found += compute(row, device)
    ds.set_num_threads(before)
    return found


def streams(row: Row, device: str, compute: Compute = digests) -> list[str]:
    """Return a digest for the default stream, and for others."""
    import cupy

    found = []
    for stream in (cupy.cuda.Stream.null, *(cupy.cuda.Stream(non_blocking=True) for _ in range(STREAMS))):
        with stream:
            found += compute(row, device)
        stream.synchronize()
    return found


HERE = {"runs": runs, "threads": threads, "streams": streams}


def cells_here(row: Row, device: str, compute: Compute = digests) -> tuple[Cells, str]:
    """Return the cells of a row that one process fills, and the digest of its result; "" if there is none."""
    found = {column: HERE[column](row, device, compute) for column in COLUMNS[device] if column in HERE}
    if not all(found["runs"]):
        return {}, ""
    return {column: len(set(results)) == 1 for column, results in found.items()}, found["runs"][0]


# ---- In other processes ---------------------------------------------------------------------------------------------
IN_A_PROCESS = """
    import json, sys, warnings
    warnings.simplefilter("ignore")  # of arrays' libraries
    sys.path.insert(0, {tests!r})
    from determinism import all_digests
    print(json.dumps(all_digests({device!r})))
"""


def all_digests(device: str) -> dict[str, str]:
    """Return the digest of each row, computed in this process."""
    return {name(row): digests(row, device)[0] for row in reproduced.rows(module(device))}


def elsewhere(device: str, **environment: str) -> dict[str, str]:
    """Return the digest of each row, computed in a new process."""
    code = IN_A_PROCESS.format(tests=str(STORED.parent), device=device)
    return json.loads(python(code, timeout=1800, **environment))


def groups(found: dict[str, str]) -> list[list[str]]:
    """Return lists of those instruction sets that gave the same digest."""
    return [[isa for isa in found if found[isa] == digest] for digest in dict.fromkeys(found.values())]


def measure(device: str) -> Iterator[tuple[str, Cells]]:
    """Yield all rows of a device, and their cells."""
    sets = ds._core.instruction_sets() if device == "cpu" else []
    by_set = {isa: elsewhere(device, DIAGSPARSE_ISA=isa) for isa in sets}
    again = by_set[sets[-1]] if sets else elsewhere(device)  # the last one is the default
    for row in reproduced.rows(module(device)):
        cells, digest = cells_here(row, device)
        if digest:
            cells["processes"] = again[name(row)] == digest
        if digest and len(sets) > 1:
            cells["instruction sets"] = groups({isa: by_set[isa][name(row)] for isa in sets})
        yield name(row), cells


# ---- The file -------------------------------------------------------------------------------------------------------
def stored() -> dict[str, dict[str, Cells]]:
    """Return device -> row -> cells."""
    return json.loads(STORED.read_text())


def changes(before: dict[str, Cells], found: dict[str, Cells]) -> list[str]:
    """Return a line for every row that is missing, superfluous or without a result, and for every cell that differs.

    Only the instruction sets that both have are compared. Results that may differ can agree by chance.
    """
    lines = [f"{row}: missing" for row in found.keys() - before.keys()]
    lines += [f"{row}: does not exist" for row in before.keys() - found.keys()]
    lines += [f"{row}: gives no result" for row in found.keys() & before.keys() if before[row] and not found[row]]
    for row in found.keys() & before.keys():
        for column in found[row].keys() & before[row].keys():
            old, new = before[row][column], found[row][column]
            if column == "instruction sets":
                old, new = among(old, new), among(new, old)
            if old != new and not (old is False and new is True):
                lines.append(f"{row}: {column} is {found[row][column]}, {before[row][column]} is stored")
    return sorted(lines)


def among(some: list[list[str]], others: list[list[str]]) -> set[frozenset[str]]:
    """Return groups of instruction sets without those that other groups do not have."""
    return {frozenset(group) & frozenset().union(*others) for group in some} - {frozenset()}


def of_every_row(device: str, cells: dict[str, Cells]) -> dict[str, Cells]:
    """Return the cells of all rows of a device, in order; none of those that nobody has computed."""
    try:
        rows = reproduced.rows(module(device))
    except ImportError:  # a build without the module
        return cells
    return {name(row): cells.get(name(row), {}) for row in rows}


def write(table: dict[str, dict[str, Cells]]) -> None:
    """Write the file, with a line for each row."""
    devices = []
    for device, cells in table.items():
        rows = of_every_row(device, cells)
        lines = [f"{json.dumps(row)}: {json.dumps(cells)}" for row, cells in rows.items()]
        devices.append(json.dumps(device) + ": {\n" + ",\n".join(lines) + "\n}")
    STORED.write_text("{\n" + ",\n".join(devices) + "\n}\n")


def main(arguments: list[str]) -> int:
    """Compute the table, and store it or compare it; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--update", action="store_true", help="store what was found instead of comparing with it")
    parser.add_argument("--device", choices=COLUMNS, help="this device alone")
    options = parser.parse_args(arguments)
    for name_of_other in {"DIAGSPARSE_ISA", "DIAGSPARSE_TEST_DTYPES"} & os.environ.keys():
        parser.error(f"the environment variable {name_of_other} is set, with which other results would be computed")
    here = [device for device in COLUMNS if device == "cpu" or ds.cuda_available()]
    table, lines = stored() if STORED.exists() else {device: {} for device in COLUMNS}, []
    for device in [options.device] if options.device else here:
        before, found = table[device], {}
        for row, cells in measure(device):
            print(f"{device:5} {row:40} {json.dumps(cells)}", flush=True)
            found[row] = cells
            if options.update:  # after each row: the time on a GPU may be limited
                write(table | {device: before | found})
        lines += changes(before, found)
        table[device] = found
    print(*(lines or ["no cell differs from those that are stored"]), sep="\n")
    if options.update:
        write(table)
    return int(bool(lines) and not options.update)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
