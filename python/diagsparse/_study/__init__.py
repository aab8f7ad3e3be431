"""Measurement: timers, error bounds, benchmarks on both devices, and the commands.

This is the top layer: it may import all others.
"""
