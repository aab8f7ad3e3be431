"""Matrices of configuration interaction, with real, complex or quaternion values."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from .arguments import Dtype, Format, Seed, checked_dtype, gallery_function, require_fraction, whole_number
from .construction import as_format, random_values, require_memory_for_entries

_SPREAD = 0.075  # relative standard deviation of the densities of the rows in the expansion space


@gallery_function
def ci_matrix(
    n: int = 32768,
    reference_fraction: float = 0.1,
    reference_sparsity: float = 0.80,
    expansion_sparsity: float = 0.99,
    *,
    rows: int | None = None,
    symmetric: bool = False,
    dtype: Dtype = float,
    seed: Seed = None,
    format: Format = None,
) -> Any:
    """Return a random matrix with the two regions of a configuration interaction matrix.

    The reference region consists of the first columns. All rows have the same number of nonzeros there. The expansion
    region consists of the other columns. There, the density varies from row to row with a standard deviation of 7.5 %,
    in addition to random fluctuations.

    Parameters
    ----------
    reference_fraction : float
        Fraction of the columns in the reference region.
    reference_sparsity, expansion_sparsity : float
        Fraction of zeros in each region.
    rows : int, optional
        Number of rows if it is not n, for a part of a matrix that does not fit in memory.
    symmetric : bool
        Whether the upper triangle mirrors the lower one. Then the first rows are as dense as the first columns.

    Returns
    -------
    csr_array, shape (rows, n)

    Notes
    -----
    The defaults reproduce the numbers of nonzeros and the longest rows in table 3 of Mahmoud, Hoffmann, Reza,
    Computation 6(3):45, 2018: 655 nonzeros per row in the reference region, and about 295 in the other one.

    Examples
    --------
    >>> from diagsparse import gallery
    >>> gallery.ci_matrix(1000, seed=0)[:, :100].nnz
    20000
    """
    n, dtype = whole_number("n", n, "an order"), checked_dtype(dtype)
    require_fraction("reference_fraction", reference_fraction)
    require_fraction("reference_sparsity", reference_sparsity)
    require_fraction("expansion_sparsity", expansion_sparsity)
    m = n if rows is None else whole_number("rows", rows, "a count")
    if symmetric and m != n:
        raise ValueError(f"rows is {m}, but a symmetric matrix of order {n} has {n}")
    rng = np.random.default_rng(seed)
    reference = int(reference_fraction * n)
    leading, expansion = round((1 - reference_sparsity) * reference), n - reference
    require_memory_for_entries(m * (leading + (1 - expansion_sparsity) * expansion), dtype)
    density = (1 - expansion_sparsity) * (1 + _SPREAD * rng.standard_normal(m))
    rest = rng.binomial(expansion, np.clip(density, 0, 1))
    columns = [
        np.sort(np.concatenate((_distinct(rng, reference, leading), reference + _distinct(rng, expansion, more))))
        for more in rest.tolist()
    ]
    pointers = np.concatenate(([0], np.cumsum(leading + rest)))
    indices = np.concatenate(columns) if columns else np.zeros(0, np.int64)
    csr = sparse.csr_array((random_values(len(indices), dtype, rng), indices.astype(np.int32), pointers), shape=(m, n))
    return as_format(_mirrored(csr) if symmetric else csr, format)


@gallery_function
def quaternion_ci(
    n: int = 32768,
    reference_fraction: float = 0.1,
    reference_sparsity: float = 0.80,
    expansion_sparsity: float = 0.99,
    *,
    dtype: Dtype = float,
    seed: Seed = None,
    format: Format = None,
) -> Any:
    """Return a random Hermitian matrix of quaternions with the structure of ``ci_matrix(symmetric=True)``.

    Hermitian means that it is its own conjugate transpose: Q0 is symmetric, and Q1, Q2 and Q3 are antisymmetric.
    Hamiltonians with spin-orbit coupling that are invariant under time reversal have such matrices.

    Parameters
    ----------
    reference_fraction, reference_sparsity, expansion_sparsity : float
        As in `ci_matrix`.
    dtype : dtype
        The type of each component, float32 or float64.
    format : str, optional
        One of `diagsparse.formats()`, for a `diagsparse.quaternion_array`.

    Returns
    -------
    tuple of four csr_array, shape (n, n)
        The components Q0, Q1, Q2 and Q3 on the same structure, or with `format` a `diagsparse.quaternion_array`.

    Examples
    --------
    >>> import diagsparse as ds
    >>> Q = ds.gallery.quaternion_ci(500, seed=0, format="csr")
    >>> (Q - Q.H).norm()
    0.0
    """
    dtype = checked_dtype(dtype)
    if dtype.kind == "c":
        raise TypeError(f"dtype is {dtype}, expected float32 or float64, the type of each component")
    rng = np.random.default_rng(seed)
    real = ci_matrix(
        n, reference_fraction, reference_sparsity, expansion_sparsity, symmetric=True, dtype=dtype, seed=rng
    )
    components = [real]
    for _ in range(3):
        values = sparse.csr_array((random_values(real.nnz, dtype, rng), real.indices, real.indptr), shape=real.shape)
        lower = sparse.tril(values, -1, format="csr")
        components.append((lower - lower.T).astype(dtype, copy=False))
    if format is None:
        return tuple(components)
    from .._quaternions.quaternion_array import quaternion_array  # imported here, as in `as_format`

    return quaternion_array(components, format)


def _distinct(rng: np.random.Generator, end: int, count: int) -> Any:
    """Return `count` different random integers from 0 to `end` - 1."""
    return rng.choice(end, count, replace=False, shuffle=False) if count else np.zeros(0, np.int64)


def _mirrored(a: Any) -> Any:
    """Return the symmetric matrix with the lower triangle of `a`."""
    lower = sparse.tril(a, -1, format="csr")
    symmetric = lower + lower.T + sparse.diags_array(a.diagonal(), format="csr")
    symmetric.eliminate_zeros()
    return symmetric
