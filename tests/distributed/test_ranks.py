"""All calls of `diagsparse.distributed` with 1 to 64 processes, which are threads here; see `tests/ranks.py`."""

import every_process
import pytest
from every_process import DTYPES, FORMATS, SPLITS
from ranks import ranks  # noqa: F401

import diagsparse as ds


@pytest.fixture(autouse=True)
def one_thread():
    ds.set_num_threads(1)


@pytest.mark.parametrize("size", [1, 5, 16])
@pytest.mark.parametrize("format", FORMATS)
def test_every_format(ranks, size, format, tmp_path):
    for i, dtype in enumerate(DTYPES):
        ranks(size, every_process.everything, format, dtype, SPLITS[i], tmp_path)


@pytest.mark.parametrize("format", FORMATS)
def test_64_processes(ranks, format, tmp_path):
    for i in range(2):
        ranks(64, every_process.everything, format, "complex64", SPLITS[3 * i], tmp_path, True)
