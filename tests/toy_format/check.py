"""What a user does with the toy format, compared with SciPy; run by tests/package/test_toy_format.py."""

import itertools
import pickle
import sys

import numpy as np
import scipy.sparse as sp

import diagsparse as ds

RNG = np.random.default_rng(0)


def entries(m, n, density, dtype):
    S = sp.random_array((m, n), density=density, rng=RNG, format="csr", data_sampler=RNG.standard_normal)
    return (S + 1j * S if np.dtype(dtype).kind == "c" else S).astype(dtype)


def check(S, device):
    A = ds.array(S, "pell", device=device)
    assert A.format == "pell" and A.nnz == S.nnz and A.nbytes == ds.forecast("convert", S, format="pell").result_nbytes
    assert (A.toarray() == S.toarray()).all() and (A.T.tocsr().toarray() == S.T.toarray()).all()
    n, tolerance = S.shape[1], dict(rtol=1e-4 if S.dtype.itemsize < 8 or S.dtype == "complex64" else 1e-12, atol=1e-4)
    for B, T in ((A, S), (A.T, S.T), (A.H, S.conj().T), (A.conj(), S.conj())):
        x, X = RNG.standard_normal(B.shape[1]), RNG.standard_normal((B.shape[1], 3))
        assert np.allclose(B @ x, T @ x, **tolerance) and np.allclose(B @ X, T @ X, **tolerance)
        assert np.allclose(B @ (x + 1j * x), T @ (x + 1j * x), **tolerance)
    C = A @ A.T
    assert np.allclose(C.toarray(), (S @ S.T).toarray(), **tolerance)
    total = A + 2 * A
    assert total.format == "pell" and np.allclose(total.toarray(), 3 * S.toarray(), **tolerance)
    again = pickle.loads(pickle.dumps(A))
    assert again.format == "pell" and (again.toarray() == S.toarray()).all()
    parts = A.to("cpu").parts()
    same = ds.pell_array((parts["values"], parts["indices"]), shape=S.shape)
    assert (same.toarray() == S.toarray()).all()
    for wrong in (parts["indices"] + n, parts["indices"][:, ::-1]):
        if S.nnz and (wrong != parts["indices"]).any():
            try:
                ds.pell_array((parts["values"], wrong), shape=S.shape)
            except ValueError:
                continue
            sys.exit("wrong indices were accepted")


for dtype, (m, n, density) in itertools.product(
    ("float32", "float64", "complex64", "complex128"), ((40, 30, 0.2), (7, 90, 0.5), (1, 1, 1.0), (5, 6, 0.0))
):
    for device in ("cpu", "cuda") if ds.cuda_available() else ("cpu",):
        check(entries(m, n, density, dtype), device)
assert "pell" in ds.formats() and ds.recommend(entries(200, 200, 0.1, "float64")).best.name
print("the toy format works")
