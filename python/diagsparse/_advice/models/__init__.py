"""A performance model for each format in which products can be fast."""

from .blocks import BLOCKS
from .diagonals import DIAGONALS
from .masked_diagonals import MASKED_DIAGONALS
from .model import Model
from .quasi_bands import QUASI_BANDS
from .rows import ROWS

__all__ = ["MODELS", "Model"]

MODELS: dict[str, Model] = {one.format: one for one in (*DIAGONALS, *MASKED_DIAGONALS, *QUASI_BANDS, *BLOCKS, *ROWS)}
