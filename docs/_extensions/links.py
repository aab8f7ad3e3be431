"""Links of the pages, which are written for readers of the repository, lead to the site where it has the page.

What is not on the site, such as source code, is linked where it is kept. Pictures are copied.
"""

import os
import re
from pathlib import Path

DOCS = Path(__file__).resolve().parents[1]
ROOT = DOCS.parent
KEPT_AT = "https://github.com/diagsparse/diagsparse"
INCLUDED = {  # pages of the repository that a page of the site includes
    "README.md": "start.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "benchmarks/README.md": "measuring.md",
}
LINK = re.compile(r"(?<=\]\()(?![a-z]+:|#)([^)\s#]+)")
FENCED = re.compile(r"(^```.*?^```)", re.M | re.S)


def relinked(text, written_in, shown_in):
    """Return Markdown that was written for one folder with links that hold in another one, which the site shows."""

    def target(link):
        meant = (written_in / link[1]).resolve()
        name = meant.relative_to(ROOT).as_posix()
        if name in INCLUDED:
            meant = DOCS / INCLUDED[name]
        elif DOCS not in meant.parents and meant.suffix != ".png":
            return f"{KEPT_AT}/{'tree' if meant.is_dir() else 'blob'}/main/{name}"
        return os.path.relpath(meant, shown_in)

    parts = FENCED.split(text)
    return "".join(part if part.startswith("```") else LINK.sub(target, part) for part in parts)


def read(app, docname, source):
    folder = (DOCS / docname).parent
    source[0] = relinked(source[0], folder, folder)


def included(app, path, parent, source):
    source[0] = relinked(source[0], (DOCS / path).resolve().parent, DOCS)


def setup(app):
    app.connect("source-read", read)
    app.connect("include-read", included)
    return {"parallel_read_safe": True}
