"""The experiments of the papers, further studies, the stored results and their ledger.

`python -m benchmarks` runs them from a clone. They are not part of the installed package.
"""
