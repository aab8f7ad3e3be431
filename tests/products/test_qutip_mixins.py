"""QuTiP's own tests of a data layer on our types: its mix-in classes, through its dispatchers, on small matrices."""

import numpy as np
import pytest
from qutip_layers import HostDense, HostSparse, data, layer

pytestmark = pytest.mark.nightly

missing = "this QuTiP comes without its tests"
mathematics = pytest.importorskip("qutip.tests.core.data.test_mathematics", reason=missing)
expectation = pytest.importorskip("qutip.tests.core.data.test_expect", reason=missing)
norms = pytest.importorskip("qutip.tests.core.data.test_norm", reason=missing)
reshaping = pytest.importorskip("qutip.tests.core.data.test_reshape", reason=missing)
random = pytest.importorskip("qutip.tests.core.data.conftest", reason=missing)

CSR, Dense, Sparse, Data = data.CSR, data.Dense, layer.Sparse, data.Data
OURS, EVERY = [Sparse, HostSparse, HostDense], [CSR, Dense, Sparse, HostSparse, HostDense]
TOGETHER = [(Sparse, Sparse), (HostSparse, HostSparse), (HostDense, HostDense), (Sparse, CSR), (Sparse, Dense)]
TOGETHER += [(HostSparse, HostDense), (HostDense, CSR), (HostSparse, Sparse)]


def drawn(cls, shape, density):
    """Return a random matrix in one of the types, the same in every run. An operator of ours has a factor, too."""
    make = np.random.default_rng([*shape, EVERY.index(cls)])
    if cls.sparcity() == "dense":
        return data.to(cls, random.random_dense(shape, True, make))
    if density == 0:
        return data.zeros[cls](*shape)
    return data.mul(data.to(cls, random.random_csr(shape, density, False, make)), 2 - 1j)


def cases(cls, *densities):
    """Return a function that gives QuTiP the cases of a type for a shape, each a function without arguments."""
    return lambda shape: [pytest.param(lambda d=d: drawn(cls, shape, d), id=f"density {d}") for d in densities]


# QuTiP looks up the cases of a type in these two tables: those that have to be right, and those of wrong shapes.
mathematics._ALL_CASES.update({cls: cases(cls, 0.4, *([0] if cls is Sparse else [])) for cls in EVERY})
mathematics._RANDOM.update({cls: cases(cls, 0.4) for cls in EVERY})


def on_ours(mixin, *specialisations, size=9):
    """Return a test class of QuTiP's for other functions, each with the types of its arguments and of its result."""

    def small(shapes):
        return [[pytest.param(tuple(min(n, size) for n in p.values[0]), id=p.id) for p in row] for row in shapes]

    functions = [pytest.param(*given) for given in specialisations]
    own = {"shapes": small(mixin.shapes), "bad_shapes": small(mixin.bad_shapes)[::6], "specialisations": functions}
    return type(mixin.__name__, (mixin,), own)


def unary(function, out=None):
    """Return the specialisations of a function of one matrix, by default of those that stay in their type."""
    return [(function, cls, out or cls) for cls in OURS]


def binary(function, out=Data):
    """Return the specialisations of a function of two matrices."""
    return [(function, *pair, out) for a, b in TOGETHER for pair in dict.fromkeys([(a, b), (b, a)])]


def matmul_dag(left, right, scale=1):
    return data.matmul_dag(left, right.adjoint(), scale)


TestAdd = on_ours(mathematics.TestAdd, *binary(data.add))
TestSub = on_ours(mathematics.TestSub, *binary(data.sub))
TestMultiply = on_ours(mathematics.TestMultiply, *binary(data.multiply))
TestMatmul = on_ours(mathematics.TestMatmul, *binary(data.matmul))
TestMatmulDag = on_ours(mathematics.TestMatmulDag, *binary(matmul_dag))
TestKron = on_ours(mathematics.TestKron, *binary(data.kron), size=3)
TestExpect = on_ours(expectation.TestExpect, *binary(data.expect, complex))
TestExpectSuper = on_ours(expectation.TestExpectSuper, *binary(data.expect_super, complex))
TestInner = on_ours(mathematics.TestInner, *binary(data.inner, complex))

TestNeg = on_ours(mathematics.TestNeg, *unary(data.neg))
TestMul = on_ours(mathematics.TestMul, *unary(data.mul))
TestConj = on_ours(mathematics.TestConj, *unary(data.conj))
TestTranspose = on_ours(mathematics.TestTranspose, *unary(data.transpose))
TestAdjoint = on_ours(mathematics.TestAdjoint, *unary(data.adjoint))
TestPow = on_ours(mathematics.TestPow, *unary(data.pow, Data))
TestExpm = on_ours(mathematics.TestExpm, *unary(data.expm, Data))
TestProject = on_ours(mathematics.TestProject, *unary(data.project, Data))
TestTrace = on_ours(mathematics.TestTrace, *unary(data.trace, complex))
TestFrobenius = on_ours(norms.TestFrobeniusNorm, *unary(data.norm.frobenius, float))
TestOneNorm = on_ours(norms.TestOneNorm, *unary(data.norm.one, float))
TestColumnStack = on_ours(reshaping.TestColumnStack, *unary(data.column_stack, Data))
TestColumnUnstack = on_ours(reshaping.TestColumnUnstack, *unary(data.column_unstack, Data), size=100)
