"""A seeded fuzzer of the library: random operations against NumPy, and hostile parts, files and pickles.

``python tests/fuzz --help`` says how to run it. A case is all that follows from a family, a seed and a number, so
every failure can be had again. Cases run in a child process that is watched from outside: one that crashes or hangs is
a failure like any other, and the next child goes on behind it. The cases of `guided` follow from those before them,
and are had again by the choices that they made.
"""
