"""The gallery's matrices by kind, and what they are made of."""
