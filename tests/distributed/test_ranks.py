"""All calls of `diagsparse.distributed` with 1 to 64 processes, which are threads here; see `tests/ranks.py`."""

import every_process
import every_vector
import pytest
import same_bits
from every_process import DTYPES, FORMATS, SHAPES, SPLITS


@pytest.mark.parametrize("size", [1, 5])
@pytest.mark.parametrize("format", FORMATS)
def test_every_format(ranks, size, format, tmp_path):
    """The types and splits of the rows differ from one number of processes to the next."""
    which = FORMATS.index(format) + size // 2
    for dtype, kind in ((DTYPES[which % 4], SPLITS[which % 3]), (DTYPES[(which + 2) % 4], "one row for most")):
        ranks(size, every_process.everything, format, dtype, kind, tmp_path)


@pytest.mark.parametrize("size", [16, 64])
@pytest.mark.parametrize("format", FORMATS)
def test_many_processes(ranks, size, format, tmp_path):
    which = FORMATS.index(format) + (size == 64)
    shapes = (SHAPES[which % 3],)
    ranks(size, every_process.everything, format, DTYPES[which % 4], SPLITS[which % 4], tmp_path, shapes, size == 64)


@pytest.mark.nightly
@pytest.mark.parametrize("size", [2, 9])
@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_all_splits(ranks, size, format, dtype, tmp_path):
    for kind in SPLITS:
        ranks(size, every_process.everything, format, dtype, kind, tmp_path)


@pytest.mark.parametrize("size", [1, 4])
def test_products_of_two_formats(ranks, size):
    for i, first in enumerate(FORMATS):
        for j, second in enumerate(FORMATS):
            dtype, kind = DTYPES[(i + j) % 4], SPLITS[(i + 2 * j + size) % 4]
            ranks(size, every_process.of_two_formats, (first, second), dtype, kind)


@pytest.mark.parametrize("size", [1, 4])
def test_recurrences(ranks, size):
    for i, format in enumerate(FORMATS):
        ranks(size, every_process.recurrences, format, DTYPES[1 + 2 * (i % 2)], SPLITS[(i + size) % 4])


@pytest.mark.parametrize("size", [1, 3, 10])
def test_reductions(ranks, size):
    for kind in SPLITS:
        ranks(size, every_vector.reductions, kind)


@pytest.mark.parametrize("size", [1, 5])
def test_solvers(ranks, size):
    for i, format in enumerate(FORMATS):
        ranks(size, every_process.solvers, format, DTYPES[i % 4], SPLITS[i % 4])


def test_arithmetic(ranks):
    for size in (1, 3, 40):
        ranks(size, every_vector.arithmetic)


def test_the_same_bits(ranks):
    one, *others = (ranks(size, same_bits.digests)[0] for size in (1, 3, 8))
    for found in others:
        assert not same_bits.differing(found, one)
