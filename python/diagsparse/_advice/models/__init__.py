"""What advice knows of each format: a model for each that products can be fast in.

Those come first for which, once they are known, many others need no look.
"""

from .blocks import BLOCKS
from .diagonals import DIAGONALS
from .hollow import HOLLOW
from .model import Model
from .quasi_bands import QUASI_BANDS
from .rows import ROWS

__all__ = ["MODELS", "Model"]

MODELS: dict[str, Model] = {one.format: one for one in (*HOLLOW, *DIAGONALS, *QUASI_BANDS, *BLOCKS, *ROWS)}
