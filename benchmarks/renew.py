"""Store an experiment's figures anew, and put their tables in the place of the old ones in the docs.

    python benchmarks/renew.py beside-blas                          # measures on this machine's CPU
    python benchmarks/renew.py diagsparse-bench-cuda-wide.json      # takes a run from elsewhere, its picture beside it

The first runs `diagsparse bench NAME`, the second measures nothing. The JSON and the picture replace the stored ones of
the same experiment and device. Where no run of this GPU is stored yet, the docs have no place for it.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

from diagsparse._study.bench_command import experiments

ROOT = Path(__file__).resolve().parents[1]


def main(what):
    """Measure where a name is given; store and replace."""
    if what.endswith(".json"):
        store(Path(what))
        return
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, "-m", "diagsparse", "bench", what, "--out", folder], check=True)
        store(Path(folder) / f"diagsparse-bench-{what}.json")


def store(made):
    """Put a run and its picture in the place of the stored one, and its tables in the place of the old ones."""
    report = json.loads(made.read_text())
    stored = stored_like(report)
    old, module = json.loads(stored.read_text()), experiments()[report["experiment"]]
    if not replaced(module.markdown(old), module.markdown(report)):
        raise SystemExit(f"renew: no page of the docs holds the table of {stored.name}")
    if hasattr(module, "summary"):
        replaced(module.summary(old), module.summary(report))
    stored.write_text(by_rows(report))
    stored.with_suffix(".png").write_bytes(made.with_suffix(".png").read_bytes())


def by_rows(report):
    """Return a report as JSON, a row on a line: files are short, and differences show which rows changed."""
    rows = ",\n".join(f"  {json.dumps(row)}" for row in report["rows"])
    return json.dumps(report | {"rows": []}, indent=1).replace('"rows": []', f'"rows": [\n{rows}\n ]', 1) + "\n"


def replaced(old, new):
    """Replace a text on all pages of the docs that hold it, and return whether any does."""
    pages = [page for page in (ROOT / "docs").rglob("*.md") if old in page.read_text()]
    for page in pages:
        page.write_text(page.read_text().replace(old, new))
    return bool(pages)


def stored_like(report):
    """Return the file of the stored run of this experiment on this kind of device."""
    name, gpu = report["experiment"], report["hardware"].get("gpu", "")
    kind = gpu.split()[1].lower() if report["device"] == "cuda" else "cpu-*-cores"
    found = list((ROOT / "benchmarks" / "results").glob(f"{kind}-{name}.json"))
    if len(found) != 1:
        raise SystemExit(f"renew: {len(found)} stored results match {kind}-{name}.json, expected one")
    return found[0]


if __name__ == "__main__":
    main(*sys.argv[1:])
