"""What users write with the library: mypy and pyright accept every line, and `test_types.py` runs it."""

from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import LinearOperator, aslinearoperator, cg

import diagsparse as ds

n = 60
x = np.linspace(0.0, 1.0, n)

# ---- creating ----
A = ds.diags([-1.0, 2.0, -1.0], [-1, 0, 1], shape=(n, n))
B = ds.array(sp.random_array((n, n), density=0.1, rng=0), "csr")
C = ds.array(np.eye(n))
one = ds.eye(n)
K = ds.kron(ds.eye(2), A)
G = ds.gallery.tridiagonal(n)
H = ds.hm_array(G, dtype=np.float32)
S = ds.csr_array((n, n))
D = ds.block_diag([A, A], format="hm")
W = ds.hstack([A, B])
V = ds.vstack([A, B], format="csr")
E = ds.ell_array(B)
Z = ds.csr_array((np.ones(3), np.arange(3), np.array([0, 1, 2, 3])), shape=(3, 3))

# ---- attributes ----
shape: tuple[int, int] = A.shape
rows = A.shape[0]
dtype: np.dtype = A.dtype
nbytes: int = A.nbytes
name: str = A.format
device: str = A.device
values: np.ndarray = A.values
offsets: np.ndarray = A.offsets
count: int = A.nnz
kernels: list[str] = A.kernels("matvec")
parts: dict[str, np.ndarray] = A.parts()

# ---- arithmetic ----
T = A.T
sums = A + A
differences = A - B
doubled = 2 * A
twice: np.ndarray = (2 * A).T.offsets
both: np.ndarray = (A + 2 * A @ A - A / 3).offsets
scaled = A * 2.0
halved = A / 2
negative = -A
product = A @ A
powers = A @ A.T @ A
y = A @ x
z = x @ A
Y = A @ np.ones((n, 4))
hadamard = A.multiply(B)
adjoint = A.H + A.conj()
squares = A**2
absolute = abs(A)
A_copy = A.copy()
A_copy *= 2.0
mixed = A @ B + 0.5 * C - one

# ---- elements ----
element = A[1, 2]
total = A.sum()
row_sums = A.sum(axis=1)
mean = A.mean()
diagonal = A.diagonal()
trace = A.trace()
block = A[2:10, 3:9]
row = A[4]
largest = A.max()

# ---- conversions ----
as_csr = A.asformat("csr")
as_scipy = A.to_scipy("csr")
dense: np.ndarray = A.toarray()
single = A.astype(np.float32)
back = ds.array(as_scipy, "hm")
csr = A.tocsr()
indices: np.ndarray = B.indices
sparse: bool = ds.issparse(A)

# ---- products ----
plan = ds.plan_matmul(A, B)
planned = plan(A, B, out=plan())
again = plan().T
result_nbytes: int = plan.nbytes
C2 = ds.matmul(A, A, format="hm")
v = A.matvec(x, alpha=2.0)
F = ds.factorized(A)
w = F.solve(x)
u = ds.solve(A, x)
u, how = ds.solve(A, x, tol=1e-10, report=True)
chain = ds.power_multiply(A, x, 3)
norm: float = ds.norm(A)
commuted = ds.commutator(A, A)
advice = ds.recommend(A)
best = advice.build()
method: str = ds.recommend(A, "solve").method
report = ds.analyze(A)

# ---- SciPy, files ----
operator: LinearOperator = aslinearoperator(A)
solution, info = cg(A, x)
with TemporaryDirectory() as folder:
    ds.write(Path(folder) / "a.npz", A)
    loaded = ds.read(Path(folder) / "a.npz")
    same = (loaded - A).count_nonzero() == 0
