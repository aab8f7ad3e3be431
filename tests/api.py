"""Every public name with its parameters and defaults, one a line, as `public_names.txt` stores them.

    python tests/api.py --update     # after a deliberate change: stores the names, for a reviewer to read

Names that need a library which is missing here are left as they are stored.
"""

import inspect
import re
import sys
from importlib.util import find_spec
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "docs" / "_extensions"))
from public_names import MODULES, is_format, members, module_named, returned_by

import diagsparse as ds
from diagsparse._matrix.sparse_array import SparseArray

STORED = Path(__file__).with_name("public_names.txt")
NEEDS = {"distributed": "mpi4py", "jax": "jax", "qutip": "qutip", "torch": "torch"}  # modules: what they import
MISSING = tuple(f"{module}." for module, library in NEEDS.items() if find_spec(library) is None)


def parameters(thing, first=0):
    """Return the parameters of a function from the one with this number on, without types: ``(A, /, *, k=0)``."""
    try:
        found = list(inspect.signature(thing).parameters.values())[first:]
    except ValueError:  # one of C
        return "(...)"
    return str(inspect.Signature([one.replace(annotation=one.empty, default=Default.of(one.default)) for one in found]))


class Default(str):
    """A default as it is shown: without the address of an object."""

    __repr__ = str.__str__

    @classmethod
    def of(cls, value):
        shown = getattr(value, "__name__", repr(value))
        return value if value is inspect.Parameter.empty else cls(shown if "<" not in shown else "...")


def attributes(cls):
    """Return the attributes that the docstring of a class describes, and the fields of a dataclass."""
    sections = re.findall(r"^Attributes\n-+\n(.*?)(?=^\w[^\n]*\n-+\n|\Z)", inspect.getdoc(cls) or "", re.M | re.S)
    named = [
        name for section in sections for line in re.findall(r"^(\w.*?) :", section, re.M) for name in line.split(", ")
    ]
    return {
        *named,
        *(field.name for field in getattr(cls, "__dataclass_fields__", {}).values() if field.name[0] != "_"),
    }


def described(name, thing):
    """Yield the line of an object, and those of the members of a class that is no matrix."""
    if inspect.isclass(thing) and issubclass(thing, Exception):
        yield f"{name} is a {thing.__base__.__name__}"
    elif inspect.isclass(thing):
        yield name if attributes(thing) & {*inspect.signature(thing).parameters} else name + parameters(thing)
        if not issubclass(thing, SparseArray):
            yield from described_class(name, thing)
    elif callable(thing):
        yield name + parameters(thing)
    else:
        yield name


def described_class(name, cls):
    yield from described_members(name, cls, members(cls))
    yield from (f"{name}.{attribute}" for attribute in attributes(cls) - {*members(cls)})


def described_members(owner, cls, names):
    for name in names:
        thing = inspect.getattr_static(cls, name)
        if isinstance(thing, (staticmethod, classmethod)):
            yield f"{owner}.{name}{parameters(getattr(cls, name))}"
        else:
            yield f"{owner}.{name}{parameters(thing, 1) if inspect.isroutine(thing) else ''}"


def names_of_ds():
    """Yield the lines of `ds`, of the classes that its functions return, and of what matrices have."""
    for name in ds.__all__:
        if not inspect.ismodule(getattr(ds, name)):
            yield from described(f"ds.{name}", getattr(ds, name))
    for cls in returned_by(ds.__all__):
        yield from described_class(cls.__name__, cls)
    yield from described_members("A", SparseArray, members(SparseArray))
    for name in filter(is_format, ds.__all__):
        cls = getattr(ds, name)
        own = [member for member, owner in members(cls).items() if owner.__module__.startswith("diagsparse._formats.")]
        yield from described_members(f"ds.{name}", cls, own)


def names_of_modules():
    for name in MODULES:
        if f"{name}.".startswith(MISSING) or name == "cli":
            continue
        module = module_named(name)
        defined = [key for key, one in vars(module).items() if getattr(one, "__module__", "") == module.__name__]
        for public in getattr(module, "__all__", [key for key in defined if key[0] != "_"]):
            if public not in ds.__all__:
                yield from described(f"{name}.{public}", getattr(module, public))


def commands():
    from diagsparse.cli import main

    for name, command in main.commands.items():
        words = [
            option for one in command.params for option in (one.opts if one.opts[0][0] == "-" else [one.name.upper()])
        ]
        yield " ".join(["$ diagsparse", name, *sorted(words)])


def lines(stored=""):
    """Return all lines in order, with those of `stored` for libraries that are missing."""
    left = [line for line in stored.splitlines() if line.startswith(MISSING)] if MISSING else []
    return sorted({*names_of_ds(), *names_of_modules(), *commands(), *left}, key=lambda line: (line.lower(), line))


if __name__ == "__main__":
    if sys.argv[1:] != ["--update"]:
        sys.exit(__doc__)
    STORED.write_text("\n".join(lines(STORED.read_text() if STORED.exists() else "")) + "\n")
