"""Time evolution: exponentials of matrices times vectors, by Chebyshev and Taylor series and in Krylov spaces."""
