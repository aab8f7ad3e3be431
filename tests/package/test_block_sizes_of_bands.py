"""The sizes of blocks that forecasts count with are those of the kernels for bands on a GPU."""

import re
from pathlib import Path

from diagsparse._products import banded_sizes

BANDED = Path(__file__).resolve().parents[2] / "src" / "cuda" / "kernels" / "banded"


def test_block_sizes():
    source = (BANDED / "factors.cu").read_text()
    limits = re.findall(r"if \(rows <= (\d+)\) return f\(std::integral_constant<int, (\d+)>\(\)\);", source)
    largest = re.search(r"constexpr int kMostSmall = (\d+);", source)[1]
    assert [one for one, _ in limits] == [other for _, other in limits]
    assert tuple(int(one) for one, _ in [*limits, (largest, "")]) == banded_sizes._SMALL_BLOCKS
    reach = re.search(r"constexpr int kMostReach = (\d+);", (BANDED / "band.cuh").read_text())[1]
    assert int(reach) == banded_sizes.MOST_REACH
    for rows, block in ((1, 2), (4, 5), (8, 8), (9, 10), (63, 64)):
        values = 3 * block * block * (2 + 1 + 2) + 1024
        assert banded_sizes.stored_values(2 * block, rows, 0) == values
