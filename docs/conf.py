"""The site of the docs: ``python -m sphinx docs FOLDER``, with the extra ``docs``."""

import sys
from pathlib import Path

import diagsparse

sys.path.insert(0, str(Path(__file__).parent / "_extensions"))

from links import KEPT_AT
from public_names import MOCKED

project = "diagsparse"
author = "the diagsparse developers"
release = version = diagsparse.__version__

extensions = ["sphinx.ext.autodoc", "sphinx.ext.autosummary", "numpydoc", "myst_parser"]
extensions += ["links", "reference", "reproducible"]  # of _extensions
exclude_patterns = ["_extensions"]
default_role = "py:obj"  # `name` in a docstring leads to the entry of that name, where there is one
html_theme = "furo"
html_title = f"diagsparse {release}"
html_theme_options = {
    "source_repository": "https://github.com/diagsparse/diagsparse",
    "source_branch": "main",
    "source_directory": "docs/",
}
html_static_path = ["_static"]
html_css_files = ["wide.css"]
toc_object_entries_show_parents = "hide"
html_copy_source = html_show_copyright = False
highlight_language = "text"  # of drawings, which name no language
linkcheck_ignore = [KEPT_AT, "https://doi.org/"]  # tests follow links into the repository; publishers refuse programs

myst_heading_anchors = 4  # as GitHub gives them
autosummary_generate = False  # the entries stand on the pages of the reference
autodoc_mock_imports = MOCKED
autodoc_typehints = "none"  # the docstrings tell the types
numpydoc_show_class_members = False
numpydoc_validation_checks = {  # sections and their order, parameters in the order of the signature, whole sentences
    "GL06", "GL07", "GL09", "GL10", "PR03", "PR05", "PR10", "RT04", "RT05", "SS01", "SS04",
}  # fmt: skip
