"""The report of a quasi-band matrix: the bytes of its choice of band diagonals, compared with other choices."""

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
    """A choice of the diagonals that are stored as bands."""

    properties: bands.BandProperties
    bands_nbytes: int
    rest_nbytes: int  # of the other entries, in coosr

    @property
    def nbytes(self) -> int:
        """Bytes of the matrix."""
        return self.bands_nbytes + self.rest_nbytes


@dataclass(frozen=True)
class PartitionReport:
    """Choices of the band diagonals of a matrix, by name. `str()` gives a table, `to_dict()` plain values."""

    choices: dict[str, Choice]
    rows: int
    min_entries: int  # the fewest entries with which a diagonal needs fewer bytes in the bands
    of_a_copy: bool = False  # whether the matrix is a transposed view, and the bytes are those of a copy

    def to_dict(self) -> dict[str, Any]:
        """Return all fields as plain values, for JSON."""
        sizes = ("bands_nbytes", "rest_nbytes", "nbytes")
        choices = {
            name: asdict(choice.properties) | {size: getattr(choice, size) for size in sizes}
            for name, choice in self.choices.items()
        }
        return {"rows": self.rows, "min_entries": self.min_entries, "of_a_copy": self.of_a_copy, "choices": choices}

    def __str__(self) -> str:
        cells = [["choice", "bands", "diagonals", "occupancy", "entries", "bytes of bands", "of the rest", "total"]]
        for name, choice in self.choices.items():
            found = choice.properties
            counts = [str(found.band_count), str(found.diagonal_count)]
            percentages = [f"{p:.1f} %" for p in (found.band_occupancy, found.band_percentage)]
            sizes = [human(size) for size in (choice.bands_nbytes, choice.rest_nbytes, choice.nbytes)]
            cells.append([name, *counts, *percentages, *sizes])
        threshold = (
            f"A diagonal needs fewer bytes in the bands from {self.min_entries} entries on, of {self.rows} rows."
        )
        note = ["The matrix is a transposed view; the bytes are those of a copy of it."] * self.of_a_copy
        return "\n".join([*columns.columns(cells, "<" + ">" * 7), threshold, *note])


def report(s: Summary, chosen: bands.Offsets, of_a_copy: bool = False) -> PartitionReport:
    """Return the report of a matrix whose bands are the `chosen` diagonals."""
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
