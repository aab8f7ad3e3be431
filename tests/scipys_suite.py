"""SciPy's own test modules, run on our matrices.

A module is executed once more with our constructors in place of SciPy's; SciPy's own copy of it stays as it is. There
are these shims, too:

- Whole numbers become float64 without a warning, and their dtype counts as float64.
- SciPy's bsr, dok and lil are replaced by other formats of ours.
- Arrays that do not have two dimensions stay SciPy's.
- Errors must have the same type; their messages are ours.
"""

import functools
import importlib
import inspect
import sys
import types
import warnings
from fnmatch import fnmatch
from unittest import mock

import numpy as np
import pytest
import scipy
import scipy.sparse as sp

import diagsparse as ds

OLDEST = 1, 16  # the SciPy from which on the tests run
LISTED = 1, 17  # the one that the lists of names were written for; what differs in others is noted there
VERSION = tuple(map(int, scipy.__version__.split(".")[:2]))
DTYPES = [np.float32, np.float64, np.complex64, np.complex128]
INSTEAD = {"csr": "csr", "csc": "csc", "coo": "coo", "dia": "dia", "bsr": "bmsparse", "dok": "hm", "lil": "mdia"}
BUILDERS = "diags_array", "eye_array", "rand", "random", "random_array"


def is_whole(dtype):
    """Whether values of this dtype become float64."""
    return np.dtype(dtype).kind in "iub"


def constructor(format, theirs=sp.csr_array):
    """Return our class of a format with the signature of one of SciPy's."""
    ours = getattr(ds, f"{format}_array")

    def new(cls, arg, shape=None, dtype=None, copy=False, *, maxprint=None):
        try:
            given = theirs(arg, shape, dtype)
        except (TypeError, ValueError, NotImplementedError):
            return object.__new__(cls)  # which refuses it, too
        return object.__new__(cls) if given.ndim == 2 else given

    def init(self, arg, shape=None, dtype=None, copy=False, *, maxprint=None):
        if dtype is not None and is_whole(dtype):
            arg, shape, dtype = theirs(arg, shape, dtype).astype(float), None, None
        elif format == "dia" and isinstance(arg, tuple):  # parts may be aligned in two ways
            arg = theirs(arg, shape, dtype)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ds.ConversionWarning)
            ours.__init__(self, arg, shape, dtype, copy=copy)

    return type(ours.__name__, (ours,), {"__new__": new, "__init__": init})


CONSTRUCTORS = {f"{kind}_array": constructor(format, getattr(sp, f"{kind}_array")) for kind, format in INSTEAD.items()}


def building(build):
    """Return a function of SciPy's that builds a matrix of ours."""

    @functools.wraps(build)
    def built(*args, **options):
        result = build(*args, **options)
        return CONSTRUCTORS[f"{result.format}_array"](result)

    return built


def assert_equal(actual, desired, *args, **options):
    """Compare as NumPy does, but for one dtype of whole numbers, which counts as float64."""
    pair = [np.dtype(x) if isinstance(x, type) and issubclass(x, np.generic) else x for x in (actual, desired)]
    if all(isinstance(x, np.dtype) for x in pair) and is_whole(pair[0]) != is_whole(pair[1]):
        actual, desired = (np.dtype(float) if is_whole(x) else x for x in pair)
    np.testing.assert_equal(actual, desired, *args, **options)


def raises(*args, match=None, **options):
    """Expect an error as pytest does, whatever its words are."""
    return pytest.raises(*args, **options)


def replaced(name, **names):
    """Return a copy of a loaded module with other things by these names."""
    result = types.ModuleType(name)
    vars(result).update(vars(sys.modules[name]) | names)
    return result


def module(name, matrices=(), **in_pytest):
    """Return a copy of a test module of SciPy's that makes our matrices, also by these names of SciPy's `spmatrix`."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # an older SciPy with a newer NumPy
        importlib.import_module(name)  # so that what it imports is as it was
    builders = {name: building(getattr(sp, name)) for name in BUILDERS}
    also = {kind: CONSTRUCTORS[kind.replace("matrix", "array")] for kind in matrices}
    sparse = replaced("scipy.sparse", **CONSTRUCTORS, **also, **builders)
    shims = [
        sparse,
        replaced("scipy", sparse=sparse),
        replaced("scipy.sparse._construct", **builders),
        replaced("scipy.sparse._sputils", supported_dtypes=DTYPES),
        replaced("numpy.testing", assert_equal=assert_equal),
        replaced("pytest", raises=raises, **in_pytest),
    ]
    spec = importlib.util.find_spec(name)
    result = importlib.util.module_from_spec(spec)
    with mock.patch.dict(sys.modules, {shim.__name__: shim for shim in shims}), warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        spec.loader.exec_module(result)
    return result


def left_out(test, reason):
    """Return a test that has to fail; of one with parameters some may pass."""
    several = any(mark.name == "parametrize" for mark in getattr(test, "pytestmark", []))

    @functools.wraps(test)
    def tried(*args, **options):
        try:
            test(*args, **options)
        except (Exception, pytest.fail.Exception):
            fails = True
        else:
            fails = False
        if fails:  # raised here, so that pytest builds no traceback, which is slow
            pytest.xfail(reason)
        assert several, f"passes, though left out: {reason}"

    return tried


def names_in(thing):
    """Return the names of the tests in a class, and in the classes in it."""
    inner = (names_in(cls) for name, cls in inspect.getmembers(thing, inspect.isclass) if name.startswith("Test"))
    return {name for name in dir(thing) if name.startswith("test")}.union(*inner)


def fits(name, patterns):
    """Whether the name of a test fits one of the patterns."""
    return any(fnmatch(name, f"test_{pattern}") for pattern in patterns.split())


def named(reasons, tests):
    """Return ``{name: reason}`` of a table ``{reason: names}``.

    Each has to be the name of a test in SciPy 1.17. Another SciPy may not have it.
    """
    why = {f"test_{name}": reason for reason, names in reasons.items() for name in names.split()}
    absent = set(why) - names_in(tests)
    assert not absent or VERSION != LISTED, absent
    return {name: reason for name, reason in why.items() if name not in absent}


def without(tests, why, taken="*", others=""):
    """Return the class of tests that are `taken` and no `others`, patterns both; those in `why` have to fail."""
    body = {}
    for name in filter(lambda name: name.startswith("test"), dir(tests)):
        test, static = getattr(tests, name), isinstance(inspect.getattr_static(tests, name), staticmethod)
        slow = any(mark.name == "xslow" for mark in getattr(test, "pytestmark", []))
        if slow or not fits(name, taken) or fits(name, others):
            body[name] = None
        elif name in why:
            tried = left_out(test, why[name])
            body[name] = staticmethod(tried) if static else tried
    return type(tests.__name__, (tests,), body)


def as_class(name, reasons, matrices=(), **which):
    """Return the tests of a module as one class; `which` of them as for `without`."""
    found = {}
    for key, thing in vars(module(name, matrices)).items():
        if inspect.isclass(thing) and thing.__module__ == name and key.startswith("Test"):
            found[key] = thing
        elif inspect.isfunction(thing) and key.startswith("test_"):
            found[key] = staticmethod(thing)
    result = type("Test" + name.rpartition("test_")[2].title().replace("_", ""), (), found)
    why = named(reasons, result)
    for key, thing in found.items():
        if inspect.isclass(thing):
            setattr(result, key, without(thing, why, **which))
    return without(result, why, **which)
