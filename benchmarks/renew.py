"""Update the stored results that are printed in README, docs and notebooks: `python -m benchmarks.renew`.

With the name of an experiment, such as `python -m benchmarks.renew against-blas`, it is run on the CPU of this machine
first, and its JSON and picture replace the stored ones.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

from . import printed


def measure(name: str) -> None:
    """Run an experiment, and store its files."""
    (stored,) = printed.RESULTS.glob(f"cpu-*-cores-{name}.json")
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, "-m", "benchmarks", name, "--out", folder], check=True, cwd=printed.ROOT)
        written = Path(folder) / f"diagsparse-bench-{name}.json"
        stored.write_text(written.read_text())
        stored.with_suffix(".png").write_bytes(written.with_suffix(".png").read_bytes())


def main(*names: str) -> None:
    """Run the named experiments, and update all pages."""
    for name in names:
        measure(name)
    for page in printed.pages():
        if printed.rewrite(page, printed.renewed):
            print(f"wrote {page.relative_to(printed.ROOT)}")


if __name__ == "__main__":
    main(*sys.argv[1:])
