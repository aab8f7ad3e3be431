# ruff: noqa: I001  (the order of the imports is the order in which formats are listed)
"""The matrix classes. Each format has a file; csr and csc share one, and so do coosr and coosc."""

from .dia import dia_array
from .hm import hm_array
from .cdm import cdm_array
from .mdia import mdia_array
from .compressed import csr_array, csc_array
from .coo import coo_array
from .sorted_coo import coosr_array, coosc_array
from .ell import ell_array
from .hyb import hyb_array
from .sell import sell_array
from .jds import jds_array
from .csb import csb_array
from .ellcsr import ellcsr_array
from .qband import qband_array
from .bmsparse import bmsparse_array

__all__ = [
    "bmsparse_array", "cdm_array", "coo_array", "coosc_array", "coosr_array", "csb_array", "csc_array", "csr_array",
    "dia_array", "ell_array", "ellcsr_array", "hm_array", "hyb_array", "jds_array", "mdia_array", "qband_array",
    "sell_array",
]  # fmt: skip
