"""What a user finds in the package, by what it is for. A name that no group takes raises, and the site is not built."""

import importlib
import inspect
import pkgutil
import re
import sys
from importlib.util import find_spec

from sphinx.ext.autodoc.mock import mock

import diagsparse as ds
from diagsparse._matrix.sparse_array import SparseArray

GROUPS = {  # where the names of each are defined: of the prefixes that fit, the longest decides
    "build": [
        "advice.array",
        "_matrix.construct",
        "_matrix.builders",
        "_matrix.stacking",
        "_matrix.reordering",
        "_products.kron",
        "_formats",
    ],
    "look": ["_matrix.base", "_matrix.registry", "_matrix.norms", "_products.forecasts"],
    "multiply": ["_products.products", "_products.sums", "_products.commutators", "_products.sampled"],
    "many": [
        "_evolution",
        "_products.chains",
        "_products.batches",
        "_products.interleaved",
        "_products.linear_combination",
    ],
    "quaternions": ["_quaternions"],
    "solve": [
        "_products.solving",
        "_products.cholesky",
        "_products.triangular",
        "_products.incomplete",
        "_products.block_jacobi",
        "_multigrid.setup",
        "_solving",
    ],
    "files": ["io"],
    "study": ["advice", "compare", "gallery", "structure"],
    "devices": ["_backends", "_show"],
}
SUBJECTS = {  # what each module has whose functions every matrix binds
    "base": "Attributes and parts",
    "operators": "Products",
    "sparse_array": "Transposes, real and imaginary parts",
    "views": "Views",
    "conversions": "Conversions and copies",
    "indexing": "Writing by index",
    "elementwise": "Element by element",
    "comparisons": "Comparisons",
    "elementwise_functions": "Functions of each element",
    "totals": "Sums",
    "through_scipy": "By way of SciPy",
    "scipy_interface": "Conversions by name",
}
MODULES = [module.name for module in pkgutil.iter_modules(ds.__path__) if not module.name.startswith("_")]
MOCKED = [name for name in ("jax", "torch") if find_spec(name) is None]  # large packages, which the site does not need


def module_named(name):
    """Return a public module."""
    with mock(MOCKED):
        return importlib.import_module(f"diagsparse.{name}")


def home(name):
    """Return where a name of `ds` is defined, from the package on."""
    thing = getattr(ds, name)
    module = thing.__name__ if inspect.ismodule(thing) else f"{thing.__module__}.{name}"
    return module.removeprefix("diagsparse.")


def group_of(place):
    """Return the group of what is defined in a place: ``_products.kron.kron``."""
    fitting = {p: group for group, prefixes in GROUPS.items() for p in prefixes if f"{place}.".startswith(f"{p}.")}
    if not fitting:
        raise LookupError(f"diagsparse.{place} belongs to no group of GROUPS")
    return fitting[max(fitting, key=len)]


def names_of(group):
    """Return the names of `ds` in a group."""
    return [name for name in ds.__all__ if group_of(home(name)) == group]


def is_format(name):
    """Say whether a name of `ds` is the class of a format."""
    return home(name).startswith("_formats.")


def returned_by(names):
    """Return the classes of our own, of no public module, that functions of `ds` return: plans, factors, forecasts."""
    public = [module_named(name) for name in MODULES]
    found = {}
    for thing in (getattr(ds, name) for name in names):
        annotation = getattr(thing, "__annotations__", {}).get("return")
        for one in re.findall(r"\w+", annotation) if isinstance(annotation, str) else ():
            cls = vars(sys.modules[thing.__module__]).get(one)
            ours = (
                inspect.isclass(cls) and cls.__module__.startswith("diagsparse.") and not issubclass(SparseArray, cls)
            )
            if ours and not any(hasattr(module, cls.__name__) for module in public):
                found[cls] = None
    return list(found)


def members(cls):
    """Return the public members of a class of ours: name -> the base that defines it."""
    owners = {name: next(base for base in cls.__mro__ if name in vars(base)) for name in dir(cls) if name[0] != "_"}
    return {name: owner for name, owner in owners.items() if owner.__module__.startswith("diagsparse.")}


def subjects():
    """Return the public members that every matrix has, by the module that defines them: module -> names."""
    found = {}
    for name in members(SparseArray):
        thing = inspect.getattr_static(SparseArray, name)
        module = getattr(getattr(thing, "fget", thing), "__module__", None) or ""
        subject = module.rpartition(".")[2] if module.startswith("diagsparse.") else "base"
        found.setdefault(subject, []).append(name)
    return found
