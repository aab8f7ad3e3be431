"""Damaged pickles: what they rebuild is refused with a reason, or a sound matrix."""

import io
import pickle
from itertools import islice
from typing import Any

import numpy as np

import diagsparse as ds
from fuzz import damage, surviving
from fuzz.case import Case as Case
from fuzz.parts import LABELS, good, shown
from fuzz.surviving import require_same, survive

BLOCK = 50  # cases per child process
NUMBERS = (*damage.EXTENTS, 3, 4, 7, 8, -(2**31), 2**33)


def prepare(plan: Any) -> None:
    """Nothing: the children have the library from here."""


def enter(plan: Any) -> None:
    """Prepare a child."""
    surviving.enter(plan)


def run(case: Case) -> None:
    """Load one damaged pickle."""
    A = good(case, case.pick(ds.formats()))
    A = case.pick([A, A.T, A.H, A.conj()])
    change = case.weighted({_state: 4, _bytes: 1, _batch: 0.5, _quaternions: 0.2})
    case.checks(f"pickles.{change.__name__.strip('_')}")
    case.note(repr(A).strip("<>"))
    change(case, A)


def _state(case: Case, A: Any) -> None:
    """What a pickle holds, with pieces changed: (format, parts, shape, op, packing)."""
    rebuild, state = A.__reduce__()
    pieces = [state[0], {name: np.array(part) for name, part in state[1].items()}, *state[2:]]
    for _ in range(case.pick([1, 1, 2])):
        kind = case.weighted({"part": 6, "shape": 2, "op": 1, "format": 1, "packing": 2, "parts": 1})
        case.note(kind)
        if kind == "part" and isinstance(pieces[1], dict) and pieces[1]:
            name = case.pick(list(pieces[1]))
            if isinstance(pieces[1][name], np.ndarray):
                pieces[1][name] = damage.array(case, pieces[1][name])
        elif kind == "parts" and isinstance(pieces[1], dict) and pieces[1]:
            pieces[1] = _other_parts(case, pieces[1])
        elif kind == "shape":
            pieces[2] = damage.shape(case, state[2])
        elif kind == "op":
            pieces[3] = case.pick([-1, 2, 3, 4, 7, 8, 1 << 40, 1.0, "N", None, True])
        elif kind == "format":
            pieces[0] = case.pick([*ds.formats(), "", "bsr", None, 7, b"dia", "DIA"])
        elif kind == "packing":
            pieces[4:] = [case.pick(["symmetric", "hermitian", None, *NUMBERS]), case.pick(["auto", None, *NUMBERS])]
    if case.chance(0.05):
        pieces = case.pick([pieces[:-1], [*pieces, None], [*pieces, None, None, None]])
    parts = pieces[1].items() if isinstance(pieces[1], dict) else []
    case.note(repr(pieces[:1]), shown([x for pair in parts for x in pair]), repr(pieces[2:]))
    survive(case, lambda: rebuild(*pieces))


def _batch(case: Case, A: Any) -> None:
    """What a pickle of a batch holds, in either order of its values, with a piece changed."""
    like = good(case, case.pick(list(LABELS))).unpacked()
    batch = ds.batch_array([like] * case.between(1, 3))
    batch = ds.interleaved_batch(batch) if case.chance(0.5) else batch
    rebuild, (values, like) = batch.__reduce__()
    if case.chance(0.6):
        values = damage.array(case, values)
    else:
        like = case.pick([A, like.T, like.copy(), like.astype(complex), None, 3, values])
    case.note(f"{batch!r}: {shown([values])} like {like!r}")
    survive(case, lambda: ds.batch_array(list(islice(rebuild(values, like), 4))))  # there may be 2^31 without values


def _quaternions(case: Case, A: Any) -> None:
    """What a pickle of quaternions holds, with one of the two matrices changed."""
    a = A.unpacked().copy()
    rebuild, parts = ds.quaternion_array([a.astype(complex)] * 2).__reduce__()
    pieces = list(parts)
    one = case.between(0, 1)
    other = good(case, case.pick([A.format, "csr"])).astype(complex)
    pieces[one] = case.pick([A, other, pieces[one].T, pieces[one].asformat("csr"), pieces[one].real, None, "A"])
    case.note(f"quaternions: {pieces!r}")
    made = survive(case, lambda: rebuild(*pieces).pair[one])
    if made is not None:
        require_same(made.toarray(), pieces[one].toarray(), f"{made!r}")


def _other_parts(case: Case, parts: dict[Any, Any]) -> Any:
    """Return parts of which one is missing, renamed, or another's."""
    name, other = case.pick(list(parts)), case.pick(list(parts))
    without = {key: part for key, part in parts.items() if key != name}
    exchanged, more = parts | {name: parts[other]}, parts | {"other": np.ones(3)}
    renamed, odd = without | {"other": parts[name]}, parts | {7: None}
    return case.pick([without, renamed, exchanged, more, odd, {}, None, list(parts.values())])


def _bytes(case: Case, A: Any) -> None:
    """The bytes of a pickle, changed where they are those of an array: elsewhere anything could be loaded."""
    data = bytearray(pickle.dumps(A, protocol=4))
    for name, part in A._matrix.parts().items():
        raw = part.tobytes()
        at = bytes(data).rfind(raw) if len(raw) > 8 else -1  # the first one may begin in the length before it
        if at >= 0 and case.chance(0.7):
            case.note("bytes of", name)
            changed = damage.raw(case, raw)[: len(raw)].ljust(len(raw), b"\0")
            data[at : at + len(raw)] = changed
    survive(case, lambda: _Loader(io.BytesIO(bytes(data))).load())


class _Loader(pickle.Unpickler):
    """Loads what pickles of matrices name, and nothing else."""

    def find_class(self, module: str, name: str) -> Any:
        if module.split(".")[0] not in ("numpy", "diagsparse", "ml_dtypes", "_codecs"):
            raise ValueError(f"a pickle that names {module}.{name}")
        return super().find_class(module, name)
