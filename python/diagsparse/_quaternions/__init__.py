"""Matrices of quaternions, as pairs of complex matrices on one structure."""
