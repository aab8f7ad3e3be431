"""Matrices and vectors whose rows are distributed over processes, and what is exchanged for a product."""
