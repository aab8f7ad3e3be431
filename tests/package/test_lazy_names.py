"""Names of the package whose modules are imported at their first use."""

import pickle
import subprocess
import sys

import pytest
from processes import python

import diagsparse as ds

pytestmark = pytest.mark.quick


def test_import_is_light():
    out = python("""
    import sys, diagsparse as ds
    folders = ("_advice", "_distributed", "_files", "_gallery", "_multigrid", "_solving", "_study")
    names = {f"diagsparse.{name}" for name in (*folders, "advice", "gallery", "io", "measure", "structure")}
    slow = ("scipy.sparse.csgraph", "scipy.sparse.linalg", "scipy.linalg")
    print([name for name in sys.modules if name in names or name.startswith(slow)])
    ds.hm_array([[2.0]]) @ [1.0]
    print([name for name in sys.modules if name in names or name.startswith(slow)])
    """)
    assert out == "[]\n[]\n"


def test_all_names_are_listed_and_found():
    out = python("""
    import diagsparse as ds
    print(set(ds.__all__) <= set(dir(ds)))
    from diagsparse import *
    from diagsparse import gallery, multigrid, solve
    print(solve is ds.solve, ds.gallery.stencil.__name__, ds.compare.__name__, "solve" in vars(ds))
    import diagsparse.compare, diagsparse.gallery, diagsparse.io
    print(diagsparse.gallery is ds.gallery, all(getattr(ds, name) is not None for name in ds.__all__))
    """)
    assert out == "True\nTrue stencil compare True\nTrue True\n"
    with pytest.raises(AttributeError, match="module 'diagsparse' has no attribute 'solv'"):
        ds.solv  # noqa: B018
    assert not hasattr(ds, "solve_banded") and ds._HOMES.keys() <= {*ds.__all__, "advice", "io", "structure"}


def test_pickles_load_in_a_process_that_imported_nothing():
    like = ds.hm_array(ds.gallery.tridiagonal(3))
    for value in (like, ds.batch_array([like, like]), ds.analyze(like), ds.solve):
        code = "import pickle, sys; print(type(pickle.load(sys.stdin.buffer)).__name__)"
        out = subprocess.run([sys.executable, "-c", code], input=pickle.dumps(value), capture_output=True, check=True)
        assert out.stdout.decode().strip() == type(value).__name__


def test_modules_are_attributes():
    """Also of a process that has used none of their names."""
    code = "import diagsparse as ds; [getattr(ds, name) for name in ('advice', 'gallery', 'io', 'structure')]"
    subprocess.run([sys.executable, "-c", code], check=True)
