"""Why a quasi-band matrix has the bands that it has: the bytes of this choice beside those of others."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from .._backends.memory import human
from .._matrix.summary import Summary
from .._show import columns
from . import bands


@dataclass(frozen=True)
class Choice:
    """One choice of diagonals for the bands."""

    properties: bands.BandProperties
    bands_nbytes: int  # of the bands
    rest_nbytes: int  # of the entries beside them, in coosr

    @property
    def nbytes(self) -> int:
        """Bytes of the matrix."""
        return self.bands_nbytes + self.rest_nbytes


@dataclass(frozen=True)
class PartitionReport:
    """The choices of diagonals that a matrix could have, by name; lines by `str()`, plain values by `to_dict()`."""

    choices: dict[str, Choice]
    rows: int
    pays_from: int  # entries from which a diagonal takes fewer bytes in the bands
    of_a_copy: bool = False  # of a transposed view: the bytes are those of a copy of it

    def to_dict(self) -> dict[str, Any]:
        """All fields, ready for JSON."""
        return {
            "rows": self.rows,
            "pays_from": self.pays_from,
            "of_a_copy": self.of_a_copy,
            "choices": {
                name: asdict(choice.properties)
                | {"bands_nbytes": choice.bands_nbytes, "rest_nbytes": choice.rest_nbytes, "nbytes": choice.nbytes}
                for name, choice in self.choices.items()
            },
        }

    def __str__(self) -> str:
        cells = [["partition", "bands", "diagonals", "full", "hold", "bytes of bands", "of the rest", "in all"]]
        for name, choice in self.choices.items():
            found = choice.properties
            counts = [str(found.band_count), str(found.diagonal_count)]
            percentages = [f"{p:.1f} %" for p in (found.band_occupancy, found.band_percentage)]
            sizes = [human(size) for size in (choice.bands_nbytes, choice.rest_nbytes, choice.nbytes)]
            cells.append([name, *counts, *percentages, *sizes])
        threshold = f"A diagonal takes fewer bytes in the bands from {self.pays_from} entries on, of {self.rows} rows."
        note = ["The matrix is a transposed view; the bytes are those of a copy of it."] * self.of_a_copy
        return "\n".join([*columns.columns(cells, "<" + ">" * 7), threshold, *note])


def report(s: Summary, chosen: bands.Offsets, of_a_copy: bool = False) -> PartitionReport:
    """Return the report of a matrix with this choice."""
    rows, item = s.shape[0], s.itemsize
    row_nbytes = rows * item + 8  # of a diagonal
    choices = {
        "this one": chosen,
        "bytes": bands.by_bytes(rows, item, s.offsets, s.fill),
        "paper": bands.by_occupancy(rows, s.offsets, s.fill),
        "no bands": np.zeros(0, np.int64),
        "every diagonal": s.offsets,
    }
    result = {
        name: Choice(
            bands.properties(s.shape, s.offsets, s.fill, offsets),
            len(offsets) * row_nbytes,
            (s.entries - bands.entries_on(offsets, s.offsets, s.fill)) * (item + 8) + 8 * (rows + 1),
        )
        for name, offsets in choices.items()
    }
    return PartitionReport(result, rows, row_nbytes // (item + 8) + 1, of_a_copy)
