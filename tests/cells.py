"""Which cells the tests exercise: every native operation by format, kernel, value types and device.

    python tests/cells.py -n 2               # runs all tests, prints the cells, names those of cells.json that none ran
    python tests/cells.py --update -n 2      # stores the cells of this machine's devices in cells.json
    python tests/cells.py --device cuda      # the tests and the cells of one device

Other arguments go to pytest. A cell is a call of native code, as it was recorded during the run: the
operation, the formats of its matrices, the kernel if the operation has several, and the types of the operands' values,
in NumPy's letters (``e`` float16, ``E`` bfloat16, ``f``, ``d``, ``F``, ``D``). Tests of Hypothesis draw other cases in
each run, so what they call is not counted, and neither is what happens in a process that a test starts.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from functools import cache, wraps
from pathlib import Path

STORED = Path(__file__).with_name("cells.json")
FOLDER = "DIAGSPARSE_CELLS"  # the environment variable with the folder that each process of a run writes to
LETTERS = {"float16": "e", "bfloat16": "E", "float32": "f", "float64": "d", "complex64": "F", "complex128": "D"}
KERNEL_AT = {"matvec": 6, "chain": 5}  # the argument that names the kernel, "" for the default


class Recorder:
    """Wraps a native module's functions so that they note their cells. A plugin of pytest."""

    def __init__(self, modules):
        self.seen, self.active = set(), False
        for device, module in modules.items():
            for name, function in vars(module).copy().items():
                if callable(function) and not name.startswith("_") and not isinstance(function, type):
                    setattr(module, name, self._wrapped(device, module, name, function))
            for name in ("run", "run_into", "run_stage"):
                wrapped = self._wrapped(device, module, "matmul", getattr(module.Plan, name))
                setattr(module.Plan, name, wrapped)

    def _wrapped(self, device, module, operation, function):
        plain_kernels = getattr(module.kernels, "__wrapped__", module.kernels)

        @cache
        def default(format):
            return plain_kernels(format)[operation][0]

        @wraps(function)
        def call(*args, **options):
            result = function(*args, **options)
            if self.active:
                note(args, result)
            return result

        def note(args, result):
            operands = [a for arg in args for a in _flat(arg)]
            matrices = [a for a in operands if isinstance(a, module.Matrix)]
            plans = [a for a in operands if isinstance(a, module.Plan)]
            words, types = [operation], [_letter(a.dtype) for a in operands if hasattr(a, "dtype")]
            if operation in ("times_vector", "multiply") and result is None:
                return  # left to another function
            if operation == "times_vector":
                words = ["matvec", matrices[0].format, plain_kernels(matrices[0].format)["matvec"][0]]
            elif operation in KERNEL_AT:
                words += [matrices[0].format, args[KERNEL_AT[operation]] or default(matrices[0].format)]
            elif plans:
                words += [plans[0].format, plans[0].kernel]
            elif matrices:
                words += [matrix.format for matrix in matrices[:2]]
            elif not isinstance(result, module.Matrix):
                return
            if isinstance(result, module.Matrix) and not plans:
                words += ["->", result.format]
                types = types or [_letter(result.dtype)]
            self.seen.add((device, " ".join(words), "".join(types[:2])))

        return call

    def pytest_runtest_call(self, item):
        self.active = not getattr(getattr(item, "obj", None), "is_hypothesis_test", False)

    def pytest_runtest_teardown(self):
        self.active = False

    def pytest_sessionfinish(self):
        Path(os.environ[FOLDER], f"{os.getpid()}.json").write_text(json.dumps(sorted(self.seen)))


def _flat(argument):
    return [a for inner in argument for a in _flat(inner)] if isinstance(argument, (list, tuple)) else [argument]


def _letter(dtype):
    """Return the letter of a type of values; "" for that of indices."""
    return LETTERS.get(str(dtype).rpartition(".")[2], "")  # torch.float32


def recorder():
    """Return a plugin that records the cells of this process, on every device that it has."""
    import diagsparse as ds
    from diagsparse import _core

    modules = {"cpu": _core}
    if ds.cuda_available():
        from diagsparse import _cuda

        modules["cuda"] = _cuda
    return Recorder(modules)


def gather(folder):
    """Return device -> operation -> the types that it ran for, from what the processes of a run have written."""
    found = {}
    for path in Path(folder).glob("*.json"):
        for device, operation, types in json.loads(path.read_text()):
            found.setdefault(device, {}).setdefault(operation, set()).add(types)
    return {
        device: {operation: " ".join(sorted(types)) for operation, types in sorted(operations.items())}
        for device, operations in sorted(found.items())
    }


def lost(stored, found):
    """Return a line for each operation of the devices of a run that had cells which it has no more."""
    lines = []
    for device in found:
        for operation, types in stored.get(device, {}).items():
            missing = set(types.split(" ")) - set(found[device].get(operation, "").split(" "))
            if missing:
                lines.append(f"{device} {operation}: {' '.join(sorted(missing))}")
    return lines


def main(arguments):
    """Run the tests, print the cells, compare; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--update", action="store_true", help="store what was found instead of comparing with it")
    parser.add_argument("--device", choices=["cpu", "cuda"], help="the tests and the cells of this device alone")
    options, others = parser.parse_known_args(arguments)
    tests = {"cpu": "not gpu", "cuda": "gpu", None: ""}[options.device]
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "pytest", "-m", tests, *others]
        status = subprocess.run(command, env=os.environ | {FOLDER: folder}, check=False).returncode
        found = {device: seen for device, seen in gather(folder).items() if options.device in (None, device)}
    for device, operations in found.items():
        for operation, types in operations.items():
            print(f"{device:5} {operation:60} {types}")
        kinds = Counter(operation.split()[0] for operation, types in operations.items() for _ in types.split(" "))
        print(f"{device}: {sum(kinds.values())} cells; {', '.join(f'{n} {kind}' for kind, n in kinds.most_common())}")
    stored = json.loads(STORED.read_text()) if STORED.exists() else {}
    gone = lost(stored, found)
    print("cells that no test runs any more:" if gone else "no cell lost", *gone, sep="\n")
    if options.update:
        STORED.write_text(json.dumps(stored | found, indent=0) + "\n")
    return status or (bool(gone) and not options.update)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
