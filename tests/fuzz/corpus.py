"""Good files and their members, for others to damage."""

import gzip
import io
from typing import Any

import numpy as np
import scipy.io
import scipy.sparse as sp

import diagsparse as ds
from fuzz.arrays import VALUE, numbers
from fuzz.case import Case
from fuzz.matrices import as_scipy
from fuzz.parts import good


def text(case: Case) -> bytes:
    """Return a Matrix Market file."""
    if case.chance(0.3):
        return _by_hand(case)
    a = good(case, "coo").to_scipy().copy()
    if case.chance(0.2):
        a = abs(a).astype(case.pick([np.int64, np.uint8]))
    a = a.toarray() if case.chance(0.3) and min(a.shape) else a  # SciPy does not come to an end with no columns
    data = io.BytesIO()
    scipy.io.mmwrite(data, a, comment=case.pick(["", "a comment", "1 2 3"]), symmetry=case.pick([None, "general"]))
    return data.getvalue()


def _by_hand(case: Case) -> bytes:
    """Return a file as other programs write it: blank lines, comments, all symmetries and fields."""
    layout = case.pick(["coordinate", "array"])
    field = case.pick(["real", "integer", "complex", "pattern", "double", "unsigned-integer"])
    symmetry = case.pick(["general", "symmetric", "skew-symmetric", "hermitian"])
    m = case.between(0, 6)
    n = m if symmetry != "general" else case.between(0, 6)
    number = {"real": "1.5", "complex": "1.5 -2e3", "pattern": ""}.get(field, "3")
    below = [
        (i, j)
        for j in range(n)
        for i in range(m)
        if symmetry == "general" or i > j or (i == j and "skew" not in symmetry)
    ]
    positions = below if layout == "array" else case.some(below, len(below))
    lines = [number] * len(positions) if layout == "array" else [f"{i + 1} {j + 1} {number}" for i, j in positions]
    sizes = f"{m} {n}" if layout == "array" else f"{m} {n} {len(positions)}"
    space = case.pick(["\n", "\n", "\r\n", " \n", "\n\n"])
    return space.join([f"%%MatrixMarket matrix {layout} {field} {symmetry}", "% comment", sizes, *lines, ""]).encode()


def archive(case: Case) -> dict[str, np.ndarray]:
    """Return the members of an ``.npz`` file, ours or SciPy's."""
    path = case.folder / "good.npz"
    if case.chance(0.65):
        ds.write(path, good(case, case.pick(ds.formats())))
    else:
        a: Any = as_scipy(good(case, "csr"), case.pick(["csr", "csc", "coo", "dia", "bsr"]))
        a = a.astype(case.pick([np.int32, np.bool_])) if case.chance(0.1) and a.dtype.kind == "f" else a
        a = sp.coo_array(numbers(case, 5, case.pick(VALUE))) if case.chance(0.03) else a
        sp.save_npz(path, a, compressed=case.chance(0.5))
    with np.load(path) as members:
        return dict(members)


def compressed(case: Case, data: bytes) -> bytes:
    """Return these bytes by gzip, perhaps in several members."""
    cut = case.between(0, len(data)) if case.chance(0.2) else 0
    return (gzip.compress(data[:cut], 1) if cut else b"") + gzip.compress(data[cut:], 1)
