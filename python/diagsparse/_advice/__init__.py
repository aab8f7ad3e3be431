"""Which format, and with which options: a model of what products cost, and the advice that follows from it.

`candidates` finds the layouts that come into question. `models` has what products go through in each format, and what
that takes; `machine` has the time that follows.
"""
