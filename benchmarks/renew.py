"""Print the stored results anew in README, docs and notebooks: `python -m benchmarks.renew`.

With the name of an experiment, `python -m benchmarks.renew beside-blas`, that is measured on this machine's CPU before:
its JSON and its picture take the place of the stored ones.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

from . import printed


def measure(name: str) -> None:
    """Run an experiment and store what it writes."""
    (stored,) = printed.RESULTS.glob(f"cpu-*-cores-{name}.json")
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, "-m", "benchmarks", name, "--out", folder], check=True, cwd=printed.ROOT)
        made = Path(folder) / f"diagsparse-bench-{name}.json"
        stored.write_text(made.read_text())
        stored.with_suffix(".png").write_bytes(made.with_suffix(".png").read_bytes())


def main(*names: str) -> None:
    """Measure, store and print."""
    for name in names:
        measure(name)
    for page in printed.pages():
        if printed.rewrite(page, printed.renewed):
            print(f"wrote {page.relative_to(printed.ROOT)}")


if __name__ == "__main__":
    main(*sys.argv[1:])
