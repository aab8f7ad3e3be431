"""QuTiP with our data layer: models, and host types that substitute for GPU types."""

from functools import cache

import numpy as np
import pytest

import diagsparse as ds

qutip = pytest.importorskip("qutip", reason="needs the extra qutip")
import diagsparse.qutip as layer  # noqa: E402
from diagsparse._qutip import layer as telling  # noqa: E402
from diagsparse._qutip import states  # noqa: E402

data = qutip.core.data
QUIET = {"progress_bar": None}


class HostSparse(layer.CudaSparse):
    """An operator on the host that is registered in QuTiP like one on a GPU."""

    device = "cpu"


class HostDense(layer.CudaDense):
    """A state in NumPy's arrays, with all that one on a GPU does."""

    library = "numpy"


data.to.add_conversions(
    [
        (HostSparse, layer.Sparse, lambda given: HostSparse(given.matrix, given.factor), 1),
        (layer.Sparse, HostSparse, lambda given: layer.Sparse(given.matrix, given.factor), 3),
        (HostDense, data.Dense, lambda given: HostDense(given.as_ndarray().copy()), 2),
        (data.Dense, HostDense, states.to_dense, 2),
    ]
)
data.to.register_group("diagsparse-host", dense=HostDense, sparse=HostSparse, diagonal=HostSparse)
telling.add_operators(HostSparse)
telling.add_states(HostDense, HostSparse)


@cache
def spin(which, site, spins):
    """Return an operator of one spin of a chain, in QuTiP's csr."""
    one = {"x": qutip.sigmax, "y": qutip.sigmay, "z": qutip.sigmaz, "-": qutip.sigmam}[which]()
    return qutip.tensor([one if i == site else qutip.qeye(2) for i in range(spins)]).to("csr")


def chain(spins):
    """Return a Heisenberg chain in QuTiP's csr, and a state in which every second spin is flipped."""
    H = sum(spin(s, i, spins) * spin(s, i + 1, spins) for s in "xyz" for i in range(spins - 1))
    return H.to("csr"), qutip.basis([2] * spins, [i % 2 for i in range(spins)])


def oscillator(levels):
    """Return a driven oscillator in QuTiP's dia, its lowering operator, and a state with three quanta."""
    a = qutip.destroy(levels, dtype="dia")
    return a.dag() * a + 0.3 * (a + a.dag()), a, qutip.fock(levels, 3)


def random_operator(seed, rows=12, cols=12):
    """Return a random banded complex Qobj in QuTiP's csr."""
    rng = np.random.default_rng(seed)
    dense = rng.normal(size=(rows, cols)) + 1j * rng.normal(size=(rows, cols))
    dense[abs(np.subtract.outer(range(rows), range(cols))) > 2] = 0
    return qutip.Qobj(dense).to("csr")


def same(ours, theirs, tolerance=1e-12):
    """Say whether two Qobj, or two numbers, agree."""
    a, b = (x.full() if isinstance(x, qutip.Qobj) else np.asarray(x) for x in (ours, theirs))
    return a.shape == b.shape and bool(np.allclose(a, b, rtol=0, atol=tolerance * max(1, abs(b).max(initial=0))))


def matrix_of(qobj):
    """Return the matrix of ours in an operator, or fail."""
    assert isinstance(qobj.data, layer.Sparse), type(qobj.data)
    assert ds.issparse(qobj.data.matrix)
    return qobj.data.matrix
