"""The printed results of the thesis that introduced bmsparse: its matrices and times in milliseconds.

Tables 3.3 to 3.6 list the matrices by name, 3.7 to 3.9 by number. Ratios are computed from two columns of the same
table, so they do not depend on the matrix to which a line belongs.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Printed:
    """A matrix in table 3.2, the milliseconds of its square, and its origin.

    Tables 3.3 and 3.7 both contain times of the first version of the thesis, and these are nearly the same times in a
    different order: from table 3.6 on, they seem to be sorted by time, even if the rows have names. `ms` is the time in
    table 3.7 for the number of the matrix, `sorted_ms` the time at the position of the matrix in the sorted table 3.3.
    """

    name: str
    rows: int
    nnz: int
    blocks: int
    ms: float
    sorted_ms: float
    grid: tuple[int, ...] = ()  #: points along each axis of a grid on which only neighbours are coupled
    hubs: float = 0.0  #: exponent of the power law of a graph; without it and a grid, the matrix is a mesh


TABLE = (
    Printed("cryg10000", 10_000, 49_699, 8613, 0.89, 0.89, grid=(100, 100)),
    Printed("Goodwin_030", 10_142, 312_814, 20_728, 1.54, 2.15),
    Printed("ted_A_unscaled", 10_605, 424_587, 13_761, 2.15, 1.54),
    Printed("Goodwin_095", 100_037, 3_226_066, 203_725, 6.67, 9.88),
    Printed("matrix_9", 103_430, 2_121_550, 148_928, 9.48, 9.48),
    Printed("hcircuit", 105_676, 513_072, 90_082, 9.88, 6.67, hubs=0.8),
    Printed("webbase-1M", 1_000_005, 3_105_536, 550_761, 11.66, 17.50, hubs=0.7),
    Printed("t2em", 921_632, 4_590_832, 572_656, 17.50, 11.66, grid=(1388, 664)),
    Printed("atmosmodd", 1_270_432, 8_814_880, 1_410_884, 27.22, 27.22, grid=(58, 148, 148)),
)

FIRST_MS = {
    "baseline": (2.456, 7.209, 4.505, 46.048, 47.017, 33.566, 102.830, 45.829, 157.942),
    "indexed": (1.353, 3.646, 2.608, 24.468, 20.604, 18.346, 54.593, 23.388, 82.081),
}
"""Table 3.3: squares by the first version and with the indices of blocks as tasks, on an RTX 2080 Ti."""

SHARES = {
    "cryg10000": (23, 25, 51), "Goodwin_030": (24, 42, 33), "ted_A_unscaled": (21, 33, 44), "Goodwin_095": (24, 56, 19),
    "matrix_9": (24, 54, 21), "hcircuit": (22, 56, 20), "webbase-1M": (24, 58, 17), "t2em": (22, 53, 24),
    "atmosmodd": (25, 55, 19),
}  # fmt: skip
"""Table 3.4: percent of the sort, of the multiplication, and of the rest, with the indices of blocks as tasks."""

SORT_STAGES = (
    "vectors", "transform", "reduce_by_key", "transform", "exclusive_scan", "malloc", "copy", "sort", "copy", "total",
)  # fmt: skip
SORT_MS = {
    "cryg10000": (0.02, 0.03, 0.04, 0.02, 0.04, 0.13, 0.05, 0.37, 0.02, 0.71),
    "Goodwin_030": (0.12, 0.04, 0.05, 0.04, 0.03, 0.21, 0.08, 0.67, 0.03, 1.27),
    "ted_A_unscaled": (0.12, 0.02, 0.06, 0.02, 0.05, 0.18, 0.05, 0.63, 0.02, 1.15),
    "Goodwin_095": (0.18, 0.17, 0.16, 0.17, 0.05, 0.26, 0.33, 2.12, 0.23, 3.66),
    "matrix_9": (0.19, 0.16, 0.14, 0.15, 0.03, 0.21, 0.32, 2.09, 0.22, 3.53),
    "hcircuit": (0.17, 0.12, 0.12, 0.11, 0.04, 0.25, 0.23, 1.83, 0.15, 3.01),
    "webbase-1M": (0.29, 0.35, 0.39, 0.36, 0.18, 0.41, 0.71, 4.51, 0.49, 7.69),
    "t2em": (0.16, 0.16, 0.29, 0.15, 0.22, 0.29, 0.29, 1.77, 0.20, 3.53),
    "atmosmodd": (0.38, 0.58, 0.53, 0.61, 0.19, 0.49, 1.14, 5.85, 0.81, 10.58),
}
"""Table 3.5: the stages of T4 with the segmented sort, `SORT_STAGES`, on an RTX 2080 Ti."""

MULTIPLIED = ("tc_naive", "tc_2blk", "tc_2tsk", "cuda_cores")  #: the kernels of T6, in the order of table 3.6
MULTIPLY_MS = {
    "cryg10000": (0.02, 0.02, 0.02, 0.03), "Goodwin_030": (0.06, 0.07, 0.07, 0.08),
    "ted_A_unscaled": (0.09, 0.09, 0.09, 0.13), "Goodwin_095": (0.96, 0.77, 0.77, 1.08),
    "matrix_9": (1.35, 1.15, 1.14, 1.56), "hcircuit": (0.77, 0.81, 0.78, 1.17), "webbase-1M": (1.26, 1.07, 1.03, 1.50),
    "t2em": (2.46, 2.18, 2.12, 2.85), "atmosmodd": (4.11, 3.57, 3.47, 5.09),
}  # fmt: skip
"""Table 3.6: T6 by each of `MULTIPLIED`, on an RTX 3090 Ti."""

VERSIONS_MS = {
    "baseline": (2.54, 4.29, 6.03, 25.78, 33.59, 34.99, 35.21, 75.19, 115.46),
    "indexed": (1.29, 2.21, 3.13, 11.05, 14.89, 15.46, 17.85, 27.63, 46.30),
    "final": tuple(printed.ms for printed in TABLE),
}
"""Tables 3.7 and 3.8: squares by the first version, with indices as tasks, and with all that the thesis proposes, on an
RTX 3090 Ti."""

PEERS_MS = {
    "final": (0.92, 1.68, 2.45, 8.39, 10.93, 11.59, 14.38, 20.43, 33.56),
    "MKL csr": (2.00, 10.95, 7.52, 10.76, 52.93, 60.48, 22.96, 77.13, 54.72),
    "MKL bsr 2 x 2": (0.31, 6.78, 4.62, 7.88, 45.26, 44.44, 18.71, 65.14, 46.26),
    "cuSPARSE csr": (164.93, 166.20, 162.69, 179.55, 289.76, 187.03, 180.23, 581.99, 250.44),
}
"""Table 3.9: squares by the final version on an RTX 2080 Ti, by MKL on a Core i7-9750H, and by cuSPARSE 11.4."""

HEADLINE = 1.62  #: the harmonic mean of speedups of A x over cuSPARSE, from `FULL` nonzeros a block on (section 4.3)
FULL = 31
BATCH = "1.38x (up to 3x), 1385 of 1445"  #: batch over base: harmonic mean and maximum; base is faster for 60 matrices
ADAPTIVE = "up to 3x"  #: the adaptive choice over the segmented sort
