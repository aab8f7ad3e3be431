"""Measure an experiment anew on this machine's CPU: `python benchmarks/renew.py beside-blas`.

Runs `diagsparse bench NAME`, puts its JSON and its picture in the place of the stored ones, and its table in the place
of the old one in the docs.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

from diagsparse._study.bench_command import experiments

ROOT = Path(__file__).resolve().parents[1]


def main(name):
    """Measure, store and replace."""
    markdown = experiments()[name].markdown
    (stored,) = (ROOT / "benchmarks" / "results").glob(f"cpu-*-cores-{name}.json")
    page = ROOT / "docs" / "benchmarks.md"
    old = markdown(json.loads(stored.read_text()))
    if old not in (text := page.read_text()):
        raise SystemExit(f"renew: {page.name} does not hold the table of {stored.name}")
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, "-m", "diagsparse", "bench", name, "--out", folder], check=True)
        made = Path(folder) / f"diagsparse-bench-{name}.json"
        report = json.loads(made.read_text())
        stored.write_text(made.read_text())
        stored.with_suffix(".png").write_bytes(made.with_suffix(".png").read_bytes())
    page.write_text(text.replace(old, markdown(report)))


if __name__ == "__main__":
    main(*sys.argv[1:])
