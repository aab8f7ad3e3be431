"""The presentation of matrices and results: one-line texts, drawings, tables, the terminal.

Depends only on `_backends`; matrices are accessed by their methods.
"""
