"""``python tests/fuzz``."""

import sys
from pathlib import Path

sys.path[0] = str(Path(__file__).resolve().parents[1])  # the tests' folder, of which this one is a package

from fuzz.command import main  # noqa: E402

sys.exit(main())
