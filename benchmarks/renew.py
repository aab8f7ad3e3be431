"""Print the stored results anew in README, docs and notebooks: `python benchmarks/renew.py`.

With the name of an experiment, `python benchmarks/renew.py beside-blas`, that is measured on this machine's CPU before:
its JSON and its picture take the place of the stored ones.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

import printed


def measure(name):
    """Run `diagsparse bench NAME` and store what it writes."""
    (stored,) = printed.RESULTS.glob(f"cpu-*-cores-{name}.json")
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, "-m", "diagsparse", "bench", name, "--out", folder], check=True)
        made = Path(folder) / f"diagsparse-bench-{name}.json"
        stored.write_text(made.read_text())
        stored.with_suffix(".png").write_bytes(made.with_suffix(".png").read_bytes())


def main(*names):
    """Measure, store and print."""
    for name in names:
        measure(name)
    for page in printed.pages():
        if printed.rewrite(page, printed.renewed):
            print(f"wrote {page.relative_to(printed.ROOT)}")


if __name__ == "__main__":
    main(*sys.argv[1:])
