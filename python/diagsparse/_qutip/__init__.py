"""What `diagsparse.qutip` is made of. Importing it needs QuTiP.

`operators` and `states` hold the data and what is done with it, `layer` tells QuTiP of them.
"""
