"""Diagonals with gradients: arrays of JAX and tensors of PyTorch, with their transposed and differentiated products.

`layout` and `terms` need only NumPy. The other modules import JAX or PyTorch, and only `diagsparse.jax` and
`diagsparse.torch` import them.
"""
