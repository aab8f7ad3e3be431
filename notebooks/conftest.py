"""`pytest --nbmake notebooks` leaves out the notebooks whose packages are not installed."""

from importlib.util import find_spec

NEEDED = {"06_molecule.ipynb": "pyscf", "08_driven_chain.ipynb": "jax"}
collect_ignore = [name for name, package in NEEDED.items() if not find_spec(package)]
