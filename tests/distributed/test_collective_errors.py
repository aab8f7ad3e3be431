"""Errors of one process: all of them raise, and go on working."""

import pytest
import wrong_calls


@pytest.mark.parametrize("size", [1, 2, 5])
def test_wrong_calls_raises(ranks, size, tmp_path):
    ranks(size, wrong_calls.errors, tmp_path)
