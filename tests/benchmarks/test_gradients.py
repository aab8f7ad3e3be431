"""The experiment on gradients: a small run with the libraries that are installed, its tables and its picture."""

from importlib.util import find_spec

import pytest
from described_rows import require_described

from benchmarks.studies.gradients import GRADIENTS, LIBRARIES


@pytest.fixture(autouse=True)
def restored_precision():
    """The experiment lets JAX use float64."""
    before = pytest.importorskip("jax").config.jax_enable_x64 if find_spec("jax") else None
    yield
    if before is not None:
        pytest.importorskip("jax").config.update("jax_enable_x64", before)


@pytest.mark.nightly
def test_a_small_run(device, tmp_path, no_bandwidth):
    made = GRADIENTS.run(device=device, quick=True)
    require_described(made)
    assert made["ok"], [row["failed"] for row in made["rows"]]
    present = [name for library, name in LIBRARIES.items() if find_spec(library)]
    columns = {"diagsparse A x", *(f"{name} {what}" for name in present for what in ("A x", "gradients"))}
    assert all(set(row["times"]) == columns and all(row["times"].values()) for row in made["rows"])
    text = GRADIENTS.text(made)
    assert "diagonals" in text and all(f"{name} gradients, in products" in text for name in present)
    pytest.importorskip("matplotlib")
    assert GRADIENTS.plot(made, tmp_path / "gradients.png").stat().st_size > 10_000
