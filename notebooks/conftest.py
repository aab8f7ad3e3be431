"""`pytest --nbmake notebooks` leaves out the notebook that needs PySCF where PySCF is not installed."""

from importlib.util import find_spec

collect_ignore = [] if find_spec("pyscf") else ["06_molecule.ipynb"]
