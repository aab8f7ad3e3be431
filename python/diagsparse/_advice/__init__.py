"""Which format, and with which options: a model of what products cost, and the advice that follows from it.

`candidates` has the layouts that come into question, `costs` what a product takes in each.
"""
