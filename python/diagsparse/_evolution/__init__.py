"""Time evolution: exponentials of matrices times vectors, by Chebyshev series and Krylov spaces."""
