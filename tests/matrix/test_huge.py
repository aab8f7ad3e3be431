"""Huge shapes, and memory that runs out, in processes of their own with a limit of memory."""

from cases import DIAGONAL
from processes import python

HUGE = f"""
    import numpy as np, scipy.sparse as sp, time
    import diagsparse as ds
    def refused(run):
        start = time.perf_counter()
        try:
            result = run()
        except (MemoryError, ValueError) as error:
            assert str(error), "an empty message"
            assert time.perf_counter() - start < 5
            return
        raise AssertionError(f"no error: {{result!r}}")
    DIAGONAL = {DIAGONAL}
"""


def test_huge_shapes_are_refused_promptly():
    """In a process of its own, limited to 6 GB: no crash, and no long allocation."""
    python(
        HUGE
        + """
    for n in (2**31, 2**40, 2**61):
        sparse = ds.hm_array((n, n))
        for format in ds.formats():
            cls = getattr(ds, format + "_array")
            refused(lambda: cls(np.eye(3), shape=(n, n)))
            if format in DIAGONAL:
                refused(lambda: cls((np.ones(5) if format == "hm" else np.ones((1, 5)), [0]), shape=(n, n)))
            else:
                refused(lambda: sparse.asformat(format))
                refused(lambda: cls((np.ones(1), ([n - 1], [n - 1])), shape=(n, n)))
        refused(lambda: sparse.toarray())
        refused(lambda: sparse + np.ones((1, 1)))
        refused(lambda: sparse @ np.ones(3))
        refused(lambda: sparse.sum(axis=0))
        refused(lambda: sparse + np.ones((3, 3)))
    """,
        memory=6 << 30,
    )


def test_arrays_whose_elements_share_memory_are_refused():
    """A broadcast array has any size. A copy is refused before memory is taken, without a limit of the process."""
    python(
        HUGE
        + """
    many = lambda value: np.broadcast_to(np.array(value), 2**42)
    def no_room(run):
        try:
            run()
        except MemoryError as error:
            assert "would need" in str(error) and "are free" in str(error), error
            return
        except ValueError:  # of other sizes than the other arrays
            return
        raise AssertionError("no error")
    B = ds.array(sp.random_array((20, 20), density=0.2, rng=1), "csr")
    for format in ds.formats():
        cls, A = getattr(ds, format + "_array"), B.asformat(format)
        for name in A.parts():
            parts = dict(A.parts())
            if parts[name].ndim == 1 and parts[name].size:
                parts[name] = many(parts[name].ravel()[0])
                no_room(lambda: cls(parts, shape=A.shape, copy=True))
    no_room(lambda: ds.csr_array((many(np.float32(1)), [0], [0, 1]), shape=(1, 1), dtype="complex64"))
    no_room(lambda: ds.hm_array((many(1.0), [0]), shape=(3, 3), copy=True))
    no_room(lambda: ds.dia_array((np.ones((1, 3)), many(0)), shape=(3, 3)))
    X = np.broadcast_to(1.0, (20, 2**38))
    for Y in (X, np.broadcast_to(np.float32(1), X.shape)):
        no_room(lambda: ds.sampled_product(B, X, Y))
        no_room(lambda: ds.sampled_product(B, Y, X))
    """
    )


def test_huge_but_empty_matrices_cost_nothing():
    python(
        HUGE
        + """
    n = 2**40
    for cls in (getattr(ds, format + "_array") for format in DIAGONAL):
        A = cls((n, n))
        assert A.shape == (n, n) and A.nnz == 0 and A.nbytes < 100
        assert (A @ A).nnz == 0 and (A + A).nnz == 0 and A.T.shape == (n, n) and A.copy().nnz == 0
        assert A.diagonal(n).size == 0 and A.count_nonzero() == 0
        assert ds.forecast("convert", A, format="hm").result_nbytes <= 8
        assert str(n) in repr(A) and A._repr_html_()
        refused(lambda: A.diagonal())
    """,
        memory=6 << 30,
    )


def test_one_entry_in_the_corner_of_a_huge_matrix():
    """hm stores a diagonal of one element; what would need 2^40 elements is refused."""
    python(
        HUGE
        + """
    n = 2**40
    A = ds.hm_array((np.array([2.0, 3.0]), [n - 1, 1 - n]), shape=(n, n))
    assert A.nnz == 2 and A.diagonal(n - 1).tolist() == [2.0] and (A.T).diagonal(n - 1).tolist() == [3.0]
    assert (A * 2).diagonal(1 - n).tolist() == [6.0] and A.trace(n - 1) == 2
    assert ds.plan_matmul is not None
    refused(lambda: A @ A)
    refused(lambda: A.asformat("dia"))
    refused(lambda: A.asformat("cdm"))
    refused(lambda: A.asformat("coo"))
    assert ds.memory_report(A)["hm"] == A.nbytes
    assert ds.forecast("matmul", A, A).result_nbytes > 8 * n
    """,
        memory=6 << 30,
    )


BUILDERS = """
    def forecast(run):
        start = time.perf_counter()
        try:
            result = run()
        except MemoryError as error:
            assert "would need" in str(error) and "are free" in str(error), f"{name}: {error!r}"
            assert time.perf_counter() - start < 5, name
            return
        except ValueError as error:
            assert "stay below 2^31" in str(error) or "square" in str(error), f"{name}: {error!r}"
            return
        raise AssertionError(f"{name}: no error: {result!r}")
    n = 2 * 10**9
    S = ds.eye(10**6)
    many = [S] * 1000
"""


def test_builders_refuse_before_they_allocate():
    """Under a limit of memory, the message is that of the forecast: NumPy allocates nothing large."""
    python(
        HUGE
        + BUILDERS
        + """
    for format in (None, *ds.formats()):
        for name, run in {
            "eye": lambda: ds.eye(n, format=format),
            "diags": lambda: ds.diags({0: 1.0, 7: 2.0, -3: 1.0}, shape=(n // 4, n // 4), format=format),
            "kron": lambda: ds.kron(S, ds.eye(1000), format=format),
            "kron of rows": lambda: ds.kron(ds.eye(1000).tocsr(), sp.eye_array(10**6), format=format),
            "block_diag": lambda: ds.block_diag(many, format=format),
            "hstack": lambda: ds.hstack(many, format=format),
            "vstack": lambda: ds.vstack(many, format=format),
        }.items():
            forecast(run)
        if format not in (None, *DIAGONAL, "coo"):  # of which an empty matrix stores nothing
            name = f"{format}_array(shape)"
            forecast(lambda: getattr(ds, f"{format}_array")((n, n)))
    name = "kron of dense matrices"
    forecast(lambda: ds.kron(np.ones((300, 300)), np.ones((300, 300))))
    """,
        memory=4 << 30,
        timeout=300,
    )


def test_the_gallery_refuses_before_it_allocates():
    python(
        HUGE
        + BUILDERS
        + """
    g = ds.gallery
    for format in (None, "csr", "hm"):
        for name, run in {
            "tridiagonal": lambda: g.tridiagonal(n, format=format),
            "toeplitz": lambda: g.toeplitz(np.ones(60_000), format=format),
            "stencil": lambda: g.stencil(5, 40_000, format=format),
            "periodic": lambda: g.stencil(7, 1000, periodic=True, format=format),
            "banded": lambda: g.banded(n, 1, 1, seed=0, format=format),
            "triangular": lambda: g.triangular(60_000, seed=0, format=format),
            "hessenberg": lambda: g.hessenberg(60_000, seed=0, format=format),
            "random_diagonals": lambda: g.random_diagonals(10**8, 50, seed=0, format=format),
            "arrow": lambda: g.arrow(n, seed=0, format=format),
            "ci_matrix": lambda: g.ci_matrix(10**6, seed=0, format=format),
            "quasi_band": lambda: g.quasi_band(10**6, 1.0, seed=0, format=format),
            "blocked": lambda: g.blocked(sp.eye_array(100), 10**9, size=10**4, seed=0, format=format),
            "bose_hubbard": lambda: g.bose_hubbard(18, format=format),
            "heisenberg": lambda: g.heisenberg(28, format=format),
            "transverse_ising": lambda: g.transverse_ising(28, format=format),
            "spin_chain": lambda: g.spin_chain(28, format=format),
            "pauli_sum": lambda: g.pauli_sum(["X" * 29, "Z" * 29], [1.0, 2.0], format=format),
        }.items():
            forecast(run)
    """,
        memory=4 << 30,
    )


def test_long_thin_csr():
    """A product, or a MemoryError when a thread's scratch space does not fit."""
    python(
        HUGE
        + """
    for shape in ((5, 2**31 - 2), (2**31 - 2, 5)):
        a = sp.coo_array((np.ones(3), ([0, 1, 4], [0, 3, 4])), shape=shape)
        b = sp.csr_array(np.eye(5))
        try:
            A = ds.csr_array(a)
            C = ds.csr_array(b) @ A if A.shape[0] == 5 else A @ ds.csr_array(b)
            assert C.nnz == 3 and C.shape == shape, C
            H = A.asformat("hm")
            assert H.nnz >= 3
        except MemoryError:
            pass
    """,
        memory=6 << 30,
    )


def test_a_scipy_array_with_broken_indices():
    """SciPy does not look again at indices that were written to after construction; we must not read outside."""
    python(
        HUGE
        + """
    for format in ("csr", "csc", "coo", *DIAGONAL):
        cls = getattr(ds, format + "_array")
        for index in (4, -5, 1 << 30):
            for scipy_format in ("csr", "csc"):
                broken = sp.eye_array(4, format=scipy_format)
                broken.indices[2] = index
                refused(lambda: cls(broken))
            broken = sp.eye_array(4, format="coo")
            broken.coords[1][2] = index
            refused(lambda: cls(broken))
    """
    )


def test_memory_that_runs_out_inside_a_kernel_is_an_error_not_an_abort():
    """Enough work for several threads, each of which needs room for a row of 2^31 - 2 columns."""
    python(
        HUGE
        + """
    n, wide = 4000, 2**31 - 2
    a = sp.diags_array([np.ones(n)] * 9, offsets=range(9), shape=(n, n), format="csr")
    b = sp.csr_array((np.ones(n), np.arange(n, dtype=np.int32) * 100000, np.arange(n + 1)), shape=(n, wide))
    A, B = ds.csr_array(a), ds.csr_array(b)
    ds.set_num_threads(2)
    try:
        assert (A @ B).nnz == a.nnz
    except MemoryError as error:
        assert str(error)
    """,
        memory=6 << 30,
    )
