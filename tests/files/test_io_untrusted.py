"""Files from strangers: reading never loads an object, and so runs nothing of what a file contains or names."""

import gzip
import io
import pickle
import zipfile
from pathlib import Path

import numpy as np
import pytest
from fuzz.audited import CodeRan, no_code
from processes import python
from scipy import sparse

import diagsparse as ds
from diagsparse import gallery
from diagsparse._files import archives


class Payload:
    """An object whose pickle creates a folder when it is loaded."""

    def __init__(self, folder):
        self.folder = folder

    def __reduce__(self):
        return Path.mkdir, (self.folder,)


def saved(array, version=None):
    """Return the bytes of a ``.npy`` file, which may contain objects."""
    data = io.BytesIO()
    np.lib.format.write_array(data, array, version, allow_pickle=True)
    return data.getvalue()


def with_payloads(data, folder):
    """Yield what was changed, and archives of which one member, or one that is new, contains an object.

    SciPy's ``_is_array`` is left out: nobody reads it.
    """
    objects = np.array([Payload(folder)] * 4, dtype=object)
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    for name in [*members.keys() - {"_is_array.npy"}, "other.npy", "period.npy", "symmetry.npy", "version.npy"]:
        plain = {"scalar": saved(objects[0:1].reshape(())), "version 2": saved(objects, (2, 0))}
        for kind, content in {"objects": saved(objects), "pickle": pickle.dumps(objects), **plain}.items():
            changed = io.BytesIO()
            with zipfile.ZipFile(changed, "w") as archive:
                for one, original in (members | {name: content}).items():
                    archive.writestr(one, content if one == name else original)
            yield f"{kind} in {name}", changed.getvalue()


def hostile_files(folder, payload):
    """Yield what was changed, and the path of a file that contains a pickle: in each member of each archive."""
    path = folder / "good.npz"
    for format in ds.formats():
        ds.write(path, ds.array(gallery.tridiagonal(6), format))
        for what, data in with_payloads(path.read_bytes(), payload):
            yield from written(folder / "hostile.npz", data, f"{format}: {what}")
    for format in ("csr", "csc", "coo", "dia", "bsr"):
        sparse.save_npz(path, sparse.csr_array(gallery.tridiagonal(6)).asformat(format))
        for what, data in with_payloads(path.read_bytes(), payload):
            yield from written(folder / "hostile.npz", data, f"SciPy's {format}: {what}")
    whole = pickle.dumps(Payload(payload))
    for name, data in {"all.npz": whole, "all.mtx": whole, "all.mtx.gz": gzip.compress(whole)}.items():
        yield from written(folder / name, data, f"a pickle as {name}")


def written(path, data, what):
    path.write_bytes(data)
    yield what, path


def read_all(folder):
    """Read all hostile files; return how many there were. For a process of its own, in which the hook stays."""
    payload, count = folder / "payload", 0
    ds.read(next(written(folder / "good.mtx", b"%%MatrixMarket matrix array real general\n1 1\n2\n", ""))[1])  # imports
    for what, path in hostile_files(folder, payload):
        try:
            with no_code():
                ds.read(path)
        except CodeRan:
            raise AssertionError(what) from None
        except ValueError as error:
            assert str(error).startswith(f"{path.name}: "), (what, error)
            count += 1
        else:
            raise AssertionError(f"{what} was read")
    assert not payload.exists()
    return count


def read_with_a_defect(folder):
    """Read a file with a pickle, by a reader that loads it, and that hides all errors as `ds.read` does."""
    data = with_payloads(written_matrix(folder), folder / "payload")
    _, path = next(written(folder / "hostile.npz", next(data)[1], ""))
    archives._Members = lambda archive, size: list(np.load(path, allow_pickle=True).values())
    try:
        with no_code():
            ds.read(path)
    except CodeRan as error:
        return str(error)
    raise AssertionError("the hook does not see a pickle that is loaded")


def written_matrix(folder):
    """Return the bytes of an archive."""
    ds.write(folder / "good.npz", ds.hm_array(gallery.tridiagonal(6)))
    return (folder / "good.npz").read_bytes()


def in_a_process(call, folder):
    """Return what a function of this module prints there, since audit hooks stay."""
    return python(f"""
        import sys
        from pathlib import Path
        sys.path[:0] = {[str(folder) for folder in Path(__file__).parents[:2]]!r}
        import test_io_untrusted
        print(test_io_untrusted.{call.__name__}(Path({str(folder)!r})))
    """)


def test_reading_never_unpickles(tmp_path):
    assert int(in_a_process(read_all, tmp_path)) > 400


def test_a_pickle_that_is_loaded_is_seen(tmp_path):
    assert "pickle.find_class" in in_a_process(read_with_a_defect, tmp_path)


@pytest.mark.parametrize("name", ["pickle", "cPickle", "dill", "cloudpickle", "joblib", "marshal", "shelve"])
def test_the_package_loads_no_objects(name):
    """No module imports one of these."""
    sources = "".join(path.read_text() for path in Path(ds.__file__).parent.rglob("*.py"))
    assert f"import {name}" not in sources and f"{name}.load" not in sources and "allow_pickle=True" not in sources
