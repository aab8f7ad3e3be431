"""The implementation of `diagsparse.qutip`. Importing it requires QuTiP.

`operators` and `states` contain the data types and their operations, `layer` registers them in QuTiP.
"""
