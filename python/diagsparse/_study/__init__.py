"""Measurement: timers, bounds of errors, benchmarks on both devices, the papers' experiments, the commands.

The top of the house: may call everything.
"""
