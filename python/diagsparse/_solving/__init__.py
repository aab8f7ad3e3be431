"""`solve`, which chooses how it solves a system, and `recommend(A, op="solve")`, which explains the choice."""
